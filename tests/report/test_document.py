"""The document of a comparison, from made-up trials."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from truegraph.evaluation import paired_wilcoxon
from truegraph.experiments import Experiment
from truegraph.report.document import comparison_document, headline
from truegraph.report.runs import Run

CONTENT: dict[str, Any] = {
    "name": "compare-classify-cora",
    "task": "classification",
    "datasets": ["cora"],
    "models": ["gcn", "gat", {"name": "bgcn", "embedding_seed": 0}],
    "trials": 8,
    "metrics": ["accuracy", "brier_score"],
}


@pytest.fixture
def run(make_trial: Callable[..., Any], tmp_path: Path) -> Run:
    experiment = Experiment.from_dict(CONTENT)
    trials = [make_trial(c, seed) for c in experiment.cells() for seed in experiment.seeds]
    return Run(tmp_path, experiment, tuple(trials))


def test_a_failed_trial_has_no_values_and_no_part_in_tests(run: Run) -> None:
    document = comparison_document(run)
    gcn, gat = (document["models"][name]["accuracy"] for name in ("gcn", "gat"))
    assert gat[3] is None  # the fixture lets it fail
    assert [value for value in gat if value is None] == [None]
    assert None not in gcn
    both = [seed for seed in range(8) if seed != 3]
    test = paired_wilcoxon([gat[seed] for seed in both], [gcn[seed] for seed in both])
    assert document["comparisons"]["gat"]["p_value"] == test.p_value
    assert document["failed"] == 1
    json.dumps(document, allow_nan=False)


def test_other_seeds_stay_out(run: Run, make_trial: Callable[..., Any]) -> None:
    cell = run.experiment.cells()[0]
    more = replace(run, records=(*run.records, make_trial(cell, 99)))
    assert comparison_document(more.only(run.experiment.seeds)) == comparison_document(run)


def test_headline_names_direction_and_size(run: Run) -> None:
    document = comparison_document(run)
    text = headline(document)
    assert text.startswith("cora, 5 labels per class, 8 random splits with 203 test nodes.")
    means = {name: np.mean(document["models"][name]["accuracy"]) for name in ("gcn", "bgcn")}
    points = 100 * (means["bgcn"] - means["gcn"])
    assert f"bgcn is {points:.1f} points of accuracy above gcn (p = " in text


def test_one_label_and_one_split_are_singular(make_trial: Callable[..., Any], run: Run) -> None:
    experiment = Experiment.from_dict(CONTENT | {"trials": 1, "labels": 1, "models": ["gcn"]})
    trials = (make_trial(experiment.cells()[0], 0),)
    text = headline(comparison_document(replace(run, experiment=experiment, records=trials)))
    assert text.startswith("cora, 1 label per class, 1 random split with")


def test_few_trials_and_shared_embeddings_are_noted(run: Run) -> None:
    notes = comparison_document(run)["notes"]
    assert any("bgcn: all trials share the node embedding of seed 0" in note for note in notes)
    assert not any("p-value" in note for note in notes)
    experiment = Experiment.from_dict(CONTENT | {"trials": 5})
    few = replace(run, experiment=experiment).only(experiment.seeds)
    assert any(
        "5 splits cannot give a p-value below 0.05" in note
        for note in comparison_document(few)["notes"]
    )
