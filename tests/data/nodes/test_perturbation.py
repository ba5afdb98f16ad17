"""Random removal and addition of edges."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph.data.nodes.perturbation import perturb_graph
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


def test_addition_links_unlinked_nodes() -> None:
    graph = _graph()
    before, after = _edges(graph), _edges(perturb_graph(graph, added=1.0, random_state=3))
    assert before < after
    assert len(after) == 2 * len(before)
    assert (perturb_graph(graph) != graph).nnz == 0


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
