"""Graphs written for other programs come back the same, whatever the nodes are called."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from truegraph.data import as_adjacency, graph_files, read_edges
from truegraph.data.graph_files import write_graph
from truegraph.errors import InputError

HOSTILE = ["a,b", 'say "no"', "<&>'", "line\nbreak", "tab\there", "été 図", " edge ", "x" * 300]


def random_graph(nodes: int, seed: int = 0) -> sparse.csr_array:
    upper = sparse.triu(sparse.random_array((nodes, nodes), density=0.5, rng=seed), k=1)
    return as_adjacency(sparse.csr_array(upper + upper.T))


def test_csv_comes_back_with_the_same_bits(tmp_path: Path) -> None:
    graph = random_graph(8)
    write_graph(tmp_path / "graph.csv", graph)
    assert (tmp_path / "graph.csv").read_text().startswith("source,target,weight\n0,")
    table = read_edges(tmp_path / "graph.csv").astype({"source": int, "target": int})
    assert len(table) == graph.nnz // 2
    assert np.array_equal(as_adjacency(table, 8).toarray(), graph.toarray())


@pytest.mark.parametrize("ending", ["csv", "graphml", "GraphML"])
def test_hostile_names_come_back(tmp_path: Path, ending: str) -> None:
    graph, path = random_graph(len(HOSTILE)), tmp_path / f"graph.{ending}"
    write_graph(path, graph, HOSTILE)
    found = pd.read_csv(path) if ending == "csv" else nx.read_graphml(path)
    back = as_adjacency(found, node_names=HOSTILE)
    assert np.array_equal(back.toarray(), graph.toarray())


def test_graphml_numbers_nodes_and_keeps_lonely_ones(tmp_path: Path) -> None:
    graph = sparse.csr_array((np.array([0.1, 0.1]), ([0, 2], [2, 0])), shape=(4, 4))
    write_graph(tmp_path / "graph.graphml", graph)
    found = nx.read_graphml(tmp_path / "graph.graphml", node_type=int)
    assert not found.is_directed()
    assert sorted(found.nodes) == [0, 1, 2, 3]
    assert list(found.edges(data="weight")) == [(0, 2, 0.1)]


def test_graphml_of_more_edges_than_are_written_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph_files, "_LINES_AT_ONCE", 7)
    graph = random_graph(20)
    assert graph.nnz // 2 > 70
    write_graph(tmp_path / "graph.graphml", graph)
    found = nx.read_graphml(tmp_path / "graph.graphml", node_type=int)
    assert abs(as_adjacency(found, node_names=range(20)) - graph).max() == 0


def test_clear_errors_leave_nothing_behind(tmp_path: Path) -> None:
    graph = random_graph(2, seed=3)
    with pytest.raises(InputError, match=r"to \.gml.*\.csv, \.parquet or \.graphml"):
        write_graph(tmp_path / "graph.gml", graph)
    with pytest.raises(InputError, match="a file without an ending"):
        write_graph(tmp_path / "graph", graph)
    with pytest.raises(InputError, match="'a' more than once"):
        write_graph(tmp_path / "graph.csv", graph, ["a", "a"])
    with pytest.raises(InputError, match=r"'b\\x01' holds a character that XML cannot hold"):
        write_graph(tmp_path / "graph.graphml", graph, ["a", "b\x01"])
    with pytest.raises(InputError, match="3 names, but the graph has 2 nodes"):
        write_graph(tmp_path / "graph.csv", graph, ["a", "b", "c"])
    assert not list(tmp_path.iterdir())
