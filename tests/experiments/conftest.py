"""A record to start from, and a place without data folders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from truegraph.experiments import Experiment, TrialRecord

MINE: dict[str, Any] = {
    "name": "mine",
    "task": "classification",
    "datasets": ["cora"],
    "labels": [5, 10],
    "models": ["label-propagation", {"name": "mlp", "label": "short MLP", "epochs": 5}],
    "trials": 3,
}


@pytest.fixture(autouse=True)
def no_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRUEGRAPH_DATA", raising=False)


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
