"""A trial of link prediction: one fit on 85 % of the links, scored on 10 % of them.

With the condition ``oracle`` the true test links are given to the models: a leak, on purpose, to
see what they could reach at most.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, diags_array

from lab.nodes import load
from truegraph import learn_graph
from truegraph.data import NodeDataset
from truegraph.data.link_splits import split_links
from truegraph.evaluation import link_metrics
from truegraph.trials import fit_link_predictor, link_predictor, score_link_predictor

_RESTART = 0.15
_STEPS = 60  # 0.85^60 < 1e-4
_BLOCK = 256  # starts of walks at a time
_LEAST_DEGREE = 2.0  # every node has an edge, so a mean degree of 1 would take a perfect matching
_LEAK = "LEAK: the true test links were given to the models (oracle)"

Pairs = NDArray[np.int64]


def open_data(job: Mapping[str, Any]) -> NodeDataset:
    """Return the data set of a job."""
    return load(job["dataset"], job["conditions"]["component"])


def run(data: NodeDataset, job: Mapping[str, Any]) -> dict[str, Any]:
    """Fit the model of a job, and score it."""
    model, seed = job["model"], job["seed"]
    split = split_links(data.graph, random_state=seed)
    parts = (split.test_links, split.test_non_links)
    is_leak = job["conditions"]["oracle"]
    graph = with_links(split.train, split.test_links) if is_leak else split.train
    if model == "pagerank":
        return {"metrics": link_metrics(*(pagerank(graph, pairs) for pairs in parts))}
    if model == "learned-graph":
        learned = learned_weights(data, graph, job["options"], seed)
        scores = [np.asarray(learned[pairs[:, 0], pairs[:, 1]]).ravel() for pairs in parts]
        return {"metrics": link_metrics(*scores)}
    fitted = fit_link_predictor(model, job["options"], data, split, seed, graph=graph)
    found = score_link_predictor(fitted, split)
    return found | {"notes": [*found["notes"], *([_LEAK] if is_leak else [])]}


def with_links(graph: csr_array, links: Pairs) -> csr_array:
    """Return a graph with more links (n, 2)."""
    ends = (np.concatenate([links[:, 0], links[:, 1]]), np.concatenate([links[:, 1], links[:, 0]]))
    more = csr_array(coo_array((np.ones(len(ends[0])), ends), shape=graph.shape))
    return csr_array(graph.maximum(more))


def pagerank(graph: csr_array, pairs: Pairs) -> NDArray[np.float64]:
    """Return how often walks that restart at i visit j, and the other way round, shape (n,).

    A walk restarts with probability 0.15. In an undirected graph d_i p_i(j) = d_j p_j(i), so walks
    from one end of each pair tell both.
    """
    degree = np.maximum(np.diff(graph.indptr), 1).astype(np.float64)
    steps = csr_array(graph @ diags_array(1.0 / degree))  # column j: the steps from j
    starts, position = np.unique(pairs[:, 0], return_inverse=True)
    scores = np.zeros(len(pairs))
    for first in range(0, len(starts), _BLOCK):
        block = starts[first : first + _BLOCK]
        own = np.flatnonzero((position >= first) & (position < first + len(block)))
        restart = np.zeros((graph.shape[0], len(block)))
        restart[block, np.arange(len(block))] = _RESTART
        visits = restart / _RESTART
        for _ in range(_STEPS):
            visits = (1.0 - _RESTART) * (steps @ visits) + restart
        there = visits[pairs[own, 1], position[own] - first]
        scores[own] = there + there * degree[pairs[own, 0]] / degree[pairs[own, 1]]
    return scores


def learned_weights(
    data: NodeDataset, graph: csr_array, options: Mapping[str, Any], seed: int
) -> csr_array:
    """Return the weights (N, N) of the graph learned from the vectors of an auto-encoder."""
    chosen = dict(options)
    encoder = link_predictor(chosen.pop("base", "vgae"), chosen, seed)
    points = encoder.fit(graph, data.features).embedding_
    usual = max(_LEAST_DEGREE, float(round(graph.nnz / graph.shape[0])))
    return learn_graph(points, usual, random_state=0, options={"candidate_ratio": 5.0}).adjacency
