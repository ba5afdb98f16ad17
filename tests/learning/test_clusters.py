"""Clusters and neighbours of a learned graph."""

from __future__ import annotations

import numpy as np
import pytest
from lab.known_problems import paper_graph
from scipy.sparse import block_diag, csr_array

from truegraph import InputError, LearnedGraph
from truegraph.learning import clusters as methods


@pytest.mark.parametrize("installed", [True, False])
def test_clusters_are_the_groups_that_hold_together(
    monkeypatch: pytest.MonkeyPatch, installed: bool
) -> None:
    if not installed:
        monkeypatch.setattr(methods, "find_spec", lambda name: None)
    cliques = [np.ones((size, size)) - np.eye(size) for size in (3, 8, 5)]
    joined = block_diag(cliques).tolil()
    joined[0, 3] = joined[3, 0] = 0.1
    assert methods.clusters(csr_array(joined)).tolist() == [2] * 3 + [0] * 8 + [1] * 5
    assert sorted(methods.clusters(csr_array((4, 4)))) == [0, 1, 2, 3]


def graph(**options: float) -> LearnedGraph:
    X = np.random.default_rng(0).normal(size=(40, 2)) + np.repeat([0, 9], 20)[:, None]
    return paper_graph(X, degree=4, **options)


def test_a_graph_has_clusters_of_falling_size() -> None:
    found = graph().clusters()
    assert (np.diff(np.bincount(found)) <= 0).all()
    assert set(found[:20]).isdisjoint(found[20:])
    assert graph().clusters(0.2).max() <= found.max()
    with pytest.raises(InputError, match="resolution"):
        graph().clusters(0.0)


def test_neighbours_have_names_and_the_strongest_comes_first() -> None:
    named = graph().named([f"n{row}" for row in range(40)])
    near = named.neighbors("n3")
    assert near["weight"].is_monotonic_decreasing
    row = named.adjacency[[3]].toarray().ravel()
    assert dict(zip(near["node"], near["weight"], strict=True)) == {
        f"n{other}": row[other] for other in np.flatnonzero(row)
    }
    with pytest.raises(InputError, match="node 3 is not known"):
        named.neighbors(3)
