"""The statistics of the data sets are the paper's where the data are."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from truegraph.errors import InputError
from truegraph.experiments import Experiment, TrialStore
from truegraph.experiments.runner import run_experiment

HOME = os.environ.get("TRUEGRAPH_DATA")


def counted(folder: Path, *datasets: str, **changes: Any) -> dict[tuple[str, str], dict]:
    content = {"name": "d", "task": "datasets", "trials": 1, "models": ["statistics"]}
    experiment = Experiment.from_dict(content | {"datasets": list(datasets)} | changes)
    run_experiment(experiment, folder, jobs=1)
    with TrialStore.open(folder) as store:
        return {(r.dataset, r.conditions["component"]): r.metrics for r in store.records()}


def test_graphs_of_nodes(tmp_path: Path) -> None:
    found = counted(tmp_path, "cora", "citeseer", component=["largest", "full"])
    assert found["cora", "largest"]["nodes"] == 2485
    assert found["cora", "largest"]["edges"] == 5069
    assert found["citeseer", "largest"]["nodes"] == 2110
    assert found["citeseer", "full"]["edges"] == 4552
    assert found["cora", "full"]["density"] == pytest.approx(5278 / (2708 * 2707 / 2))
    assert found["cora", "full"]["users"] is None


def test_sets_of_interactions(tmp_path: Path) -> None:
    found = counted(tmp_path, "planted")["planted", "full"]
    assert (found["users"], found["items"], found["edges"]) == (240, 180, 5728)
    assert found["density"] == pytest.approx(5728 / (240 * 180))
    assert 0.6 < found["training_edges"] / found["edges"] < 0.7
    assert found["nodes"] is None


def test_unknown_sets_are_told_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Did you mean 'ml100k'"):
        counted(tmp_path, "ml100")


@pytest.mark.large
@pytest.mark.skipif(HOME is None, reason="needs the large data sets under TRUEGRAPH_DATA")
def test_the_paper_s_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRUEGRAPH_DATA", str(HOME))
    found = counted(tmp_path, "pubmed", "ml100k", "yelp2018", component="largest")
    assert found["pubmed", "largest"]["edges"] == 44324
    ml100k = found["ml100k", "largest"]
    assert (ml100k["users"], ml100k["items"], ml100k["training_edges"]) == (897, 823, 36330)
    assert ml100k["density"] == pytest.approx(0.0716, abs=5e-5)
    with TrialStore.open(tmp_path) as store:
        notes = {record.dataset: record.notes for record in store.records()}
    assert "stand-in" in notes["yelp2018"][0]
