"""Graphs between items, learned from who took what.

The similarity of two items is K = (cosine of their columns + cosine of their vectors) / 2, where
the vectors are the leading right singular vectors of D_U^-1/2 X D_I^-1/2 times their singular
values. Each item's nearest items are found in blocks, so memory is linear in the lists. Of these
lists come the most probable graph of the distances 1 - K, and two simpler graphs to compare it
with.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, eye_array
from threadpoolctl import threadpool_limits

from truegraph.learning.core import learn
from truegraph.learning.learned import LearnedGraph
from truegraph.learning.settings import Settings
from truegraph.recommend.features import Features
from truegraph.recommend.models import product
from truegraph.recommend.top_items import rank_items
from truegraph.saving import savable

GraphKind = Literal["map", "knn", "soft-knn"]
GRAPHS: tuple[GraphKind, ...] = ("map", "knn", "soft-knn")
CANDIDATE_RATIO = 3  # candidate neighbours per wanted edge
_SPARE = 16  # columns that the iteration carries beside the wanted ones
_ITERATIONS = 4

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NearestItems:
    """Each item's most similar items, best first.

    Attributes
    ----------
    items : ndarray of int64, shape (n_items, depth)
        -1 where a list has ended: only items with a similarity above zero are listed.
    similarity : ndarray of float32, shape (n_items, depth)
    """

    items: NDArray[np.int64]
    similarity: NDArray[np.float32]


@savable
@savable
@dataclass(frozen=True, eq=False)
class ItemGraph:
    """A graph between items.

    Attributes
    ----------
    operator : csr_array of float32, shape (n_items, n_items)
        D^-1/2 W D^-1/2.
    learned : LearnedGraph or None
        The most probable graph with its certificate; None for the other kinds.
    """

    operator: csr_array
    learned: LearnedGraph | None = None


def leading_item_vectors(matrix: csr_array, rank: int, seed: int = 0) -> tuple[Floats, Floats]:
    """Return the leading right singular vectors of D_U^-1/2 X D_I^-1/2, and the singular values.

    Block power iteration (Halko, Martinsson and Tropp, 2011) in one thread.

    Parameters
    ----------
    matrix : csr_array of shape (n_users, n_items)
        X.
    rank : int
        How many; fewer if there are fewer users or items.
    seed : int
        Of the first block.

    Returns
    -------
    vectors : ndarray of float64, shape (n_items, min(rank, n_users, n_items))
    values : ndarray of float64, decreasing
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
    *,
    rank: int = 64,
    seed: int = 0,
    features: Features | None = None,
    weight: float = 0.0,
) -> NearestItems:
    """Find each item's most similar items among all.

    Parameters
    ----------
    matrix : csr_array of shape (n_users, n_items)
    depth : int
        Length of the lists.
    rank : int, default=64
        Of the singular value decomposition.
    seed : int
        Of its first block.
    features : Features, optional
        Of the items.
    weight : float, default=0
        Of the features' similarity, beside that of the interactions, between items that somebody
        took.
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
    items, found = rank_items(similarity, np.arange(n_items), itself, min(depth, n_items - 1))
    return NearestItems(np.where(found > 0.0, items, -1), np.maximum(found, 0.0))


def item_graph(nearest: NearestItems, degree: float, kind: GraphKind = "map") -> ItemGraph:
    """Make a graph of the lists of most similar items.

    Parameters
    ----------
    nearest : NearestItems
        Lists of at least ``CANDIDATE_RATIO * degree`` items, or of all.
    degree : float
        Mean number of edges per item; of the k-NN graphs the number of neighbours.
    kind : {"map", "knn", "soft-knn"}
        The most probable graph of the distances 1 - K; every item's nearest items with the weight
        1; or those with the weight by which their similarity exceeds that of the next one.
    """
    if kind == "map":
        return _most_probable(nearest, degree)
    count = max(1, round(degree))
    depth = nearest.items.shape[1]
    similarity = nearest.similarity[:, :count].astype(np.float64)
    if kind == "soft-knn":
        weights = similarity - (nearest.similarity[:, [count]] if depth > count else 0.0)
    else:
        weights = np.ones_like(similarity)
    directed = _listed(nearest.items[:, :count], np.maximum(weights, 0.0))
    joined = directed.maximum(directed.T) if kind == "knn" else (directed + directed.T) / 2.0
    return ItemGraph(_operator(csr_array(joined)))


def _listed(items: NDArray[np.int64], values: Floats) -> csr_array:
    row, place = np.nonzero(items >= 0)
    shape = (len(items), len(items))
    return csr_array((values[row, place], (row, items[row, place])), shape=shape)


def _operator(weights: csr_array) -> csr_array:
    degrees = weights.sum(axis=1)
    scale = np.divide(1.0, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0.0)
    found = csr_array(diags_array(scale) @ weights @ diags_array(scale))
    found.sort_indices()
    return found.astype(np.float32)


def _most_probable(nearest: NearestItems, degree: float) -> ItemGraph:
    candidates = _candidate_distances(nearest, int(np.ceil(CANDIDATE_RATIO * degree)))
    is_near_any = np.diff(candidates.indptr) > 0
    inside = np.flatnonzero(is_near_any)
    if len(inside) < 3:
        return ItemGraph(_operator(csr_array(candidates * 0.0)))
    part = csr_array(candidates[inside][:, inside])
    part.sort_indices()
    wanted = min(degree, 0.9 * part.nnz / len(inside))
    found = _widened(learn(part, Settings(degree=wanted)), inside, len(is_near_any))
    return ItemGraph(_operator(found.adjacency), found)


def _candidate_distances(nearest: NearestItems, depth: int) -> csr_array:
    """Return the distances 1 - K of pairs of which one item lists the other, symmetric."""
    n_items = len(nearest.items)
    items, similarity = nearest.items[:, :depth], nearest.similarity[:, :depth]
    row, place = np.nonzero(items >= 0)
    column = items[row, place]
    low, high = np.minimum(row, column), np.maximum(row, column)
    pairs, first = np.unique(low * n_items + high, return_index=True)
    distance = np.clip(1.0 - similarity[row, place][first].astype(np.float64), 0.0, 1.0)
    low, high = pairs // n_items, pairs % n_items
    ends = (np.concatenate([low, high]), np.concatenate([high, low]))
    return csr_array((np.concatenate([distance, distance]), ends), shape=(n_items, n_items))


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
