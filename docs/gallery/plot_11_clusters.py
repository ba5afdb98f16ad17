"""
Clusters on a learned graph
===========================

Spectral clusters of the digits' graph against the digits.
"""

import numpy as np
from matplotlib.figure import Figure
from sklearn.cluster import SpectralClustering

from truegraph import GraphLearner, load_dataset

digits = load_dataset("digits")
graph = GraphLearner(degree=12).fit_transform(digits.features)
found = SpectralClustering(10, affinity="precomputed", random_state=0).fit_predict(graph)
counts = np.zeros((10, 10))
np.add.at(counts, (digits.labels, found), 1)
order = np.argsort(counts.argmax(axis=0), kind="stable")
figure = Figure(figsize=(4.4, 4), layout="constrained")
axes = figure.subplots()
axes.imshow(counts[:, order], cmap="Blues")
axes.set(xlabel="cluster", ylabel="digit", yticks=range(10))
