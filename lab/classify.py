"""A trial of node classification: one fit on one split, and what it is worth."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array

from lab.diffusion import diffusion_graph
from lab.nodes import STRANGE, changed, load, split_of, thinned
from truegraph.data import NodeDataset, NodeSplit
from truegraph.evaluation.class_metrics import detection_auroc
from truegraph.trials import fit_classifier, score_classifier

_SUSPECT = 0.5  # probability of being real up to which an edge is called false

Floats = NDArray[np.float64]


def open_data(job: Mapping[str, Any]) -> NodeDataset:
    """Return the data set of a job, as it is before anything is changed."""
    return load(job["dataset"], job["conditions"]["component"])


def run(data: NodeDataset, job: Mapping[str, Any]) -> dict[str, Any]:
    """Fit the model of a job, and score it."""
    conditions, seed = job["conditions"], job["seed"]
    if conditions["split"] == "small":
        data = thinned(data)
    dataset, strange = changed(data, conditions, seed)
    split = split_of(dataset, conditions, seed)
    aside = split.validation
    if conditions["split"] == "shares":  # of which calibration alone may see those set aside
        split = replace(split, validation=aside[:0])
    name, seen = rival(job["model"], dataset)
    model = fit_classifier(name, job["options"], seen, split, seed)
    if conditions.get("calibrate"):
        model.calibrate(aside, model.classes_[dataset.labels[aside]])
    found = score_classifier(model, dataset, split)
    test = np.sort(split.test)
    right = model.predict()[test] == model.classes_[dataset.labels[test]]
    found["details"]["correct"] = base64.b64encode(np.packbits(right).tobytes()).decode("ascii")
    graph = getattr(model, "learned_graph_", None)
    if job["model"] == "bgcn" and seed == 0 and graph is not None:  # the paper's Figure 2
        found["arrays"] = {f"graphs/{job['dataset']}-{conditions['labels']}.npz": graph.to_arrays()}
    change = conditions.get("change", "none")
    if change in STRANGE or (change == "none" and "change" in conditions):
        found["metrics"] |= novelty_metrics(model, dataset, split, strange)
    if job["model"] == "auto" and change != "none" and change not in STRANGE:
        found["metrics"] |= edge_metrics(model, data)
    return found


def rival(name: str, dataset: NodeDataset) -> tuple[str, NodeDataset]:
    """Return the network behind the name of a rival, and the data with the graph it trains on.

    "knn" is a GCN on the nearest neighbours of the features, "gdc" one on the diffused graph.
    """
    if name == "knn":
        return "gcn", replace(dataset, graph=None)
    if name not in ("gdc", "gdc-appnp"):
        return name, dataset
    network = "gcn" if name == "gdc" else "appnp"
    return network, replace(dataset, graph=diffusion_graph(dataset.graph))


def edge_metrics(model: Any, honest: NodeDataset) -> dict[str, float | None]:
    """Return how good the edges are that a classifier calls false."""
    from sklearn.metrics import roc_auc_score

    real = coo_array(model.edge_probability_)
    assert honest.graph is not None
    false = np.asarray(honest.graph[real.row, real.col]).ravel() == 0.0
    called = real.data <= _SUSPECT
    if not false.any() or false.all():
        return {}
    return {
        "suspect_precision": float(false[called].mean()) if called.any() else None,
        "suspect_recall": float(called[false].mean()),
        "false_edge_auroc": float(roc_auc_score(false, -real.data)),
    }


def novelty_metrics(
    model: Any, dataset: NodeDataset, split: NodeSplit, strange: NDArray[np.bool_]
) -> dict[str, float]:
    """Return how well each score tells strange nodes, and errors on test nodes that are none."""
    scores = _scores(model)
    asked = np.ones(dataset.n_nodes, dtype=bool)
    asked[split.train] = False
    known = split.test[~strange[split.test]]
    right = model.predict()[known] == model.classes_[dataset.labels[known]]
    found = {
        f"error_by_{name}": detection_auroc(values[known], ~right)
        for name, values in scores.items()
        if not name.startswith("part_")
    }
    for name, values in scores.items() if strange.any() else ():
        found[f"novel_by_{name}"] = detection_auroc(values[asked], strange[asked])
    return found


def _scores(model: Any) -> dict[str, Floats]:
    """Return every score of strangeness that a classifier has, each (N,)."""
    chances = model.predict_proba().astype(np.float64)
    scores = {"max": 1.0 - chances.max(axis=1), "entropy": model.predictive_entropy_}
    information = getattr(model, "mutual_information_", None)
    if information is not None:
        scores["mutual_information"] = information
    if model.model == "auto":
        scores["novelty"] = model.novelty_
        scores |= {f"part_{name}": values for name, values in model.novelty_parts_.items()}
    return scores
