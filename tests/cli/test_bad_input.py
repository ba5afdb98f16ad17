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


def pickled(path: Path) -> None:
    path.write_bytes(pickle.dumps(POINTS))


CASES = {  # what is written, the words of the command, what is told
    "nan": (save(with_value(np.nan)), "", "contains NaN in row 7, column 2; remove"),
    "degree": (save(POINTS), "--degree 40", "degree=40 cannot be reached: that many nodes allow"),
    "missing": (None, "", "Error: p.npy: no such file; check the path"),
    "pickle": (pickled, "", "pickled objects are never loaded because"),
    "asymmetric": (
        save(distances(2, 5, 3.0)),
        "--metric precomputed",
        "is not symmetric: entries (2, 5) and (5, 2) differ; make it so",
    ),
    "two densities": (
        save(POINTS),
        "--option theta=1 --option degree=3",
        "the density was given by degree and theta; give degree, or theta",
    ),
    "unknown option": (save(POINTS), "--option thetta=1", "'thetta'. Did you mean 'theta'?"),
    "no value": (save(POINTS), "--option theta", "'theta' must be NAME=VALUE"),
    "graph format": (save(POINTS), "--out graph.gml", "graph.gml: cannot write .gml; let the name"),
    "no format": (save(POINTS), "--out graph", "cannot write a file without an ending"),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_input(program, tmp_path: Path, case: str) -> None:
    write, words, message = CASES[case]
    if write is not None:
        write(tmp_path / "p.npy")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    done = program("learn", "p.npy", *words.split())
    assert done.code == 2
    assert message in done.err
    said = done.err.replace("Reading p.npy ...\n", "").splitlines()
    assert len(said) == 1
    assert not done.out
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_names_that_xml_cannot_hold(program) -> None:
    table = pd.DataFrame({"id": ["a\x01", "b", "c"], "x": [1.0, 2.0, 3.0]})
    table.to_csv("p.csv", index=False)
    done = program("learn", "p.csv", "--degree", "2", "--out", "graph.graphml")
    assert done.code == 2
    assert r"the node name 'a\x01' holds a character that XML cannot hold" in done.err


def test_bad_input_takes_about_a_second(process, tmp_path: Path) -> None:
    write, words, message = CASES["asymmetric"]
    write(tmp_path / "p.npy")
    # Processor time, which other work on the machine lengthens less than the clock's.
    runs = [process("learn", tmp_path / "p.npy", *words.split()) for _ in range(2)]
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
