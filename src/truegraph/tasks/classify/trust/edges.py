"""Which observed edges look false: the probability that each of them is real.

The committee's judge (`committee.cleaning`) tells edges from random pairs of nodes without labels.
Here it looks once more, after the fit: neighbours now count by the probability that their edges are
real, and whether the two ends are predicted to be of one class is evidence too. Where the observed
graph misleads, other edges are no evidence, and features and classes alone are left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, triu

from truegraph import gate
from truegraph.errors import InputError
from truegraph.nn.graph_operators import without_diagonal
from truegraph.tasks.classify.committee.cleaning import (
    Pairs,
    edges_and_pairs,
    evidence,
    fit_judge,
    judge_edges,
    links_of,
)
from truegraph.tasks.classify.committee.features import feature_space

if TYPE_CHECKING:
    import pandas as pd

    from truegraph.tasks.classify.inputs import NodeInputs

_LEAST_CHANCE = 1e-3  # that two ends are of one class: keeps logarithms finite


def edge_probabilities(
    inputs: NodeInputs, probabilities: NDArray[np.floating], trusts_neighbours: bool
) -> csr_array:
    """Return the probability that each observed edge is real.

    Parameters
    ----------
    inputs : NodeInputs
    probabilities : ndarray of shape (N, C)
        Of the classes.
    trusts_neighbours : bool
        Whether other edges of two nodes are evidence for theirs.

    Returns
    -------
    csr_array of float64, shape (N, N)
        Symmetric; one entry per observed edge, some of which may be zero.
    """
    if inputs.graph_from != "given" or inputs.features_from != "given":
        raise InputError(
            "edges are judged by a graph and features that were observed; give graph and X at fit."
        )
    coordinates = feature_space(inputs.raw).coordinates(inputs.raw)
    judge, drawn = judge_edges(inputs.graph, coordinates), edges_and_pairs(inputs.graph)
    if judge is None or drawn is None:
        raise InputError("too few edges to learn what a real one looks like; give 50 or more.")
    links = without_diagonal(judge.cleaned(links_of(inputs.graph), coordinates))
    chances = np.asarray(probabilities, dtype=np.float64)

    def known(pairs: Pairs, are_edges: bool) -> NDArray[np.float64]:
        found = evidence(links, coordinates, pairs, are_edges)
        alike = np.einsum("ec,ec->e", chances[pairs[0]], chances[pairs[1]])
        logs = np.log(alike + _LEAST_CHANCE)[:, None]
        return np.hstack([found if trusts_neighbours else found[:, :1], logs])

    judge = fit_judge(known(drawn[0], True), known(drawn[1], False))
    edges = coo_array(triu(without_diagonal(inputs.graph), 1))
    real = judge.real(known((edges.row, edges.col), True))
    both = (np.tile(real, 2), (np.r_[edges.row, edges.col], np.r_[edges.col, edges.row]))
    return csr_array(both, shape=inputs.graph.shape)


def suspects(
    real: csr_array, classes: NDArray[Any], k: int | None, threshold: float
) -> pd.DataFrame:
    """Return the edges that look false, the falsest first.

    Parameters
    ----------
    real : csr_array of shape (N, N)
        Probability that each edge is real.
    classes : ndarray of shape (N,)
        Predicted class of each node.
    k : int or None
        How many edges to return at most.
    threshold : float
        Probability of being real up to which an edge looks false.
    """
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
