"""Splits and changes of strange data: classes of any size, nothing shared, the same for all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph import InputError
from truegraph.data import NodeDataset
from truegraph.experiments.tasks import strange_graphs
from truegraph.experiments.tasks.base import Cell
from truegraph.experiments.tasks.strange_graphs import StrangersTask, changed, thinned

LABELS = np.repeat([0, 1, 2], [60, 7, 1])


def _dataset(**changes: Any) -> NodeDataset:
    links = np.triu(np.random.default_rng(0).random((68, 68)) < 0.1, 1)
    given = {
        "name": "made up",
        "labels": LABELS,
        "features": np.arange(68.0, dtype=np.float32)[:, None],
        "graph": csr_array((links | links.T).astype(float)),
    }
    return NodeDataset(**{**given, **changes})


def _cell(change: str = "none") -> Cell:
    conditions = {"labels": 5, "component": "full", "change": change}
    return Cell("strangers", "made up", "gcn", "GCN", {}, conditions)


def test_training_takes_at_most_half_of_a_class() -> None:
    split = StrangersTask().split(_dataset(), _cell(), 3)
    assert np.bincount(LABELS[split.train]).tolist() == [5, 3, 1]
    assert not set(split.train) & set(split.test)
    assert len(split.train) + len(split.test) == 68
    assert np.array_equal(split.test, StrangersTask().split(_dataset(), _cell(), 3).test)


def test_block_models_are_opened_by_name() -> None:
    cell = replace(_cell(), dataset="blocks-apart")
    found = StrangersTask().open(cell)
    assert found.n_nodes == 2000
    assert StrangersTask().open(cell).fingerprint == found.fingerprint


def test_changes() -> None:
    dataset = _dataset()
    assert dataset.graph is not None
    assert changed(dataset, _cell(), 0) is dataset
    false = changed(dataset, _cell("false-edges"), 0).graph
    assert false is not None
    assert false.nnz == 2 * dataset.graph.nnz
    assert dataset.graph.multiply(false).nnz == dataset.graph.nnz
    random = changed(dataset, _cell("random-graph"), 0).graph
    assert random is not None
    assert random.nnz == dataset.graph.nnz
    assert dataset.graph.multiply(random).nnz == 0
    shuffled = changed(dataset, _cell("shuffled-features"), 0)
    assert sorted(np.ravel(shuffled.features)) == list(range(68))
    assert not np.array_equal(shuffled.features, dataset.features)
    with pytest.raises(InputError, match="lacks what change='false-edges' needs"):
        changed(_dataset(graph=None), _cell("false-edges"), 0)


def test_large_sets_of_points_are_thinned_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strange_graphs, "_NODES", 20)
    assert thinned(_dataset()).n_nodes == 68
    thin = thinned(_dataset(graph=None))
    assert thin.n_nodes == 20
    assert np.array_equal(LABELS[np.ravel(thin.features).astype(int)], thin.labels)
