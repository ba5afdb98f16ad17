"""
A map of the digits
===================

The places that the explorer draws, from the learned edges alone.
"""

from matplotlib.figure import Figure

from truegraph import learn_graph, load_dataset
from truegraph.report.explorer.layout import layout

digits = load_dataset("digits")
places = layout(learn_graph(digits.features, degree=10).memberships())
figure = Figure(figsize=(5, 5))
axes = figure.subplots()
axes.scatter(*places.T, c=digits.labels, s=5, cmap="tab10")
axes.set_axis_off()
