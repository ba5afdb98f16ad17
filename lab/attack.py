"""Edges chosen to do harm: a gradient attack on a linear classifier of two steps over the graph.

In the manner of metattack (Zügner and Günnemann, 2019), for small graphs. The attacker sees the
graph, the features and the training labels, no others: what the surrogate predicts on the clean
graph stands for the rest. The surrogate is ridge regression on S S Z, where S is the normalised
adjacency and Z are the features in few dimensions; its weights have a closed form, so that the
gradient of the loss passes through the training exactly. Pairs of nodes are flipped a few at a
time, those that raise the loss on unlabelled nodes most, and everything is computed anew. Not all
pairs are looked at in each step, but a sample of those without an edge and all edges, so that
memory grows with the edges only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, eye_array, triu
from scipy.special import softmax
from sklearn.utils.extmath import randomized_svd

from lab.perturbation import check_share
from truegraph import gate
from truegraph.data.adjacency import adjacency_from_edges, as_adjacency
from truegraph.runtime.threads import one_blas_thread

_DIMENSION = 64
_PENALTY = 0.1
_SHARPNESS = 5.0  # from the scores of ridge regression to those of a softmax
_STEPS = 100  # in which as many pairs are flipped as there are edges
_SAMPLE = 100_000  # pairs without an edge that are looked at in each step
_AT_ONCE = 50_000

Matrix = NDArray[np.float64]
Pairs = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Slope:
    """How the loss changes with the weight of a pair's edge.

    Attributes
    ----------
    left, right : ndarray of shape (N, 2 d)
        The entry (i, j) of the gradient by S is left[i] @ right[j].
    root : ndarray of shape (N,)
        One over the root of each degree.
    by_degree : ndarray of shape (N,)
        Change of the loss by each degree.
    """

    left: Matrix
    right: Matrix
    root: NDArray[np.float64]
    by_degree: NDArray[np.float64]

    def of(self, pairs: Pairs) -> NDArray[np.float64]:
        """Return the derivative of the loss by the edges of pairs (P, 2)."""
        found = np.empty(len(pairs))
        for start in range(0, len(pairs), _AT_ONCE):
            one, two = pairs[start : start + _AT_ONCE].T
            direct = np.einsum("ij,ij->i", self.left[one], self.right[two])
            direct += np.einsum("ij,ij->i", self.left[two], self.right[one])
            direct *= self.root[one] * self.root[two]
            found[start : start + _AT_ONCE] = direct + self.by_degree[one] + self.by_degree[two]
        return found


class _Surrogate:
    """Ridge regression on features averaged twice over a graph."""

    def __init__(
        self, points: Matrix, train: NDArray[np.int64], labels: NDArray[np.int64], classes: int
    ) -> None:
        self._points, self._train = points, train
        self._wanted = np.eye(classes)[labels] - 1.0 / classes

    def _fitted(self, smoothed: Matrix) -> tuple[Matrix, Matrix]:
        rows = smoothed[self._train]
        penalised = rows.T @ rows + _PENALTY * np.eye(rows.shape[1])
        gram = np.asarray(np.linalg.inv(penalised), dtype=np.float64)
        return gram @ (rows.T @ self._wanted), gram

    def classes(self, graph: csr_array) -> NDArray[np.int64]:
        """Return the class of every node: (N,)."""
        operator, _ = _normalised(graph)
        smoothed = operator @ (operator @ self._points)
        found = (smoothed @ self._fitted(smoothed)[0]).argmax(axis=1)
        found[self._train] = self._wanted.argmax(axis=1)
        return found

    def slope(self, graph: csr_array, believed: NDArray[np.int64]) -> Slope:
        """Return the gradient of the loss on nodes that are not for training, by all pairs."""
        operator, degree = _normalised(graph)
        once = operator @ self._points
        smoothed = operator @ once
        weights, gram = self._fitted(smoothed)
        error = softmax(_SHARPNESS * (smoothed @ weights), axis=1)
        error[np.arange(len(error)), believed] -= 1.0
        error[self._train] = 0.0
        error *= _SHARPNESS / len(error)
        by_rows = error @ weights.T
        # The weights depend on the graph through the rows of training nodes.
        rows = smoothed[self._train]
        turned = gram @ (smoothed.T @ error)
        by_rows[self._train] += (self._wanted - rows @ weights) @ turned.T
        by_rows[self._train] -= rows @ turned @ weights.T
        spread = operator @ by_rows
        through = np.einsum("ij,ij->i", by_rows, smoothed)
        through += 2.0 * np.einsum("ij,ij->i", spread, once)
        through += np.einsum("ij,ij->i", operator @ spread, self._points)
        return Slope(
            np.hstack([by_rows, spread]),
            np.hstack([once, self._points]),
            1.0 / np.sqrt(degree),
            -0.5 * through / degree,
        )


def attack_graph(
    graph: Any,
    features: Any,
    labels: Any,
    train: Any,
    share: float,
    *,
    random_state: int = 0,
) -> csr_array:
    """Flip pairs of nodes so that classifiers trained on the graph do badly.

    Parameters
    ----------
    graph : anything that `truegraph.data.as_adjacency` understands
        Weights are not looked at.
    features : array or sparse matrix of shape (N, F)
    labels : array-like of int, shape (N,)
        Only those of `train` are read.
    train : array-like of int
    share : float >= 0
        Pairs to flip as a share of the edges; added ones are by far the most. For a given graph
        and seed, a larger share flips all that a smaller one does.
    random_state : int

    Returns
    -------
    csr_array of float64, shape (N, N)
        0/1, symmetric.
    """
    check_share("share", share)
    adjacency = as_adjacency(graph)
    upper = triu(adjacency, k=1, format="coo")
    flips = attack_flips(
        adjacency, features, labels, train, round(share * upper.nnz), random_state=random_state
    )
    return flipped(adjacency, flips)


def attack_flips(
    graph: csr_array, features: Any, labels: Any, train: Any, count: int, *, random_state: int = 0
) -> Pairs:
    """Return the pairs that `attack_graph` flips, in their order: (count, 2)."""
    chosen = gate.indices("train", train, graph.shape[0])
    own = gate.whole_numbers("labels", labels, length=graph.shape[0])[chosen]
    surrogate = _Surrogate(_points(features), chosen, own, int(own.max()) + 1)
    generator = np.random.default_rng([random_state, 2])
    edges = triu(graph, k=1).nnz
    at_once = max(1, round(edges / _STEPS))
    found = np.zeros((0, 2), dtype=np.int64)
    current = flipped(graph, found)
    with one_blas_thread():
        believed = surrogate.classes(current)
        while len(found) < count:
            slope = surrogate.slope(current, believed)
            pairs = _best_flips(slope, current, found, at_once, generator)
            if not len(pairs):
                break
            found = np.concatenate([found, pairs])
            current = flipped(graph, found)
    return found[:count]


def _best_flips(
    slope: Slope,
    graph: csr_array,
    before: Pairs,
    count: int,
    generator: np.random.Generator,
) -> Pairs:
    """Return up to `count` pairs whose flips raise the loss most, no node twice."""
    nodes = graph.shape[0]
    upper = triu(graph, k=1, format="coo")
    edges = np.column_stack([upper.row, upper.col]).astype(np.int64)
    drawn = np.sort(generator.integers(0, nodes, (_SAMPLE, 2)), axis=1)
    drawn = drawn[drawn[:, 0] < drawn[:, 1]]
    keys = [pairs @ np.array([nodes, 1]) for pairs in (drawn, edges, before)]
    free = np.setdiff1d(np.unique(keys[0]), np.concatenate(keys[1:]))
    degree = np.diff(graph.indptr)
    lonely = (degree[edges] <= 1).any(axis=1)  # nobody loses the last edge
    removable = edges[~lonely & ~np.isin(keys[1], keys[2])]
    new = np.column_stack([free // nodes, free % nodes])
    pairs = np.concatenate([new, removable])
    gain = slope.of(pairs) * np.repeat([1.0, -1.0], [len(new), len(removable)])
    touched = np.zeros(nodes, dtype=bool)
    found: list[NDArray[np.int64]] = []
    for pair in pairs[np.argsort(-gain, kind="stable")[: 20 * count]]:
        if not touched[pair].any() and len(found) < count:
            touched[pair] = True
            found.append(pair)
    return np.array(found, dtype=np.int64).reshape(-1, 2)


def flipped(graph: csr_array, pairs: Pairs) -> csr_array:
    """Return a 0/1 graph in which pairs (P, 2) that had an edge have none, and the others one."""
    nodes = graph.shape[0]
    upper = triu(graph, k=1, format="coo")
    old = upper.row.astype(np.int64) * nodes + upper.col
    keys = np.setxor1d(old, pairs @ np.array([nodes, 1]))
    return adjacency_from_edges(keys // nodes, keys % nodes, None, nodes)


def _normalised(graph: csr_array) -> tuple[csr_array, NDArray[np.float64]]:
    middle = csr_array(graph + eye_array(graph.shape[0], format="csr"))
    degree = np.asarray(middle.sum(axis=1), dtype=np.float64).ravel()
    root = diags_array(1.0 / np.sqrt(degree))
    return csr_array(root @ middle @ root), degree


def _points(features: Any) -> Matrix:
    """Return the rows of the features at length one, in few dimensions: (N, d)."""
    rows = csr_array(gate.table("features", features))
    length = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    rows = csr_array(diags_array(1.0 / np.maximum(length, 1e-12)) @ rows)
    dimension = min(_DIMENSION, *rows.shape)
    with one_blas_thread():
        left, size, _ = randomized_svd(rows, dimension, n_iter=4, random_state=0)
    found: Matrix = left * size
    return found
