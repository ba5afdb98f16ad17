"""
Edges on two moons
==================

Edges follow the data: few cross the gap.
"""

from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from sklearn.datasets import make_moons

from truegraph import learn_graph

points, moon = make_moons(300, noise=0.08, random_state=0)
edges = learn_graph(points, degree=6).to_pandas()
figure = Figure(figsize=(6, 4))
axes = figure.subplots()
lines = points[edges[["source", "target"]].to_numpy()]
axes.add_collection(LineCollection(lines, linewidths=3 * edges["weight"] / edges["weight"].max()))
axes.scatter(*points.T, c=moon, s=12, cmap="coolwarm", zorder=2)
axes.set_axis_off()
