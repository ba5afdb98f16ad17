"""Which unobserved pairs are probably positives: the learned graph between users and items.

The paper's Algorithm 3, steps 2 to 4: cosine distances between the vectors of a trained
recommender, the most probable bipartite graph, and of that graph the pairs with the highest
weights, which leave the pool of negatives. The graph never enters the propagation and the
positives never change.

A weight is not a function of the distance alone: every user and every item must keep a degree
above zero, which raises the weights of those far from everything.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.errors import InputError
from truegraph.learning import LearnedGraph, learn_bipartite_graph
from truegraph.nn.recommenders.negatives import NegativePool
from truegraph.nn.recommenders.training import one_torch_thread
from truegraph.tasks.recommend.answer_tables import stored

PAPER_FRACTIONS = (0.01, 0.02, 0.05, 0.1, 0.2)
_ALL_PAIRS = 50_000_000  # up to here every pair is a candidate for an edge
_MOST_REMOVED = 50_000_000
_SPARE_CANDIDATES = 1.25
_SMALLEST_POOL = 0.01  # of the items
_SAMPLE = 200_000  # pairs on which the rank correlation is measured

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RankedPairs:
    """The pairs of users and items, the most probable positives first.

    Attributes
    ----------
    graph : LearnedGraph
        Its `candidates` hold the distances of its edges only.
    users, items : ndarray of int64, shape (n_ranked,)
        By learned weight, then by distance, then by number.
    weights : ndarray of float64, shape (n_ranked,)
        Learned weights; zero for pairs without an edge.
    shape : tuple (n_users, n_items)
    rank_correlation : float
        Spearman's between the weights of the edges and minus their distances.
    """

    graph: LearnedGraph
    users: NDArray[np.int64]
    items: NDArray[np.int64]
    weights: Floats
    shape: tuple[int, int]
    rank_correlation: float


@dataclass(frozen=True, eq=False)
class RemovedNegatives:
    """Pairs taken out of the pool of negatives.

    Attributes
    ----------
    pairs : csr_array of float64, shape (n_users, n_items)
        Learned weight of each removed pair; stored zeros are removed pairs without an edge.
    fraction : float
        The share of the pairs, or of the edges, that was asked for.
    kept : int
        Pairs that stayed in the pool so that no user's pool falls below 1 % of the items.
    """

    pairs: csr_array
    fraction: float
    kept: int

    @property
    def count(self) -> int:
        """Number of removed pairs."""
        return int(self.pairs.nnz)

    @property
    def per_user(self) -> NDArray[np.int64]:
        """Removed pairs of each user."""
        return np.diff(self.pairs.indptr).astype(np.int64)

    def overlap(self, held_out: csr_array) -> float:
        """Return the share of held-out pairs that were removed."""
        return self._common(held_out) / held_out.nnz if held_out.nnz else 0.0

    def precision(self, held_out: csr_array) -> float:
        """Return the share of removed pairs that are held out."""
        return self._common(held_out) / self.count if self.count else 0.0

    def _common(self, held_out: csr_array) -> int:
        return int(_ones(self.pairs).multiply(held_out != 0).nnz)


def rank_pairs(
    vectors: NDArray[np.floating],
    n_users: int,
    *,
    degree: float,
    largest: float = max(PAPER_FRACTIONS),
) -> RankedPairs:
    """Learn the graph between users and items, and rank the pairs by it.

    Parameters
    ----------
    vectors : ndarray of shape (n_users + n_items, d)
        Users first.
    n_users : int
    degree : float
        Mean degree of the learned graph. Pairs without an edge follow by their distance.
    largest : float, default=0.2
        Largest share of all pairs that will be removed.

    Returns
    -------
    ranked : RankedPairs
    """
    unit = _unit_rows(np.asarray(vectors, dtype=np.float64))
    n_items = len(unit) - n_users
    pairs = n_users * n_items
    if largest * pairs > _MOST_REMOVED:
        raise InputError(
            f"fractions up to {largest:g} of {n_users} x {n_items} pairs are {largest * pairs:.2g} "
            f"pairs, but at most {_MOST_REMOVED:.0e} can be removed; use smaller fractions."
        )
    wanted = min(degree, 2.0 * pairs / len(unit))
    if pairs <= _ALL_PAIRS:
        users, items = torch.from_numpy(unit).split([n_users, n_items])
        with one_torch_thread():
            distances = (1.0 - users @ items.T).clamp_(0.0, 2.0).numpy()
        graph = learn_bipartite_graph(distances, metric="precomputed", degree=wanted)
    else:
        nearest = _SPARE_CANDIDATES * max(wanted, largest * n_items)
        graph = learn_bipartite_graph(
            unit[:n_users],
            unit[n_users:],
            metric="cosine",
            degree=wanted,
            candidate_ratio=max(_SPARE_CANDIDATES, nearest / wanted),
            random_state=0,
        )
    return _ranked(graph, n_users, n_items)


def _unit_rows(vectors: Floats) -> Floats:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0.0, lengths, 1.0)


def _ranked(graph: LearnedGraph, n_users: int, n_items: int) -> RankedPairs:
    distances = csr_array(graph.candidates[:n_users, n_users:])
    users = np.repeat(np.arange(n_users), np.diff(distances.indptr))
    items = distances.indices.astype(np.int64)
    weights = _weights_at(graph.biadjacency, users, items)
    order = np.lexsort((distances.data, -weights))  # stable: equal pairs stay by number
    return RankedPairs(
        graph=_edges_only(graph),
        users=users[order],
        items=items[order],
        weights=weights[order],
        shape=(n_users, n_items),
        rank_correlation=_rank_correlation(weights, distances.data),
    )


def _weights_at(weights: csr_array, users: NDArray[np.int64], items: NDArray[np.int64]) -> Floats:
    """Return the weights of pairs that are ordered by user and item; zero without an edge."""
    found = np.zeros(len(users))
    width = weights.shape[1]
    rows = np.repeat(np.arange(weights.shape[0]), np.diff(weights.indptr))
    edges = rows * width + weights.indices
    found[np.searchsorted(users * width + items, edges)] = weights.data
    return found


def _edges_only(graph: LearnedGraph) -> LearnedGraph:
    """Forget the distances of pairs without an edge, which are most of the memory."""
    shifted = graph.candidates.copy()
    shifted.data = shifted.data + 1.0  # a product of patterns would lose distances of zero
    kept = csr_array(_ones(graph.adjacency).multiply(shifted))
    kept.data = kept.data - 1.0
    return replace(graph, candidates=kept)


def _rank_correlation(weights: Floats, distances: Floats) -> float:
    from scipy.stats import spearmanr

    edges = np.flatnonzero(weights > 0.0)
    edges = edges[:: max(1, len(edges) // _SAMPLE)]
    if len(edges) < 3 or np.ptp(distances[edges]) == 0.0 or np.ptp(weights[edges]) == 0.0:
        return float("nan")
    return float(spearmanr(weights[edges], -distances[edges]).statistic)


def remove_negatives(
    ranked: RankedPairs,
    train: csr_array,
    fraction: float,
    *,
    fraction_of: Literal["pairs", "links"] = "pairs",
    exclude_train: bool = False,
) -> RemovedNegatives:
    """Choose the pairs that leave the pool of negatives.

    Parameters
    ----------
    ranked : RankedPairs
    train : csr_array of shape (n_users, n_items)
        Training interactions; they are no negatives anyway.
    fraction : float
    fraction_of : {"pairs", "links"}, default="pairs"
        Share of all user-item pairs, or of the edges of the learned graph.
    exclude_train : bool, default=False
        Whether to leave training pairs out before the highest are taken, not after.
    """
    if fraction_of not in ("pairs", "links"):
        raise InputError(f'fraction_of={fraction_of!r} must be "pairs" or "links".')
    if not 0.0 <= fraction <= 1.0:
        raise InputError(f"fraction={fraction!r} must lie between 0 and 1.")
    n_users, n_items = ranked.shape
    total = n_users * n_items if fraction_of == "pairs" else np.count_nonzero(ranked.weights)
    count = round(fraction * total)
    is_new = ~stored(train, ranked.users, ranked.items)
    chosen = np.flatnonzero(is_new)[:count] if exclude_train else np.flatnonzero(is_new[:count])
    kept = _floor_of_pools(ranked, train, chosen)
    parts = (ranked.weights[kept], (ranked.users[kept], ranked.items[kept]))
    removed = csr_array(parts, shape=ranked.shape)
    return RemovedNegatives(removed, fraction, len(chosen) - len(kept))


def _floor_of_pools(
    ranked: RankedPairs, train: csr_array, chosen: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the chosen pairs without the last ones of users whose pool would be too small."""
    n_users, n_items = ranked.shape
    least = max(1, int(np.ceil(_SMALLEST_POOL * n_items)))
    pool = n_items - np.diff(train.indptr)
    most = np.maximum(pool - least, 0)  # how many pairs of each user may go
    users = ranked.users[chosen]
    order = np.argsort(users, kind="stable")
    counts = np.bincount(users, minlength=n_users)
    place = np.empty(len(users), dtype=np.int64)
    place[order] = np.arange(len(users)) - np.repeat(np.cumsum(counts) - counts, counts)
    return chosen[place < most[users]]


def pool_without(pool: NegativePool, removed: RemovedNegatives) -> NegativePool:
    """Return the pool that the removed pairs have left."""
    return pool.without(_ones(removed.pairs))


def _ones(matrix: csr_array) -> csr_array:
    """Return ones where a matrix has stored entries."""
    parts = (np.ones(matrix.nnz), matrix.indices, matrix.indptr)
    return csr_array(parts, shape=matrix.shape)
