"""The PyG transform: what it learns, what it keeps, and that it leaves its input alone."""

from __future__ import annotations

import copy
import sys

import numpy as np
import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform, Compose, NormalizeFeatures

from truegraph import InputError, learn_graph
from truegraph.data import as_adjacency
from truegraph.pyg import LearnGraph


@pytest.fixture
def data() -> Data:
    generator = torch.Generator().manual_seed(0)
    return Data(
        x=torch.rand(40, 5, generator=generator),
        y=torch.arange(40) % 3,
        train_mask=torch.arange(40) < 10,
        edge_index=torch.tensor([[0, 1, 2], [1, 2, 3]]),
        edge_attr=torch.ones(3, 7),
        name="mine",
    )


def test_repr() -> None:
    assert repr(LearnGraph()) == "LearnGraph()"
    assert (
        repr(LearnGraph(graph_model="paper", degree=5, metric="cosine"))
        == "LearnGraph(degree=5, graph_model='paper', metric='cosine')"
    )
    assert issubclass(LearnGraph, BaseTransform)


def test_the_graph_is_that_of_the_learner(data: Data) -> None:
    learned = LearnGraph(graph_model="paper", degree=6, scope="global")(data)
    wanted = learn_graph(data.x.numpy(), graph_model="paper", degree=6, scope="global").adjacency
    assert learned.edge_index.dtype == torch.int64
    assert learned.edge_weight.dtype == torch.float32
    assert learned.is_undirected()
    assert abs(as_adjacency(learned) - wanted).max() < 1e-6 * wanted.max()


def test_nodes_stay_and_old_edges_go(data: Data) -> None:
    learned = LearnGraph(graph_model="paper", degree=6)(data)
    assert set(learned.keys()) == {"x", "y", "train_mask", "edge_index", "edge_weight", "name"}
    assert torch.equal(learned.y, data.y)
    assert learned.validate()


def test_the_input_is_not_changed(data: Data) -> None:
    before = copy.deepcopy(data)
    LearnGraph(graph_model="paper", degree=6)(data)
    assert data.keys() == before.keys()
    for name in ("x", "y", "edge_index", "edge_attr"):
        assert torch.equal(data[name], before[name])


def test_without_a_graph_and_among_other_transforms(data: Data) -> None:
    learned = Compose([NormalizeFeatures(), LearnGraph(graph_model="paper", degree=4)])(
        Data(x=data.x)
    )
    assert learned.num_edges / 40 == pytest.approx(4, abs=0.2)


def test_sparse_features_give_the_same_graph(data: Data) -> None:
    x = torch.where(data.x > 0.5, data.x, 0.0)
    dense = LearnGraph(graph_model="paper", degree=5)(Data(x=x))
    for sparse_x in (x.to_sparse(), x.to_sparse_csr()):
        learned = LearnGraph(graph_model="paper", degree=5)(Data(x=sparse_x))
        assert abs(as_adjacency(learned) - as_adjacency(dense)).max() < 1e-5


def test_a_learned_graph_goes_to_pyg_and_back(data: Data) -> None:
    points = data.x.numpy()
    graph = learn_graph(points, graph_model="paper", degree=6)
    there = graph.to_pyg(features=points, labels=data.y.numpy())
    assert torch.equal(there.x, data.x)
    back = as_adjacency(there)
    assert np.array_equal(back.indices, graph.adjacency.indices)
    assert np.allclose(back.data, graph.adjacency.data, rtol=1e-6)


def test_clear_errors(data: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"data\.x is None.*set data\.x"):
        LearnGraph()(Data(edge_index=data.edge_index))
    with pytest.raises(InputError, match="degree=50 cannot be reached"):
        LearnGraph(graph_model="paper", degree=50)(data)
    monkeypatch.setitem(sys.modules, "torch_geometric.data", None)
    monkeypatch.delitem(sys.modules, "truegraph.pyg")
    with pytest.raises(ImportError, match=r"pip install '\.\[pyg\]'"):
        import truegraph.pyg  # noqa: F401
