"""Graphs with edges removed or added, and features with noise, to see how a method copes.

`attack` has edges that are chosen to do harm.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, triu, vstack

from truegraph import gate
from truegraph.data.adjacency import adjacency_from_edges, as_adjacency
from truegraph.errors import InputError

FEATURE_NOISE = ("bernoulli", "normal", "shuffled", "shifted")


def perturb_graph(
    graph: Any, *, removed: float = 0.0, added: float = 0.0, random_state: int = 0
) -> csr_array:
    """Remove a share of the edges at random, and add random ones between unlinked nodes.

    Parameters
    ----------
    graph : anything that `truegraph.data.as_adjacency` understands
    removed : float in [0, 1]
        Share of the edges to remove. For a given graph and seed, a larger share removes all that a
        smaller one does.
    added : float >= 0
        New edges, of weight 1, as a share of the edges that the graph had.
    random_state : int

    Returns
    -------
    csr_array of float64, shape (N, N)
    """
    if not 0.0 <= removed <= 1.0:
        raise InputError(f"removed={removed} must be a share between 0 and 1.")
    check_share("added", added)
    adjacency = as_adjacency(graph)
    upper = triu(adjacency, k=1, format="coo")
    order = np.random.default_rng([random_state, 0]).permutation(upper.nnz)
    kept = np.sort(order[round(removed * upper.nnz) :])
    new = _unlinked(adjacency, round(added * upper.nnz), random_state)
    return adjacency_from_edges(
        np.concatenate([upper.row[kept], new[:, 0]]),
        np.concatenate([upper.col[kept], new[:, 1]]),
        np.concatenate([upper.data[kept], np.ones(len(new))]),
        adjacency.shape[0],
    )


def dice_graph(graph: Any, labels: Any, share: float, *, random_state: int = 0) -> csr_array:
    """Remove edges within classes and add as many between classes (DICE, Waniek et al. 2018).

    Parameters
    ----------
    graph : anything that `truegraph.data.as_adjacency` understands
    labels : array-like of int, shape (N,)
        The true classes; nodes of class -1 take no part.
    share : float >= 0
        Changes as a share of the edges. One half of them are removals, as long as there are edges
        within classes, the others are new edges of weight 1.
    random_state : int

    Returns
    -------
    csr_array of float64, shape (N, N)
    """
    check_share("share", share)
    adjacency = as_adjacency(graph)
    classes = gate.whole_numbers("labels", labels, length=adjacency.shape[0])
    upper = triu(adjacency, k=1, format="coo")
    changes = round(share * upper.nnz)
    alike = (classes[upper.row] == classes[upper.col]) & (classes[upper.row] >= 0)
    within = np.random.default_rng([random_state, 3]).permutation(np.flatnonzero(alike))
    removed = within[: changes // 2]
    new = _unlinked(adjacency, changes - len(removed), random_state, classes)
    kept = np.setdiff1d(np.arange(upper.nnz), removed)
    return adjacency_from_edges(
        np.concatenate([upper.row[kept], new[:, 0]]),
        np.concatenate([upper.col[kept], new[:, 1]]),
        np.concatenate([upper.data[kept], np.ones(len(new))]),
        adjacency.shape[0],
    )


def noisy_features(
    features: Any, nodes: Any, *, kind: str = "bernoulli", random_state: int = 0
) -> csr_array:
    """Replace the features of some nodes by noise that knows nothing of them.

    Parameters
    ----------
    features : array or sparse matrix of shape (N, F)
    nodes : array-like of int
        Whose features to replace.
    kind : {"bernoulli", "normal", "shuffled", "shifted"}
        "bernoulli": each column is 1 as often as it is not zero in all features, as the features
        of words are; "normal": standard normal numbers, unlike anything that words give;
        "shuffled": each column's entries among these nodes in another order; "shifted": their own
        features with the columns in another order, the same for all of them, as if words meant
        something else.
    random_state : int

    Returns
    -------
    csr_array of float64, shape (N, F)
    """
    if kind not in FEATURE_NOISE:
        raise InputError(f"kind={kind!r} must be one of {', '.join(FEATURE_NOISE)}.")
    rows = csr_array(gate.table("features", features))
    chosen = np.unique(gate.indices("nodes", nodes, rows.shape[0]))
    generator = np.random.default_rng([random_state, 4])
    shape = (len(chosen), rows.shape[1])
    if kind == "bernoulli":
        often = np.bincount(rows.indices, minlength=rows.shape[1]) / max(rows.shape[0], 1)
        noise = (generator.random(shape) < often).astype(np.float64)
    elif kind == "normal":
        noise = generator.normal(size=shape)
    elif kind == "shifted":
        noise = rows[chosen][:, generator.permutation(rows.shape[1])]
    else:
        noise = generator.permuted(rows[chosen].toarray(), axis=0)
    kept = np.setdiff1d(np.arange(rows.shape[0]), chosen)
    order = np.argsort(np.concatenate([kept, chosen]), kind="stable")
    return csr_array(csr_array(vstack([rows[kept], csr_array(noise)], format="csr"))[order])


def foreign_edges(graph: Any, nodes: Any, *, random_state: int = 0) -> csr_array:
    """Give some nodes random edges in place of their own, as many as they had.

    Parameters
    ----------
    graph : anything that `truegraph.data.as_adjacency` understands
    nodes : array-like of int
        Whose edges to replace; edges of the others with each other stay.
    random_state : int

    Returns
    -------
    csr_array of float64, shape (N, N)
        New edges have weight 1; a few are fewer where two were drawn alike.
    """
    adjacency = as_adjacency(graph)
    chosen = np.unique(gate.indices("nodes", nodes, adjacency.shape[0]))
    is_chosen = np.zeros(adjacency.shape[0], dtype=bool)
    is_chosen[chosen] = True
    upper = triu(adjacency, k=1, format="coo")
    kept = ~(is_chosen[upper.row] | is_chosen[upper.col])
    generator = np.random.default_rng([random_state, 5])
    sources = np.repeat(chosen, np.diff(adjacency.indptr)[chosen])
    targets = generator.integers(0, adjacency.shape[0], len(sources))
    pairs = np.sort(np.column_stack([sources, targets])[sources != targets], axis=1)
    new = np.unique(pairs, axis=0)
    return adjacency_from_edges(
        np.concatenate([upper.row[kept], new[:, 0]]),
        np.concatenate([upper.col[kept], new[:, 1]]),
        np.concatenate([upper.data[kept], np.ones(len(new))]),
        adjacency.shape[0],
    )


def check_share(name: str, share: float) -> None:
    """Raise an InputError for a share below 0 or without bound."""
    if not 0.0 <= share < np.inf:
        raise InputError(f"{name}={share} must be a share of at least 0.")


def _unlinked(
    adjacency: csr_array, count: int, seed: int, classes: NDArray[np.integer] | None = None
) -> NDArray[np.int64]:
    """Draw different pairs (count, 2) of nodes without an edge, first node below second.

    With classes only pairs of different ones, nodes of class -1 left out.
    """
    nodes = adjacency.shape[0]
    if classes is None:
        free = nodes * (nodes - 1) // 2 - triu(adjacency, k=1).nnz
    else:
        free = _free_between(adjacency, classes)
    if count > free:
        raise InputError(f"{count} edges cannot be added: only {free} pairs have none; add fewer.")
    generator = np.random.default_rng([seed, 1])
    upper = triu(adjacency, k=1, format="coo")
    taken = set((upper.row.astype(np.int64) * nodes + upper.col).tolist())
    found: list[int] = []
    while len(found) < count:
        ends = np.sort(generator.integers(0, nodes, size=(count, 2)), axis=1)
        if classes is not None:
            one, two = classes[ends].T
            ends = ends[(one != two) & (np.minimum(one, two) >= 0)]
        for key in (ends[ends[:, 0] != ends[:, 1]] @ np.array([nodes, 1])).tolist():
            if key not in taken and len(found) < count:
                taken.add(key)
                found.append(key)
    keys = np.array(found, dtype=np.int64)
    return np.column_stack([keys // nodes, keys % nodes])


def _free_between(adjacency: csr_array, classes: NDArray[np.integer]) -> int:
    """Return how many pairs of nodes of different classes have no edge."""
    sizes = np.bincount(classes[classes >= 0])
    total = int(sizes.sum()) ** 2 - int((sizes**2).sum())
    upper = triu(adjacency, k=1, format="coo")
    one, two = classes[upper.row], classes[upper.col]
    return total // 2 - int(((one != two) & (np.minimum(one, two) >= 0)).sum())
