"""A record to start from, a task that only pretends, and a place without data folders."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from truegraph.experiments import Experiment, TrialRecord
from truegraph.experiments.tasks.base import TASKS

PRETEND = Path(__file__).parents[1] / "pretend"
MINE: dict[str, Any] = {
    "name": "mine",
    "task": "classification",
    "datasets": ["cora"],
    "labels": [5, 10],
    "models": ["label-propagation", {"name": "mlp", "label": "short MLP", "epochs": 5}],
    "trials": 3,
}


@pytest.fixture(autouse=True)
def no_data_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TRUEGRAPH_DATA", raising=False)
    monkeypatch.setenv("TRUEGRAPH_CACHE", str(tmp_path / "user's cache"))


@pytest.fixture
def content() -> dict[str, Any]:
    """What the file of a small experiment says."""
    return {**MINE, "models": list(MINE["models"])}


@pytest.fixture
def mine(content: dict[str, Any]) -> Experiment:
    return Experiment.from_dict(content)


@pytest.fixture
def record(mine: Experiment) -> Callable[..., TrialRecord]:
    """Make a record of the experiment's first cell, with changes."""
    cell = mine.cells()[0]
    first = TrialRecord(
        task=cell.task,
        dataset=cell.dataset,
        model=cell.model,
        label=cell.label,
        settings=cell.settings,
        conditions=cell.conditions,
        seed=0,
        status="done",
        metrics={"accuracy": 0.7, "error_detection_auroc": None},
        details={"reliability": {"count": [1, 2]}},
        seconds=1.5,
        peak_memory_mb=200.0,
        versions={"truegraph": "0"},
        fingerprint="f",
        source="embedded",
        notes=("a note",),
        commit=None,
        error=None,
        finished="2020-01-01T00:00:00+00:00",
    )
    return lambda **changes: replace(first, **changes)


@pytest.fixture
def pretend(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Experiment]:
    """Make an experiment of the pretend task, with settings of its only model.

    This process and all that it starts know the task.
    """
    path = os.pathsep.join([str(PRETEND), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    monkeypatch.setenv("PYTHONPATH", path)
    monkeypatch.syspath_prepend(str(PRETEND))
    monkeypatch.setitem(TASKS, "pretend", "pretend_task:PretendTask")

    def make(trials: int = 6, changes: dict[str, Any] | None = None, **settings: Any) -> Experiment:
        return Experiment.from_dict(
            {
                "name": "dreams",
                "task": "pretend",
                "datasets": ["nights"],
                "models": [{"name": "sleeper", **settings}],
                "trials": trials,
                **(changes or {}),
            }
        )

    return make
