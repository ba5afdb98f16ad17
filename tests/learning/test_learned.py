from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from lab.known_problems import paper_graph
from scipy import sparse
from scipy.sparse import csr_array

from truegraph import ColumnPlan, LearnedGraph, learn_bipartite_graph
from truegraph.data import as_adjacency
from truegraph.errors import InputError, TruegraphError

POINTS = np.repeat(np.random.default_rng(0).normal(size=(25, 3)), 2, axis=0)


@pytest.fixture(scope="module")
def graph() -> LearnedGraph:
    return paper_graph(POINTS, degree=5)


@pytest.fixture(scope="module")
def bipartite() -> LearnedGraph:
    return learn_bipartite_graph(POINTS[:15], POINTS[15:], degree=4)


def test_the_plan_of_a_table_is_saved_with_the_graph(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"age": rng.normal(size=60), "words": [f"row {i} of {i * i}" for i in range(60)]}
    )
    graph = paper_graph(table, degree=5)
    graph.save(tmp_path / "graph.npz")
    loaded = LearnedGraph.load(tmp_path / "graph.npz")
    np.testing.assert_array_equal(loaded.plan.transform(table), graph.plan.transform(table))
    assert loaded.plan.describe() == graph.plan.describe()
    assert paper_graph(POINTS, degree=5).plan is None


def assert_canonical(adjacency: csr_array) -> None:
    """Symmetric to the bit, zero diagonal, sorted, no stored zeros, float64."""
    assert isinstance(adjacency, csr_array)
    assert adjacency.dtype == np.float64
    assert (adjacency != adjacency.T).nnz == 0
    assert (adjacency.data > 0.0).all()
    assert (adjacency.diagonal() == 0.0).all()
    for start, stop in zip(adjacency.indptr[:-1], adjacency.indptr[1:], strict=True):
        assert (np.diff(adjacency.indices[start:stop]) > 0).all()


@pytest.mark.filterwarnings("ignore::truegraph.errors.ConvergenceWarning")
@pytest.mark.parametrize("solver", ["newton", "primal-dual"])
@pytest.mark.parametrize("max_iter", [1, 3, None])
@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine", "precomputed"])
def test_adjacency_is_canonical(solver: str, max_iter: int | None, metric: str) -> None:
    X = ((POINTS[:, None] - POINTS) ** 2).sum(axis=2) if metric == "precomputed" else POINTS
    found = paper_graph(X, 5, metric=metric, solver=solver, max_iter=max_iter)
    assert_canonical(found.adjacency)
    assert found.adjacency.indices.dtype == np.int32
    assert (found.adjacency.sum(axis=1) > 0.0).all()


def test_adjacency_of_users_and_items_is_canonical(bipartite: LearnedGraph) -> None:
    assert_canonical(bipartite.adjacency)
    assert bipartite.n_users == 15
    assert bipartite.biadjacency.shape == (15, 35)
    assert bipartite.biadjacency.nnz == bipartite.n_edges


def test_a_graph_that_is_not_bipartite_has_no_biadjacency(graph: LearnedGraph) -> None:
    with pytest.raises(InputError, match="not bipartite; use adjacency"):
        _ = graph.biadjacency


def test_what_the_graph_says_of_itself(graph: LearnedGraph) -> None:
    assert graph.n_nodes == 50
    assert graph.n_edges == graph.adjacency.nnz // 2
    assert graph.certificate.degree == 2 * graph.n_edges / 50
    assert repr(graph).startswith(f"LearnedGraph(nodes=50, edges={graph.n_edges}, degree=5")
    assert "converged=True" in repr(graph)
    certificate = graph.certificate.as_dict()
    assert certificate["wanted_degree"] == 5.0
    assert certificate["search"] == "exact"
    assert certificate["recall"] == 1.0
    assert certificate["candidate_pairs"] == graph.candidates.nnz // 2
    assert {"search", "solve", "total"} <= set(certificate["seconds"])
    assert certificate["seconds"]["total"] >= certificate["seconds"]["solve"] > 0.0


@pytest.mark.parametrize("which", ["graph", "bipartite"])
def test_saved_and_loaded_it_is_the_same(
    which: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    graph = request.getfixturevalue(which)
    graph.save(tmp_path / "graph.npz")
    again = LearnedGraph.load(tmp_path / "graph.npz")
    assert_canonical(again.adjacency)
    for name in ("adjacency", "candidates"):
        one, other = getattr(again, name), getattr(graph, name)
        assert one.shape == other.shape
        for part in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(one, part), getattr(other, part))
            assert getattr(one, part).dtype == getattr(other, part).dtype
    np.testing.assert_array_equal(again.multipliers, graph.multipliers)
    assert again.certificate == graph.certificate
    assert again.n_users == graph.n_users
    # Duplicated points: candidates at distance zero are kept.
    assert (again.candidates.data == 0.0).any()


def test_scipy_reads_the_file(graph: LearnedGraph, tmp_path: Path) -> None:
    graph.save(tmp_path / "graph.npz")
    adjacency = sparse.load_npz(tmp_path / "graph.npz")
    assert adjacency.format == "csr"
    assert abs(adjacency - graph.adjacency).max() == 0.0


def test_other_files_are_refused(graph: LearnedGraph, tmp_path: Path) -> None:
    sparse.save_npz(tmp_path / "plain.npz", graph.adjacency)
    with pytest.raises(InputError, match=r"plain\.npz: not a saved model"):
        LearnedGraph.load(tmp_path / "plain.npz")
    graph.save(tmp_path / "graph.npz")
    whole = (tmp_path / "graph.npz").read_bytes()
    (tmp_path / "torn.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(TruegraphError, match=r"torn\.npz"):
        LearnedGraph.load(tmp_path / "torn.npz")
    with pytest.raises((TruegraphError, FileNotFoundError), match=r"absent\.npz"):
        LearnedGraph.load(tmp_path / "absent.npz")


@pytest.mark.parametrize("missing", ["shape", "indices", "LearnedGraph.multipliers", "document"])
def test_a_file_that_lacks_a_part_is_refused(
    graph: LearnedGraph, tmp_path: Path, missing: str
) -> None:
    graph.save(tmp_path / "graph.npz")
    with np.load(tmp_path / "graph.npz") as arrays:
        parts = {name: arrays[name] for name in arrays if name != missing}
    np.savez(tmp_path / "part.npz", **parts)
    with pytest.raises(TruegraphError, match=r"part\.npz"):
        LearnedGraph.load(tmp_path / "part.npz")


def test_indices_out_of_range_are_refused(graph: LearnedGraph, tmp_path: Path) -> None:
    """SciPy's loops would read beyond the arrays."""
    graph.save(tmp_path / "graph.npz")
    with np.load(tmp_path / "graph.npz") as arrays:
        parts = dict(arrays)
    for name in ("indices", "LearnedGraph.candidates_indices"):
        wrong = parts[name].copy()
        wrong[0] = 10**6
        np.savez(tmp_path / "odd.npz", **{**parts, name: wrong})
        with pytest.raises(TruegraphError, match=r"odd\.npz: damaged"):
            LearnedGraph.load(tmp_path / "odd.npz")


@pytest.mark.parametrize("form", ["networkx", "igraph", "pyg", "pandas"])
def test_conversions_come_back_as_the_same_graph(graph: LearnedGraph, form: str) -> None:
    if form != "pandas":
        pytest.importorskip("torch_geometric" if form == "pyg" else form)
    there = getattr(graph, f"to_{form}")()
    back = as_adjacency(there, n_nodes=graph.n_nodes)
    assert_canonical(back)
    np.testing.assert_array_equal(back.indices, graph.adjacency.indices)
    accuracy = 1e-6 if form == "pyg" else 0.0  # PyG weights are float32
    np.testing.assert_allclose(back.data, graph.adjacency.data, rtol=accuracy)


def test_distances_of_edges_are_those_of_the_points(graph: LearnedGraph) -> None:
    found = graph.edge_distances()
    np.testing.assert_array_equal(found.indptr, graph.adjacency.indptr)
    np.testing.assert_array_equal(found.indices, graph.adjacency.indices)
    edges = graph.adjacency.tocoo()
    squares = ((POINTS[edges.row] - POINTS[edges.col]) ** 2).sum(axis=1)
    np.testing.assert_allclose(found.data, squares, atol=1e-12)
    assert (found.data == 0.0).any()  # of the repeated points, and stored all the same


def test_memberships_are_relative_to_the_largest_weights(graph: LearnedGraph) -> None:
    weights, found = graph.adjacency.toarray(), graph.memberships()
    largest = weights.max(axis=1)
    np.testing.assert_allclose(found.toarray(), weights / np.sqrt(np.outer(largest, largest)))
    assert (found != found.T).nnz == 0
    assert found.data.max() <= 1.0 + 1e-12


def test_an_edge_table_lists_every_edge_once(graph: LearnedGraph) -> None:
    table = graph.to_pandas()
    assert list(table.columns) == ["source", "target", "weight"]
    assert len(table) == graph.n_edges
    assert (table["source"] < table["target"]).all()
    names = [f"node {i}" for i in range(50)]
    named = graph.named(names).to_pandas()
    assert (named["source"] == [names[i] for i in table["source"]]).all()


@pytest.fixture
def people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    index = pd.Index([f"person {i}" for i in range(30)], name="who")
    return pd.DataFrame(rng.normal(size=(30, 3)), index=index, columns=["a", "b", "c"])


def test_the_index_of_a_table_names_the_nodes(people: pd.DataFrame, tmp_path: Path) -> None:
    learned = paper_graph(people, degree=4)
    assert learned.names == tuple(people.index)
    assert set(learned.to_pandas()["source"]) <= set(people.index)
    assert set(learned.to_networkx().nodes) == set(people.index)
    assert set(learned.posterior().to_pandas()["target"]) <= set(people.index)
    learned.save(tmp_path / "graph.npz")
    assert LearnedGraph.load(tmp_path / "graph.npz").names == learned.names
    unnamed = paper_graph(ColumnPlan().fit_transform(people), degree=4)
    assert unnamed.names is None
    np.testing.assert_array_equal(unnamed.adjacency.data, learned.adjacency.data)


def test_an_index_that_only_counts_rows_is_no_name(people: pd.DataFrame) -> None:
    assert paper_graph(people.reset_index(drop=True), degree=4).names is None


def test_names_must_be_distinct_and_as_many_as_nodes(
    graph: LearnedGraph, people: pd.DataFrame
) -> None:
    with pytest.raises(InputError, match="49 names are given for 50 nodes"):
        graph.named(range(49))
    with pytest.raises(InputError, match="nodes 0 and 1 have the same name 'a'"):
        graph.named("a" for _ in range(50))
    assert graph.named(range(50, 100)).named(None).names is None
    with pytest.raises(InputError, match="the index of X holds 'twice' more than once"):
        paper_graph(people.set_axis(["twice"] * 30, axis=0), degree=4)
