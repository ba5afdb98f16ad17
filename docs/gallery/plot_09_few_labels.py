"""
Ten labels on two moons
=======================

Labels spread along the learned edges; dark dots are uncertain.
"""

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import make_moons

from truegraph import GraphLabelSpreading, learn_graph

points, moon = make_moons(300, noise=0.1, random_state=1)
y = np.full(300, -1)
few = np.random.default_rng(0).choice(300, 10, replace=False)
y[few] = moon[few]
graph = learn_graph(points)
chance = GraphLabelSpreading(graph).fit(None, y).predict_proba()
figure = Figure(figsize=(6, 4))
axes = figure.subplots()
axes.scatter(*points.T, c=chance[:, 1], s=14, cmap="viridis")
axes.scatter(*points[few].T, facecolors="none", edgecolors="red", s=60)
axes.set_axis_off()
