"""Graph diffusion against the closed form of PageRank."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import block_array, csr_array

from truegraph.data.operators import normalised_adjacency
from truegraph.errors import InputError
from truegraph.paper.networks import diffusion
from truegraph.paper.networks.diffusion import diffusion_graph


def _closed_form(graph: csr_array, restart: float) -> np.ndarray:
    walk = normalised_adjacency(graph).toarray()
    ranks = restart * np.linalg.inv(np.eye(len(walk)) - (1 - restart) * walk)
    scaled = ranks / np.sqrt(np.outer(ranks.diagonal(), ranks.diagonal()))
    np.fill_diagonal(scaled, 0)
    return scaled


@pytest.mark.parametrize("restart", [0.05, 0.15, 0.6])
def test_all_entries_are_those_of_the_inverse(problem, monkeypatch, restart: float) -> None:
    monkeypatch.setattr(diffusion, "_BLOCK", 7)  # several blocks, the last one shorter
    found = diffusion_graph(problem.graph, restart, neighbours=59).toarray()
    np.testing.assert_allclose(found, _closed_form(problem.graph, restart), atol=1e-6)


def test_the_strongest_ties_of_either_end_are_kept(problem) -> None:
    full = _closed_form(problem.graph, 0.15)
    walk = normalised_adjacency(problem.graph).toarray()
    ranks = np.linalg.inv(np.eye(60) - 0.85 * walk)
    np.fill_diagonal(ranks, 0)
    strong = ranks >= np.sort(ranks, axis=0)[-5]
    found = diffusion_graph(problem.graph, neighbours=5)
    np.testing.assert_allclose(found.toarray(), np.where(strong | strong.T, full, 0), atol=1e-6)
    assert found.nnz >= 60 * 5
    assert (found != found.T).nnz == 0


def test_nothing_leads_to_another_component(problem) -> None:
    apart = csr_array(block_array([[problem.graph, None], [None, csr_array((2, 2))]]))
    found = diffusion_graph(apart, neighbours=61).toarray()
    assert not found[60:].any()
    assert not found[:, 60:].any()


def test_restart_is_checked(problem) -> None:
    with pytest.raises(InputError, match=r"restart=0\.0"):
        diffusion_graph(problem.graph, restart=0.0)
