"""Why a link is suggested: who and what two nodes share, and how near they are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.data.link_splits import Pairs
from truegraph.links.candidates import bipartite_sides

_NAMED = 3  # shared neighbours and features that are named


def explain(
    pairs: Pairs,
    graph: csr_array,
    features: csr_array | None,
) -> dict[str, Any]:
    """Return the columns of an explanation, one entry per pair each.

    Parameters
    ----------
    pairs : ndarray of int64, shape (n, 2)
    graph : csr_array, shape (N, N)
        All links that are known.
    features : csr_array, shape (N, F), or None

    Returns
    -------
    columns : dict
        common_neighbours : how many there are;
        through : up to three of them, those with the fewest links first; in a bipartite graph,
        where there are none, partners of the target that have a neighbour in common with the
        source;
        shared_features : up to three columns that both nodes have, the rarest first.
    """
    degree = np.diff(graph.indptr)
    shared = [_shared(graph, graph, pair) for pair in pairs]
    is_bipartite = len(pairs) > 0 and bipartite_sides(graph) is not None
    between = [_two_steps_on(graph, pair) for pair in pairs] if is_bipartite else shared
    return {
        "common_neighbours": np.array([len(nodes) for nodes in shared], dtype=np.int64),
        "through": [_first(nodes, degree) for nodes in between],
        "shared_features": shared_features(pairs, features, features),
    }


def shared_features(
    pairs: Pairs, first: csr_array | None, second: csr_array | None
) -> list[list[int]]:
    """Return up to three columns that both nodes of a pair have, the rarest first.

    A column that all nodes have tells no two apart, and in one with negative numbers, such as a
    scaled one, not to be 0 means nothing: neither is a reason.

    Parameters
    ----------
    pairs : ndarray of int64, shape (n, 2)
    first, second : csr_array, shapes (m, F) and (N, F), or None
        Features of the first and of the second nodes; the second say what is rare. None: there
        are none to be shared.
    """
    if first is None or second is None:
        return [[] for _ in pairs]
    rarity = np.bincount(second.indices, minlength=second.shape[1])
    is_reason = rarity < second.shape[0]
    is_reason[second.indices[second.data < 0.0]] = False
    shared = (_shared(first, second, pair) for pair in pairs)
    return [_first(columns[is_reason[columns]], rarity) for columns in shared]


def _shared(
    first: csr_array, second: csr_array, pair: NDArray[np.int64]
) -> NDArray[np.integer[Any]]:
    """Return the columns that a row of one sparse matrix and a row of another both have."""
    own, others = (
        rows.indices[rows.indptr[row] : rows.indptr[row + 1]]
        for rows, row in zip((first, second), pair, strict=True)
    )
    return np.intersect1d(own, others, assume_unique=True)


def _two_steps_on(graph: csr_array, pair: NDArray[np.int64]) -> NDArray[np.integer[Any]]:
    """Return the neighbours of a pair's second node that are two steps from its first."""
    own, others = (graph.indices[graph.indptr[node] : graph.indptr[node + 1]] for node in pair)
    ends = [graph.indices[graph.indptr[node] : graph.indptr[node + 1]] for node in own]
    return np.intersect1d(np.concatenate([*ends, others[:0]]), others)


def _first(found: NDArray[np.integer[Any]], count: NDArray[np.integer[Any]]) -> list[int]:
    """Return the few with the lowest counts, equal ones by their number."""
    order = np.lexsort((found, count[found]))[:_NAMED]
    return [int(number) for number in found[order]]
