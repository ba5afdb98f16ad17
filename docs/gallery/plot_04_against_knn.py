"""
Learned edges and nearest neighbours
====================================

About as many edges, given otherwise: a list of neighbours gives everybody at least seven, the
learned graph few to nodes far out and more to those in the middle of many.
"""

import numpy as np
from matplotlib.figure import Figure
from sklearn.neighbors import kneighbors_graph

from truegraph import learn_graph, load_dataset

digits = load_dataset("digits")
learned = learn_graph(digits.features, degree=10).adjacency
nearest = kneighbors_graph(digits.features, 7)
nearest = nearest.maximum(nearest.T)
figure = Figure(figsize=(6, 3.5), layout="constrained")
axes = figure.subplots()
for name, graph in (("learned", learned), ("7 nearest neighbours, either way", nearest)):
    axes.hist(np.diff(graph.indptr), bins=range(0, 40), histtype="step", label=name, linewidth=2)
axes.set(xlabel="edges of a node", ylabel="nodes")
axes.legend()
