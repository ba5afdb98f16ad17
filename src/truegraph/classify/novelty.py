"""Which nodes are unlike all that was learned from.

A node can be novel in three ways; each has a score of its own, higher for more novel nodes:

- "class": no class fits; the entropy of its class probabilities.
- "neighbours": its features are unlike those of its neighbours; minus the cosine between its
  coordinates and the mean of theirs. Noise in place of features is found by this, and edges that
  belong to somebody else.
- "features": its features are unlike those of all labelled nodes; minus the mean cosine to the
  nearest of them.

Ranks put them on one scale: a score that a share p of the nodes reaches counts -log p. The novelty
of a node is the sum, classes counting double: strange features are plain to see, a class that
nobody knows is not.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from truegraph.classify.inputs import NodeInputs
from truegraph.classify.spaces import FeatureSpace, Matrix, row_operator, unit_rows
from truegraph.evaluation.samples import entropy
from truegraph.runtime.threads import one_blas_thread

_NEAREST = 5  # labelled nodes
_MOST_LABELLED = 2_000
_NUMBERS = 10_000_000  # cosines in memory at once
_COUNTS = {"class": 2.0}

Scores = NDArray[np.float64]


def novelty_parts(
    inputs: NodeInputs, probabilities: NDArray[np.floating], train: NDArray[np.int64]
) -> dict[str, Scores]:
    """Return the novelty scores by source."""
    found = {"class": entropy(probabilities)}
    if inputs.features_from != "given":
        return found
    points = unit_rows(FeatureSpace(inputs.raw).coordinates(inputs.raw))
    if points.shape[1] == 0:
        return found
    if inputs.graph_from == "given" and inputs.graph.nnz:
        found["neighbours"] = _unlike_neighbours(inputs, points)
    found["features"] = _unlike_labelled(points, train)
    return found


def novelty(parts: dict[str, Scores]) -> Scores:
    """Return the novelty (N,) of nodes from its parts."""
    total: Scores = np.sum([_COUNTS.get(n, 1.0) * surprise(v) for n, v in parts.items()], axis=0)
    return total


def surprise(scores: Scores) -> Scores:
    """Return minus the logarithm of the share of nodes that score as high: (N,)."""
    count = len(scores)
    found: Scores = -np.log((count + 1.0 - rankdata(scores)) / (count + 1.0))
    return found


def _unlike_neighbours(inputs: NodeInputs, points: Matrix) -> Scores:
    """Return minus the cosines to the means of the neighbours; of lonely nodes the median."""
    around = row_operator(inputs.graph)
    alike = np.einsum("ij,ij->i", points, unit_rows(around @ points)).astype(np.float64)
    lonely = np.diff(around.indptr) == 0
    if lonely.any() and not lonely.all():
        alike[lonely] = np.median(alike[~lonely])
    return -alike


def _unlike_labelled(points: Matrix, train: NDArray[np.int64]) -> Scores:
    """Return minus the mean cosine to the nearest labelled nodes, other than the node itself."""
    if len(train) > _MOST_LABELLED:
        train = np.random.default_rng(0).choice(train, _MOST_LABELLED, replace=False)
    nearest = min(_NEAREST, max(1, len(train) - 1))
    place = np.full(len(points), -1)
    place[train] = np.arange(len(train))
    found = np.empty(len(points))
    at_once = max(1, _NUMBERS // len(train))
    with one_blas_thread():
        for start in range(0, len(points), at_once):
            rows = np.arange(start, min(start + at_once, len(points)))
            cosines = points[rows] @ points[train].T
            own = np.flatnonzero(place[rows] >= 0)
            if len(train) > 1:
                cosines[own, place[rows[own]]] = -np.inf
            best = np.partition(cosines, -nearest, axis=1)[:, -nearest:]
            found[rows] = -best.mean(axis=1)
    return found
