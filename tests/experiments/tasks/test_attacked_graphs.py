"""Graphs with false edges: the same for all models, found once, and judged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from truegraph.data import load_dataset
from truegraph.data.nodes import attack
from truegraph.errors import InputError
from truegraph.experiments import Experiment, TrialStore
from truegraph.experiments.experiment import builtin_experiments
from truegraph.experiments.runner import run_experiment
from truegraph.experiments.tasks.attacked_graphs import AttackTask, edge_scores


def _experiment(**changes: object) -> Experiment:
    content = {
        "name": "attacked",
        "task": "attacks",
        "datasets": ["cora"],
        "models": ["label-propagation"],
        "change": ["attack-25"],
        "labels": 10,
        "trials": 1,
        "metrics": ["accuracy", "suspect_precision"],
    }
    return Experiment.from_dict(content | changes)


def test_an_attack_is_found_once_and_smaller_ones_are_its_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attack, "_STEPS", 4)
    task, cora = AttackTask(), load_dataset("cora")
    small, large = (
        _experiment(change=[change]).cells()[0] for change in ("attack-25", "attack-100")
    )
    one = task.changed(cora, small, 0, tmp_path)
    assert len(list(tmp_path.glob("attack-*.npz"))) == 1
    monkeypatch.setattr(attack, "_best_flips", None)  # what is kept is not sought again
    again, more = task.changed(cora, small, 0, tmp_path), task.changed(cora, large, 0, tmp_path)
    assert (one != again).nnz == 0
    assert cora.graph is not None
    changed = [abs(graph - cora.graph).nnz / cora.graph.nnz for graph in (one, more)]
    np.testing.assert_allclose(changed, [0.25, 1.0], atol=1e-3)
    assert abs(one - cora.graph).multiply(abs(more - cora.graph)).nnz == abs(one - cora.graph).nnz


def test_random_edges_and_dice_are_of_the_seed(tmp_path: Path) -> None:
    task, cora = AttackTask(), load_dataset("cora")
    for change in ("random-50", "dice-50"):
        cell = _experiment(change=[change]).cells()[0]
        one, again, other = (task.changed(cora, cell, seed, tmp_path) for seed in (3, 3, 4))
        assert (one != again).nnz == 0
        assert (one != other).nnz > 0


def test_trials_say_how_good_the_suspects_are(tmp_path: Path) -> None:
    models = [{"name": "auto", "effort": "low"}, {"name": "label-propagation"}]
    change = ["none", "random-100"]
    run_experiment(_experiment(models=models, change=change), tmp_path, jobs=1)
    with TrialStore.open(tmp_path) as store:
        found = {(r.model, r.conditions["change"]): r.metrics for r in store.records()}
    assert len(found) == 4
    assert found["auto", "random-100"]["suspect_precision"] > 0.8
    assert found["auto", "random-100"]["suspect_recall"] > 0.6
    assert found["auto", "none"]["suspect_precision"] is None
    assert found["label-propagation", "random-100"]["suspect_precision"] is None
    assert found["auto", "random-100"]["accuracy"] < found["auto", "none"]["accuracy"]


def test_edges_are_scored_by_hand() -> None:
    found = edge_scores(np.array([0.1, 0.4, 0.6, 0.9]), np.array([True, False, True, False]))
    assert found == {"suspect_precision": 0.5, "suspect_recall": 0.5, "false_edge_auroc": 0.75}
    nobody = edge_scores(np.array([0.9]), np.array([False]))
    assert set(nobody.values()) == {None}


def test_data_without_a_graph_are_refused() -> None:
    task = AttackTask()
    with pytest.raises(InputError, match="no graph with features to attack"):
        task.check(_experiment(datasets=["digits"]).cells()[0])
    assert task.batch_size(_experiment(change=["none"]).cells()[0]) > 1
    assert task.batch_size(_experiment().cells()[0]) == 1
    assert "attacks" in builtin_experiments()
