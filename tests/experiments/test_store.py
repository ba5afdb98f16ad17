"""The store: each trial once, all or nothing, readable by others, refused when foreign."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from truegraph.errors import DataError, InputError
from truegraph.experiments import Experiment, TrialRecord, TrialStore

Record = Callable[..., TrialRecord]


def test_what_is_added_is_read(tmp_path: Path, mine: Experiment, record: Record) -> None:
    given = [record(seed=seed, commit="abc") for seed in range(3)]
    with TrialStore.create(tmp_path / "run", mine) as store:
        store.add(given)
        assert store.done(mine.cells()[0], "f") == {0, 1, 2}
        assert store.done(mine.cells()[0], "other data") == set()
        assert store.done(mine.cells()[1], "f") == set()
    with TrialStore.open(tmp_path / "run") as store:
        assert store.records() == given
        assert store.experiment == mine
    with TrialStore.open(tmp_path / "run" / "trials.sqlite") as store:
        assert store.all_records() == given


def test_a_trial_is_there_once(tmp_path: Path, mine: Experiment, record: Record) -> None:
    with TrialStore.create(tmp_path, mine) as store:
        store.add([record()])
        store.add([record(metrics={"accuracy": 0.1}), record(seed=1)])
        store.add([record(status="failed", error="late")])
        assert [r.metrics["accuracy"] for r in store.records()] == [0.7, 0.7]


def test_a_failure_gives_way_to_another_attempt(
    tmp_path: Path, mine: Experiment, record: Record
) -> None:
    with TrialStore.create(tmp_path, mine) as store:
        store.add([record(status="failed", metrics={}, error="out of luck")])
        assert store.done(mine.cells()[0], "f") == set()
        assert store.failed(mine.cells()[0], "f") == {0}
        assert store.records()[0].error == "out of luck"
        store.add([record()])
        assert store.records() == [record()]


def test_a_batch_is_stored_whole_or_not_at_all(
    tmp_path: Path, mine: Experiment, record: Record
) -> None:
    with TrialStore.create(tmp_path, mine) as store:
        with pytest.raises(ValueError, match="not JSON compliant"):
            store.add([record(), record(seed=1, metrics={"accuracy": math.nan})])
        with pytest.raises(DataError, match=r"trials.sqlite: SQLite says: NOT NULL"):
            store.add([record(), record(seed=None)])
        assert store.records() == []
        store.add([record()])


def test_memory_that_is_not_known(tmp_path: Path, mine: Experiment, record: Record) -> None:
    with TrialStore.create(tmp_path, mine) as store:
        store.add([record(peak_memory_mb=None)])
        assert store.records()[0].peak_memory_mb is None


def test_only_trials_of_the_experiment_as_it_is_now(
    tmp_path: Path, mine: Experiment, record: Record, content: dict[str, Any]
) -> None:
    old = record(seed=5, fingerprint="old", finished="2019")
    gone = record(settings={"alpha": 0.5})
    with TrialStore.create(tmp_path, mine) as store:
        store.add([old, gone, record(seed=1), record(seed=0)])
    entries = [{"name": "label-propagation", "label": "LP"}]
    with TrialStore.create(tmp_path, Experiment.from_dict(content | {"models": entries})) as store:
        assert [(r.seed, r.label) for r in store.records()] == [(0, "LP"), (1, "LP")]
        assert len(store.all_records()) == 4


def test_another_experiment_needs_another_folder(tmp_path: Path, mine: Experiment) -> None:
    TrialStore.create(tmp_path, mine).close()
    with pytest.raises(InputError, match="holds the trials of experiment 'mine', not of 'yours'"):
        TrialStore.create(tmp_path, replace(mine, name="yours"))


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no run here"):
        TrialStore.open(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_foreign_files_are_refused(tmp_path: Path, mine: Experiment) -> None:
    (tmp_path / "trials.sqlite").write_text("not a database at all " * 100)
    with pytest.raises(DataError, match="is not a store of trials"):
        TrialStore.open(tmp_path)
    with pytest.raises(DataError, match="is not a store of trials"):
        TrialStore.create(tmp_path, mine)


def test_other_layouts_are_refused(tmp_path: Path, mine: Experiment) -> None:
    TrialStore.create(tmp_path, mine).close()
    connection = sqlite3.connect(tmp_path / "trials.sqlite")
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    for opened in (TrialStore.open, lambda path: TrialStore.create(path, mine)):
        with pytest.raises(DataError, match="has layout 99, but this truegraph reads layout 1"):
            opened(tmp_path)


def test_what_a_killed_writer_left_is_rolled_back(
    tmp_path: Path, mine: Experiment, record: Record
) -> None:
    with TrialStore.create(tmp_path, mine) as store:
        store.add([record()])
    # What kill -9 leaves behind in the middle of a large transaction: pages changed in the file,
    # and the journal that undoes them.
    writer = sqlite3.connect(tmp_path / "trials.sqlite", isolation_level=None)
    writer.execute("PRAGMA cache_size = 1")
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("UPDATE trials SET label = 'half done', details = ?", ("x" * 500_000,))
    killed = tmp_path / "killed"
    killed.mkdir()
    for file in ("trials.sqlite", "trials.sqlite-journal"):
        (killed / file).write_bytes((tmp_path / file).read_bytes())
    writer.execute("ROLLBACK")
    with TrialStore.open(killed) as store:
        assert store.records() == [record()]
