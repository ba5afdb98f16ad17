"""Progress tells the truth: counts, means, time left, on a terminal and elsewhere."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from truegraph.evaluation import METRICS
from truegraph.experiments import Experiment, Source, TrialRecord
from truegraph.experiments.plan import Share
from truegraph.experiments.progress import Tally, console_watcher
from truegraph.experiments.runner import run_experiment

Record = Callable[..., TrialRecord]


@pytest.fixture
def tally(mine: Experiment) -> Tally:
    shares = [Share(cell, Source("f", "s"), (0, 1, 2)) for cell in mine.cells()]
    return Tally(shares, "accuracy", METRICS["accuracy"])


def test_counts_and_means(tally: Tally, record: Record) -> None:
    cell = next(iter(tally.cells.values()))
    assert tally.headline() == "0/12 trials done (0%), 0 running"
    tally.add([record(seed=seed, metrics={"accuracy": 0.5 + 0.1 * seed}) for seed in range(2)])
    cell.running = 1
    tally.add([record(seed=2, status="failed", error="no")])
    assert tally.headline() == "2/12 trials done (25%), 1 running, 1 failed, 14 s left"
    assert tally.value(cell) == "55.0 ± 5.0"


def test_what_does_not_belong_is_not_counted(tally: Tally, record: Record) -> None:
    strangers = [record(seed=7), record(fingerprint="other"), record(settings={"alpha": 0.1})]
    tally.add(strangers)
    assert tally.done == 0
    tally.add([record(), record(metrics={"accuracy": 0.1}), record(status="failed")])
    assert (tally.done, tally.failed) == (1, 0)


def test_a_failure_that_was_mended_counts_as_done(tally: Tally, record: Record) -> None:
    tally.add([record(status="failed", error="no")])
    tally.add([record()])
    assert (tally.done, tally.failed) == (1, 0)


def test_time_left_knows_that_models_differ(tally: Tally, record: Record, mine: Experiment) -> None:
    assert tally.seconds_left() is None
    slow = mine.cells()[1]
    tally.add([record(seed=0, seconds=1.0)])
    as_slow = {"model": slow.model, "label": slow.label, "settings": slow.settings}
    tally.add([record(seed=0, seconds=100.0, **as_slow)])
    tally.slots = 2
    assert tally.seconds_left() == pytest.approx((5 * 1.0 + 5 * 100.0) / 2)


def test_lines_where_there_is_no_terminal(
    tmp_path: Path, pretend: Callable[..., Experiment], capsys: pytest.CaptureFixture[str]
) -> None:
    experiment = pretend(4, changes={"batch": 2}, fail_on=[3])
    with console_watcher() as watcher:
        run_experiment(experiment, tmp_path, jobs=1, watcher=watcher)
    lines = capsys.readouterr().err.splitlines()
    draws = [np.random.default_rng([seed, 1]).random() for seed in range(3)]
    assert lines[0] == "0/4 trials done (0%), 0 running"
    means = f"score {np.mean(draws[:2]):.3f} ± {np.std(draws[:2]):.3f}"
    assert lines[1].startswith(f"sleeper on nights: 2/4  {means}  [2/4 trials done")
    assert "3/4" in lines[2]
    assert f"score {np.mean(draws):.3f}" in lines[2]
    assert lines[3] == "  trial 3 failed: ArithmeticError: seed 3 is unlucky"


def test_a_table_on_a_terminal(tmp_path: Path, pretend: Callable[..., Experiment]) -> None:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=100, height=30, color_system=None)
    with console_watcher(console=console) as watcher:
        run_experiment(pretend(4, changes={"level": [1, 2]}), tmp_path, jobs=1, watcher=watcher)
    shown = stream.getvalue()
    mean = np.mean([np.random.default_rng([seed, 2]).random() for seed in range(4)])
    assert "8/8 trials done (100%), 0 running" in shown
    last = [line for line in shown.splitlines() if "sleeper on nights, level 2" in line][-1]
    assert "4/4" in last
    assert f"{mean:.3f}" in last


def test_a_small_terminal_shows_what_is_running(tally: Tally, record: Record) -> None:
    from truegraph.experiments.progress import table

    tally.add([record()])
    list(tally.cells.values())[3].running = 2
    assert table(tally, 1).row_count == 1
    stream = io.StringIO()
    Console(file=stream, width=100).print(table(tally, 1))
    assert "short MLP on cora, labels 10" in stream.getvalue()


def test_silence(
    tmp_path: Path, pretend: Callable[..., Experiment], capsys: pytest.CaptureFixture[str]
) -> None:
    with console_watcher(enabled=False) as watcher:
        run_experiment(pretend(2), tmp_path, jobs=1, watcher=watcher)
    assert capsys.readouterr() == ("", "")
