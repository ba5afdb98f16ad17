"""A data set written to npz comes back equal, and damaged files are refused by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from truegraph.data.archive import read_node_dataset, write_node_dataset
from truegraph.data.containers import NodeDataset
from truegraph.data.planetoid import read_planetoid
from truegraph.data.storage import read_npz, write_npz
from truegraph.errors import InputError


@pytest.fixture
def toy(tmp_path: Path, write_planetoid: Callable[[Path, str], None]) -> NodeDataset:
    write_planetoid(tmp_path, "toy")
    names = np.array([f"paper {i}" for i in range(12)])
    return replace(read_planetoid(tmp_path, "toy"), node_names=names, class_names=("a", "b", "c"))


def test_everything_comes_back(tmp_path: Path, toy: NodeDataset) -> None:
    path = tmp_path / "toy" / "toy.npz"
    write_node_dataset(path, toy)
    back = read_node_dataset(path, "toy")
    assert back.fingerprint == toy.fingerprint
    assert back.class_names == ("a", "b", "c")
    assert toy.node_names is not None
    assert np.array_equal(back.node_names, toy.node_names)
    assert toy.component_nodes is not None
    assert np.array_equal(back.component_nodes, toy.component_nodes)
    assert "x_data" not in read_npz(path)


def test_dense_features_and_missing_parts_come_back(tmp_path: Path) -> None:
    path = tmp_path / "toy.npz"
    features = np.random.default_rng(0).normal(size=(3, 2)).astype(np.float32)
    dataset = NodeDataset(name="toy", labels=np.array([0, -1, 300]), features=features)
    write_node_dataset(path, dataset)
    back = read_node_dataset(path, "toy")
    assert back.fingerprint == dataset.fingerprint
    assert back.graph is None
    assert back.public_split is None
    assert back.component_nodes is None


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("edge_index", np.array([[0], [12]]), "'edge_index' names nodes outside 0 to 11"),
        ("edge_index", np.array([3]), "not a usable data set"),
        ("idx_test", np.array([-1]), "'idx_test' names nodes outside"),
        ("lcc", np.array([99]), "'lcc' names nodes outside"),
        ("x_indices", np.array([1, 2]), "not a usable data set"),
        ("y", np.zeros(5, dtype=np.int8), "not a usable data set"),
        ("y", None, "the array 'y' is missing"),
    ],
)
def test_damaged_parts_are_refused(
    tmp_path: Path, toy: NodeDataset, name: str, value: np.ndarray | None, message: str
) -> None:
    path = tmp_path / "toy.npz"
    write_node_dataset(path, toy)
    arrays = read_npz(path)
    del arrays[name]
    write_npz(path, arrays if value is None else {**arrays, name: value})
    with pytest.raises(InputError, match=rf"toy\.npz.*{message}"):
        read_node_dataset(path, "toy")
