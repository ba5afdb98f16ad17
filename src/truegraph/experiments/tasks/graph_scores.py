"""What a graph is good for, measured with labels that it has not seen."""

from __future__ import annotations

import random

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.cluster import KMeans
from sklearn.manifold import spectral_embedding
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from truegraph.data.graphs.adjacency import to_igraph
from truegraph.data.nodes.containers import UNLABELLED
from truegraph.extras import import_extra
from truegraph.tasks.classify.label_spreading import spread_labels

LABELS = (1, 5, 20)
_ALPHA = 0.99
_RESOLUTIONS = 10  # tried at most to meet the wanted number of groups


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
    known = np.full(labels.size, UNLABELLED)
    known[drawn] = labels[drawn]
    found = spread_labels(graph, known, classes, _ALPHA).argmax(axis=1)
    hidden = known == UNLABELLED
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


def agreement(labels: NDArray[np.int64], groups: NDArray[np.int64]) -> tuple[float, float]:
    """Return the adjusted Rand index and the normalised mutual information."""
    return (
        float(adjusted_rand_score(labels, groups)),
        float(normalized_mutual_info_score(labels, groups)),
    )
