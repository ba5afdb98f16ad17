"""The noise experiment: the same noise for all models, another for every seed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from truegraph.data import load_dataset
from truegraph.errors import InputError
from truegraph.experiments import Experiment, TrialStore
from truegraph.experiments.runner import run_experiment
from truegraph.experiments.tasks.noisy_graphs import perturbed


def _experiment(**changes: object) -> Experiment:
    content = {
        "name": "noisy",
        "task": "noise",
        "datasets": ["cora"],
        "models": ["label-propagation", "mlp"],
        "noise": [-0.5, 0.0],
        "trials": 2,
        "metrics": ["accuracy"],
    }
    return Experiment.from_dict(content | changes)


def test_noise_is_of_the_seed_and_not_of_the_model() -> None:
    label_propagation, mlp = _experiment().cells()[:2]
    cora = load_dataset("cora")
    first = perturbed(cora, label_propagation, 3)
    assert first.graph is not None
    assert cora.graph is not None
    assert first.graph.nnz == cora.graph.nnz - 2 * round(0.25 * cora.graph.nnz)
    again, other = perturbed(cora, mlp, 3), perturbed(cora, mlp, 4)
    assert (first.graph != again.graph).nnz == 0
    assert (first.graph != other.graph).nnz > 0
    assert first.labels is cora.labels


def test_missing_edges_hurt_only_those_who_use_them(tmp_path: Path) -> None:
    run_experiment(_experiment(), tmp_path, jobs=1)
    with TrialStore.open(tmp_path) as store:
        records = store.records()
    means = {
        (model, noise): np.mean(
            [
                record.metrics["accuracy"]
                for record in records
                if (record.model, record.conditions["noise"]) == (model, noise)
            ]
        )
        for model in ("label-propagation", "mlp")
        for noise in (-0.5, 0.0)
    }
    assert len(records) == 8
    assert means["mlp", -0.5] == means["mlp", 0.0]
    assert means["label-propagation", -0.5] < means["label-propagation", 0.0] - 0.05


def test_more_than_all_edges_cannot_be_removed() -> None:
    with pytest.raises(InputError, match="noise"):
        _experiment(noise=-1.5)
