"""Extreme numbers, names and files: refused with a message that says what to do."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pandas as pd
import pytest

from truegraph import BayesianNodeClassifier, InputError, TruegraphError, learn_graph
from truegraph.cli.app import run
from truegraph.data import (
    ColumnPlan,
    as_adjacency,
    read_edges,
    read_interactions,
    read_labels,
    read_points,
    read_user_lists,
)
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
    with pytest.raises(InputError, match=r"tol=.* must be"):
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


def test_timestamps_and_large_numbers_keep_their_values(tmp_path: Path) -> None:
    when = 1_700_000_000 + np.arange(40)
    table = pd.DataFrame({"when": when, "mass": (1 + np.arange(40) % 7) * 1e39})
    table.to_csv(tmp_path / "t.csv", index=False)
    points, _ = read_points(tmp_path / "t.csv", ColumnPlan(id_column=None, scale="none"))
    assert points.dtype == np.float64
    np.testing.assert_array_equal(points, table.to_numpy(np.float64))


@pytest.mark.parametrize("shift", [0, 2**62])
def test_whole_numbers_that_float64_would_make_equal(tmp_path: Path, shift: int) -> None:
    table = pd.DataFrame({"x": np.arange(40.0) ** 2, "ticks": shift + 3 * np.arange(40)})
    table.to_parquet(tmp_path / "t.parquet")
    if not shift:
        assert read_points(tmp_path / "t.parquet")[0].shape == (40, 2)
        return
    with pytest.raises(InputError, match=r"column 'ticks' holds whole numbers .* makes equal"):
        read_points(tmp_path / "t.parquet")


def test_a_boolean_first_column_is_data(tmp_path: Path) -> None:
    rows = "".join(f"{row % 3 == 0},{row}.5\n" for row in range(20))
    (tmp_path / "t.csv").write_text("flag,x\n" + rows)
    points, names = read_points(tmp_path / "t.csv")
    assert names is None
    assert points.shape == (20, 3)  # False, True and x


@pytest.mark.parametrize("header", ["a;b\n", ""])
def test_decimal_commas_between_semicolons_are_numbers(tmp_path: Path, header: str) -> None:
    rows = "".join(f"{row},5;{row * row},25\n" for row in range(20))
    (tmp_path / "semi.csv").write_text(header + rows)
    points, names = read_points(tmp_path / "semi.csv", ColumnPlan(scale="none"))
    assert names is None
    np.testing.assert_array_equal(points[:, 0], np.arange(20) + 0.5)
    np.testing.assert_array_equal(points[:, 1], np.arange(20) ** 2 + 0.25)


READERS: dict[str, tuple[Any, str]] = {
    "points": (read_points, "id,x,x\na,1,2\nb,2,3\n"),
    "edges": (read_edges, "source,target,Source\na,b,c\n"),
    "weights": (read_edges, "source,target,weight,weight\na,b,1,2\n"),
    "labels": (read_labels, "node,label,label\na,x,y\n"),
    "interactions": (read_interactions, "user,item,user\na,x,b\n"),
    "atomic interactions": (read_interactions, "user:token,item:token,user:float\na,x,1\n"),
}


@pytest.mark.parametrize("kind", READERS)
def test_a_header_that_stands_twice(tmp_path: Path, kind: str) -> None:
    read, content = READERS[kind]
    (tmp_path / "t.csv").write_text(content)
    with pytest.raises(InputError, match=r"t\.csv: two columns are called"):
        read(tmp_path / "t.csv")


COMPLEX: dict[str, Any] = {
    "array": lambda: learn_graph(POINTS * 1j, 4),
    "table": lambda: learn_graph(pd.DataFrame({"x": POINTS[:, 0], "z": POINTS[:, 1] * 1j}), 4),
    "graph": lambda: as_adjacency(DISTANCES * 1j),
    "networkx": lambda: as_adjacency(networkx.Graph([(0, 1, {"weight": 2j})])),
    "edges": lambda: as_adjacency(pd.DataFrame({"source": [0], "target": [1], "weight": [2j]})),
}


@pytest.mark.parametrize("form", COMPLEX)
def test_complex_numbers_keep_their_imaginary_part_or_are_refused(form: str) -> None:
    with pytest.raises(InputError, match=r"complex|edge weights"):
        COMPLEX[form]()


LABELS_OF_FOUR = (["a", "b", "", ""], ["a", "", "c", "b"])


@pytest.mark.parametrize("labels", LABELS_OF_FOUR)
@pytest.mark.parametrize("recipe", ["auto", "refined"])
def test_four_nodes_of_which_some_have_no_label(recipe: str, labels: list[str]) -> None:
    graph = networkx.to_scipy_sparse_array(networkx.path_graph(4))
    known: Any = np.array([label or None for label in labels], dtype=object)
    model = BayesianNodeClassifier(recipe=recipe, random_state=0)
    shares = model.fit(np.eye(4), known, graph=graph).predict_proba()
    assert shares.shape == (4, len({label for label in labels if label}))
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, atol=1e-5)


def test_files_of_four_nodes_of_which_one_has_no_label(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("source,target\nn0,n1\nn1,n2\nn2,n3\n")
    (tmp_path / "labels.csv").write_text("node,label\nn0,a\nn1,\nn2,c\nn3,b\n")
    files = [f"--{kind}={tmp_path / kind}.csv" for kind in ("edges", "labels", "out")]
    assert run(["classify", *files, "--seed=0"]) == 0
    answers = pd.read_csv(tmp_path / "out.csv")
    assert set(answers["label"]) <= {"a", "b", "c"}
    assert answers["probability"].between(1 / 3, 1.0).all()


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
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout is not None
    process.stdout.close()
    _, error = process.communicate(timeout=600)
    assert process.returncode == 0, error
    assert b"Traceback" not in error
