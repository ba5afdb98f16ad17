"""Users' own files become a data set, and whatever is wrong in them is told with its place."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from truegraph.data import read_edges, read_features, read_labels, read_node_data
from truegraph.errors import InputError

EDGES = "source,target\nc,a\na,b\n"
FEATURES = "id,x,y\na,1,2\nb,3,4\nc,5,6\nlonely,7,8\n"
LABELS = "node,label\na,cat\nc,dog\n"


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    contents = {"edges": EDGES, "features": FEATURES, "labels": LABELS}
    paths = {name: tmp_path / f"{name}.csv" for name in contents}
    for name, path in paths.items():
        path.write_text(contents[name])
    return paths


def test_three_files(files: dict[str, Path]) -> None:
    data = read_node_data(**files, name="mine")
    assert data.name == "mine"
    assert data.source == "files"
    assert data.node_names is not None
    assert data.node_names.tolist() == ["a", "b", "c", "lonely"]
    assert isinstance(data.features, np.ndarray)
    assert data.features.dtype == np.float32
    assert data.features.tolist() == [[1, 2], [3, 4], [5, 6], [7, 8]]
    assert data.labels.tolist() == [0, -1, 1, -1]
    assert data.class_names == ("cat", "dog")
    assert data.graph is not None
    assert data.graph.toarray().tolist() == [[0, 1, 1, 0], [1, 0, 0, 0], [1, 0, 0, 0], [0] * 4]
    assert data.notes == ()


def test_nodes_without_features_stand_in_order_of_appearance(files: dict[str, Path]) -> None:
    files["labels"].write_text("node,label\nz,cat\na,dog\n")
    data = read_node_data(edges=files["edges"], labels=files["labels"])
    assert data.node_names is not None
    assert data.node_names.tolist() == ["c", "a", "b", "z"]
    assert data.features is None
    assert data.labels.tolist() == [-1, 1, -1, 0]


def test_features_alone(files: dict[str, Path]) -> None:
    data = read_node_data(features=files["features"])
    assert data.graph is None
    assert data.labels.tolist() == [-1] * 4
    assert data.class_names is None
    with pytest.raises(InputError, match="give at least one of the two files"):
        read_node_data(labels=files["labels"])


def test_loops_and_repeated_edges_are_noted(files: dict[str, Path]) -> None:
    files["edges"].write_text(
        "Target,weight,Source,comment\na,1,b,x\nb,3,a,x\na,2,b,x\nc,1,c,x\na,0,c,x\n"
    )
    data = read_node_data(edges=files["edges"], features=files["features"])
    assert data.graph is not None
    assert data.graph.nnz == 2
    assert data.graph[0, 1] == 3
    assert [note.partition(": ")[2] for note in data.notes] == [
        "1 self-loops dropped",
        "1 edges of weight 0 dropped",
        "2 edges merged that are listed more than once",
    ]


def test_number_ids_match_across_files_and_formats(tmp_path: Path) -> None:
    features, edges = tmp_path / "f.parquet", tmp_path / "e.csv"
    pd.DataFrame({"id": [10, 20], "x": [0.5, 1.5]}).to_parquet(features)
    edges.write_text("source,target\n10,20\n")
    data = read_node_data(edges=edges, features=features)
    assert data.graph is not None
    assert data.graph.nnz == 2


def test_labels_that_are_numbers_are_ordered_as_numbers(files: dict[str, Path]) -> None:
    files["labels"].write_text("node,label\na,10\nb,9\nc,-1\nlonely,\n")
    data = read_node_data(features=files["features"], labels=files["labels"])
    assert data.class_names == ("9", "10")
    assert data.labels.tolist() == [1, 0, -1, -1]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("edges", "from,to\na,b\n", r"edges\.csv: the columns \['source', 'target'\] are missing"),
        ("edges", "a,b\nb,c\n", r"the first line has \['a', 'b'\]"),
        ("edges", "source,target\na,b\na,z\n", r"edges\.csv, line 3, column 'target': node 'z' is"),
        ("edges", "source,target\n\n,b\n", r"edges\.csv, line 3, column 'source': the node's id"),
        ("edges", "source,target,weight\na,b,-1\n", r"line 2, column 'weight': .*not be negative"),
        ("edges", "source,target,weight\na,b,much\n", r"line 2, column 'weight': 'much' is not"),
        ("edges", "source,target\na,b,c\n", r"edges\.csv, line 2: 3 fields instead of 2"),
        ("edges", "source,target\n", r"edges\.csv: the table has no rows"),
        ("edges", "", r"edges\.csv: the file is empty"),
        (
            "features",
            "id,x\na,1\nb,2\na,3\n",
            r"features\.csv, line 4, .*'a' is listed twice, first on line 2",
        ),
        ("features", "id,x\na,1\nb,red\n", r"features\.csv, line 3, column 'x': 'red'"),
        ("features", "id,x\na,1\nb,NaN\n", r"features\.csv, line 3, column 'x': 'NaN'"),
        ("features", "id\na\n", r"features\.csv: found the one column 'id'"),
        (
            "labels",
            "node,label\na,cat\nq,dog\n",
            r"labels\.csv, line 3, column 'node': node 'q' is",
        ),
        ("labels", "node,label\na,cat\na,dog\n", r"labels\.csv, line 3, .*listed twice"),
        (
            "labels",
            "a,cat\nb,dog\n",
            r"labels\.csv, line 1: 'a' is a node, so the header is missing",
        ),
        ("labels", "node\na\n", r"labels\.csv: found the columns \['node'\]"),
    ],
)
def test_faults_are_told_with_their_place(
    files: dict[str, Path], name: str, content: str, message: str
) -> None:
    files[name].write_text(content)
    before = files[name].read_bytes()
    with pytest.raises(InputError, match=message):
        read_node_data(**files)
    assert files[name].read_bytes() == before


def test_missing_files_are_named(files: dict[str, Path], tmp_path: Path) -> None:
    for name in files:
        with pytest.raises(InputError, match=r"nothing\.csv: no such file"):
            read_node_data(**{**files, name: tmp_path / "nothing.csv"})


def test_single_readers(files: dict[str, Path]) -> None:
    names, features = read_features(files["features"])
    assert names.tolist() == ["a", "b", "c", "lonely"]
    assert features.shape == (4, 2)
    assert read_labels(files["labels"]) == {"a": "cat", "c": "dog"}
    edges = read_edges(files["edges"])
    assert edges.to_dict("list") == {"source": ["c", "a"], "target": ["a", "b"]}


def test_a_bad_last_line_of_a_long_file_is_found_quickly(tmp_path: Path) -> None:
    path = tmp_path / "features.csv"
    rows = "".join(f"n{i},{i},1.5\n" for i in range(100_000))
    path.write_text("id,x,y\n" + rows + "last,1,oops\n")
    start = time.perf_counter()
    with pytest.raises(InputError, match=r"line 100002, column 'y': 'oops'"):
        read_features(path)
    assert time.perf_counter() - start < 5
