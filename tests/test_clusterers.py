"""Clusterers of other packages on a learned graph."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import DBSCAN, HDBSCAN, AgglomerativeClustering, SpectralClustering
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from truegraph import LearnedGraph, learn_graph

# Groups drawn by chance score about 0; each threshold is well below what the clusterer reaches.


@pytest.fixture(scope="module")
def digits() -> tuple[np.ndarray, np.ndarray]:
    points, labels = load_digits(return_X_y=True)
    return points, labels


@pytest.fixture(scope="module")
def graph(digits: tuple[np.ndarray, np.ndarray]) -> LearnedGraph:
    return learn_graph(digits[0], 20, graph_model="paper")


def test_spectral_clustering(digits, graph: LearnedGraph) -> None:
    model = SpectralClustering(10, affinity="precomputed", random_state=0)
    assert adjusted_rand_score(digits[1], model.fit_predict(graph.adjacency)) > 0.7


def test_agglomerative_clustering(digits, graph: LearnedGraph) -> None:
    model = AgglomerativeClustering(10, connectivity=graph.adjacency)
    assert adjusted_rand_score(digits[1], model.fit_predict(digits[0])) > 0.7


def test_dbscan(digits, graph: LearnedGraph) -> None:
    distances = graph.edge_distances()
    model = DBSCAN(eps=float(np.median(distances.data)), min_samples=10, metric="precomputed")
    assert adjusted_rand_score(digits[1], model.fit_predict(distances)) > 0.3


def test_hdbscan_of_scikit_learn(digits, graph: LearnedGraph) -> None:
    model = HDBSCAN(min_cluster_size=20, min_samples=3, metric="precomputed", copy=True)
    assert adjusted_rand_score(digits[1], model.fit_predict(graph.edge_distances())) > 0.3


@pytest.mark.filterwarnings("ignore")  # hdbscan's, of its own dependencies
def test_hdbscan(digits, graph: LearnedGraph) -> None:
    hdbscan = pytest.importorskip("hdbscan")
    model = hdbscan.HDBSCAN(min_cluster_size=20, min_samples=3, metric="precomputed")
    assert adjusted_rand_score(digits[1], model.fit_predict(graph.edge_distances())) > 0.3


def test_leiden_of_igraph_and_of_leidenalg(digits, graph: LearnedGraph) -> None:
    leidenalg = pytest.importorskip("leidenalg")
    drawn = graph.to_igraph()
    theirs = leidenalg.find_partition(
        drawn, leidenalg.ModularityVertexPartition, weights="weight", seed=0
    )
    own = drawn.community_leiden("modularity", weights="weight", n_iterations=2)
    for partition in (theirs, own):
        assert adjusted_rand_score(digits[1], partition.membership) > 0.7
