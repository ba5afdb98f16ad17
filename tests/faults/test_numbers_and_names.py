"""Extreme numbers, names and files: refused with a message that says what to do."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from truegraph import InputError, TruegraphError, learn_graph
from truegraph.data import read_interactions, read_points, read_user_lists
from truegraph.data.spreadsheets import escape_formulas
from truegraph.experiments import Experiment, TrialStore

POINTS = np.random.default_rng(0).normal(size=(30, 3))
DISTANCES = ((POINTS[:, None] - POINTS) ** 2).sum(axis=2)


def test_tiny_points_and_distances() -> None:
    learn_graph(POINTS * 1e-140, 4)
    for scale in (1e-160, 1e-200):
        with pytest.raises(InputError, match="scale the points up"):
            learn_graph(POINTS * scale, 4)
    for scale in (1e-300, 1e-320):
        with pytest.raises(InputError, match="scale the distances up"):
            learn_graph(DISTANCES * scale, 4, metric="precomputed")
    mixed = np.where(np.eye(30)[::-1] + np.eye(30) > 0, DISTANCES, 1e-320 * (DISTANCES > 0))
    learn_graph(np.minimum(mixed, mixed.T), 4, metric="precomputed")


def test_parameters_beyond_the_precision() -> None:
    with pytest.raises(InputError, match="tol must be"):
        learn_graph(POINTS, 4, tol=1e-300)
    for alpha, beta in ((1e-300, 1e300), (1e300, 1e-300)):
        with pytest.raises(InputError, match=r"alpha=.* and beta=.* are too extreme"):
            learn_graph(POINTS, alpha=alpha, beta=beta)


EXPERIMENT = 'task = "classification"\ndatasets = ["cora"]\nmodels = ["gcn"]\n'


@pytest.mark.parametrize("name", ["../../escaped", "a/b", "..", "", "a\\b", "n" * 300])
def test_the_name_of_an_experiment_stays_in_its_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "e.toml").write_text(f"name = '{name}'\n" + EXPERIMENT)
    with pytest.raises(InputError, match="cannot name the folder"):
        Experiment.from_toml(tmp_path / "e.toml")


@pytest.mark.parametrize(
    "line",
    [f"seed = {'1' * 5000}", "seed = 1e400", "seed = nan", f"keep = {'[' * 50_000}", "seed = -1"],
)
def test_toml_that_python_cannot_hold(tmp_path: Path, line: str) -> None:
    (tmp_path / "e.toml").write_text(EXPERIMENT + line + "\n")
    with pytest.raises(InputError, match=r"e\.toml"):
        Experiment.from_toml(tmp_path / "e.toml")


IDS: list[Any] = [
    np.array([[0.5, 1], [0.6, 1]]),
    np.array([[np.nan, 1], [1, 1]]),
    np.array([[np.inf, 1], [1, 1]]),
    np.array([[1e30, 1], [1, 1]]),
    np.array([[2**63 + 5, 1], [1, 1]], dtype=np.uint64),
]


@pytest.mark.parametrize("array", IDS)
def test_ids_that_are_no_whole_numbers(tmp_path: Path, array: Any) -> None:
    np.savez(tmp_path / "i.npz", interactions=array)
    with pytest.raises(InputError, match=r"i\.npz: row 0 of interactions has the user"):
        read_interactions(tmp_path / "i.npz")


def test_lists_that_are_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "lists.txt").write_bytes(b"1 2 3\n4 \xff 6\n")
    with pytest.raises(InputError, match=r"lists\.txt, line 2"):
        read_user_lists(tmp_path / "lists.txt")


@pytest.mark.parametrize("content", [b' \n"', b'1,"\n', b'"', b"\x00,\x00\n1,2"])
def test_unclosed_quotes(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "points.csv").write_bytes(content)
    with pytest.raises(TruegraphError, match=r"points\.csv"):
        read_points(tmp_path / "points.csv")


@pytest.mark.parametrize("value", ["[" * 100_000, "{", "1" * 5000, None])
@pytest.mark.parametrize("column", ["metrics", "details", "notes"])
def test_a_damaged_cell_of_the_store(
    made_up_run: Path, tmp_path: Path, column: str, value: Any
) -> None:
    copy = tmp_path / "trials.sqlite"
    copy.write_bytes((made_up_run / "trials.sqlite").read_bytes())
    with sqlite3.connect(copy) as connection:
        try:
            connection.execute(f"UPDATE trials SET {column} = ?", (value,))
        except sqlite3.IntegrityError:
            pytest.skip("the store itself refuses that")
    with TrialStore.open(tmp_path) as store, pytest.raises(TruegraphError, match=r"trials\.sqlite"):
        store.records()


def test_a_reader_that_has_had_enough_is_no_error() -> None:
    code = "from truegraph.cli import main; import sys; sys.argv[1:] = ['data', 'list']; main()"
    run = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )
    assert run.stdout is not None
    run.stdout.close()
    _, error = run.communicate(timeout=600)
    assert run.returncode == 0, error
    assert b"Traceback" not in error


def test_formulas_are_escaped_on_request() -> None:
    table = pd.DataFrame({"=cmd": ["=1+1", "+a", "-b", "@c", "tea", "-3.5", None], "n": [-1.0] * 7})
    escaped = escape_formulas(table)
    assert list(escaped.columns) == ["'=cmd", "n"]
    assert escaped["'=cmd"].tolist()[:6] == ["'=1+1", "'+a", "'-b", "'@c", "tea", "-3.5"]
    assert escaped["n"].tolist() == [-1.0] * 7
    assert table.columns[0] == "=cmd"
