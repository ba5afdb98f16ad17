"""Bad input: one message that names the place, the value and the remedy, at once, exit code 2."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

POINTS = np.random.default_rng(0).normal(size=(30, 3))


def with_value(value: float) -> np.ndarray:
    points = POINTS.copy()
    points[7, 2] = value
    return points


def distances(row: int, column: int, value: float) -> np.ndarray:
    matrix = np.ones((30, 30)) - np.eye(30)
    matrix[row, column] = value
    return matrix


def save(content: np.ndarray) -> Callable[[Path], None]:
    return lambda path: np.save(path, content)


def text(content: str) -> Callable[[Path], None]:
    return lambda path: path.write_text(content)


def truncated_npz(path: Path) -> None:
    np.savez(path, x=POINTS)
    path.write_bytes(path.read_bytes()[:300])


def truncated_npy(path: Path) -> None:
    np.save(path, POINTS)
    path.write_bytes(path.read_bytes()[:300])


def pickled(path: Path) -> None:
    path.write_bytes(pickle.dumps(POINTS))


def lonely(path: Path) -> None:
    matrix = sparse.csr_array(distances(0, 1, 1.0))
    matrix = sparse.lil_array(matrix)
    matrix[4, :] = 0
    matrix[:, 4] = 0
    sparse.save_npz(path, sparse.csr_array(matrix))


def lonely_names(path: Path) -> None:
    pd.DataFrame({"id": ["a\x01", "b", "c"], "x": [1.0, 2.0, 3.0]}).to_csv(path, index=False)


CASES = {
    "nan": ("p.npy", save(with_value(np.nan)), [], "contains NaN in row 7, column 2; remove"),
    "infinity": ("p.npy", save(with_value(np.inf)), [], "contains infinity in row 7, column 2"),
    "two kinds of numbers in csv": (
        "p.csv",
        text("a;b\n1,5;2\n3,5;4\n5;6.25\n"),
        [],
        "p.csv, line 4, column 'b': '6.25' has a decimal point, but column 'a' has decimal commas;",
    ),
    "nothing in csv": (
        "p.csv",
        text("a,b\n1,\n1,\n1,\n"),
        [],
        "p.csv: no column of the table is usable (a: the same value everywhere: 1; b: no values)",
    ),
    "uneven csv": ("p.csv", text("1,2\n3,4,5\n"), [], "p.csv, line 2: 3 fields instead of 2"),
    "empty csv": ("p.csv", text(""), [], "the file is empty"),
    "header only": ("p.csv", text("a,b\n"), [], "the table has no rows"),
    "empty array": ("p.npy", save(POINTS[:0]), [], "is empty (shape (0, 3)); give at least two"),
    "no columns": ("p.npy", save(POINTS[:, :0]), [], "has no columns"),
    "one node": ("p.npy", save(POINTS[:1]), [], "1 node; a graph needs at least two nodes"),
    "degree": (
        "p.npy",
        save(POINTS),
        ["--degree", "40"],
        "degree=40 cannot be reached: that many nodes allow at most 29 edges per node; ask for",
    ),
    "one dimension": ("p.npy", save(POINTS[:, 0]), [], "shape (30,) and type float64; give"),
    "three dimensions": ("p.npy", save(POINTS[None]), [], "shape (1, 30, 3)"),
    "words": ("p.npy", save(np.array([["a", "b"]])), [], "give numbers, one row per point"),
    "missing": ("p.npy", None, [], "Error: p.npy: no such file; check the path"),
    "truncated npz": ("p.npz", truncated_npz, [], "damaged or truncated npz file"),
    "truncated npy": ("p.npy", truncated_npy, [], "not a readable .npy array"),
    "pickle": ("p.npz", pickled, [], "it looks like a pickle, which is never loaded"),
    "pickle as npy": ("p.npy", pickled, [], "pickled objects are never loaded"),
    "not parquet": ("p.parquet", text("no"), [], "not a readable Parquet file"),
    "negative": (
        "p.npy",
        save(distances(2, 5, -0.5)),
        ["--metric", "precomputed"],
        "negative distance -0.5 in row 2, column 5; distances must be >= 0",
    ),
    "nan distance": (
        "p.npy",
        save(distances(2, 5, np.nan)),
        ["--metric", "precomputed"],
        "contains NaN in row 2, column 5",
    ),
    "asymmetric": (
        "p.npy",
        save(distances(2, 5, 3.0)),
        ["--metric", "precomputed"],
        "is not symmetric: entries (2, 5) and (5, 2) differ; make it so",
    ),
    "not square": (
        "p.npy",
        save(POINTS),
        ["--metric", "precomputed"],
        "must be square for metric='precomputed', but has shape (30, 3)",
    ),
    "no candidate": (
        "p.npz",
        lonely,
        ["--metric", "precomputed"],
        "node 4 has no candidate pair (1 such nodes)",
    ),
    "metric": ("p.npy", save(POINTS), ["--metric", "l2"], "metric='l2' must be one of"),
    "solver": ("p.npy", save(POINTS), ["--solver", "admm"], "solver='admm' must be one of"),
    "zero degree": ("p.npy", save(POINTS), ["--degree", "0"], "must be a finite number"),
    "theta": ("p.npy", save(POINTS), ["--theta", "-1"], "theta=-1.0 must be a finite number > 0"),
    "two densities": (
        "p.npy",
        save(POINTS),
        ["--theta", "1", "--degree", "3"],
        "the density was given by degree and theta; give degree, or theta",
    ),
    "global with ivf": (
        "p.npy",
        save(POINTS),
        ["--scope", "global", "--candidates", "ivf"],
        "scope='global' needs exact search",
    ),
    "graph format": (
        "p.npy",
        save(POINTS),
        ["--out", "graph.gml"],
        "--out graph.gml: cannot write .gml; let the name end in .npz, .csv, .parquet or .graphml.",
    ),
    "picture format": (
        "p.npy",
        save(POINTS),
        ["--picture", "graph"],
        "--picture graph: cannot write a file without an ending",
    ),
    "names in xml": (
        "p.csv",
        lonely_names,
        ["--degree", "2", "--out", "graph.graphml"],
        r"the node name 'a\x01' holds a character that XML cannot hold",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_input(program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    name, write, options, message = CASES[case]
    monkeypatch.chdir(tmp_path)
    if write is not None:
        write(tmp_path / name)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    done = program("learn", name, *options)
    assert done.code == 2
    assert message in done.err
    said = done.err.replace(f"Reading {name} ...\n", "").splitlines()
    assert [line for line in said if "taken as the id" not in line] == said[-1:]
    assert not done.out
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    "case", ["nan", "degree", "pickle", "asymmetric", "no candidate", "missing"]
)
def test_bad_input_takes_about_a_second(process, tmp_path: Path, case: str) -> None:
    name, write, options, message = CASES[case]
    if write is not None:
        write(tmp_path / name)
    # Processor time, which other work on the machine lengthens less than the clock's.
    runs = [process("learn", tmp_path / name, *options) for _ in range(3)]
    assert {done.code for done in runs} == {2}
    assert message.removeprefix("Error: p.npy") in runs[0].err
    assert min(done.cpu_seconds for done in runs) < 1.5


def test_unknown_names(program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = program("learn", "corra")
    assert done.code == 2
    assert "INPUT 'corra' cannot be read; give a .npy, .npz, .csv or .parquet file." in done.err
    done = program("learn", "Cora")
    assert done.code == 2
    assert "truegraph data export cora --out cora, then: truegraph learn cora/feat" in done.err
    done = program("compare", "classify", "mnist", "--models", "mlp", "--out", tmp_path / "r")
    assert done.code == 2
    assert "is not on this machine" in done.err
    monkeypatch.setenv("TRUEGRAPH_DATA", str(tmp_path / "gone"))
    done = program("compare", "classify", "cora", "--models", "mlp", "--out", tmp_path / "r")
    assert "TRUEGRAPH_DATA is" in done.err


def test_targets_are_checked_before_the_work(program, tmp_path: Path) -> None:
    source = tmp_path / "points.csv"
    np.savetxt(source, POINTS, delimiter=",")
    before = source.read_bytes()
    (tmp_path / "folder.csv").mkdir()
    for option, target, message in (
        ("--out", source, "would overwrite INPUT; choose another name."),
        ("--out", tmp_path / "folder.csv", "is a folder; give the name of a file in it."),
        ("--out", source / "graph.csv", f"cannot write to {source}"),
        ("--picture", source / "graph.png", f"cannot write to {source}"),
        ("--out", Path("/proc/no/graph.csv"), "cannot write to /"),
    ):
        done = program("learn", source, option, target)
        assert done.code == 2
        assert message in done.err
    assert source.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 2
