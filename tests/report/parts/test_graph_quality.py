"""The picture of a run that compares graphs."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from truegraph.experiments import Experiment, find_task
from truegraph.report.page import Picture
from truegraph.report.parts.graph_quality import graph_quality_parts, kind_of
from truegraph.report.runs import Run
from truegraph.report.tables import Entry, Table

EXPERIMENT = Experiment.from_dict(
    {
        "name": "small",
        "task": "graph-quality",
        "datasets": ["wine", "digits"],
        "models": [
            {"name": "learned", "label": "learned, default"},
            {"name": "knn", "label": "k-NN, k 5", "k": 5},
            {"name": "umap", "label": "UMAP, k 5", "k": 5},
        ],
        "compare": "learned, default",
        "trials": 8,
    }
)
#: Accuracy of each graph: UMAP's is the best other one on wine, the k-NN graph on digits.
ACCURACY = {
    "wine": {"learned, default": 0.9, "k-NN, k 5": 0.7, "UMAP, k 5": 0.8},
    "digits": {"learned, default": 0.6, "k-NN, k 5": 0.65, "UMAP, k 5": 0.5},
}


def _run() -> Run:
    names = find_task("graph-quality").metrics
    records: list[Any] = []
    for dataset, accuracies in ACCURACY.items():
        for label, accuracy in accuracies.items():
            for seed in range(8):
                metrics: dict[str, float | None] = dict.fromkeys(names, accuracy + seed / 1000)
                if dataset == "digits":
                    metrics["accuracy_20"] = None
                records.append(
                    SimpleNamespace(
                        dataset=dataset, label=label, seed=seed, status="done", metrics=metrics
                    )
                )
    return Run(Path(), EXPERIMENT, cast(Any, tuple(records)))


def test_the_default_is_compared_with_the_best_other_graph_of_each_set() -> None:
    picture, table = graph_quality_parts(_run())
    assert isinstance(picture, Picture)
    assert isinstance(table, Table)
    wine, digits = table.rows[1:]
    assert wine == ["wine", *[Entry("+10.0", bold=True)] * 3, "+10.0"]
    assert digits == ["digits", *[Entry("-5.0", bold=True)] * 2, "-", "-5.0"]
    assert "best of 2 k-NN and UMAP graphs" in table.caption


@pytest.mark.parametrize(
    ("label", "kind"),
    [
        ("learned, default", "learned"),
        ("learned, degree 20", "learned"),
        ("learned, degree 7.5, locally scaled", "learned, locally scaled"),
        ("k-NN self-tuned, k 15", "k-NN self-tuned"),
        ("UMAP, k 5", "UMAP"),
    ],
)
def test_kinds_of_graphs(label: str, kind: str) -> None:
    assert kind_of(label) == kind
