"""Learn which items suit which users from vectors of both; edges only go across.

Run with: python examples/users_and_items.py
"""

import numpy as np

from truegraph import learn_bipartite_graph


def main() -> None:
    rng = np.random.default_rng(0)
    tastes = rng.normal(size=(5, 8))  # five tastes in eight dimensions
    taste_of_user, taste_of_item = rng.integers(5, size=200), rng.integers(5, size=80)
    users = tastes[taste_of_user] + 0.5 * rng.normal(size=(200, 8))
    items = tastes[taste_of_item] + 0.5 * rng.normal(size=(80, 8))

    graph = learn_bipartite_graph(users, items, degree=6)
    weights = graph.biadjacency  # users by items
    print(f"{weights.shape[0]} users, {weights.shape[1]} items, {weights.nnz} edges")
    print(f"every user and every item has one: {bool((graph.adjacency.sum(axis=1) > 0).all())}")

    user, item = weights.nonzero()
    same = taste_of_user[user] == taste_of_item[item]
    print(f"{same.mean():.1%} of the edges join equal tastes")


if __name__ == "__main__":
    main()
