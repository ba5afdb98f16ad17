"""Cluster digits with scikit-learn on a learned graph, and on a nearest-neighbour graph.

Run with: python examples/cluster_digits.py
"""

from sklearn.cluster import SpectralClustering
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import kneighbors_graph

from truegraph import GraphLearner, load_dataset


def main() -> None:
    digits = load_dataset("digits")
    learned = GraphLearner(degree=15).fit_transform(digits.features)  # as KNeighborsTransformer
    nearest = kneighbors_graph(digits.features, n_neighbors=15)
    for name, graph in (("learned", learned), ("nearest neighbours", (nearest + nearest.T) / 2)):
        clusters = SpectralClustering(n_clusters=10, affinity="precomputed", random_state=0)
        found = clusters.fit_predict(graph)
        print(f"{name}: adjusted Rand index {adjusted_rand_score(digits.labels, found):.3f}")


if __name__ == "__main__":
    main()
