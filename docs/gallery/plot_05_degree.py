"""
Sparser and denser
==================

One option decides how many edges a node has on average.
"""

import numpy as np
from matplotlib.figure import Figure

from truegraph import learn_graph

points = np.random.default_rng(0).normal(size=(400, 3))
figure = Figure(figsize=(6, 3.5), layout="constrained")
axes = figure.subplots()
for degree in (4, 10, 25):
    found = learn_graph(points, degree=degree)
    weights = np.sort(found.adjacency.data[::2])[::-1] / found.adjacency.data.max()
    axes.plot(weights, label=f"degree {found.certificate.degree:.3g}")
axes.set(xlabel="edges by weight", ylabel="weight, relative")
axes.legend()
