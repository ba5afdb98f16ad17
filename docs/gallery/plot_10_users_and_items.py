"""
Users and items
===============

Edges only across; tastes show as blocks.
"""

import numpy as np
from matplotlib.figure import Figure

from truegraph import learn_bipartite_graph

rng = np.random.default_rng(0)
tastes = rng.normal(size=(4, 6))
of_user, of_item = np.sort(rng.integers(4, size=80)), np.sort(rng.integers(4, size=50))
users = tastes[of_user] + 0.4 * rng.normal(size=(80, 6))
items = tastes[of_item] + 0.4 * rng.normal(size=(50, 6))
weights = learn_bipartite_graph(users, items, degree=6).biadjacency
figure = Figure(figsize=(4, 5), layout="constrained")
axes = figure.subplots()
axes.imshow(weights.toarray(), cmap="Greys", aspect="auto")
axes.set(xlabel="items by taste", ylabel="users by taste")
