"""What a node data set promises: restriction, statistics, a stable fingerprint, honest errors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from truegraph.data.adjacency import adjacency_from_edges
from truegraph.data.containers import NodeDataset, NodeSplit, largest_component_nodes
from truegraph.errors import InputError


@pytest.fixture
def toy() -> NodeDataset:
    """Six nodes: a triangle 1-3-4 with a tail 5, and the pair 0-2."""
    ends = np.array([[0, 1, 3, 1, 4], [2, 3, 4, 4, 5]])
    return NodeDataset(
        name="toy",
        labels=np.array([0, 1, -1, 1, 0, 0]),
        features=np.arange(12, dtype=np.float32).reshape(6, 2),
        graph=adjacency_from_edges(ends[0], ends[1], None, 6),
        class_names=("red", "blue"),
        node_names=np.array(list("abcdef")),
        public_split=NodeSplit(np.array([0, 1]), np.array([3]), np.array([5, 4])),
    )


def test_statistics_by_hand(toy: NodeDataset) -> None:
    assert toy.statistics() == {
        "nodes": 6,
        "edges": 5,
        "features": 2,
        "classes": 2,
        "unlabelled": 1,
        "isolated": 0,
        "homophily": 0.5,  # of 1-3, 1-4, 3-4, 4-5; the edge 0-2 has an unlabelled end
    }


def test_largest_component_keeps_order_and_renumbers(toy: NodeDataset) -> None:
    part = toy.largest_component()
    assert part.node_names is not None
    assert part.node_names.tolist() == ["b", "d", "e", "f"]
    assert part.labels.tolist() == [1, 1, 0, 0]
    assert isinstance(part.features, np.ndarray)
    assert part.features[:, 0].tolist() == [2, 6, 8, 10]
    assert part.graph is not None
    assert part.graph.toarray().tolist() == [
        [0, 1, 1, 0],
        [1, 0, 1, 0],
        [1, 1, 0, 1],
        [0, 0, 1, 0],
    ]
    assert part.graph.has_sorted_indices
    assert part.public_split is not None
    assert part.public_split.train.tolist() == [0]
    assert part.public_split.validation.tolist() == [1]
    assert part.public_split.test.tolist() == [3, 2]
    assert part.n_classes == 2


def test_largest_component_among_some_nodes_and_ties() -> None:
    chain = adjacency_from_edges(np.arange(4), np.arange(1, 5), None, 5)
    among = np.array([True, True, False, True, True])
    assert largest_component_nodes(chain).tolist() == [0, 1, 2, 3, 4]
    assert largest_component_nodes(chain, among).tolist() == [0, 1]
    assert largest_component_nodes(chain, np.zeros(5, dtype=bool)).tolist() == []


def test_fingerprint_sees_content_and_nothing_else(toy: NodeDataset) -> None:
    assert toy.graph is not None
    assert isinstance(toy.features, np.ndarray)
    wide = toy.graph.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    assert replace(toy, graph=wide, name="other", source="x").fingerprint == toy.fingerprint
    changed = [
        replace(toy, labels=toy.labels[::-1].copy()),
        replace(toy, features=toy.features + 1),
        replace(toy, features=sparse.csr_array(toy.features)),
        replace(toy, graph=toy.graph * 2),
        replace(toy, graph=None),
        replace(toy, public_split=None),
    ]
    assert len({toy.fingerprint, *(other.fingerprint for other in changed)}) == 7


def test_fingerprint_is_the_same_in_every_process() -> None:
    small = NodeDataset(name="small", labels=np.array([0, 1]))
    assert small.fingerprint == "5300b3029f24af1040d6ec3268670e102bb0be498ab5437cf76466a9a88d061a"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features": np.zeros((5, 2), dtype=np.float32)}, "features has shape"),
        ({"graph": sparse.csr_array((5, 5))}, "graph has shape"),
        ({"graph": sparse.csr_array((6, 5))}, r"graph has shape \(6, 5\)"),
        ({"node_names": np.array(["a"])}, "1 node_names for 6 labels"),
        ({"labels": np.array([0, 1, -2, 0, 0, 0])}, "found -2 to 1"),
        ({"labels": np.array([0, 1, 2, 0, 0, 0])}, "found 0 to 2"),
    ],
)
def test_parts_that_do_not_fit(toy: NodeDataset, change: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        replace(toy, **change)
