"""Finished trials in an SQLite file: each once, written through to the disk, never lost.

>>> from truegraph.experiments import TrialStore
>>> with TrialStore.open("runs/table1") as store:  # doctest: +SKIP
...     accuracies = [record.metrics["accuracy"] for record in store.records()]

Every `add` is one transaction that is on the disk when it returns, so a killed process loses only
what it had not added. Several processes may use one store: a writer waits for its turn. The
rollback journal is used and not the write-ahead log, since that one breaks on network drives and
keeps a store on a read-only medium from being read.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from truegraph.errors import DataError, InputError
from truegraph.experiments.experiment import Experiment
from truegraph.experiments.tasks.base import Cell

FILE = "trials.sqlite"
_VERSION = 1
_WAIT = 60.0  # seconds that a writer waits for others
_JSON = ("settings", "conditions", "metrics", "details", "versions", "notes")
_SCHEMA = f"""
CREATE TABLE run (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE trials (
    cell TEXT NOT NULL, task TEXT NOT NULL, dataset TEXT NOT NULL, model TEXT NOT NULL,
    label TEXT NOT NULL, settings TEXT NOT NULL, conditions TEXT NOT NULL, seed INTEGER NOT NULL,
    status TEXT NOT NULL, metrics TEXT NOT NULL, details TEXT NOT NULL, seconds REAL NOT NULL,
    peak_memory_mb REAL, versions TEXT NOT NULL, fingerprint TEXT NOT NULL, source TEXT NOT NULL,
    notes TEXT NOT NULL, "commit" TEXT, error TEXT, finished TEXT NOT NULL,
    UNIQUE (cell, fingerprint, seed)
);
PRAGMA user_version = {_VERSION};
"""


@dataclass(frozen=True)
class TrialRecord:
    """One trial as it is stored.

    Attributes
    ----------
    task, dataset, model, label, settings, conditions
        Of its cell, see `truegraph.experiments.tasks.base.Cell`.
    seed : int
    status : str
        "done" or "failed".
    metrics : dict of str to float or None
    details : dict
    seconds : float
        Time of the batch that the trial was run in, divided by the batch's trials.
    peak_memory_mb : float or None
        The most memory in 10^6 bytes that the process of the trial had held since it was started,
        by the time the trial's batch ended. None where the system does not tell.
    versions : dict of str to str
        Of the packages and the platform that ran it.
    fingerprint, source : str
        SHA-256 of the data, and where they were found.
    notes : tuple of str
        What a reader should know of the data and of what was chosen.
    commit : str or None
        Of the checkout that the package ran from, if it did.
    error : str or None
        Why the trial failed.
    finished : str
        Time in UTC, ISO 8601.
    """

    task: str
    dataset: str
    model: str
    label: str
    settings: dict[str, Any]
    conditions: dict[str, Any]
    seed: int
    status: str
    metrics: dict[str, float | None]
    details: dict[str, Any]
    seconds: float
    peak_memory_mb: float | None
    versions: dict[str, str]
    fingerprint: str
    source: str
    notes: tuple[str, ...]
    commit: str | None
    error: str | None
    finished: str

    @property
    def cell(self) -> Cell:
        """The cell that the trial belongs to."""
        return Cell(self.task, self.dataset, self.model, self.label, self.settings, self.conditions)


_NAMES = [column.name for column in fields(TrialRecord)]
_COLUMNS = ", ".join(f'"{name}"' for name in _NAMES)
# The first to finish a trial keeps its row; only a failure gives way to another attempt.
_INSERT = f"""
INSERT INTO trials (cell, {_COLUMNS}) VALUES ({", ".join("?" * (len(_NAMES) + 1))})
ON CONFLICT (cell, fingerprint, seed) DO UPDATE SET
{", ".join(f'"{name}" = excluded."{name}"' for name in _NAMES)}
WHERE trials.status = 'failed'
"""


class TrialStore:
    """The trials of one run.

    Use `open` or `create`, and `close` at the end or a ``with`` block.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection

    @classmethod
    def open(cls, folder: str | Path) -> TrialStore:
        """Open the store of a run for reading.

        Parameters
        ----------
        folder : path-like
            Folder of the run, or the path of the store in it.
        """
        path = _store_path(folder)
        if not path.is_file():
            raise DataError(
                f"{path}: there is no run here; give the folder that truegraph reproduce wrote."
            )
        with _told(path):
            # Not mode=ro: what a killed writer left half done could not be rolled back. SQLite
            # itself falls back to reading where it may not write.
            address = f"{path.absolute().as_uri()}?mode=rw"
            connection = sqlite3.connect(address, uri=True, timeout=_WAIT)
            store = cls(path, connection)
            store._check_version()
        return store

    @classmethod
    def create(cls, folder: str | Path, experiment: Experiment) -> TrialStore:
        """Open the store of a run for reading and writing; make it if there is none.

        Raises
        ------
        InputError
            If the folder holds the trials of an experiment of another name.
        DataError
            If the store cannot be written.
        """
        path = _store_path(folder)
        with _told(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(path, timeout=_WAIT, isolation_level=None)
            connection.execute("PRAGMA synchronous = FULL")
            store = cls(path, connection)
            with store._transaction():
                store._begin(experiment)
        return store

    def _begin(self, experiment: Experiment) -> None:
        """Make the tables, or check that the store is of the same experiment."""
        if self._version() == 0 and not self._has_tables():
            for statement in _SCHEMA.split(";\n"):
                self._connection.execute(statement)
        else:
            self._check_version()
            before = self._stored_experiment()["name"]
            if before != experiment.name:
                raise InputError(
                    f"{self.path}: holds the trials of experiment {before!r}, not of "
                    f"{experiment.name!r}; choose another folder."
                )
        self._connection.execute(
            "INSERT OR REPLACE INTO run VALUES ('experiment', ?)",
            (json.dumps(experiment.to_dict(), allow_nan=False),),
        )

    def _version(self) -> int:
        return int(self._connection.execute("PRAGMA user_version").fetchone()[0])

    def _has_tables(self) -> bool:
        return self._connection.execute("SELECT 1 FROM sqlite_master").fetchone() is not None

    def _check_version(self) -> None:
        version = self._version()
        if version != _VERSION:
            raise DataError(
                f"{self.path}: has layout {version}, but this truegraph reads layout {_VERSION}; "
                "use the version of truegraph that wrote it, or another folder."
            )

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Do all of it or nothing, alone among writers."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def _stored_experiment(self) -> dict[str, Any]:
        row = self._connection.execute("SELECT value FROM run WHERE name = 'experiment'").fetchone()
        content: dict[str, Any] = _from_json("experiment", row[0])
        return content

    @property
    def experiment(self) -> Experiment:
        """The experiment that the trials belong to."""
        with _told(self.path):
            return Experiment.from_dict(self._stored_experiment())

    def add(self, records: Iterable[TrialRecord]) -> None:
        """Store trials, all or none; return when they are on the disk.

        A trial that is there already stays as it is, unless it had failed.
        """
        rows = [_row(record) for record in records]
        with _told(self.path), self._transaction():
            self._connection.executemany(_INSERT, rows)

    def done(self, cell: Cell, fingerprint: str) -> set[int]:
        """Return the seeds of a cell that are done on data of that fingerprint."""
        return self._seeds(cell, fingerprint, "done")

    def failed(self, cell: Cell, fingerprint: str) -> set[int]:
        """Return the seeds of a cell that failed on data of that fingerprint."""
        return self._seeds(cell, fingerprint, "failed")

    def _seeds(self, cell: Cell, fingerprint: str, status: str) -> set[int]:
        question = "SELECT seed FROM trials WHERE cell = ? AND fingerprint = ? AND status = ?"
        with _told(self.path):
            rows = self._connection.execute(question, (cell.key, fingerprint, status)).fetchall()
        return {row[0] for row in rows}

    def all_records(self) -> list[TrialRecord]:
        """Return every stored trial, in the order of finishing."""
        with _told(self.path):
            rows = self._connection.execute(
                f"SELECT {_COLUMNS} FROM trials ORDER BY finished, rowid"
            ).fetchall()
            return [_record(row) for row in rows]

    def records(self) -> list[TrialRecord]:
        """Return the trials of the experiment as it is now.

        Trials of settings that were since taken out of the experiment are left out; where the data
        of a cell changed, so are the trials on the older data. Trials are ordered as the cells of
        the experiment, then by seed, and carry its labels.
        """
        order = {cell.key: (place, cell) for place, cell in enumerate(self.experiment.cells())}
        keyed = [(record.cell.key, record) for record in self.all_records()]
        newest = {key: record.fingerprint for key, record in keyed}
        chosen = [
            (order[key][0], replace(record, label=order[key][1].label))
            for key, record in keyed
            if key in order and record.fingerprint == newest[key]
        ]
        return [record for _, record in sorted(chosen, key=lambda pair: (pair[0], pair[1].seed))]

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> TrialStore:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _store_path(folder: str | Path) -> Path:
    path = Path(folder)
    return path if path.suffix == ".sqlite" else path / FILE


def _row(record: TrialRecord) -> list[Any]:
    values: list[Any] = [record.cell.key]
    for name in _NAMES:
        value = getattr(record, name)
        values.append(json.dumps(value, allow_nan=False) if name in _JSON else value)
    return values


def _record(row: tuple[Any, ...]) -> TrialRecord:
    values: dict[str, Any] = {
        name: _from_json(name, value) if name in _JSON else value
        for name, value in zip(_NAMES, row, strict=True)
    }
    values["notes"] = tuple(values["notes"])
    return TrialRecord(**values)


def _from_json(name: str, text: Any) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise sqlite3.DatabaseError(f"a damaged cell in the column {name} ({error})") from error


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Turn what SQLite and the system say into an error that names the file and the remedy."""
    try:
        yield
    except sqlite3.Error as error:
        raise DataError(f"{path}: {_explained(error)}") from error
    except OSError as error:
        raise DataError(
            f"{path}: cannot be written ({error.strerror}); choose a folder that you may write to."
        ) from error


_REMEDIES: Mapping[str, str] = {
    "full": "the disk is full. Trials stored before are safe; free some space and run the same "
    "command to continue.",
    "readonly": "cannot be written. Trials stored before are safe; choose a folder that you may "
    "write to.",
    "unable to open": "cannot be opened for writing; choose a folder that you may write to.",
    "locked": "other processes kept it busy for a minute; run the same command to continue.",
    "disk I/O": "the disk cannot be read or written. Trials stored before are safe; check the "
    "disk and run the same command to continue.",
    "damaged cell": "holds something that truegraph did not write; restore the file from a copy.",
    "not a database": "is not a store of trials; give the folder that truegraph reproduce wrote.",
}


def _explained(error: sqlite3.Error) -> str:
    text = str(error)
    for word, remedy in _REMEDIES.items():
        if word in text:
            return f"{remedy} (SQLite: {text})"
    return f"SQLite says: {text}."
