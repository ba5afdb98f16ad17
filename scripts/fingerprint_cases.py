"""The cases of `fingerprints`: small runs of what is computed in closed form, without torch.

Only names of models, `degree`, `random_state` and the mapping `options` are passed to the
estimators, so that the cases outlive changes of their other parameters. Networks are not here:
torch rounds by machine and number of threads (`python -m lab same_science` compares them).
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
    link_parts,
    node_parts,
    points,
    posterior_parts,
    ranking_parts,
)
from numpy.typing import NDArray
from scipy.sparse import csr_array

import truegraph
from truegraph.learning.settings import OPTIONS

Case = Callable[[], Parts]

CLASSIFIERS = ("label-propagation", "label-spreading", "learned-spreading", "logistic-regression")
AVERAGES: dict[str, dict[str, Any]] = {
    "auto": {},
    "auto, equal weights": {"weights": "equal"},
    "auto, no learned graphs": {"learned_graphs": False},
    "auto, no observed graph": {"observed_graph": False},
}
LINKS: dict[str, tuple[str, dict[str, Any]]] = {
    **{f"auto, {scale}": ("auto", {"scale": scale}) for scale in ("neighbours", "slack", "off")},
    **{name: (name, {}) for name in ("common-neighbours", "adamic-adar", "resource-allocation")},
    **{name: (name, {}) for name in ("personalised-pagerank", "katz")},
}
RECOMMENDERS = ("auto", "graph-ease", "ease", "ials", "gf-cf", "turbo-cf", "item-knn", "popularity")
FILES = ("--edges", "{FOLDER}/edges.csv", "--features", "{FOLDER}/features.csv")
COMMANDS: dict[str, tuple[str, ...]] = {
    "learn": ("learn", "{FOLDER}/points.csv", "--degree", "6"),
    "learn --posterior": ("learn", "{FOLDER}/points.csv", "--posterior"),
    "classify": ("classify", *FILES, "--labels", "{FOLDER}/labels.csv"),
    "links": ("links", *FILES),
    "recommend": ("recommend", "--interactions", "{FOLDER}/interactions.csv"),
}


def all_cases() -> dict[str, Case]:
    """Return every case by its name."""
    commands = {f"command {k}": partial(command_parts, *v) for k, v in COMMANDS.items()}
    return {**graph_cases(), **node_cases(), **link_cases(), **ranking_cases(), **commands}


# --- graphs ------------------------------------------------------------------------------------


def learned(X: Any = None, degree: float | str = "auto", **options: Any) -> Parts:
    """Return the learned graph of X, by default of 300 points; the plain one for a density."""
    table = points(300, 5) if X is None else X
    rare = {name: options.pop(name) for name in [*options] if name in OPTIONS}
    is_plain = degree != "auto" or "theta" in rare or "alpha" in rare
    if options.get("scope") == "global":
        is_plain, rare["connected"] = True, True
    model = "paper" if is_plain else "scaled"
    return graph_parts(
        truegraph.learn_graph(table, degree, graph_model=model, options=rare, **options)
    )


def between(users: NDArray[Any], items: NDArray[Any] | None, **options: Any) -> Parts:
    """Return the learned graph between users and items."""
    return graph_parts(truegraph.learn_bipartite_graph(users, items, 6, **options))


def transformed() -> Parts:
    """Return what the learner gives to a pipeline."""
    seed = np.random.RandomState(1)
    learner = truegraph.GraphLearner(7, graph_model="paper", random_state=seed)
    return {"adjacency": learner.fit_transform(points(300, 5))}


def graph_posterior(method: str, **options: Any) -> Parts:
    """Return the posterior of the learned graph of 80 points."""
    graph = truegraph.learn_graph(points(80, 4), 6, graph_model="paper")
    return posterior_parts(graph, method, **options)


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
    kind = truegraph.NodeClassifier
    low = {
        f"node {name}": partial(node_parts, kind(effort="low", degree=12, options=options))
        for name, options in AVERAGES.items()
    }
    return {f"node {name}": partial(node_parts, kind(name)) for name in CLASSIFIERS} | low


def link_cases() -> dict[str, Case]:
    """Return the cases of link prediction."""
    return {
        f"links {name}": partial(link_parts, truegraph.LinkPredictor(model, options=options))
        for name, (model, options) in LINKS.items()
    }


def ranking_cases() -> dict[str, Case]:
    """Return the cases of recommendation."""
    return {
        f"recommend {name}": partial(ranking_parts, truegraph.Recommender(name))
        for name in RECOMMENDERS
    }
