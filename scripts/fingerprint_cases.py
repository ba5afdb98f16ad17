"""The cases of `fingerprints`: small runs of every model, recipe and option that matters.

Only names of models and recipes, `degree`, `random_state` and the mapping `options` are passed to
the estimators, so that the cases outlive changes of their other parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from fingerprint_parts import (
    Parts,
    command_parts,
    cora,
    graph_parts,
    heuristic_parts,
    link_parts,
    node_parts,
    points,
    posterior_parts,
    ranking_parts,
)
from numpy.typing import NDArray
from scipy.sparse import csr_array

import truegraph

Case = Callable[[], Parts]

SHORT = {"epochs": 20}
BLOCK_MODEL = {"sampled_epochs": 20, "samples": 10, "start_iterations": 30, "fit_iterations": 10}
CLASSIFIERS: dict[str, dict[str, Any]] = {
    **dict.fromkeys(("gcn", "chebynet", "gat", "dfnet-att", "sbm-gcn", "mlp", "appnp"), SHORT),
    **dict.fromkeys(("knn", "gdc", "gdc-appnp"), SHORT),
    "label-propagation": {},
    "bgcn-parametric": {"settings": SHORT, **BLOCK_MODEL},
}
EMBEDDING = {"settings": SHORT, "embedding_options": SHORT}
PAPER = {**EMBEDDING, "base_settings": SHORT, "samples": 10}
RECIPES: dict[str, tuple[str, dict[str, Any]]] = {
    "paper": ("paper", PAPER),
    "paper, snapshots": ("paper", {**PAPER, "weight_sampling": "snapshots"}),
    "paper, continued": ("paper", {**PAPER, "schedule": "continue", "continued_epochs": 20}),
    "paper, learned": ("paper", {**PAPER, "predict_on": "learned", "base": "appnp"}),
    "paper, mean graph": ("paper", {**PAPER, "graph_inference": "mean"}),
    "paper, drawn graphs": ("paper", {**PAPER, "graph_inference": "samples"}),
    "refined": ("refined", EMBEDDING),
    "refined, nearest": ("refined", {**EMBEDDING, "graph": "nearest", "average": "last"}),
    "fast": ("fast", {"settings": SHORT}),
}
AUTO_ENCODERS = ("gae", "vgae", "graphite-ae", "graphite-vae", "dglfrm")
HEURISTICS = ("common_neighbours", "adamic_adar", "personalised_pagerank")
RANKERS = ("ngcf", "mgccf", "lightgcn", "bpr-mf")
REFERENCES = ("refined", "ials", "gfcf", "turbocf", "ease", "itemknn", "popularity")
FILES = ("--edges", "{FOLDER}/edges.csv", "--features", "{FOLDER}/features.csv")
COMMANDS: dict[str, tuple[str, ...]] = {
    "learn": ("learn", "{FOLDER}/points.csv", "--degree", "6"),
    "learn --posterior": ("learn", "{FOLDER}/points.csv", "--posterior"),
    "classify": ("classify", *FILES, "--labels", "{FOLDER}/labels.csv"),
    "links": ("links", *FILES),
    "recommend": (
        *("recommend", "--interactions", "{FOLDER}/interactions.csv"),
        *("--model", "ngcf", "--epochs", "5"),
    ),
}


def all_cases() -> dict[str, Case]:
    """Return every case by its name."""
    commands = {f"command {k}": partial(command_parts, *v) for k, v in COMMANDS.items()}
    return {**graph_cases(), **node_cases(), **link_cases(), **ranking_cases(), **commands}


# --- graphs ------------------------------------------------------------------------------------


def learned(X: Any = None, degree: float | None = None, **options: Any) -> Parts:
    """Return the learned graph of X, by default of 300 points."""
    table = points(300, 5) if X is None else X
    return graph_parts(truegraph.learn_graph(table, degree, **options))


def between(users: NDArray[Any], items: NDArray[Any] | None, **options: Any) -> Parts:
    """Return the learned graph between users and items."""
    return graph_parts(truegraph.learn_bipartite_graph(users, items, 6, **options))


def transformed() -> Parts:
    """Return what the learner gives to a pipeline."""
    learner = truegraph.GraphLearner(degree=7, random_state=np.random.RandomState(1))
    return {"adjacency": learner.fit_transform(points(300, 5))}


def graph_posterior(method: str, **options: Any) -> Parts:
    """Return the posterior of the learned graph of 80 points."""
    return posterior_parts(truegraph.learn_graph(points(80, 4), 6), method, **options)


def graph_cases() -> dict[str, Case]:
    """Return the cases of graph learning: metrics, parameters, engines, solvers, posteriors."""
    rng = np.random.default_rng(7)
    distances = csr_array(np.triu(rng.random((90, 90)), 1))
    marked = csr_array(np.eye(300, k=40) + np.eye(300, k=-40))
    gibbs = {"samples": 20, "chains": 2, "burn_in": 20, "random_state": 1}
    return {
        "learn": learned,
        "learn degree": partial(learned, degree=25),
        "learn single precision": partial(learned, points(300, 5).astype(np.float32)),
        "learn many points": partial(learned, points(3000, 8)),
        "learn sparse, cosine": lambda: learned(cora()[0], metric="cosine"),
        "learn given distances": partial(learned, distances + distances.T, metric="precomputed"),
        "learn theta": partial(learned, theta=0.3),
        "learn alpha, beta": partial(learned, alpha=1.0, beta=0.5),
        "learn global": partial(learned, scope="global"),
        "learn primal-dual": partial(learned, solver="primal-dual", tol=1e-3),
        "learn hnsw": partial(learned, candidates="hnsw", random_state=1),
        "learn ivf": partial(learned, points(2500, 5), candidates="ivf", random_state=1),
        "learn fixed pairs": partial(learned, fixed_pairs=marked),
        "learn forbidden pairs": partial(learned, forbidden_pairs=marked),
        "learner transform": transformed,
        "bipartite": partial(between, points(90, 4), points(60, 4)),
        "bipartite cosine": partial(between, points(90, 4), points(60, 4), metric="cosine"),
        "bipartite given": partial(between, rng.random((90, 60)), None, metric="precomputed"),
        "posterior mean-field": partial(graph_posterior, "mean-field"),
        "posterior excess": partial(graph_posterior, "mean-field", excess=0.1),
        "posterior gibbs": partial(graph_posterior, "gibbs", **gibbs),
    }


# --- tasks -------------------------------------------------------------------------------------


def node_cases() -> dict[str, Case]:
    """Return the cases of node classification."""
    kind, bayesian = truegraph.NodeClassifier, truegraph.BayesianNodeClassifier
    drawn = np.random.RandomState
    return {
        **{f"node {k}": partial(node_parts, kind(k, options=v)) for k, v in CLASSIFIERS.items()},
        "node drawn seed": lambda: node_parts(kind("gcn", options=SHORT), drawn(1)),
        **{
            f"node {name}": partial(node_parts, bayesian(degree=12, recipe=recipe, options=options))
            for name, (recipe, options) in RECIPES.items()
        },
    }


def link_cases() -> dict[str, Case]:
    """Return the cases of link prediction."""
    kind, bayesian = truegraph.LinkPredictor, truegraph.BayesianLinkPredictor
    drawn = np.random.RandomState
    cases: dict[str, Case] = {}
    for name in AUTO_ENCODERS:
        cases[f"links {name}"] = partial(link_parts, kind(name, options=SHORT))
        cases[f"links b{name}"] = partial(link_parts, bayesian(name, options=SHORT))
    cases["links drawn seed"] = lambda: link_parts(kind("gae", options=SHORT), drawn(1))
    return {**cases, **{f"links {name}": partial(heuristic_parts, name) for name in HEURISTICS}}


def ranking_cases() -> dict[str, Case]:
    """Return the cases of recommendation."""
    kind, bayesian = truegraph.Recommender, truegraph.BayesianRecommender
    drawn, few = np.random.RandomState, {"epochs": 6}
    cases: dict[str, Case] = {}
    for name in RANKERS:
        cases[f"recommend {name}"] = partial(ranking_parts, kind(name, options=few))
        cases[f"recommend b{name}"] = partial(ranking_parts, bayesian(name, options=few))
    for name in REFERENCES:
        cases[f"recommend {name}"] = partial(ranking_parts, kind(name))
    cases["recommend drawn seed"] = lambda: ranking_parts(kind("bpr-mf", options=few), drawn(1))
    return cases
