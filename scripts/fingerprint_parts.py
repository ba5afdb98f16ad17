"""What the cases of `fingerprints` run on, and the parts of the results that they look at.

Only public names are used, and of the classes' parameters only `random_state`, so that this
outlives a rebuilding.
"""

from __future__ import annotations

import io
import os
import sys
import tempfile
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array

import truegraph

Parts = Mapping[str, Any]

CERTIFIED = ("relative_gap", "primal", "dual", "theta", "scale", "degree", "recall", "iterations")


@cache
def cora() -> tuple[csr_array, csr_array, NDArray[np.int64]]:
    """Return features and graph of 900 papers, and ten labels of each of the seven topics."""
    whole = truegraph.load_dataset("cora", component="largest")
    features, graph = whole.features, whole.graph
    labels, known = np.asarray(whole.labels)[:900], np.full(900, -1)
    for topic in range(7):
        known[np.flatnonzero(labels == topic)[:10]] = topic
    assert features is not None
    assert graph is not None
    return csr_array(features)[:900], graph[:900, :900], known


@cache
def tastes() -> csr_array:
    """Return who interacted with what, (150, 110), from five planted tastes."""
    same = np.arange(150)[:, None] % 5 == np.arange(110) % 5
    seen = np.random.default_rng(1).random((150, 110)) < np.where(same, 0.4, 0.03)
    return csr_array(seen.astype(np.float32))


def points(nodes: int, columns: int) -> NDArray[np.float64]:
    """Return normal numbers around three centres."""
    centres = 2.0 * (np.arange(nodes) % 3)[:, None]
    return np.random.default_rng(2).normal(size=(nodes, columns)) + centres


def reloaded(estimator: Any) -> Any:
    """Return an estimator after writing it to a folder and reading it again."""
    with tempfile.TemporaryDirectory() as folder:
        estimator.save(Path(folder) / "saved")
        return type(estimator).load(Path(folder) / "saved")


def graph_parts(graph: Any) -> Parts:
    """Return a learned graph and what its certificate says."""
    certificate = [getattr(graph.certificate, name) for name in CERTIFIED]
    parts = {"adjacency": graph.adjacency, "multipliers": graph.multipliers}
    return {**parts, "candidates": graph.candidates, "certificate": certificate}


def posterior_parts(graph: Any, method: str, **options: Any) -> Parts:
    """Return the posterior of a graph, and draws from it."""
    found = graph.posterior(method, **options)
    weights = [found.concentration, found.mean, found.std, found.inclusion(), *found.interval()]
    degrees = [found.degree_mean, found.degree_std, *found.degree_interval()]
    draws = list(found.sample(6, random_state=5, chains=2, burn_in=20))
    return {"weights": weights, "degrees": degrees, "draws": draws, "table": found.to_pandas()}


def node_parts(classifier: Any, seeded: Any = 3) -> Parts:
    """Return what a classifier says of the nodes of Cora, and of two new ones."""
    features, graph, known = cora()
    fitted = classifier.set_params(random_state=seeded).fit(features, known, graph=graph)
    parts = {
        "probabilities": fitted.predict_proba(),
        "uncertainty": [fitted.predictive_entropy_, getattr(fitted, "mutual_information_", None)],
        "reloaded": reloaded(fitted).predict_proba(),
    }
    if fitted.model == "auto":
        edges = [(900, 0), (900, 5), (901, 900), (901, 7)]
        parts["new nodes"] = fitted.predict_proba(features[:2], edges=edges)
    learned = getattr(fitted, "learned_graph_", None)
    return parts if learned is None else {**parts, "graph": learned.adjacency}


def link_parts(predictor: Any, seeded: Any = 3) -> Parts:
    """Return what a predictor says of pairs of Cora; scores apart from what is calibrated."""
    features, graph, _ = cora()
    pairs = np.random.default_rng(4).integers(0, 900, size=(500, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    fitted = predictor.set_params(random_state=seeded).fit(graph, features)
    suggested = fitted.suggest(20)
    return {
        "scores": fitted.decision_function(pairs),
        "suggested": [suggested[["source", "target"]], fitted.suggest_for(7, 5).target.to_numpy()],
        "calibrated": [fitted.predict_proba(pairs), fitted.uncertainty(pairs), suggested],
        "reloaded": reloaded(fitted).decision_function(pairs),
    }


def ranking_parts(recommender: Any, seeded: Any = 3) -> Parts:
    """Return what a recommender says of the planted tastes."""
    fitted = recommender.set_params(random_state=seeded).fit(tastes())
    users, items = np.divmod(np.arange(0, 150 * 110, 7), 110)
    scores = fitted.score_pairs(users.tolist(), items.tolist())
    return {
        "scores": scores,
        "lists": ranked(fitted.recommend(range(0, 150, 10), k=5)),
        "new user": ranked(fitted.recommend_for_history([0, 5, 11], k=5)),
        "reloaded": reloaded(fitted).score_pairs(users.tolist(), items.tolist()),
    }


def ranked(found: Any) -> list[Any]:
    """Return items and scores, list after list, of a table or of a pair (items, scores)."""
    items, scores = (found.item, found.score) if isinstance(found, pd.DataFrame) else found
    there = np.isfinite(np.ravel(scores))
    return [[int(item) for item in np.ravel(items)[there]], np.ravel(scores)[there]]


def command_parts(*arguments: str) -> Parts:
    """Return the file that a command writes; {FOLDER} stands for the folder of its inputs."""
    from truegraph.cli import main

    with tempfile.TemporaryDirectory() as folder:
        write_tables(Path(folder))
        words = [word.replace("{FOLDER}", folder) for word in arguments]
        asked = ["truegraph", *words, "--out", f"{folder}/found.csv", "--quiet"]
        said = io.StringIO()
        try:
            with (
                patch.object(sys, "argv", asked),
                patch.dict(os.environ, TRUEGRAPH_CACHE=f"{folder}/cache"),
                redirect_stdout(said),
                redirect_stderr(said),
            ):
                main()
        except SystemExit as end:
            if end.code:
                raise RuntimeError(said.getvalue().replace(folder, "{FOLDER}")) from end
        return {"file": (Path(folder) / "found.csv").read_text()}


def write_tables(folder: Path) -> None:
    """Write points, edges, features and labels of 120 nodes, and interactions."""
    values, group = points(120, 6), np.arange(120) % 3
    chance = np.where(group[:, None] == group, 0.12, 0.01)
    linked = np.triu(np.random.default_rng(6).random((120, 120)) < chance, 1)
    nodes, tables = np.array([f"n{number}" for number in range(120)]), {}
    source, target = np.nonzero(linked)
    user, item = tastes().nonzero()
    tables["points"] = pd.DataFrame(values).add_prefix("x")
    tables["features"] = tables["points"].assign(node=nodes)[["node", *tables["points"]]]
    tables["edges"] = pd.DataFrame({"source": nodes[source], "target": nodes[target]})
    tables["labels"] = pd.DataFrame({"node": nodes[:15], "label": [f"c{g}" for g in group[:15]]})
    tables["interactions"] = pd.DataFrame({"user": user, "item": item})
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv", index=False)
