"""The accuracy benchmark loses nothing when it is stopped and computes nothing twice."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from truegraph.errors import InputError
from truegraph.report.trials import METRICS

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "accuracy.py"


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("accuracy_benchmark", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.delenv("TRUEGRAPH_DATA", raising=False)
    return module


@pytest.fixture
def computed(benchmark: ModuleType, monkeypatch: pytest.MonkeyPatch) -> list[tuple]:
    """Replace the training by known answers, and list what is asked for."""
    asked: list[tuple] = []

    def run_batch(dataset, cell, seeds, cache):
        asked.append((cell["model"], cell["per_class"], tuple(seeds)))
        gain = 0.05 if cell["model"] == "bgcn" else 0.0
        values = [0.7 + gain + 0.001 * seed * seed for seed in seeds]
        metrics = dict.fromkeys(METRICS, values)
        return cell | {"seeds": seeds, "metrics": metrics, "seconds": 1.0}

    monkeypatch.setattr(benchmark, "run_batch", run_batch)
    return asked


def command(monkeypatch: pytest.MonkeyPatch, store: Path, *more: str) -> None:
    words = ["accuracy.py", "--datasets", "cora", "--labels", "5", "--trials", "4", "--batch", "2"]
    monkeypatch.setattr(sys, "argv", [*words, "--store", str(store), *more])


def test_the_same_command_computes_nothing_twice(
    benchmark, computed, tmp_path: Path, monkeypatch, capsys
) -> None:
    command(monkeypatch, tmp_path / "s.jsonl")
    assert benchmark.main() == 0
    # batch by batch, so that models can be compared as soon as possible
    assert computed == [
        ("gcn", 5, (0, 1)),
        ("bgcn", 5, (0, 1)),
        ("gcn", 5, (2, 3)),
        ("bgcn", 5, (2, 3)),
    ]
    before = (tmp_path / "s.jsonl").read_bytes()
    assert benchmark.main() == 0
    assert len(computed) == 4
    assert (tmp_path / "s.jsonl").read_bytes() == before
    out = capsys.readouterr().out
    mean = 100 * np.mean([0.7, 0.701, 0.704, 0.709])
    assert f"| {mean:.1f} ± 0.4" in out
    assert f"{mean - 70.0:+.1f}" in out
    assert "bgcn - gcn | +5.0" in out


def test_a_torn_line_is_done_again(benchmark, computed, tmp_path: Path, monkeypatch) -> None:
    store = tmp_path / "s.jsonl"
    command(monkeypatch, store, "--models", "gcn")
    benchmark.main()
    store.write_bytes(store.read_bytes()[:-20])
    computed.clear()
    benchmark.main()
    assert computed == [("gcn", 5, (2, 3))]
    assert [line["seeds"] for line in benchmark.Store(store).lines] == [[0, 1], [2, 3]]


def test_more_trials_and_other_options(
    benchmark, computed, tmp_path: Path, monkeypatch, capsys
) -> None:
    store = tmp_path / "s.jsonl"
    command(monkeypatch, store, "--models", "bgcn")
    benchmark.main()
    computed.clear()
    command(monkeypatch, store, "--models", "bgcn", "--trials", "5")
    benchmark.main()
    assert computed == [("bgcn", 5, (4,))]
    computed.clear()
    command(monkeypatch, store, "--models", "bgcn", "--degree", "50")
    benchmark.main()
    assert len(computed) == 2
    assert "bgcn (degree=50)" in capsys.readouterr().out


def test_a_failing_model_does_not_stop_the_others(
    benchmark, computed, tmp_path: Path, monkeypatch, capsys
) -> None:
    working = benchmark.run_batch

    def run_batch(dataset, cell, seeds, cache):
        if cell["model"] == "gat":
            raise InputError("no such thing")
        return working(dataset, cell, seeds, cache)

    monkeypatch.setattr(benchmark, "run_batch", run_batch)
    command(monkeypatch, tmp_path / "s.jsonl", "--models", "gat,gcn")
    assert benchmark.main() == 1
    assert "gat on cora: no such thing" in capsys.readouterr().err
    assert {model for model, *_ in computed} == {"gcn"}


def test_missing_data_sets_are_told(
    benchmark, computed, tmp_path: Path, monkeypatch, capsys
) -> None:
    monkeypatch.setenv("TRUEGRAPH_CACHE", str(tmp_path))
    command(monkeypatch, tmp_path / "s.jsonl", "--datasets", "pubmed,cora", "--models", "gcn")
    assert benchmark.main() == 1
    assert "pubmed" in capsys.readouterr().err
    assert len(computed) == 2
