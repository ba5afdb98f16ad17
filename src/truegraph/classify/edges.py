"""Which observed edges look false: the probability that each of them is real.

A false edge joins two nodes that nothing else brings together: their features are no more alike
than those of any two nodes, and neither are their other neighbours. A logistic regression between
observed edges and random pairs of nodes gives the ratio r of how frequent a pair like this is
among the ones and among the others. If a share f of the edges is random, r is f where no real edge
is found, so that the smallest ratio tells f, and an edge is real with probability 1 - f / r. No
label is needed. `EdgeModel` learns this from features and other edges, to clean the observed
graph before anything else; `edge_probabilities` looks once more after a fit: neighbours now count
by the probability that their edges are real, and whether the two ends are predicted to be of one
class is evidence too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, triu
from sklearn.linear_model import LogisticRegression

from truegraph import gate
from truegraph.classify.inputs import NodeInputs
from truegraph.classify.spaces import FeatureSpace, Matrix, unit_rows
from truegraph.data.operators import without_diagonal
from truegraph.data.row_products import row_products
from truegraph.errors import InputError
from truegraph.runtime.threads import one_blas_thread
from truegraph.saving import savable

if TYPE_CHECKING:
    import pandas as pd

_LEAST_EDGES = 50  # ten for each column of evidence
_MOST_PAIRS = 100_000  # of either kind that the regression sees
_AT_ONCE = 20_000  # pairs in memory
# lab/choose/auto_edges.py
_ALONE = 0.25  # weight of other neighbours below which a node has none
_UNLIKE = (0.3, 0.5, 0.7)  # quantiles of random pairs below which few real edges are expected

_LEAST_CHANCE = 1e-3  # that two ends are of one class: keeps logarithms finite

Floats = NDArray[np.float64]
Pairs = tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]]


@savable
class EdgeModel:
    """How to tell real edges with evidence (E, k) from random pairs with evidence (P, k).

    The logarithm of r is (x - shift) * scale @ coefficients + intercept for evidence x.
    """

    def __init__(self, observed: Floats, random: Floats) -> None:
        everything = np.vstack([observed, random])
        self.shift, deviation = everything.mean(axis=0), everything.std(axis=0)
        inverse = np.zeros_like(deviation)
        self.scale = np.divide(1.0, deviation, out=inverse, where=deviation > 1e-9)
        is_real = np.repeat([1, 0], [len(observed), len(random)])
        with one_blas_thread():
            model = LogisticRegression(max_iter=500)
            model.fit((everything - self.shift) * self.scale, is_real)
            self.coefficients = model.coef_[0]
            of_edges, of_random = (
                (rows - self.shift) * self.scale @ self.coefficients for rows in (observed, random)
            )
        self.intercept = float(model.intercept_[0] + np.log(len(random) / len(observed)))
        bounds = np.quantile(of_random, _UNLIKE)
        share = min(np.mean(of_edges <= bound) / np.mean(of_random <= bound) for bound in bounds)
        self.false_share = float(min(share, 1.0))

    def _check_saved(self) -> None:
        for name in ("scale", "coefficients"):
            gate.array(name, getattr(self, name), self.shift.shape)
        if not (0.0 <= self.false_share <= 1.0 and np.isfinite(self.intercept)):
            raise InputError("the intercept or the share of false edges is out of range.")

    def real(self, found: Floats) -> Floats:
        """Return the probability that edges with evidence (E, k) are real: (E,)."""
        logs = (found - self.shift) * self.scale @ self.coefficients + self.intercept
        return np.clip(1.0 - self.false_share * np.exp(-np.clip(logs, -50.0, 50.0)), 0.0, 1.0)

    def cleaned(self, graph: csr_array, coordinates: Matrix) -> csr_array:
        """Return a graph (N', N') whose edges count by the probability that they are real."""
        edges = coo_array(triu(without_diagonal(graph), 1))
        real = self.real(evidence(links_of(graph), coordinates, (edges.row, edges.col), True))
        kept = real > 0.0
        parts = (edges.data * real)[kept], (edges.row[kept], edges.col[kept])
        upper = csr_array(parts, shape=graph.shape)
        return csr_array(upper + upper.T)


def links_of(graph: csr_array) -> csr_array:
    """Return a graph without its diagonal, every edge counting one."""
    links = without_diagonal(graph)
    links.data[:] = 1.0
    return links


def edge_model(graph: csr_array, coordinates: Matrix) -> EdgeModel | None:
    """Learn what tells edges of a graph (N, N) from random pairs; None if there are too few."""
    found = edges_and_pairs(graph)
    if found is None or coordinates.shape[1] == 0:
        return None
    links, (edges, pairs) = links_of(graph), found
    return EdgeModel(
        evidence(links, coordinates, edges, are_edges=True),
        evidence(links, coordinates, pairs, are_edges=False),
    )


def edges_and_pairs(graph: csr_array) -> tuple[Pairs, Pairs] | None:
    """Draw edges of a graph, all if there are not very many, and as many random pairs."""
    edges = coo_array(triu(without_diagonal(graph), 1))
    if edges.nnz < _LEAST_EDGES:
        return None
    generator = np.random.default_rng(0)
    some = np.arange(edges.nnz)
    if edges.nnz > _MOST_PAIRS:
        some = np.sort(generator.choice(edges.nnz, _MOST_PAIRS, replace=False))
    # Isolated nodes have no edge to tell from random ones, and must not change what is drawn.
    linked = np.unique([edges.row, edges.col])
    drawn = linked[generator.integers(0, len(linked), (2, len(some)))]
    drawn = drawn[:, drawn[0] != drawn[1]]
    return (edges.row[some], edges.col[some]), (drawn[0], drawn[1])


def evidence(links: csr_array, coordinates: Matrix, pairs: Pairs, are_edges: bool) -> Floats:
    """Return evidence for an edge between two nodes, computed without that edge: (P, 5)."""
    degree = np.asarray(links.sum(axis=1), dtype=np.float64).ravel()
    rarity = 1.0 / np.log(np.maximum(degree, 2.0))
    weighted = links.data * np.sqrt(rarity)[links.indices]
    shared = csr_array((weighted, links.indices, links.indptr), shape=links.shape)
    common = row_products(shared, shared, np.column_stack(pairs))
    own = unit_rows(coordinates)
    around = np.asarray(links.astype(np.float32) @ own)
    found = np.empty((len(pairs[0]), 5))
    for start in range(0, len(found), _AT_ONCE):
        one, two = (ends[start : start + _AT_ONCE] for ends in pairs)
        first, second = own[one], own[two]
        less = np.asarray(links[one, two]).ravel() if are_edges else np.zeros(len(one))
        step = less.astype(np.float32)[:, None]
        alone = [degree[ends] - less < _ALONE for ends in (one, two)]
        near_one = unit_rows((around[one] - step * second) * ~alone[0][:, None])
        near_two = unit_rows((around[two] - step * first) * ~alone[1][:, None])
        found[start : start + _AT_ONCE] = np.column_stack(
            [
                _products(first, second),
                _products(first, near_two) + _products(second, near_one),
                _products(near_one, near_two),
                np.log1p(3.0 * common[start : start + _AT_ONCE]),
                alone[0] * 1.0 + alone[1],
            ]
        )
    return found


def _products(first: Matrix, second: Matrix) -> NDArray[np.float32]:
    return np.einsum("ij,ij->i", first, second)


def edge_probabilities(
    inputs: NodeInputs, probabilities: NDArray[np.floating], trusts_neighbours: bool
) -> csr_array:
    """Return the probability that each observed edge is real."""
    if inputs.graph_from != "given" or inputs.features_from != "given":
        raise InputError(
            "suspect edges need an observed graph and features; give graph and X at fit."
        )
    coordinates = FeatureSpace(inputs.raw).coordinates(inputs.raw)
    model, drawn = edge_model(inputs.graph, coordinates), edges_and_pairs(inputs.graph)
    if model is None or drawn is None:
        raise InputError("too few edges to learn what a real one looks like; give 50 or more.")
    links = without_diagonal(model.cleaned(links_of(inputs.graph), coordinates))
    chances = np.asarray(probabilities, dtype=np.float64)

    def known(pairs: Pairs, are_edges: bool) -> Floats:
        found = evidence(links, coordinates, pairs, are_edges)
        alike = np.einsum("ec,ec->e", chances[pairs[0]], chances[pairs[1]])
        logs = np.log(alike + _LEAST_CHANCE)[:, None]
        return np.hstack([found if trusts_neighbours else found[:, :1], logs])

    model = EdgeModel(known(drawn[0], True), known(drawn[1], False))
    edges = coo_array(triu(without_diagonal(inputs.graph), 1))
    real = model.real(known((edges.row, edges.col), True))
    both = (np.tile(real, 2), (np.r_[edges.row, edges.col], np.r_[edges.col, edges.row]))
    return csr_array(both, shape=inputs.graph.shape)


def suspects(
    real: csr_array, classes: NDArray[Any], k: int | None, threshold: float
) -> pd.DataFrame:
    """Return the edges that look false, the falsest first."""
    import pandas as pd

    if not 0.0 <= threshold <= 1.0:
        raise InputError(f"threshold={threshold} must be a probability between 0 and 1.")
    edges = coo_array(real)
    upper = np.flatnonzero((edges.row < edges.col) & (edges.data <= threshold))
    order = upper[np.argsort(edges.data[upper], kind="stable")]
    if k is not None:
        order = order[: gate.whole_number("k", k, at_least=1)]
    source, target = edges.row[order], edges.col[order]
    return pd.DataFrame(
        {
            "source": source.astype(np.int64),
            "target": target.astype(np.int64),
            "probability": edges.data[order],
            "source_class": classes[source],
            "target_class": classes[target],
        }
    )
