"""Graph diffusion against the closed form of PageRank."""

from __future__ import annotations

import numpy as np
import pytest
from lab.classify import rival
from lab.diffusion import diffusion_graph
from scipy.sparse import csr_array

from lab import diffusion
from truegraph.data import load_dataset
from truegraph.data.operators import normalised_adjacency


@pytest.fixture(scope="module")
def graph() -> csr_array:
    links = np.triu(np.random.default_rng(0).random((60, 60)) < 0.12, 1)
    return csr_array((links | links.T).astype(float))


def _closed_form(graph: csr_array, restart: float) -> np.ndarray:
    walk = normalised_adjacency(graph).toarray()
    ranks = restart * np.linalg.inv(np.eye(len(walk)) - (1 - restart) * walk)
    scaled = ranks / np.sqrt(np.outer(ranks.diagonal(), ranks.diagonal()))
    np.fill_diagonal(scaled, 0)
    return scaled


@pytest.mark.parametrize("restart", [0.05, 0.15, 0.6])
def test_all_entries_are_those_of_the_inverse(graph, monkeypatch, restart: float) -> None:
    monkeypatch.setattr(diffusion, "_BLOCK", 7)  # several blocks, the last one shorter
    found = diffusion_graph(graph, restart, neighbours=59).toarray()
    np.testing.assert_allclose(found, _closed_form(graph, restart), atol=1e-6)


def test_the_strongest_ties_of_either_end_are_kept(graph) -> None:
    full = _closed_form(graph, 0.15)
    walk = normalised_adjacency(graph).toarray()
    ranks = np.linalg.inv(np.eye(60) - 0.85 * walk)
    np.fill_diagonal(ranks, 0)
    strong = ranks >= np.sort(ranks, axis=0)[-5]
    found = diffusion_graph(graph, neighbours=5)
    np.testing.assert_allclose(found.toarray(), np.where(strong | strong.T, full, 0), atol=1e-6)
    assert found.nnz >= 60 * 5
    assert (found != found.T).nnz == 0


def test_rivals_are_networks_on_other_graphs() -> None:
    dataset = load_dataset("cora")
    assert rival("gcn", dataset) == ("gcn", dataset)
    name, seen = rival("gdc-appnp", dataset)
    assert name == "appnp"
    assert seen.graph.nnz > dataset.graph.nnz
    name, seen = rival("knn", dataset)
    assert (name, seen.graph) == ("gcn", None)
