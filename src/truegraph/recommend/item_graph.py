"""Graphs between items, learned from who took what.

The similarity of two items is K = (cosine of their columns + cosine of their vectors) / 2, where
the vectors are the leading right singular vectors of D_U^-1/2 X D_I^-1/2 times their singular
values. Each item's nearest items are found in blocks, so memory is linear in the lists. Of these
lists come the most probable graph of the distances 1 - K, and two simpler graphs to compare it
with.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, eye_array
from threadpoolctl import threadpool_limits

from truegraph.learning.core import learn
from truegraph.learning.learned import LearnedGraph
from truegraph.learning.settings import Settings
from truegraph.recommend.features import Features
from truegraph.recommend.models import product, rank_items

GraphKind = Literal["map", "knn", "soft-knn"]
GRAPHS: tuple[GraphKind, ...] = ("map", "knn", "soft-knn")
CANDIDATE_RATIO = 3  # candidate neighbours per wanted edge, as of the learner
_SPARE = 16  # columns that the iteration carries beside the wanted ones, and how often it runs:
_ITERATIONS = 4  # singular values are then right to 1e-3, which a test checks

Floats = NDArray[np.float64]
#: Each item's most similar items, best first: numbers (n_items, depth), -1 where a list has ended,
#: for only items with a similarity above zero are listed; and the similarity (n_items, depth).
Nearest = tuple[NDArray[np.int64], NDArray[np.float32]]


def leading_item_vectors(matrix: csr_array, rank: int, seed: int = 0) -> tuple[Floats, Floats]:
    """Return the `rank` leading right singular vectors of D_U^-1/2 X D_I^-1/2, and their values.

    Vectors (n_items, min(rank, n_users, n_items)) and values, decreasing, by block power iteration
    (Halko, Martinsson and Tropp, 2011) in one thread. The seed is that of the first block.
    """
    operator = normalised(matrix)
    turned = csr_array(operator.T)
    wanted = min(rank, *operator.shape)
    columns = min(wanted + _SPARE, *operator.shape)
    right = np.random.default_rng(seed).normal(size=(operator.shape[1], columns))
    with threadpool_limits(1):  # sums of several threads would come in another order
        for _ in range(_ITERATIONS):
            right = np.linalg.qr(turned @ (operator @ right))[0]
        left = operator @ right
        squares, turn = np.linalg.eigh(left.T @ left)
        vectors: Floats = right @ turn[:, : -wanted - 1 : -1]
    values = np.sqrt(np.maximum(squares[: -wanted - 1 : -1], 0.0))
    return vectors, values


def normalised(matrix: csr_array) -> csr_array:
    """Return D_U^-1/2 X D_I^-1/2 of a matrix of users and items."""
    users = np.maximum(np.diff(matrix.indptr), 1)
    items = np.maximum(np.bincount(matrix.indices, minlength=matrix.shape[1]), 1)
    return csr_array(
        diags_array(users**-0.5) @ matrix.astype(np.float64) @ diags_array(items**-0.5)
    )


def nearest_items(
    matrix: csr_array,
    depth: int,
    rank: int = 64,
    seed: int = 0,
    features: Features | None = None,
    weight: float = 0.0,
) -> Nearest:
    """Find each item's `depth` most similar items, by interactions (n_users, n_items).

    The features' similarity has a `weight` beside that of the interactions, between items that
    somebody took. `rank` is that of the singular value decomposition.
    """
    n_items = int(matrix.shape[1])
    taken = np.bincount(matrix.indices, minlength=n_items)
    counts = np.maximum(taken, 1)
    share = np.where(taken > 0, np.float32(weight), np.float32(0.0))
    unit = csr_array(matrix.astype(np.float32) @ diags_array((counts**-0.5).astype(np.float32)))
    by_item = csr_array(unit.T)
    vectors, values = leading_item_vectors(matrix, rank, seed)
    scaled = vectors * values
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    points = np.divide(scaled, lengths, out=np.zeros_like(scaled), where=lengths > 0.0)
    points = points.astype(np.float32)

    def similarity(items: NDArray[np.int64]) -> NDArray[np.float32]:
        found: NDArray[np.float32] = product(points[items], points.T)
        found += (by_item[items] @ unit).toarray()
        found *= 0.5
        if features is not None and weight > 0.0:
            found *= np.float32(1.0 - weight)
            found += features.similarity(items) * share
            found[share[items] == 0.0] = 0.0
        return found

    itself = csr_array(eye_array(n_items, dtype=np.float32))
    items, found = rank_items(similarity, itself, min(depth, n_items - 1))
    return np.where(found > 0.0, items, -1), np.maximum(found, 0.0)


def item_graph(
    nearest: Nearest, degree: float, kind: GraphKind = "map"
) -> tuple[csr_array, LearnedGraph | None]:
    """Return D^-1/2 W D^-1/2 of a graph of the lists of most similar items, and what was learned.

    Parameters
    ----------
    nearest : Nearest
        Lists of at least ``CANDIDATE_RATIO * degree`` items, or of all.
    degree : float
        Mean number of edges per item; of the k-NN graphs the number of neighbours.
    kind : {"map", "knn", "soft-knn"}
        The most probable graph of the distances 1 - K; every item's nearest items with the weight
        1; or those with the weight by which their similarity exceeds that of the next one.
    """
    items, similarity = nearest
    if kind == "map":
        learned = _most_probable(items, similarity, degree)
        whole: Any = (len(items), len(items)) if learned is None else learned.adjacency
        return _operator(csr_array(whole)), learned
    count = max(1, round(degree))
    own = similarity[:, :count].astype(np.float64)
    if kind == "soft-knn":
        weights = own - (similarity[:, [count]] if items.shape[1] > count else 0.0)
    else:
        weights = np.ones_like(own)
    row, place = np.nonzero(items[:, :count] >= 0)
    ends = (row, items[row, place])
    shape = (len(items), len(items))
    directed = csr_array((np.maximum(weights, 0.0)[row, place], ends), shape=shape)
    joined = directed.maximum(directed.T) if kind == "knn" else (directed + directed.T) / 2.0
    return _operator(csr_array(joined)), None


def _operator(weights: csr_array) -> csr_array:
    degrees = weights.sum(axis=1)
    scale = np.divide(1.0, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0.0)
    found = csr_array(diags_array(scale) @ weights @ diags_array(scale))
    found.sort_indices()
    return found.astype(np.float32)


def _most_probable(
    items: NDArray[np.int64], similarity: NDArray[np.float32], degree: float
) -> LearnedGraph | None:
    """Return the most probable graph of the distances 1 - K of listed pairs; None without any."""
    n_items, depth = len(items), int(np.ceil(CANDIDATE_RATIO * degree))
    row, place = np.nonzero(items[:, :depth] >= 0)
    column = items[row, place]
    low, high = np.minimum(row, column), np.maximum(row, column)
    pairs, first = np.unique(low * n_items + high, return_index=True)
    distance = np.clip(1.0 - similarity[row, place][first].astype(np.float64), 0.0, 1.0)
    low, high = pairs // n_items, pairs % n_items
    ends = (np.concatenate([low, high]), np.concatenate([high, low]))
    shape = (n_items, n_items)
    candidates = csr_array((np.concatenate([distance, distance]), ends), shape=shape)
    inside = np.flatnonzero(np.diff(candidates.indptr))
    if len(inside) < 3:
        return None
    part = csr_array(candidates[inside][:, inside])
    part.sort_indices()
    wanted = min(degree, 0.9 * part.nnz / len(inside))  # not all candidates can be edges
    return _widened(learn(part, Settings(degree=wanted)), inside, n_items)


def _widened(graph: LearnedGraph, inside: NDArray[np.int64], size: int) -> LearnedGraph:
    """Return a graph of some items as one of all: the others have no edges."""
    if len(inside) == size:
        return graph
    multipliers = np.zeros(size)
    multipliers[inside] = graph.multipliers
    adjacency, candidates = (
        csr_array((part.data, (inside[part.row], inside[part.col])), shape=(size, size))
        for part in (graph.adjacency.tocoo(), graph.candidates.tocoo())
    )
    return replace(graph, adjacency=adjacency, candidates=candidates, multipliers=multipliers)
