"""Problems whose answer is known, and checks of an answer that use nothing of the solvers.

For tests. All are in the one-parameter form: over symmetric weights
w >= 0 of the pairs e = (i, j), each counted once, with d_i the sum of the weights at node i::

    minimise  2 theta z'w + |w|^2 - sum_i log d_i

>>> from truegraph import learn_graph
>>> from lab.known_problems import ring
>>> problem = ring(12, theta=2.0)
>>> options = {"theta": problem.theta, "tol": 1e-12}
>>> graph = learn_graph(problem.points, graph_model="paper", scope="global", options=options)
>>> bool(abs(graph.adjacency - problem.adjacency).max() < 1e-6)
True
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph import LearnedGraph, gate, learn_graph
from truegraph.data.adjacency import as_adjacency
from truegraph.learning.settings import OPTIONS

Floats = NDArray[np.float64]


def paper_graph(X: Any, degree: float | str = "auto", **parameters: Any) -> LearnedGraph:
    """Learn the graph of the paper's plain model; rare options are given by name, too."""
    options = {name: parameters.pop(name) for name in [*parameters] if name in OPTIONS}
    given = {**parameters.pop("options", {}), **options}
    return learn_graph(X, degree, graph_model="paper", options=given, **parameters)


@dataclass(frozen=True)
class KnownProblem:
    """Points, a theta, and the one graph that is optimal among all pairs.

    Attributes
    ----------
    points : ndarray of shape (n_nodes, dimension)
    theta : float
    adjacency : csr_array of shape (n_nodes, n_nodes)
    """

    points: Floats
    theta: float
    adjacency: csr_array


def two_nodes(distance: float = 1.0, theta: float = 1.0) -> KnownProblem:
    """Two nodes at a squared distance: w solves w^2 + theta z w = 1."""
    return regular_simplex(2, distance, theta)


def regular_simplex(n_nodes: int, distance: float = 1.0, theta: float = 1.0) -> KnownProblem:
    """Nodes whose squared distances z are all equal.

    All weights are equal by symmetry, w^2 + theta z w = 1 / (n - 1).
    """
    z = theta * distance
    share = 1.0 / (n_nodes - 1)
    # The positive root, written without cancellation.
    weight = 2.0 * share / (z + np.sqrt(z * z + 4.0 * share))
    weights = weight * (np.ones((n_nodes, n_nodes)) - np.eye(n_nodes))
    return KnownProblem(np.sqrt(0.5 * distance) * np.eye(n_nodes), theta, as_adjacency(weights))


def ring(n_nodes: int, theta: float = 1.0) -> KnownProblem:
    """Nodes evenly spaced on the unit circle.

    All nodes have one multiplier lam by symmetry; a pair s places apart has the weight
    max(0, lam - theta z_s), where z_s = (2 sin(pi s / n))^2 and lam times the degree is 1.
    """
    places = np.arange(1, n_nodes)
    z = theta * (2.0 * np.sin(np.pi * places / n_nodes)) ** 2
    weights = np.maximum(0.0, _common_multiplier(np.sort(z)) - z)
    gap = (np.arange(n_nodes)[:, None] - np.arange(n_nodes)) % n_nodes
    angles = 2.0 * np.pi * np.arange(n_nodes) / n_nodes
    points = np.column_stack([np.cos(angles), np.sin(angles)])
    # Both ways around are the same place; take one of them, so that no rounding tells them apart.
    circulant = np.concatenate([[0.0], weights])[np.minimum(gap, n_nodes - gap) % n_nodes]
    return KnownProblem(points, theta, as_adjacency(circulant))


def _common_multiplier(z: Floats) -> float:
    """Return lam with lam sum_e max(0, lam - z_e) = 1, for ascending z."""
    sums = np.cumsum(z)
    for count in range(1, z.size + 1):
        total = sums[count - 1]
        lam = (total + np.sqrt(total * total + 4.0 * count)) / (2.0 * count)
        if count == z.size or lam <= z[count]:
            break
    return float(lam)


def planted_clusters(
    n_clusters: int = 4,
    size: int = 25,
    *,
    dimension: int = 3,
    separation: float = 50.0,
    random_state: int = 0,
) -> tuple[Floats, NDArray[np.int64]]:
    """Draw points in groups far apart; a sparse learned graph has the groups as components.

    Returns
    -------
    points : ndarray of shape (n_clusters * size, dimension)
    labels : ndarray of shape (n_clusters * size,)
    """
    rng = np.random.default_rng(random_state)
    labels = np.repeat(np.arange(n_clusters), size)
    centres = np.zeros((n_clusters, dimension))
    centres[:, 0] = separation * np.arange(n_clusters)
    return centres[labels] + rng.normal(size=(labels.size, dimension)), labels


def primal_objective(adjacency: csr_array, distances: csr_array, theta: float) -> float:
    """Return the objective of a graph.

    Parameters
    ----------
    adjacency : csr_array of shape (n_nodes, n_nodes)
        Symmetric, with every edge among the pairs stored in `distances`.
    distances : csr_array of shape (n_nodes, n_nodes)
    theta : float
    """
    adjacency = gate.sparse_matrix("adjacency", adjacency, nonnegative=True)
    distances = gate.sparse_matrix("distances", distances, shape=adjacency.shape, nonnegative=True)
    degrees = np.asarray(adjacency.sum(axis=1)).ravel()
    linear = theta * adjacency.multiply(distances).sum()
    return float(linear + 0.5 * (adjacency.data**2).sum() - np.log(degrees).sum())


def dual_bound(multipliers: Floats, distances: csr_array, theta: float) -> float:
    """Return the lower bound that node multipliers > 0 give on every graph's objective.

    Parameters
    ----------
    multipliers : ndarray of shape (n_nodes,)
    distances : csr_array of shape (n_nodes, n_nodes)
        Distances of the pairs, both directions stored.
    theta : float
    """
    multipliers = gate.numbers("multipliers", multipliers, nonnegative=True)
    shape = (multipliers.size, multipliers.size)
    pairs = gate.sparse_matrix("distances", distances, shape=shape, nonnegative=True).tocoo()
    slack = 0.5 * (multipliers[pairs.row] + multipliers[pairs.col]) - theta * pairs.data
    return float((1.0 + np.log(multipliers)).sum() - 0.5 * (np.maximum(0.0, slack) ** 2).sum())
