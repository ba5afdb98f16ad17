"""Strange nodes: which they are, that no label of theirs is seen, and how scores are judged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from truegraph.data import load_dataset
from truegraph.errors import InputError
from truegraph.experiments import Experiment, TrialStore
from truegraph.experiments.experiment import builtin_experiments
from truegraph.experiments.runner import run_experiment
from truegraph.experiments.tasks.base import Cell
from truegraph.experiments.tasks.novel_nodes import CHANGES, NoveltyTask, strange_nodes


def _experiment(**changes: object) -> Experiment:
    content = {
        "name": "novel",
        "task": "novelty",
        "datasets": ["cora"],
        "models": [{"name": "auto", "effort": "low"}, {"name": "gcn", "epochs": 30}],
        "change": ["normal-features"],
        "labels": 10,
        "trials": 1,
        "metrics": ["novel_by_novelty", "novel_by_energy"],
    }
    return Experiment.from_dict(content | changes)


def _cell(change: str) -> Cell:
    return _experiment(change=[change]).cells()[0]


def test_the_left_out_class_has_no_label() -> None:
    cora = load_dataset("cora")
    changed, strange = strange_nodes(cora, _cell("left-out-class"), 9)
    assert np.array_equal(strange, cora.labels == 2)
    assert (changed.labels[strange] == -1).all()
    assert changed.n_classes == cora.n_classes - 1
    assert set(changed.labels[~strange]) == set(range(6))
    split = NoveltyTask().split(changed, _cell("left-out-class"), 9)
    assert not strange[np.concatenate([split.train, split.test])].any()


@pytest.mark.parametrize("change", CHANGES[2:])
def test_a_tenth_of_the_unlabelled_nodes_is_changed(change: str) -> None:
    cora = load_dataset("cora")
    changed, strange = strange_nodes(cora, _cell(change), 3)
    split = NoveltyTask().split(cora, _cell(change), 3)
    assert strange.sum() == 271
    assert not strange[split.train].any()
    again, _ = strange_nodes(cora, _cell(change), 3)
    if change == "foreign-edges":
        assert (changed.graph != again.graph).nnz == 0
        assert changed.features is cora.features
    else:
        assert (changed.features[~strange] != cora.features[~strange]).nnz == 0
        assert changed.graph is cora.graph


def test_scores_of_both_models_are_judged(tmp_path: Path) -> None:
    run_experiment(_experiment(change=["none", "normal-features"]), tmp_path, jobs=1)
    with TrialStore.open(tmp_path) as store:
        found = {(r.model, r.conditions["change"]): r.metrics for r in store.records()}
    auto, gcn = found["auto", "normal-features"], found["gcn", "normal-features"]
    assert auto["novel_by_novelty"] > 0.8 > auto["novel_by_entropy"]
    assert auto["novel_by_part_features"] > 0.9
    assert auto["novel_by_energy"] is None
    assert gcn["novel_by_energy"] is not None
    assert gcn["novel_by_novelty"] is None
    assert found["auto", "none"]["novel_by_novelty"] is None
    assert found["auto", "none"]["error_by_max"] > 0.7
    assert found["auto", "none"]["error_by_max"] == pytest.approx(
        found["auto", "none"]["confidence_detection_auroc"]
    )


def test_data_without_a_graph_are_refused() -> None:
    with pytest.raises(InputError, match="no graph with features"):
        NoveltyTask().check(_experiment(datasets=["digits"]).cells()[0])
    assert NoveltyTask().batch_size(_cell("none")) == 1
    assert "novelty" in builtin_experiments()
