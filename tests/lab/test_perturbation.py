"""Removal and addition of edges, at random and by class, and features of noise."""

from __future__ import annotations

import numpy as np
import pytest
from lab.perturbation import (
    dice_graph,
    foreign_edges,
    noisy_features,
    perturb_graph,
)
from scipy.sparse import csr_array

from truegraph.errors import InputError


def _graph() -> csr_array:
    links = np.triu(np.random.default_rng(0).random((50, 50)) < 0.1, 1)
    return csr_array((links | links.T) * 2.0)


def _edges(graph: csr_array) -> set[tuple[int, int]]:
    rows, columns = graph.nonzero()
    return {(int(i), int(j)) for i, j in zip(rows, columns, strict=True) if i < j}


def test_removal_takes_the_share_away_and_nests() -> None:
    graph = _graph()
    all_edges = _edges(graph)
    half = perturb_graph(graph, removed=0.5, random_state=3)
    most = perturb_graph(graph, removed=0.75, random_state=3)
    assert len(_edges(half)) == len(all_edges) - round(0.5 * len(all_edges))
    assert _edges(most) < _edges(half) < all_edges
    assert set(half.data) == {2.0}
    assert (half != half.T).nnz == 0
    assert perturb_graph(graph, removed=1.0).nnz == 0
    assert _edges(perturb_graph(graph, removed=0.5, random_state=4)) != _edges(half)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"removed": 1.5}, "removed=1.5"),
        ({"added": -0.1}, "added=-0.1"),
        ({"added": 100.0}, "edges cannot be added"),
    ],
)
def test_what_cannot_be_is_refused(changes: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        perturb_graph(_graph(), **changes)


def test_dice_removes_within_classes_and_adds_between_them() -> None:
    graph, labels = _graph(), np.arange(50) % 3
    labels[:5] = -1
    before, after = _edges(graph), _edges(dice_graph(graph, labels, 0.5, random_state=3))
    removed, added = before - after, after - before
    changes = round(0.5 * len(before))
    assert len(removed) == changes // 2
    assert len(added) == changes - changes // 2
    assert all(labels[i] == labels[j] >= 0 for i, j in removed)
    assert all(labels[i] != labels[j] and min(labels[i], labels[j]) >= 0 for i, j in added)
    assert _edges(dice_graph(graph, labels, 0.5, random_state=4)) != after
    assert (dice_graph(graph, labels, 0.0) != graph).nnz == 0
    with pytest.raises(InputError, match="share=-1"):
        dice_graph(graph, labels, -1.0)
    with pytest.raises(InputError, match="edges cannot be added"):
        dice_graph(graph, np.zeros(50, dtype=int), 0.5)


@pytest.mark.parametrize("kind", ["bernoulli", "normal", "shuffled", "shifted"])
def test_noise_changes_the_features_of_the_chosen_nodes_only(kind: str) -> None:
    features = csr_array((np.random.default_rng(0).random((200, 30)) < 0.2).astype(float))
    nodes = np.array([150, 3, 60, 61, 62, 199])
    found = noisy_features(features, nodes, kind=kind, random_state=1)
    rest = np.setdiff1d(np.arange(200), nodes)
    assert (found[rest] != features[rest]).nnz == 0
    assert (found[nodes] != features[nodes]).nnz > 0
    again = noisy_features(features, nodes, kind=kind, random_state=1)
    assert (found != again).nnz == 0
    if kind == "shuffled":
        np.testing.assert_array_equal(found.sum(axis=0), features.sum(axis=0))
    elif kind == "bernoulli":
        everyone = noisy_features(features, np.arange(200), random_state=1)
        assert everyone.mean() == pytest.approx(features.mean(), rel=0.1)


def test_foreign_edges_replace_those_of_the_chosen_nodes_only() -> None:
    graph, nodes = _graph(), np.array([3, 7, 20])
    before, after = _edges(graph), _edges(foreign_edges(graph, nodes, random_state=1))
    touched = {edge for edge in before if set(edge) & set(nodes.tolist())}
    assert before - touched <= after
    new = after - (before - touched)
    assert all(set(edge) & set(nodes.tolist()) for edge in new)
    assert 0 < len(new) <= np.diff(graph.indptr)[nodes].sum()
    assert new != touched
    assert foreign_edges(graph, []).nnz == graph.nnz
