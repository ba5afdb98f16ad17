r"""Algorithm 1 of the paper: the Bayesian GCN with a non-parametric graph.

1. an embedding z of the nodes                         -> D1_ij = |z_i - z_j|^2
2. labels c predicted on the observed graph, for all nodes
                                                       -> D2_ij, disagreement around i and j
3. D = D1 + delta D2, delta = max D1 / max D2
4. the most probable graph given D; the mean of the graph's posterior, or draws from it, can take
   its place
5. weights W_1 .. W_S of a GCN trained on that graph
6. their average: p(Z) = (1/S) sum_s softmax GCN(W_s, G_obs, X)

The paper leaves the number of edges per node and the way to draw weights open; the defaults here
are 100 edges and a fresh GCN with Monte Carlo dropout. The authors' related code continues the
training of the base GCN and averages its last iterates: ``schedule="continue"`` and
``weight_sampling="snapshots"``.

Pal et al., "Non-Parametric Graph Learning for Bayesian Graph Neural Networks", UAI 2020.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph import gate
from truegraph.errors import InputError
from truegraph.evaluation.samples import mean_of_samples
from truegraph.fit_log import FitLog
from truegraph.learning.core import learn
from truegraph.learning.inputs import check_choice, check_number
from truegraph.learning.learned import LearnedGraph
from truegraph.learning.search.distances import EmbeddingDistance, LabelDisagreement, SumDistance
from truegraph.learning.settings import Settings
from truegraph.options import checked_options
from truegraph.paper.embedding import embed_nodes
from truegraph.paper.networks.base import NodeNetwork
from truegraph.paper.training import (
    Graph,
    Training,
    predict_proba,
    probabilities,
    sample_proba,
)
from truegraph.seeds import derived_seed

# The paper leaves it open; of 10, 50 and 100, gains need 50 or more.
USUAL_DEGREE = 100.0  # lab/choose/bgcn.py
_FRESH, _DRAW = 3, 4  # streams of the seed
_BURN_IN = 50
_USUAL_SAMPLES = {"mc-dropout": 60, "snapshots": 59}  # 59: Zhang et al. keep epochs 241 to 299

#: Options of the learned graph.
#:
#: degree : float or None
#:     Average number of edges per node of the learned graph. None: 100, but not more than half the
#:     mean class size, since more edges could not stay within classes.
#: embedding : "vgae", "svd" or array of shape (N, d)
#: embedding_options : mapping or None
#:     Of the VGAE, or the dimension of the SVD.
#: embedding_seed : int or None
#:     Seed of the VGAE; None: that of the fit. One seed for many fits lets them share an embedding.
GRAPH_DEFAULTS: dict[str, Any] = {
    "degree": None,
    "embedding": "vgae",
    "embedding_options": None,
    "embedding_seed": None,
}
#: Options, beside those of the learned graph.
#:
#: gcn_options : mapping or None
#:     Of the GCN that predicts the labels of D2 and of the one whose weights are sampled.
#: weight_sampling : {"mc-dropout", "snapshots"}
#:     Passes with dropout after training, or the last iterates of training without dropout.
#: schedule : {"fresh", "continue"}
#:     Train a new GCN on the learned graph, or go on there with that of the observed graph.
#: continued_epochs : int
#:     Epochs on the learned graph with schedule "continue".
#: samples : int or None
#:     Weight samples S; None: 60 passes or 59 snapshots.
#: graph_inference : {"map", "mean", "samples"}
#:     Train on the most probable graph, on the mean of the graph's posterior, or on a fresh draw
#:     from it in every epoch.
#: concentration : float or None
#:     Of that posterior, see `LearnedGraph.posterior`.
BGCN_DEFAULTS: dict[str, Any] = {
    **GRAPH_DEFAULTS,
    "gcn_options": None,
    "weight_sampling": "mc-dropout",
    "schedule": "fresh",
    "continued_epochs": 100,
    "samples": None,
    "graph_inference": "map",
    "concentration": None,
}


class BayesianGCN(NamedTuple):
    """The average prediction (N, C) of S samples of the weights, and their mean entropy (N,).

    `weights` are states of the network; with `passes` above 0 each stands for as many passes with
    dropout.
    """

    network: NodeNetwork
    weights: list[dict[str, Any]]
    passes: int
    probabilities: NDArray[np.float32]
    expected_entropy: NDArray[np.float32]
    learned: LearnedGraph | None = None


def algorithm1(task: Any, options: Mapping[str, Any] | None, log: FitLog) -> BayesianGCN:
    """Train the Bayesian GCN."""
    o, G_obs, X = _checked(options), task.graph, task.features
    # 1. The embedding.
    z = embed_nodes(task, o, log)
    # 2. Labels predicted without dropout, for training nodes as well.
    gcn = Training("gcn", task, o.gcn_options)
    with log.stage("gcn"):
        c = predict_proba(gcn.run(G_obs, progress=log.progress), G_obs, X).argmax(axis=1)
    # 3 and 4. The most probable graph.
    with log.stage("graph learning"):
        D = SumDistance(EmbeddingDistance(z.astype(np.float64)), LabelDisagreement(c, G_obs))
        nodes, usual = G_obs.shape[0], o.degree or USUAL_DEGREE
        degree = wanted_degree(o.degree, nodes, task.classes)
        if degree != usual:
            log.note(
                f"learned graph: degree {degree:g} instead of {usual:g}, because there are only "
                f"{nodes} nodes"
            )
        G = learn(D, Settings(degree=degree), progress=log.progress)
    # 5. Weights: of a fresh GCN, not with the seed of the base, or of the one that goes on.
    epochs = o.continued_epochs
    if o.schedule == "fresh":
        gcn = Training("gcn", task, o.gcn_options, derived_seed(task.seed, _FRESH))
        epochs = gcn.options.epochs
    graph: Graph = G.adjacency
    if o.graph_inference != "map":
        with log.stage("graph posterior"):
            graph = _posterior_graph(G, epochs, task.seed, o)
    with log.stage("weight samples"):
        W: list[dict[str, Any]] = []
        if o.weight_sampling == "snapshots":
            p, passes = snapshots(gcn, graph, epochs, o.samples, W, G_obs, X), 0
        else:
            network, passes = gcn.run(graph, epochs, progress=log.progress), o.samples
            W.append(network.state_dict())
            p = sample_proba(network, passes, G_obs, X, task.seed)
        # 6. Their average.
        return BayesianGCN(gcn.network, W, passes, *mean_of_samples(p), G)


def _checked(given: Mapping[str, Any] | None) -> SimpleNamespace:
    """Return the options with their defaults, after a look at which go together."""
    o = SimpleNamespace(**checked_options(BGCN_DEFAULTS, given))
    check_graph_options(o)
    check_choice("weight_sampling", o.weight_sampling, ("mc-dropout", "snapshots"))
    check_choice("schedule", o.schedule, ("fresh", "continue"))
    check_choice("graph_inference", o.graph_inference, ("map", "mean", "samples"))
    if o.samples is None:
        o.samples = _USUAL_SAMPLES[o.weight_sampling]
    o.samples = gate.whole_number("samples", o.samples, at_least=1)
    if o.concentration is not None:
        check_number("concentration", o.concentration, above=0.0)
        if o.graph_inference == "map":
            raise InputError(
                f"concentration={o.concentration} does not change the most probable graph; "
                "set graph_inference to 'mean' or 'samples'."
            )
    return o


def check_graph_options(options: SimpleNamespace) -> None:
    """Raise an InputError where an option of `GRAPH_DEFAULTS` makes no sense."""
    if options.degree is not None:
        check_number("degree", options.degree, at_least=1.0)
    if isinstance(options.embedding, str) and options.embedding not in ("vgae", "svd"):
        raise InputError(
            f"embedding={options.embedding!r} must be 'vgae', 'svd' or an array of shape (N, d)."
        )


def wanted_degree(degree: float | None, n_nodes: int, classes: int) -> float:
    """Return the edges per node to ask for: what was wanted, as far as there are nodes."""
    if degree is not None:
        return float(min(degree, n_nodes - 1.0))
    return float(max(1.0, min(USUAL_DEGREE, n_nodes // (2 * classes))))


def _posterior_graph(G: LearnedGraph, epochs: int, seed: int, options: SimpleNamespace) -> Graph:
    """Return the mean of the graph's posterior, or a draw from it for every epoch."""
    posterior = G.posterior(concentration=options.concentration)
    if options.graph_inference == "mean":
        return posterior.mean
    how = {"chains": 1, "burn_in": _BURN_IN, "thin": 1}
    draws = iter(posterior.sample(epochs, derived_seed(seed, _DRAW), **how))
    return lambda epoch: next(draws)


def snapshots(
    training: Training,
    graph: Graph,
    epochs: int,
    count: int,
    states: list[dict[str, Any]],
    predict_on: csr_array | None,
    features: csr_array,
) -> Iterator[NDArray[np.float32]]:
    """Train for some epochs, and yield what each of the last `count` iterates predicts (N, C).

    `states` gets the weights of these iterates. They predict on a graph (N, N), or with None on
    that of their epoch.
    """
    if count > epochs:
        raise InputError(
            f"samples={count} exceeds the {epochs} training epochs; lower samples or raise epochs."
        )
    network, inputs = training.network, None
    for _ in islice(training.epochs(graph, epochs), epochs - count, None):
        if inputs is None or predict_on is None:
            where = training.graph if predict_on is None else predict_on
            inputs = network.prepare(where, features)
        states.append({name: weight.clone() for name, weight in network.state_dict().items()})
        yield probabilities(network, inputs)
