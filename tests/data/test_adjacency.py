"""Every form of a graph gives the one canonical matrix, and back."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from truegraph.data.adjacency import (
    adjacency_from_edges,
    as_adjacency,
    graph_names,
    to_igraph,
    to_networkx,
    to_pandas,
    to_pyg,
)
from truegraph.errors import InputError

# Node 3 stands alone.
TRIANGLE = np.array(
    [
        [0.0, 2.0, 0.5, 0.0],
        [2.0, 0.0, 1.0, 0.0],
        [0.5, 1.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0],
    ]
)
NAMES = ["a", "b", "c", "lonely"]


def assert_canonical(adjacency: sparse.csr_array) -> None:
    assert isinstance(adjacency, sparse.csr_array)
    assert adjacency.dtype == np.float64
    assert adjacency.has_canonical_format
    assert abs(adjacency - adjacency.T).nnz == 0
    assert not adjacency.diagonal().any()
    assert (adjacency.data != 0).all()


@pytest.mark.parametrize(
    "form",
    [
        np.array,
        sparse.csr_array,
        sparse.csr_matrix,
        sparse.coo_array,
        sparse.csc_matrix,
        sparse.lil_array,
        sparse.dok_array,
        lambda dense: sparse.csr_array(dense.astype(np.float32)),
    ],
)
def test_matrices(form: Any) -> None:
    given_graph = form(TRIANGLE)
    adjacency = as_adjacency(given_graph, 4)
    assert_canonical(adjacency)
    assert np.array_equal(adjacency.toarray(), TRIANGLE)


def test_loops_zeros_and_direction_and_the_input_stays() -> None:
    messy = sparse.csr_array(
        (np.array([5.0, 0.0, 2.0, 1.0]), np.array([0, 2, 1, 0]), np.array([0, 2, 3, 4])),
        shape=(3, 3),
    )  # a loop 0-0, a stored zero 0-2, a loop 1-1, and one direction 2-0
    before = messy.toarray()
    adjacency = as_adjacency(messy)
    assert_canonical(adjacency)
    assert adjacency.toarray().tolist() == [[0, 0, 1], [0, 0, 0], [1, 0, 0]]
    assert np.array_equal(messy.toarray(), before)
    assert messy.nnz == 4


def test_networkx_there_and_back() -> None:
    graph = to_networkx(as_adjacency(TRIANGLE), NAMES)
    assert list(graph.nodes) == NAMES
    assert graph["a"]["b"]["weight"] == 2.0
    assert np.array_equal(as_adjacency(graph).toarray(), TRIANGLE)
    reordered = as_adjacency(graph, node_names=NAMES[::-1])
    assert np.array_equal(reordered.toarray(), TRIANGLE[::-1, ::-1])


def test_igraph_there_and_back() -> None:
    graph = to_igraph(as_adjacency(TRIANGLE), NAMES)
    assert graph.vs["name"] == NAMES
    assert graph.es[graph.get_eid("a", "b")]["weight"] == 2.0
    assert np.array_equal(as_adjacency(graph).toarray(), TRIANGLE)
    assert to_igraph(as_adjacency(TRIANGLE)).vs.attributes() == []
    plain = igraph.Graph(n=3, edges=[(1, 0), (0, 1), (1, 1)], directed=True)
    assert as_adjacency(plain).toarray().tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0]]


def test_networkx_directed_unweighted_and_multi() -> None:
    assert as_adjacency(nx.path_graph(3)).toarray().tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    assert as_adjacency(nx.DiGraph([(0, 1), (1, 1)])).toarray().tolist() == [[0, 1], [1, 0]]
    multi = nx.MultiGraph()
    multi.add_weighted_edges_from([(0, 1, 2.0), (1, 0, 3.0)])
    assert as_adjacency(multi).toarray().tolist() == [[0, 3], [3, 0]]
    with pytest.raises(InputError, match="node 2 of the graph is not in node_names"):
        as_adjacency(nx.path_graph(3), node_names=[0, 1])


def test_pandas_there_and_back() -> None:
    table = to_pandas(as_adjacency(TRIANGLE), NAMES)
    assert list(table.columns) == ["source", "target", "weight"]
    assert table.to_numpy().tolist() == [["a", "b", 2.0], ["a", "c", 0.5], ["b", "c", 1.0]]
    assert np.array_equal(as_adjacency(table, node_names=NAMES).toarray(), TRIANGLE)
    numbered = to_pandas(as_adjacency(TRIANGLE))
    assert np.array_equal(as_adjacency(numbered, 4).toarray(), TRIANGLE)
    assert as_adjacency(numbered).shape == (3, 3)
    assert as_adjacency(numbered[:0]).shape == (0, 0)


def test_pandas_tables_that_cannot_be_read() -> None:
    with pytest.raises(
        InputError, match=r"needs the columns source and target; found \['source', 'to'\]"
    ):
        as_adjacency(pd.DataFrame({"source": [0], "to": [1]}))
    with pytest.raises(InputError, match="holds names, not node numbers"):
        as_adjacency(pd.DataFrame({"source": ["a"], "target": ["b"]}))
    with pytest.raises(InputError, match="target 'z' of the graph is not in node_names"):
        as_adjacency(pd.DataFrame({"source": ["a"], "target": ["z"]}), node_names=NAMES)
    with pytest.raises(InputError, match="targets names node 7, outside 0 to 3"):
        as_adjacency(pd.DataFrame({"source": [0], "target": [7]}), 4)


def test_pyg_there_and_back() -> None:
    features = sparse.csr_array(np.eye(4, dtype=np.float32))
    data = to_pyg(as_adjacency(TRIANGLE), features, np.array([0, 1, -1, 0]))
    assert data.is_undirected()
    assert data.num_nodes == 4
    assert data.edge_index.shape == (2, 6)
    assert data.x.tolist() == np.eye(4).tolist()
    assert data.y.tolist() == [0, 1, -1, 0]
    assert np.array_equal(as_adjacency(data).toarray(), TRIANGLE)
    data.validate()


def test_pyg_weights() -> None:
    data = to_pyg(as_adjacency(TRIANGLE))
    weights = data.edge_weight
    del data.edge_weight
    assert np.array_equal(as_adjacency(data).toarray(), TRIANGLE > 0)
    data.edge_attr = weights.reshape(-1, 1)
    assert np.array_equal(as_adjacency(data).toarray(), TRIANGLE)
    data.edge_attr = weights.repeat(2).reshape(-1, 2)
    with pytest.raises(InputError, match=r"edge_attr has shape \(6, 2\)"):
        as_adjacency(data)
    data.edge_index = None
    with pytest.raises(InputError, match="no edge_index"):
        as_adjacency(data)


def networkx_of(names: list[Any], edges: pd.DataFrame, order: list[int]) -> nx.Graph:
    graph = nx.Graph()
    graph.add_nodes_from(names[place] for place in order)
    graph.add_weighted_edges_from(edges.itertuples(index=False))
    return graph


def igraph_of(names: list[Any], edges: pd.DataFrame, order: list[int]) -> igraph.Graph:
    graph = igraph.Graph(n=len(names))
    graph.vs["name"] = [names[place] for place in order]
    number = {names[place]: row for row, place in enumerate(order)}
    graph.add_edges([(number[i], number[j]) for i, j in edges.to_numpy()[:, :2]])
    graph.es["weight"] = edges["weight"].tolist()
    return graph


@settings(deadline=None, max_examples=30)
@given(
    links=st.dictionaries(
        st.tuples(st.integers(0, 6), st.integers(0, 6)), st.integers(1, 9), min_size=1, max_size=15
    ),
    order=st.permutations(range(7)),
    named=st.booleans(),
    seed=st.integers(0, 99),
)
def test_every_container_gives_the_same_graph(
    links: dict[tuple[int, int], int], order: list[int], named: bool, seed: int
) -> None:
    """Whatever the order in which nodes and edges come, by numbers and by names."""
    dense = np.zeros((7, 7))
    for (i, j), weight in links.items():
        dense[i, j] = dense[j, i] = weight
    np.fill_diagonal(dense, 0)
    expected = sparse.csr_array(dense)
    edges = to_pandas(expected).sample(frac=1, random_state=seed)
    names = [f"node {i}" for i in range(7)] if named else list(range(7))
    table = edges.assign(
        source=[names[i] for i in edges["source"]], target=[names[j] for j in edges["target"]]
    )
    for graph in (
        table,
        table.rename(columns={"source": "target", "target": "source"}),
        networkx_of(names, table, order),
        igraph_of(names, table, order),
    ):
        found = as_adjacency(graph, node_names=names)
        assert_canonical(found)
        assert np.array_equal(found.toarray(), dense)
    plain = [dense, expected.tocoo(), expected.tocsc(), to_pyg(expected)]
    numbers = list(range(7))
    plain += [networkx_of(numbers, edges, order), igraph_of(numbers, edges, order)]
    for graph in plain:
        assert np.array_equal(as_adjacency(graph, 7).toarray(), dense)


def test_numbers_say_the_row_and_names_do_not() -> None:
    shuffled = nx.Graph([(2, 1), (1, 0)])
    from_one = nx.Graph([(3, 2), (2, 1)])
    named = nx.Graph([("b", "a"), ("a", "c")])
    path = as_adjacency(nx.path_graph(3)).toarray()
    for graph in (shuffled, from_one, to_igraph(as_adjacency(path), [1, 2, 3])):
        assert np.array_equal(as_adjacency(graph, 3).toarray(), path)
    assert graph_names(from_one) == [1, 2, 3]
    assert np.array_equal(as_adjacency(named).toarray(), [[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    for graph in (named, to_igraph(as_adjacency(named), ["b", "a", "c"])):
        with pytest.raises(InputError, match="names such as 'b', which do not say which row"):
            as_adjacency(graph, 3)
        assert as_adjacency(graph, 3, node_names=["a", "b", "c"])[0, 1] == 1


def test_names_of_nodes() -> None:
    assert graph_names(TRIANGLE) is None
    assert graph_names(nx.path_graph(3)) is None
    graph = to_networkx(as_adjacency(TRIANGLE), NAMES)
    assert graph_names(graph) == NAMES
    assert graph_names(to_igraph(as_adjacency(TRIANGLE), NAMES)) == NAMES
    table = to_pandas(as_adjacency(TRIANGLE), NAMES).iloc[::-1]
    assert graph_names(table) == NAMES[:3]
    assert as_adjacency(table, node_names=graph_names(table)).shape == (3, 3)
    assert graph_names(to_pandas(as_adjacency(TRIANGLE))) is None


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 7), st.integers(0, 7), st.floats(0, 10, allow_subnormal=False)),
        max_size=40,
    )
)
def test_edges_against_a_plain_loop(edges: list[tuple[int, int, float]]) -> None:
    expected = np.zeros((8, 8))
    for i, j, weight in edges:
        if i != j:
            expected[i, j] = expected[j, i] = max(expected[i, j], weight)
    sources, targets, weights = (
        np.array([edge[part] for edge in edges], dtype=dtype)
        for part, dtype in ((0, np.int64), (1, np.int64), (2, np.float64))
    )
    adjacency = adjacency_from_edges(sources, targets, weights, 8)
    assert_canonical(adjacency)
    assert np.array_equal(adjacency.toarray(), expected)


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (np.zeros((2, 3)), r"shape \(2, 3\); an adjacency matrix must be square"),
        (np.zeros(3), r"shape \(3,\)"),
        (np.array([[0, -1.0], [-1.0, 0]]), r"but one is -1\.0"),
        (np.array([[0, np.nan], [1, 0]]), "but one is nan"),
        (sparse.csr_array(np.array([[0, np.inf], [1, 0]])), "but one is inf"),
        (np.array([["a", "b"], ["c", "d"]]), "graph has type <U1, not real numbers"),
        ([[0, 1], [1, 0]], "graph has type list"),
        (np.zeros((3, 3)), "graph has 3 nodes, but 4 are expected"),
    ],
)
def test_graphs_that_cannot_be_used(graph: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        as_adjacency(graph, 4)


def test_matrices_and_networkx_load_no_torch() -> None:
    code = (
        "import sys, numpy, networkx; from truegraph.data import as_adjacency; "
        "as_adjacency(numpy.ones((3, 3))); as_adjacency(networkx.path_graph(3)); "
        "print('torch' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
