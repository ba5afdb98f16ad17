"""A trial of graphs of points: labels spread over a graph, clusters found in it.

A model is a kind of graph: learned, k-nearest-neighbour or UMAP's. No graph sees a label: a trial
draws the labelled nodes and seeds the clusterers, on the same graph of the data set. Graphs are
symmetric CSR matrices of similarities. A k-nearest-neighbour graph joins two points if either is
among the k nearest of the other, a mutual one if both are.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from sklearn.cluster import KMeans
from sklearn.manifold import spectral_embedding
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.neighbors import NearestNeighbors

from lab.point_sets import PointSet, load_points
from truegraph import learn_graph
from truegraph.classify.label_spreading import spread_labels
from truegraph.data.adjacency import to_igraph
from truegraph.errors import InputError
from truegraph.extras import import_extra

LABELS = (1, 5, 20)
WEIGHTS = ("binary", "gaussian", "self-tuned")
_ALPHA = 0.99
_RESOLUTIONS = 10  # tried at most to meet the wanted number of groups
_SELF_TUNED = 7  # the neighbour whose distance is the scale of a point (Zelnik-Manor and Perona)
_LEARNER = ("degree", "graph_model")  # its parameters; all others are options

Floats = NDArray[np.float64]


def open_data(job: Mapping[str, Any]) -> PointSet:
    """Return the points of a job."""
    return load_points(job["dataset"])


def run(data: PointSet, job: Mapping[str, Any]) -> dict[str, Any]:
    """Build the graph of a job, then spread labels and find clusters."""
    graph, leiden, spectral = _prepared(job["dataset"], job["model"], json.dumps(job["options"]))
    seed = job["seed"]
    metrics: dict[str, float | None] = {
        f"accuracy_{count}": spreading_accuracy(graph, data.labels, count, seed) for count in LABELS
    }
    found = {"leiden": leiden.groups(leiden.resolution, seed), "spectral": spectral.groups(seed)}
    for name, groups in found.items():
        metrics[f"{name}_ari"] = float(adjusted_rand_score(data.labels, groups))
        metrics[f"{name}_nmi"] = float(normalized_mutual_info_score(data.labels, groups))
    metrics["edges_per_node"] = graph.nnz / graph.shape[0]
    metrics["components"] = float(connected_components(graph, directed=False)[0])
    return {"metrics": metrics}


@lru_cache(maxsize=2)
def _prepared(
    dataset: str, model: str, options: str
) -> tuple[csr_array, LeidenGroups, SpectralGroups]:
    """Return a graph and its clusterers, which the trials of a cell share."""
    points = load_points(dataset)
    graph = build_graph(points.points, model, json.loads(options))
    return graph, LeidenGroups(graph, points.n_classes), SpectralGroups(graph, points.n_classes)


def build_graph(points: Any, model: str, options: Mapping[str, Any]) -> csr_array:
    """Return the graph (n, n) of a model of points (n, d)."""
    if model == "umap":
        return umap_graph(points, options["k"])
    if model == "knn":
        return knn_graph(points, options["k"], options["weights"], options.get("mutual", False))
    if model != "learned":
        raise InputError(f"model={model!r} must be learned, knn or umap.")
    own = {name: value for name, value in options.items() if name in _LEARNER}
    rest = {name: value for name, value in options.items() if name not in _LEARNER}
    return learn_graph(points, **own, options=rest or None, random_state=0).adjacency


def knn_graph(points: Any, k: int, weights: str, is_mutual: bool = False) -> csr_array:
    """Return the graph of k nearest neighbours.

    Parameters
    ----------
    points : ndarray or csr_array of shape (n_nodes, n_features)
    k : int
    weights : {"binary", "gaussian", "self-tuned"}
        1; exp(-d^2 / (2 s^2)), s the median distance of a k-th neighbour; exp(-d^2 / (s_i s_j)),
        s_i the distance to the seventh neighbour.
    is_mutual : bool
        A point without a mutual neighbour keeps its nearest one.
    """
    if weights not in WEIGHTS:
        raise InputError(f"weights={weights!r} must be one of {', '.join(WEIGHTS)}.")
    distances, neighbours = _nearest(points, max(k, _SELF_TUNED))
    listed = distances[:, :k]
    n_nodes = listed.shape[0]
    rows = np.repeat(np.arange(n_nodes, dtype=np.int32), k)  # scikit-learn wants short numbers
    columns = neighbours[:, :k].ravel().astype(np.int32)
    if weights == "binary":
        values = np.ones(rows.size)
    elif weights == "gaussian":
        width = _positive(np.array([np.median(listed[:, -1])]))[0]
        values = np.exp(-0.5 * (listed.ravel() / width) ** 2)
    else:
        scale = _positive(distances[:, _SELF_TUNED - 1])
        values = np.exp(-(listed.ravel() ** 2) / (scale[rows] * scale[columns]))
    values = np.maximum(values, np.finfo(float).tiny)  # far is not the same as no edge
    directed = csr_array((values, (rows, columns)), shape=(n_nodes, n_nodes))
    if not is_mutual:
        return csr_array(directed.maximum(csr_array(directed.T)))
    first = np.zeros((n_nodes, k), dtype=bool)
    first[:, 0] = True
    mutual = csr_array(directed.minimum(csr_array(directed.T)))
    lonely = np.repeat(np.diff(mutual.indptr) == 0, k) & first.ravel()
    kept = csr_array((values[lonely], (rows[lonely], columns[lonely])), shape=mutual.shape)
    return csr_array(mutual.maximum(kept).maximum(csr_array(kept.T)))


def umap_graph(points: Any, k: int) -> csr_array:
    """Return UMAP's graph of k neighbours, the point itself counted as UMAP does."""
    distances, neighbours = _nearest(points, k - 1)
    itself = np.arange(neighbours.shape[0])[:, None]
    graph, _, _ = import_extra("umap.umap_").fuzzy_simplicial_set(
        points,
        k,
        np.random.RandomState(0),
        "euclidean",
        knn_indices=np.hstack([itself, neighbours]).astype(np.int32),
        knn_dists=np.hstack([np.zeros_like(itself), distances]).astype(np.float32),
    )
    return csr_array(graph, dtype=np.float64)


def _nearest(points: Any, k: int) -> tuple[Floats, NDArray[np.int64]]:
    """Return distances and numbers of the k nearest other points, both of shape (n_nodes, k)."""
    distances, neighbours = NearestNeighbors(n_neighbors=k).fit(points).kneighbors()
    return distances, neighbours


def _positive(values: Floats) -> Floats:
    """Put the smallest positive value in the place of zeros, which copies of points give."""
    least = values[values > 0.0].min() if (values > 0.0).any() else 1.0
    return np.maximum(values, least)


def spreading_accuracy(
    graph: csr_array, labels: NDArray[np.int64], per_class: int, seed: int
) -> float | None:
    """Return the accuracy of label spreading on the nodes whose labels were not drawn.

    None if a class has too few nodes to leave one.
    """
    rng = np.random.default_rng([seed, per_class])
    classes = int(labels.max()) + 1
    members = [np.flatnonzero(labels == label) for label in range(classes)]
    if min(group.size for group in members) <= per_class:
        return None
    drawn = np.concatenate([rng.choice(group, per_class, replace=False) for group in members])
    known = np.full(labels.size, -1)
    known[drawn] = labels[drawn]
    found = spread_labels(graph, known, classes, _ALPHA).argmax(axis=1)
    hidden = known == -1
    return float((found == labels)[hidden].mean())


class LeidenGroups:
    """Leiden's partitions of a graph, with as many groups as there are classes if that can be."""

    def __init__(self, graph: csr_array, wanted: int) -> None:
        self._igraph = import_extra("igraph")
        self._graph = to_igraph(graph)
        self.resolution = self._matching(wanted)

    def _matching(self, wanted: int) -> float:
        """Return the resolution whose number of groups is nearest to the wanted one."""
        low, high = 1e-3, 1e2
        best, least = 1.0, np.inf
        for _ in range(_RESOLUTIONS):
            middle = float(np.sqrt(low * high))
            count = int(self.groups(middle, 0).max()) + 1
            if abs(count - wanted) < least:
                best, least = middle, abs(count - wanted)
            if count == wanted:
                break
            low, high = (middle, high) if count < wanted else (low, middle)
        return best

    def groups(self, resolution: float, seed: int) -> NDArray[np.int64]:
        """Return the group of every node."""
        self._igraph.set_random_number_generator(random.Random(seed))
        try:
            found = self._graph.community_leiden(
                "modularity", weights="weight", resolution=resolution, n_iterations=2
            )
        finally:
            self._igraph.set_random_number_generator(random)
        return np.asarray(found.membership, dtype=np.int64)


class SpectralGroups:
    """Spectral clustering: k-means on the first eigenvectors, which are found once."""

    def __init__(self, graph: csr_array, wanted: int) -> None:
        self._wanted = wanted
        self._embedding = spectral_embedding(
            graph, n_components=wanted, random_state=0, drop_first=False
        )

    def groups(self, seed: int) -> NDArray[np.int64]:
        """Return the group of every node."""
        model = KMeans(self._wanted, n_init=2, random_state=seed)
        found: NDArray[np.int64] = model.fit_predict(self._embedding)
        return found
