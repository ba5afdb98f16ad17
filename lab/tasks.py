"""What the laboratory measures: the tasks, their metrics and conditions. Loads nothing heavy.

A task is a module with ``open_data(job)`` and ``run(data, job)``; the first gives what has a
`fingerprint`, the second a mapping with ``metrics``, and perhaps ``details`` and ``notes``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from truegraph.evaluation import LINK_METRICS, METRICS, RANKING_METRICS, SET_METRICS, Metric


def percent(heading: str, better: str = "higher", digits: int = 1) -> Metric:
    """Return a metric that is a share."""
    return Metric(heading, better, percent=True, digits=digits)


def count(heading: str, digits: int = 0) -> Metric:
    """Return a metric that is a plain number, neither good nor bad."""
    return Metric(heading, "neither", digits=digits)


@dataclass(frozen=True)
class Task:
    """A task: the module that runs it, its metrics, its conditions and their usual values."""

    module: str
    metrics: Mapping[str, Metric]
    conditions: tuple[str, ...] = ()
    usual: Mapping[str, Any] = field(default_factory=dict)


_EDGES = {
    "suspect_precision": percent("false edges: precision %"),
    "suspect_recall": percent("false edges: recall %"),
    "false_edge_auroc": Metric("false edges: AUROC", "higher"),
}
_SCORES = {
    "max": "1 - max",
    "entropy": "entropy",
    "mutual_information": "mutual information",
    "energy": "energy",
    "novelty": "novelty",
}
_PARTS = ("class", "neighbours", "features")
_NOVELTY = {
    **{f"novel_by_{n}": Metric(f"strange by {h}", "higher") for n, h in _SCORES.items()},
    **{f"novel_by_part_{n}": Metric(f"strange by part {n}", "higher") for n in _PARTS},
    **{f"error_by_{n}": Metric(f"error by {h}", "higher") for n, h in _SCORES.items()},
}
_TOPS = (100, 1000, 5000)
_SUGGESTED = {
    **{f"precision_{k}": percent(f"right of {k} %") for k in _TOPS},
    **{f"stated_{k}": percent(f"stated of {k} %", "neither") for k in _TOPS},
    "calibration_error": percent("calibration error %", "lower"),
    "largest_error": percent("largest error %", "lower"),
    "hard_mrr": percent("hard MRR %"),
    "hard_hits_10": percent("hard Hits@10 %"),
}
_NGCF = {f"ndcg_ngcf@{k}": percent(f"N(NGCF)@{k} %") for k in (10, 20)}
_REMOVED = {
    "overlap_test": percent("test pairs removed %", "neither"),
    "overlap_validation": percent("validation pairs removed %", "neither"),
    "removed_fraction": percent("pairs removed %", "neither"),
    "removal_precision": percent("held out among removed %", "neither"),
}
_GRAPHS = {
    **{f"accuracy_{n}": percent(f"accuracy %, labels per class: {n}") for n in (1, 5, 20)},
    "leiden_ari": Metric("Leiden ARI", "higher"),
    "leiden_nmi": Metric("Leiden NMI", "higher"),
    "spectral_ari": Metric("spectral ARI", "higher"),
    "spectral_nmi": Metric("spectral NMI", "higher"),
    "edges_per_node": count("edges per node", 1),
    "components": count("components"),
}
_NUMBERS = {
    "rmse": Metric("RMSE", "lower", digits=2),
    "r2": percent("R2 %"),
    "interval_coverage": percent("coverage % at 90", "neither"),
    "interval_width": Metric("width of intervals in deviations", "lower", digits=2),
}
_COUNTS = {
    "user_threshold": count("fewest per user"),
    "item_threshold": count("fewest per item"),
    **{name: count(name) for name in ("classes", "features", "nodes", "users", "items", "edges")},
    "training_edges": count("training edges"),
    "density": percent("edge density %", "neither", 2),
}

TASKS = {
    "classify": Task(
        "lab.classify",
        METRICS | SET_METRICS | _EDGES | _NOVELTY,
        ("labels", "split", "component", "change", "noise", "calibrate"),
        {"labels": 5, "split": "random", "component": "full"},
    ),
    "links": Task(
        "lab.links",
        dict(LINK_METRICS),
        ("component", "oracle"),
        {"component": "largest", "oracle": False},
    ),
    "suggestions": Task(
        "lab.suggestions",
        _SUGGESTED,
        ("component", "hidden"),
        {"component": "largest", "hidden": 0.1},
    ),
    "recommend": Task(
        "lab.recommend",
        RANKING_METRICS | _NGCF | _REMOVED,
        ("split", "mask"),
        {"split": "random", "mask": "train"},
    ),
    "points": Task("lab.points", _GRAPHS),
    "rows": Task(
        "lab.rows",
        METRICS | _NUMBERS,
        ("labels", "drawn"),
        {"labels": 50, "drawn": "in all"},
    ),
    "statistics": Task("lab.statistics", _COUNTS, ("component",), {"component": "largest"}),
}


def run(job: Mapping[str, Any]) -> dict[str, Any]:
    """Run the trial of a job, on the data that the job was made for."""
    module = import_module(TASKS[job["task"]].module)
    data = module.open_data(job)
    if data.fingerprint != job["fingerprint"]:
        raise ValueError(f"data set {job['dataset']!r} is not the one that the run began with")
    found: dict[str, Any] = module.run(data, job)
    return found


def fingerprint(job: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the data of a job."""
    found: str = import_module(TASKS[job["task"]].module).open_data(job).fingerprint
    return found
