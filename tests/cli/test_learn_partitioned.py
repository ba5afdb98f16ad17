"""``truegraph learn`` in partitions: chosen by memory, continued after a kill, refused in words."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from truegraph import distributed

POINTS = np.random.default_rng(0).normal(size=(500, 3))


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("truegraph.cli.learn_partitioned._TIMEOUT", 3)
    np.save(tmp_path / "points.npy", POINTS)
    return tmp_path / "points.npy"


def test_a_storage_asks_for_partitions(program, tmp_path: Path, source: Path) -> None:
    out, work = tmp_path / "graph.parquet", tmp_path / "work"
    words = ["learn", source, "--degree", 5, "--storage", work, "--out", out, "--json"]
    done = program(*words)
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert document["converged"]
    expected = distributed.PartitionedGraph.open(work)
    assert document["edges"] == expected.n_edges == len(pd.read_parquet(out))
    again = program(*words)  # the same command goes on: here it is done already
    assert json.loads(again.out)["edges"] == expected.n_edges


def test_memory_decides(
    program, tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from truegraph.learning.partitioned import plan

    out = tmp_path / "graph.parquet"
    done = program("learn", source, "--degree", 5, "--memory", "1GB", "--out", out)
    assert done.code == 0, done.err
    assert out.is_file()
    assert "partitions" not in done.out
    out.unlink()
    monkeypatch.setattr(plan, "one_process_bytes", lambda *_: 1e12)
    done = program("learn", source, "--degree", 5, "--memory", "1GB", "--out", out)
    assert done.code == 0, done.err
    assert out.is_dir()
    assert "in 1 partitions" in done.out
    assert not (tmp_path / "graph.parquet.work").exists()


def test_a_folder_of_parquet_files(program, tmp_path: Path) -> None:
    (tmp_path / "points").mkdir()
    pd.DataFrame(POINTS, columns=list("abc")).to_parquet(tmp_path / "points" / "0.parquet")
    done = program("learn", tmp_path / "points", "--degree", 5, "--out", tmp_path / "g.parquet")
    assert done.code == 0, done.err
    assert len(pd.read_parquet(tmp_path / "g.parquet")) > 1000


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--out", "g.npz"], "written as a folder of Parquet files"),
        (["--out", "g.parquet", "--posterior"], "--posterior is not there for a graph in part"),
        (["--out", "g.parquet", "--min-degree", "2"], "--min-degree is not there"),
        (["--out", "g.parquet", "--candidates", "exact"], "--candidates exact is not there"),
        (["--out", "g.parquet", "--scope", "global"], "scope='global' needs an exact search"),
        (["--out", "g.parquet", "--memory", "much"], "memory='much' is no size"),
        (["--out", "g.parquet", "--cluster", "tcp://127.0.0.1:1"], "cannot be reached"),
    ],
)
def test_what_cannot_be_is_said(
    program, tmp_path: Path, source: Path, words: list[str], message: str
) -> None:
    words = [str(tmp_path / word) if word.startswith("g.") else word for word in words]
    done = program("learn", source, "--storage", tmp_path / "work", *words)
    assert done.code != 0
    assert message in " ".join(done.err.split())
