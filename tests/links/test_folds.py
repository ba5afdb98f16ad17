"""Folds of links: what a fold's graph holds, and how many there are of a large graph."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph.data.link_splits import links_of
from truegraph.errors import InputError
from truegraph.links import folds as module
from truegraph.links.folds import fair_non_links, folds_of, without_links


def numbers(pairs: np.ndarray) -> set[tuple[int, int]]:
    return {(int(i), int(j)) for i, j in pairs}


def test_folds_divide_the_links_and_lack_their_own(teams):
    graph = teams
    folds = list(folds_of(graph, graph, 4, 0))
    assert len(folds) == 4
    together = np.concatenate([links for _, links, _ in folds])
    assert len(together) == graph.nnz // 2
    assert numbers(together) == numbers(links_of(graph))
    for rest, links, non_links in folds:
        assert numbers(links_of(rest)) == numbers(links_of(graph)) - numbers(links)
        assert len(non_links) == 2 * len(links)
        assert not numbers(non_links) & numbers(links_of(graph))


@pytest.mark.parametrize("sizes", [[3], [0], [0, 30]])
def test_of_a_large_graph_only_as_many_folds_as_have_enough_links(monkeypatch, sizes, teams):
    """Sizes are of the links that are scored; 0 stands for a whole fold."""
    graph = without_links(teams, links_of(teams), np.arange(teams.nnz // 2) < teams.nnz // 2 % 5)
    fold = graph.nnz // 10
    monkeypatch.setattr(module, "_MOST_LINKS", sum(size or fold for size in sizes))
    found = list(folds_of(graph, graph, 5, 0))
    assert [len(links) for _, links, _ in found] == [size or fold for size in sizes]
    for rest, links, _ in found:
        # The rest of a fold is not scored, and is not in its graph either.
        assert (graph.nnz - rest.nnz) // 2 == fold
        assert not numbers(links) & numbers(links_of(rest))


def test_weights_stay_with_the_links_that_stay():
    graph = csr_array(np.array([[0.0, 2.0, 3.0], [2.0, 0.0, 5.0], [3.0, 5.0, 0.0]]))
    rest = without_links(graph, links_of(graph), np.array([False, True, False]))
    np.testing.assert_array_equal(rest.toarray(), [[0, 2, 0], [2, 0, 5], [0, 5, 0]])


def test_a_complete_graph_has_no_pairs_to_learn_from():
    graph = csr_array(np.ones((6, 6)) - np.eye(6))
    with pytest.raises(InputError, match="0 pairs without a link"):
        fair_non_links(graph, graph, 4, np.random.default_rng(0))
