"""Bad input: one message that names the place, the value and the remedy, at once, exit code 2."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

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


def pickled(path: Path) -> None:
    path.write_bytes(pickle.dumps(POINTS))


def lonely_names(path: Path) -> None:
    pd.DataFrame({"id": ["a\x01", "b", "c"], "x": [1.0, 2.0, 3.0]}).to_csv(path, index=False)


CASES = {
    "nan": ("p.npy", save(with_value(np.nan)), [], "contains NaN in row 7, column 2; remove"),
    "degree": (
        "p.npy",
        save(POINTS),
        ["--degree", "40"],
        "degree=40 cannot be reached: that many nodes allow at most 29 edges per node; ask for",
    ),
    "missing": ("p.npy", None, [], "Error: p.npy: no such file; check the path"),
    "pickle": ("p.npz", pickled, [], "it looks like a pickle, which is never loaded"),
    "asymmetric": (
        "p.npy",
        save(distances(2, 5, 3.0)),
        ["--metric", "precomputed"],
        "is not symmetric: entries (2, 5) and (5, 2) differ; make it so",
    ),
    "two densities": (
        "p.npy",
        save(POINTS),
        ["--option", "theta=1", "--option", "degree=3"],
        "the density was given by degree and theta; give degree, or theta",
    ),
    "unknown option": (
        "p.npy",
        save(POINTS),
        ["--option", "thetta=1"],
        "the graph learner has no option 'thetta'. Did you mean 'theta'?",
    ),
    "no value": ("p.npy", save(POINTS), ["--option", "theta"], "'theta' must be NAME=VALUE"),
    "graph format": (
        "p.npy",
        save(POINTS),
        ["--out", "graph.gml"],
        "--out graph.gml: cannot write .gml; let the name end in .npz, .csv, .parquet, .graphml, ",
    ),
    "picture format": (
        "p.npy",
        save(POINTS),
        ["--out", "graph"],
        "--out graph: cannot write a file without an ending",
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
    assert [line for line in said if "used as the identifier" not in line] == said[-1:]
    assert not done.out
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_bad_input_takes_about_a_second(process, tmp_path: Path) -> None:
    name, write, options, message = CASES["asymmetric"]
    write(tmp_path / name)
    # Processor time, which other work on the machine lengthens less than the clock's.
    runs = [process("learn", tmp_path / name, *options) for _ in range(2)]
    assert {done.code for done in runs} == {2}
    assert message in runs[0].err
    assert min(done.cpu_seconds for done in runs) < 1.5


def test_unknown_names(program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = program("learn", "corra")
    assert done.code == 2
    assert "INPUT 'corra' cannot be read; give a .npy, .npz, .csv" in done.err
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
        ("--out", source / "graph.png", f"cannot write to {source}"),
        ("--out", Path("/proc/no/graph.csv"), "cannot write to /"),
    ):
        done = program("learn", source, option, target)
        assert done.code == 2
        assert message in done.err
    assert source.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 2
