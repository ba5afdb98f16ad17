"""Quality of graphs by their number of edges."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from truegraph.experiments import Experiment
from truegraph.report.parts.graph_quality import graph_quality_parts
from truegraph.report.runs import Run


def test_lines_join_graphs_of_one_kind(make_trial) -> None:
    experiment = Experiment.from_dict(
        {
            "name": "graphs",
            "task": "graph-quality",
            "datasets": ["wine"],
            "models": [
                {"name": "knn", "label": "k-NN, k 5", "k": 5},
                {"name": "knn", "label": "k-NN, k 10", "k": 10},
                {"name": "umap", "label": "UMAP, k 9", "k": 9},
            ],
            "trials": 2,
        }
    )
    scores = {"k-NN, k 5": (7.0, 0.8), "k-NN, k 10": (14.0, 0.9), "UMAP, k 9": (12.0, 0.7)}
    records = []
    for cell in experiment.cells():
        edges, quality = scores[cell.label]
        metrics = {"edges_per_node": edges, "accuracy_5": quality, "leiden_ari": None}
        records += [
            replace(make_trial(cell, seed), metrics=metrics | {"leiden_ari": quality})
            for seed in experiment.seeds
        ]
    (picture,) = graph_quality_parts(Run(Path(), experiment, tuple(records)))
    lines = {line.get_label(): line for line in picture.panels[0].figure.axes[0].lines}
    assert lines["k-NN"].get_xdata().tolist() == [7.0, 14.0]
    assert lines["k-NN"].get_ydata().tolist() == pytest.approx([80.0, 90.0])
    assert lines["UMAP"].get_ydata().tolist() == pytest.approx([70.0])
