"""Data sets as files, read back by the readers of users' files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from truegraph.data import (
    Interactions,
    NodeDataset,
    load_dataset,
    read_interactions,
    read_node_data,
)
from truegraph.data.exporting import export_interactions, export_nodes


def test_a_graph_comes_back_with_names_and_labels(tmp_path: Path) -> None:
    cora = load_dataset("cora")
    words = cora.features[:300]
    used = np.flatnonzero(words.sum(axis=0))[:40]
    some = replace(cora.restrict(np.arange(300)), features=words[:, used])
    features, edges, labels = export_nodes(some, tmp_path)
    read = read_node_data(edges, features, labels)
    assert (read.graph != some.graph).nnz == 0
    assert np.array_equal(read.features, some.features.toarray())
    assert (read.labels >= 0).sum() == (some.labels >= 0).sum()


def test_only_what_there_is_is_written(tmp_path: Path) -> None:
    bare = NodeDataset(
        name="bare", labels=np.full(3, -1), features=np.array([[0.5], [1.0], [2.0]]), graph=None
    )
    [file] = export_nodes(bare, tmp_path)
    assert file.read_text() == "id,x0\n0,0.5\n1,1.0\n2,2.0\n"


def test_whole_numbers_are_written_as_such(tmp_path: Path) -> None:
    whole = NodeDataset(
        name="whole", labels=np.array([0, 1]), features=np.array([[0.0], [3.0]]), graph=None
    )
    features, labels = export_nodes(whole, tmp_path)
    assert features.read_text() == "id,x0\n0,0\n1,3\n"
    assert labels.read_text() == "node,label\n0,0\n1,1\n"


def test_interactions_come_back(tmp_path: Path) -> None:
    data = Interactions.from_arrays(["a", "b", "a"], ["x", "x", "y"])
    [file] = export_interactions(data, tmp_path)
    read = read_interactions(file)
    assert set(zip(read.users, read.items, strict=True)) == set(
        zip(data.users, data.items, strict=True)
    )
