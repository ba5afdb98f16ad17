"""Edges as people save them, and what becomes of repeated and one-way edges."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from truegraph.data import merge_edges, read_edges
from truegraph.data.edge_files import edge_notes, read_edge_table
from truegraph.errors import InputError


def ends(tmp_path: Path, content: str, name: str = "edges.csv", **options: str) -> list[list[str]]:
    (tmp_path / name).write_text(content)
    return read_edges(tmp_path / name, **options)[["source", "target"]].to_numpy().tolist()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("e.csv", "source,target\n1,2\n2,3\n"),
        ("e.csv", "id_1,id_2\n1,2\n2,3\n"),
        ("e.csv", "weight,from,to\n5,1,2\n5,2,3\n"),
        ("e.csv", "1,2\n2,3\n"),
        ("e.txt", "# Undirected graph\n# Nodes: 3 Edges: 2\n# FromNodeId\tToNodeId\n1\t2\n2\t3\n"),
        ("e.txt", "1 2\n2 3\n"),
        ("e.edges", "1   2 \n2 3\n"),
        ("e.tsv", "1\t2\t0.5\n2\t3\t0.25\n"),
        ("e.txt", "% sym unweighted\n% 2 3 3\n1 2\n2 3\n"),
        ("e.csv", "1;2\n2;3\n"),
    ],
)
def test_every_usual_layout(tmp_path: Path, name: str, content: str) -> None:
    assert ends(tmp_path, content, name) == [["1", "2"], ["2", "3"]]


def test_names_without_a_header_recur(tmp_path: Path) -> None:
    assert ends(tmp_path, "ann,bob\nbob,cid\n") == [["ann", "bob"], ["bob", "cid"]]
    assert ends(tmp_path, "one,other\nbob,cid\n") == [["bob", "cid"]]
    known = read_edge_table(tmp_path / "edges.csv", nodes={"one", "other", "bob", "cid"})
    assert len(known[0]) == 2


def test_columns_by_name_and_what_is_said(tmp_path: Path) -> None:
    path = tmp_path / "calls.csv"
    path.write_text("day,caller,callee,minutes\n1,a,b,5\n2,b,c,6\n")
    columns = {"source": "caller", "target": "callee", "weight": "minutes"}
    frame, table, place = read_edge_table(path, columns)
    assert frame.to_dict("list") == {
        "source": ["a", "b"],
        "target": ["b", "c"],
        "weight": [5.0, 6.0],
    }
    assert edge_notes(table, place) == (
        f"{path}: edges run from caller to callee",
        f"{path}: 1 column not read: day; if one holds weights, name it with weight= (--weight)",
    )
    assert read_edge_table(path)[2] == {"source": 0, "target": 1}
    with pytest.raises(InputError, match="no column is called 'sender', which would hold the sou"):
        read_edges(path, source="sender")
    with pytest.raises(InputError, match="source and target are the same column 'caller'"):
        read_edges(path, source="caller", target="caller")


def test_times_of_edges(tmp_path: Path) -> None:
    path = tmp_path / "mail.csv"
    path.write_text("from,to,sent\na,b,1970-01-02\nb,c,1970-01-03\n")
    frame, table, place = read_edge_table(path, {"time": "sent"})
    assert frame["time"].tolist() == [86400, 172800]
    assert [note.partition(": ")[2] for note in edge_notes(table, place)] == [
        "edges run from from to to"
    ]
    with pytest.raises(InputError, match="no column is called 'at', which would hold the time"):
        read_edges(path, time="at")


def test_parquet(tmp_path: Path) -> None:
    pd.DataFrame({"u": [1, 2], "v": [2, 3]}).to_parquet(tmp_path / "e.parquet")
    frame = read_edges(tmp_path / "e.parquet")
    assert frame.to_dict("list") == {"source": ["1", "2"], "target": ["2", "3"]}


def test_faults_name_their_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"edges\.csv, line 4, column 2: the node's id is missing"):
        ends(tmp_path, "# c\n1,2\n\n2,\n")
    with pytest.raises(InputError, match=r"edges\.csv, line 3: 1 fields instead of 2"):
        ends(tmp_path, "1 2\n2 3\n4\n")
    with pytest.raises(InputError, match="found the one column 'a'; give two columns of node ids"):
        ends(tmp_path, "a\nb\n")


# 0-1 is listed three times, once backwards; 1-2 both ways; 2-3 once; 3-3 is a loop.
SOURCES = np.array([0, 0, 1, 1, 2, 2, 3])
TARGETS = np.array([1, 1, 0, 2, 1, 3, 3])
WEIGHTS = np.array([1.0, 2.0, 4.0, 0.5, 0.25, 8.0, 1.0])


@pytest.mark.parametrize(
    ("duplicates", "weights"),
    [("max", [4, 0.5, 8]), ("sum", [7, 0.75, 8]), ("count", [3, 2, 1])],
)
def test_repeated_edges(duplicates: str, weights: list[float]) -> None:
    graph, notes = merge_edges(SOURCES, TARGETS, WEIGHTS, 4, duplicates=duplicates)
    assert [graph[0, 1], graph[1, 2], graph[2, 3]] == weights
    assert (graph - graph.T).nnz == 0
    assert notes[0] == "1 self-loop dropped"
    assert notes[1].startswith("3 edges merged with one listed before (")
    assert notes[1].endswith(f"duplicates={duplicates})")
    assert notes[2].startswith("1 of 3 edges are listed in one direction only; the graph has no")


def test_mutual_edges_only() -> None:
    graph, notes = merge_edges(SOURCES, TARGETS, None, 4, directed="mutual")
    assert graph.nnz == 4
    assert graph[2, 3] == 0
    assert notes[-1] == "1 edges dropped that are listed in one direction only (directed=mutual)"


def test_a_plain_list_needs_no_words() -> None:
    assert merge_edges(np.array([0, 1]), np.array([1, 2]), None, 3)[1] == ()
    both_ways = merge_edges(np.array([0, 1]), np.array([1, 0]), None, 2)[1]
    assert both_ways == (
        "1 edge merged with one listed before (the largest weight stays; duplicates=max)",
    )


def test_choices_are_checked() -> None:
    with pytest.raises(InputError, match="duplicates='mean' must be max or sum or count"):
        merge_edges(SOURCES, TARGETS, None, 4, duplicates="mean")
    with pytest.raises(InputError, match="directed='yes' must be any or mutual"):
        merge_edges(SOURCES, TARGETS, None, 4, directed="yes")
