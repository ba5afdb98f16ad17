"""Users' own files become a data set, and whatever is wrong in them is told with its place."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from truegraph.data import ColumnPlan, read_labels, read_node_data
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
    data = read_node_data(**files, name="mine", plan=ColumnPlan("none"))
    assert data.name == "mine"
    assert data.source == "files"
    assert data.node_names is not None
    assert data.node_names.tolist() == ["a", "b", "c", "lonely"]
    assert isinstance(data.features, np.ndarray)
    assert data.features.dtype == np.float64
    assert data.features.tolist() == [[1, 2], [3, 4], [5, 6], [7, 8]]
    assert data.labels.tolist() == [0, -1, 1, -1]
    assert data.class_names == ("cat", "dog")
    assert data.graph is not None
    assert data.graph.toarray().tolist() == [[0, 1, 1, 0], [1, 0, 0, 0], [1, 0, 0, 0], [0] * 4]
    assert [note.partition(": ")[2] for note in data.notes] == [
        "2 numbers kept as they are, id: used as the identifier"
    ]


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
    assert [note.partition(": ")[2] for note in data.notes[1:]] == [
        "1 column not read: comment; if one holds weights, name it with weight= (--weight)",
        "1 self-loop dropped",
        "1 edge of weight 0 dropped",
        "2 edges merged with one listed before (the largest weight stays; duplicates=max)",
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
        ("edges", "from\na\n", r"edges\.csv: found the one column 'from'; give two columns"),
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
        (
            "features",
            "id\na\n",
            r"features\.csv: no column of the table is usable \(n_samples = 1; id",
        ),
        ("features", "id,x\na,1\n,2\nc,3\n", r"features\.csv, line 3, column 'id': the node's id"),
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


def test_labels_are_read_by_id(files: dict[str, Path]) -> None:
    assert read_labels(files["labels"]) == {"a": "cat", "c": "dog"}


def test_a_headerless_edge_file_is_told_by_the_nodes_in_it(files: dict[str, Path]) -> None:
    files["edges"].write_text("c,a\nb,lonely\n")
    data = read_node_data(edges=files["edges"], features=files["features"])
    assert data.graph is not None
    assert data.graph.nnz == 4


def test_ids_are_found_by_what_other_files_name(files: dict[str, Path]) -> None:
    files["features"].write_text("30,1.5\n10,2.5\n20,3.5\n")
    files["labels"].write_text("node,label\n10,cat\n20,dog\n")
    data = read_node_data(features=files["features"], labels=files["labels"])
    assert data.node_names is not None
    assert data.node_names.tolist() == ["30", "10", "20"]
    assert data.labels.tolist() == [-1, 0, 1]


def test_ids_keep_their_zeros(files: dict[str, Path]) -> None:
    files["features"].write_text("id,x\n007,1\n08,2\n9,4\n")
    files["edges"].write_text("source,target\n007,08\n")
    data = read_node_data(edges=files["edges"], features=files["features"])
    assert data.node_names is not None
    assert data.node_names.tolist() == ["007", "08", "9"]


def test_the_column_of_the_answer_is_no_feature(files: dict[str, Path]) -> None:
    files["features"].write_text("id,x,label\na,1,cat\nb,3,dog\nc,5,dog\n")
    data = read_node_data(features=files["features"], labels=files["labels"])
    assert data.features is not None
    assert data.features.shape == (3, 1)
    assert "label: left out (dropped on request)" in data.notes[0]
    with pytest.raises(InputError, match="it would give the answer away"):
        read_node_data(
            features=files["features"], labels=files["labels"], plan=ColumnPlan(columns=["label"])
        )


def test_the_plan_comes_with_the_data(files: dict[str, Path]) -> None:
    data = read_node_data(features=files["features"])
    assert data.plan is not None
    table = pd.DataFrame({"id": ["new"], "x": [4.0], "y": [5.0]})
    assert data.plan.transform(table).tolist() == [[4.0, 5.0]]
