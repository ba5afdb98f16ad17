"""``truegraph learn``: files in, a graph with its certificate out, in one process or in parts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from truegraph import ColumnPlan, LearnedGraph, distributed, learn_graph
from truegraph.data import as_adjacency, read_edges

POINTS = np.random.default_rng(0).normal(size=(60, 4))
NAMES = [f"node {i}" for i in range(60)]
TABLE = pd.DataFrame(POINTS, columns=list("abcd")).assign(name=NAMES)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    np.save(tmp_path / "points.npy", POINTS)
    return tmp_path / "points.npy"


@pytest.mark.parametrize("ending", [".npy", ".npz", ".csv", ".parquet"])
def test_every_kind_of_file_gives_its_graph(program, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"points{ending}"
    {
        ".npy": lambda: np.save(path, POINTS),
        ".npz": lambda: np.savez(path, x=POINTS),
        ".csv": lambda: TABLE.to_csv(path, index=False),
        ".parquet": lambda: TABLE.to_parquet(path),
    }[ending]()
    before = path.read_bytes()
    done = program("learn", path, "--degree", 6, "--out", "new/graph.npz")
    assert done.code == 0, done.err
    assert path.read_bytes() == before
    graph = LearnedGraph.load("new/graph.npz")
    # The columns of tables are scaled; arrays stay as they are.
    is_array = ending in (".npy", ".npz")
    wanted = learn_graph(POINTS if is_array else ColumnPlan().fit_transform(TABLE), degree=6)
    assert abs(graph.adjacency - wanted.adjacency).max() == 0
    assert graph.names == (None if is_array else tuple(NAMES))


def test_the_json_document(program, source: Path) -> None:
    done = program("learn", source, "--degree", 6, "--json", "--quiet")
    document, expected = json.loads(done.out), learn_graph(POINTS, degree=6)
    assert (done.code, done.err) == (0, "")
    assert document["edges"] == expected.n_edges
    for name, value in expected.certificate.as_dict().items():
        if name != "seconds":
            assert document[name] == value
    assert document["statistics"] == {"rows": 60, "columns": 4, "distance": "sqeuclidean"}
    assert document["written"] == []


def test_stages_on_stderr_and_a_summary_on_stdout(program, source: Path) -> None:
    done = program("learn", source, "--degree", 6, "--scope", "global", "--out", "g.csv")
    assert done.code == 0, done.err
    for stage in ("search", "candidates", "solve"):
        assert stage in done.err
    assert "Learned a graph of 60 nodes and" in done.out
    assert "of the best graph among all pairs" in done.out
    assert "g.csv" in done.out
    silent = program("learn", source, "--quiet", "--out", "h.npz", "--out", "h.png")
    assert (silent.code, silent.out, silent.err) == (0, "", "")
    assert Path("h.npz").exists()
    assert Path("h.png").read_bytes().startswith(b"\x89PNG")


def test_options_reach_the_learner(program, source: Path) -> None:
    given = ("theta=0.3", "candidates=ivf", "candidate-ratio=2", "solver=primal-dual", "tol=1e-3")
    words = [word for option in (*given, "max_iter=4000") for word in ("--option", option)]
    done = program("learn", source, "--metric", "cosine", "--seed", 5, *words, "--out", "g.npz")
    assert done.code == 0, done.err
    options = {"theta": 0.3, "candidate_ratio": 2, "solver": "primal-dual", "tol": 1e-3}
    wanted = learn_graph(
        POINTS,
        metric="cosine",
        candidates="ivf",
        random_state=5,
        options=options | {"max_iter": 4000},
    )
    found = LearnedGraph.load("g.npz")
    assert (found.adjacency != wanted.adjacency).nnz == 0
    assert found.certificate.tolerance == 1e-3


def test_precomputed_distances(program, tmp_path: Path) -> None:
    squared = ((POINTS[:, None] - POINTS[None]) ** 2).sum(axis=2)
    np.save("d.npy", squared)
    sparse.save_npz("d.npz", sparse.csr_array(squared))
    pd.DataFrame(squared).to_csv("d.csv", index=False)
    found = []
    for file in ("d.npy", "d.npz", "d.csv"):
        words = ("--metric", "precomputed", "--option", "theta=0.2", "--out", "g.npz")
        assert program("learn", file, *words).code == 0
        found.append(LearnedGraph.load("g.npz").adjacency)
    assert all(abs(other - found[0]).max() < 1e-9 for other in found)


def test_a_failed_convergence_is_a_warning(program, source: Path) -> None:
    given = ("theta=0.3", "solver=primal-dual", "max_iter=2", "tol=1e-9")
    words = [word for option in given for word in ("--option", option)]
    done = program("learn", source, *words, "--json", "--out", "page.html")
    assert done.code == 0
    assert json.loads(done.out)["converged"] is False
    assert "Warning: the primal-dual solver stopped after 2 iterations" in done.err
    assert "1 warning: see below" in Path("page.html").read_text()


@pytest.mark.parametrize("header", ["from,to,emails", "source,target", "Head,Tail,weight,time"])
def test_a_list_of_edges_names_the_right_command(program, tmp_path: Path, header: str) -> None:
    rows = [",".join("abcd"[: header.count(",") + 1])] * 3
    Path("e.csv").write_text("\n".join([header, *rows, "b,a,2,1"[: len(rows[0])]]) + "\n")
    done = program("learn", "e.csv")
    assert done.code == 2
    assert "truegraph links --edges e.csv" in done.err


def test_the_posterior(program, source: Path) -> None:
    done = program("learn", source, "--degree", 6, "--posterior", "--out", "graph.csv")
    assert done.code == 0, done.err
    graph = learn_graph(POINTS, degree=6)
    posterior = graph.posterior()
    pd.testing.assert_frame_equal(pd.read_csv("graph.csv"), posterior.to_pandas())
    # read as a graph, it is the learned one
    again = as_adjacency(read_edges("graph.csv"), node_names=[str(i) for i in range(60)])
    assert abs(again - graph.adjacency).max() < 1e-12
    assert "not calibrated to data" in done.out
    document = json.loads(program("learn", source, "--posterior", "--json", "--quiet").out)
    assert document["posterior"]["expected_edges"] > 0
    refused = program("learn", source, "--posterior", "--out", "g.npz")
    assert (refused.code, "is written to .csv only" in refused.err) == (2, True)


def test_a_storage_asks_for_partitions(program, source: Path) -> None:
    np.save(source, np.random.default_rng(0).normal(size=(500, 3)))
    words = ["learn", source, "--degree", 5, "--storage", "work", "--out", "graph.parquet"]
    done = program(*words, "--json")
    assert done.code == 0, done.err
    document = json.loads(done.out)
    expected = distributed.PartitionedGraph.open("work")
    assert document["edges"] == expected.n_edges == len(pd.read_parquet("graph.parquet"))
    again = program(*words, "--json")  # the same command goes on: here it is done already
    assert json.loads(again.out)["edges"] == expected.n_edges


def test_memory_decides(program, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from truegraph.learning.partitioned import plan

    out = Path("graph.parquet")
    words = ("learn", source, "--degree", 5, "--memory", "1GB", "--out", out)
    done = program(*words)
    assert done.code == 0, done.err
    assert out.is_file()
    out.unlink()
    monkeypatch.setattr(plan, "one_process_bytes", lambda *_: 1e12)
    done = program(*words)
    assert done.code == 0, done.err
    assert out.is_dir()
    assert "in 1 partitions" in done.out
    assert not Path("graph.parquet.work").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--out", "g.npz"], "written as a folder of Parquet files"),
        (["--out", "g.parquet", "--posterior"], "--posterior is not available for a graph in part"),
        (
            ["--out", "g.parquet", "--option", "min_degree=2"],
            "--option min_degree is not",
        ),
        (["--out", "g.parquet", "--memory", "much"], "memory='much' is no size"),
        (["--out", "g.parquet", "--cluster", "tcp://127.0.0.1:1"], "cannot be reached"),
    ],
)
def test_what_partitions_cannot_do_is_said(
    program, source: Path, monkeypatch: pytest.MonkeyPatch, words: list[Any], message: str
) -> None:
    monkeypatch.setattr("truegraph.cli.learn_partitioned._TIMEOUT", 1)
    done = program("learn", source, "--storage", "work", *words)
    assert done.code != 0
    assert message in " ".join(done.err.split())
