"""Nodes that join after the fit: the observed graph and the features, extended.

New nodes are numbered after the N fitted ones: N, N + 1, ... in the order of their features.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_diag, csr_array, vstack

from truegraph import gate
from truegraph.classify.inputs import NodeInputs, check_features, degrees, nearest_fitted
from truegraph.data.adjacency import adjacency_from_edges
from truegraph.data.operators import normalise_features
from truegraph.errors import InputError


def extend_inputs(inputs: NodeInputs, features: Any, edges: Any) -> NodeInputs:
    """Add new nodes to features and graph.

    Parameters
    ----------
    inputs : NodeInputs
        Those of the N fitted nodes.
    features : array-like or sparse matrix of shape (M, F), or None
        Features of the new nodes; None only if the fit had none either: M is then read from the
        edges, and a new node is known by its edges alone.
    edges : array-like of shape (E, 2) or (E, 3), or None
        Pairs of node numbers, optionally with a weight; at least one end of each is new. None: no
        edges, or, if the graph is the neighbour graph of the features, from the nearest fitted
        nodes to them: new nodes learn from fitted ones, not the other way round, so that each is
        predicted alike in any company.

    Returns
    -------
    NodeInputs
        Of N + M nodes.
    """
    fitted = inputs.n_nodes
    table = None if edges is None else _checked_edges(edges, fitted)
    new = _new_features(inputs, features, table)
    count = new.shape[0]
    graph = _extended_graph(inputs.graph, table, count)
    if table is None and inputs.graph_from == "neighbours":
        own, near = nearest_fitted(inputs.raw, new).T
        graph = csr_array(graph + csr_array((np.ones(len(own)), (own, near)), shape=graph.shape))
    if inputs.features_from == "degree":
        raw = degrees(graph)
    else:
        raw = csr_array(vstack([inputs.raw, new], format="csr"))
    return replace(
        inputs, raw=raw, features=normalise_features(raw, by=inputs.normalised_by), graph=graph
    )


def _checked_edges(edges: Any, fitted: int) -> NDArray[np.float64]:
    """Return edges as numbers, shape (E, 2) or (E, 3)."""
    table = gate.as_floats("edges", edges)
    if table.size == 0:
        return np.empty((0, 2))
    if table.ndim != 2 or table.shape[1] not in (2, 3):
        raise InputError(f"edges has shape {table.shape}; give one pair (i, j) per row.")
    gate.check_finite("edges", table)
    ends = table[:, :2]
    if (ends != np.floor(ends)).any() or (ends < 0).any():
        raise InputError("edges must hold node numbers 0, 1, 2, ... in its pairs.")
    old = (ends < fitted).all(axis=1)
    if old.any():
        first, second = ends[old.argmax()].astype(int)
        raise InputError(
            f"edges joins the fitted nodes {first} and {second}; give edges of new nodes only, "
            f"which are numbered from {fitted} on."
        )
    return table


def _new_features(
    inputs: NodeInputs, features: Any, edges: NDArray[np.float64] | None
) -> csr_array:
    fitted, width = inputs.raw.shape
    if inputs.features_from == "given":
        if features is None:
            raise InputError(f"X is None; give the {width} features of each new node.")
        new = check_features(features, np.shape(features)[0] if np.ndim(features) else 0, "X")
        if new.shape[1] != width:
            raise InputError(
                f"X has {new.shape[1]} features, but the fitted nodes have {width}; give the same."
            )
        return new
    if features is not None:
        raise InputError("X is given, but the classifier was fitted without features; use X=None.")
    if edges is None or not len(edges):
        raise InputError("edges is empty; without features, new nodes are known by edges alone.")
    count = int(edges[:, :2].max()) + 1 - fitted
    if count > edges.shape[0] * 2:
        raise InputError(
            f"edges names node {fitted + count - 1}, but has too few edges for that many new nodes "
            f"without features; number them {fitted}, {fitted + 1}, ..."
        )
    return csr_array((count, width), dtype=np.float64)


def _extended_graph(graph: csr_array, edges: NDArray[np.float64] | None, count: int) -> csr_array:
    total = graph.shape[0] + count
    extended = csr_array(block_diag([graph, csr_array((count, count))], format="csr"))
    if edges is None or not len(edges):
        return extended
    weights = edges[:, 2] if edges.shape[1] == 3 else None
    sources, targets = edges[:, :2].astype(np.int64).T
    added = adjacency_from_edges(sources, targets, weights, total)
    return csr_array(extended + added)
