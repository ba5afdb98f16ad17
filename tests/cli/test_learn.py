"""``truegraph learn`` on every kind of input, to every kind of output."""

from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from truegraph import ColumnPlan, LearnedGraph, learn_graph, load_dataset
from truegraph.data import as_adjacency, read_edges

POINTS = np.random.default_rng(0).normal(size=(60, 4))
NAMES = [f"node {i}" for i in range(60)]


def table() -> pd.DataFrame:
    frame = pd.DataFrame(POINTS, columns=list("abcd"))
    frame.insert(0, "name", NAMES)
    return frame


@pytest.fixture(scope="module")
def expected() -> LearnedGraph:
    return learn_graph(POINTS, degree=6)


@pytest.fixture(scope="module")
def expected_of_table() -> LearnedGraph:
    return learn_graph(ColumnPlan().fit_transform(table()), degree=6)


def write_input(path: Path) -> None:
    writers = {
        ".npy": lambda: np.save(path, POINTS),
        ".npz": lambda: np.savez(path, x=POINTS),
        ".csv": lambda: table().to_csv(path, index=False),
        ".parquet": lambda: table().to_parquet(path),
    }
    writers[path.suffix]()


@pytest.mark.parametrize("ending", [".npy", ".npz", ".csv", ".parquet"])
def test_every_kind_of_file_gives_its_graph(
    program,
    tmp_path: Path,
    ending: str,
    expected: LearnedGraph,
    expected_of_table: LearnedGraph,
) -> None:
    source = tmp_path / f"points{ending}"
    write_input(source)
    before = source.read_bytes()
    done = program("learn", source, "--degree", 6, "--out", tmp_path / "new" / "graph.npz")
    assert done.code == 0, done.err
    assert source.read_bytes() == before
    graph = LearnedGraph.load(tmp_path / "new" / "graph.npz")
    # The columns of tables are scaled; arrays stay as they are.
    wanted = expected if ending in (".npy", ".npz") else expected_of_table
    assert abs(graph.adjacency - wanted.adjacency).max() == 0
    assert graph.certificate.converged


def test_the_json_document(program, tmp_path: Path, expected: LearnedGraph) -> None:
    np.save(tmp_path / "p.npy", POINTS)
    done = program("learn", tmp_path / "p.npy", "--degree", 6, "--json")
    assert done.code == 0
    document = json.loads(done.out)
    certificate = expected.certificate
    assert document["nodes"] == 60
    assert document["edges"] == expected.n_edges
    assert document["mean_degree"] == pytest.approx(2 * expected.n_edges / 60)
    assert document["wanted_degree"] == 6
    assert document["relative_gap"] == certificate.relative_gap <= 1e-6
    assert document["scope"] == certificate.scope
    assert document["converged"] is True
    assert document["theta"] == certificate.theta
    assert document["search"]["engine"] == "exact"
    assert document["search"]["recall"] == 1.0
    assert {"search", "solve", "total"} <= set(document["seconds"])
    assert 50 < document["peak_memory_mb"] < 1e5
    assert document["solver"] == "newton"
    assert document["input"] == str(tmp_path / "p.npy")
    assert document["shape"] == [60, 4]
    assert document["out"] is None


def test_stages_on_stderr_and_a_summary_on_stdout(program, tmp_path: Path) -> None:
    np.save(tmp_path / "p.npy", POINTS)
    out = tmp_path / "graph.csv"
    done = program("learn", tmp_path / "p.npy", "--degree", 6, "--scope", "global", "--out", out)
    assert done.code == 0
    for stage in ("search", "candidates", "solve", "write"):
        assert stage in done.err
    assert "Learned a graph of 60 nodes and" in done.out
    assert "(6 wanted)" in done.out
    assert "among all pairs (proved)" in done.out
    assert str(out) in done.out


def test_quiet_is_silent(program, tmp_path: Path) -> None:
    np.save(tmp_path / "p.npy", POINTS)
    done = program("learn", tmp_path / "p.npy", "--quiet", "--out", tmp_path / "g.npz")
    assert (done.code, done.out, done.err) == (0, "", "")
    assert (tmp_path / "g.npz").exists()
    done = program("learn", tmp_path / "p.npy", "--quiet", "--json")
    assert done.err == ""
    assert json.loads(done.out)["nodes"] == 60


@pytest.mark.parametrize("ending", ["csv", "graphml"])
def test_names_of_the_nodes_are_in_the_output(
    program, tmp_path: Path, ending: str, expected_of_table: LearnedGraph
) -> None:
    table().to_csv(tmp_path / "points.csv", index=False)
    out = tmp_path / f"graph.{ending}"
    assert program("learn", tmp_path / "points.csv", "--degree", 6, "--out", out).code == 0
    found = read_edges(out) if ending == "csv" else nx.read_graphml(out)
    adjacency = as_adjacency(found, node_names=NAMES)
    assert abs(adjacency - expected_of_table.adjacency).max() == 0


def test_options_reach_the_learner(program, tmp_path: Path) -> None:
    np.save(tmp_path / "p.npy", POINTS)
    out = tmp_path / "g.npz"
    options = ["--theta", 0.3, "--metric", "cosine", "--candidates", "hnsw", "--seed", 5]
    options += ["--candidate-ratio", 2, "--solver", "primal-dual", "--tol", 1e-3, "--jobs", 1]
    options += ["--max-iter", 4000]
    assert program("learn", tmp_path / "p.npy", *options, "--out", out).code == 0
    wanted = learn_graph(
        POINTS,
        theta=0.3,
        metric="cosine",
        candidates="hnsw",
        random_state=5,
        candidate_ratio=2,
        solver="primal-dual",
        tol=1e-3,
        max_iter=4000,
    )
    found = LearnedGraph.load(out)
    assert (found.adjacency != wanted.adjacency).nnz == 0
    assert found.certificate.solver == "primal-dual"
    assert found.certificate.search == "hnsw"
    assert found.certificate.tolerance == 1e-3


def test_precomputed_distances(program, tmp_path: Path) -> None:
    squared = ((POINTS[:, None] - POINTS[None]) ** 2).sum(axis=2)
    np.save(tmp_path / "d.npy", squared)
    out = tmp_path / "dense.npz"
    arguments = ["--metric", "precomputed", "--theta", 0.2, "--out"]
    assert program("learn", tmp_path / "d.npy", *arguments, out).code == 0
    dense = LearnedGraph.load(out)
    assert dense.certificate.scope == "global"
    sparse.save_npz(tmp_path / "d.npz", sparse.csr_array(squared))
    out = tmp_path / "sparse.npz"
    assert program("learn", tmp_path / "d.npz", *arguments, out).code == 0
    assert abs(LearnedGraph.load(out).adjacency - dense.adjacency).max() < 1e-9


def test_a_failed_convergence_is_a_warning(program, tmp_path: Path) -> None:
    np.save(tmp_path / "p.npy", POINTS)
    options = ["--theta", 0.3, "--solver", "primal-dual", "--max-iter", 2, "--tol", 1e-9]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.filters", [])
        done = program("learn", tmp_path / "p.npy", *options, "--json")
    assert done.code == 0
    assert json.loads(done.out)["converged"] is False
    assert "Warning: the primal-dual solver stopped after 2 iterations" in done.err


def test_an_exported_data_set(program, tmp_path: Path) -> None:
    cora = load_dataset("cora")
    assert program("data", "export", "cora", "--out", tmp_path).code == 0
    arguments = ["--degree", 5, "--json", "--quiet", "--metric", "cosine"]
    done = program("learn", tmp_path / "features.csv", *arguments, "--out", tmp_path / "g.csv")
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert document["shape"][0] == 2708
    edges = learn_graph(cora.features, degree=5, metric="cosine").n_edges
    assert document["edges"] == pytest.approx(edges, rel=0.01)  # other ties from a dense table
    assert set(read_edges(tmp_path / "g.csv")["source"]) <= set(cora.node_names)


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_pictures_of_points_without_a_graph(program, tmp_path: Path, ending: str) -> None:
    np.save(tmp_path / "p.npy", POINTS)
    picture = tmp_path / f"graph.{ending}"
    assert program("learn", tmp_path / "p.npy", "--picture", picture).code == 0
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[ending]
    assert picture.read_bytes().startswith(start)


def test_learning_loads_no_torch(process, tmp_path: Path) -> None:
    np.save(tmp_path / "p.npy", POINTS)
    code = (
        "import sys; from truegraph.cli.app import run; code = run(sys.argv[1:]); "
        "print('torch' in sys.modules, 'numba' in sys.modules); sys.exit(code)"
    )
    arguments = ["--quiet", "--out", tmp_path / "g.graphml", "--picture", tmp_path / "g.png"]
    done = process("learn", tmp_path / "p.npy", *arguments, code=code)
    assert (done.code, done.out) == (0, "False True\n"), done.err
