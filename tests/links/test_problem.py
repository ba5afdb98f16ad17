"""What a link predictor is let see: held-out links, folds, and how bad input is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph.data.link_splits import links_of
from truegraph.errors import InputError
from truegraph.fit_log import FitLog
from truegraph.links import problem as module
from truegraph.links.problem import (
    check_pairs,
    check_share,
    fair_non_links,
    folds_of,
    is_directed,
    open_link_problem,
    pairs_to_mask,
    without_links,
)


def opened(graph=None, features=None, validation=None, held_out=0.05, log=None):
    """Return features, all links, those to train on, and held-out pairs."""
    graph = csr_array(ring(20) if graph is None else graph)
    log = FitLog() if log is None else log
    return open_link_problem(graph, features, validation, 0, log, held_out=held_out)


def ring(n_nodes: int) -> csr_array:
    turned = np.roll(np.eye(n_nodes), 1, axis=1)
    return csr_array(turned + turned.T)


def test_held_out_links_are_not_trained_on_but_known():
    features, known, graph, (links, non_links) = opened(ring(300))
    assert len(links) == len(non_links) == 15
    assert known.nnz == 600
    assert graph.nnz == 570
    assert not graph.toarray()[tuple(links.T)].any()
    assert features is None


def test_given_validation_pairs_become_known_but_not_trained():
    graph = ring(20).tolil()
    graph[0, 1] = graph[1, 0] = 0.0
    _, known, trained, held_out = opened(csr_array(graph), validation=([[1, 0]], [[0, 5]]))
    assert trained.nnz == 38
    assert known[0, 1] == 1.0
    mask = pairs_to_mask(np.sort(np.concatenate(held_out), axis=1), 20).toarray()
    assert mask[0, 1] == mask[0, 5] == 1.0  # one direction only
    assert mask.sum() == 2.0


def test_weights_are_dropped_and_said_so():
    log = FitLog()
    assert set(opened(3.0 * ring(20), log=log)[1].data) == {1.0}
    assert any("weights" in note for note in log.notes)
    # Where nothing is held out, weights count.
    assert set(opened(3.0 * ring(20), held_out=None)[1].data) == {3.0}


def test_directions_are_noticed():
    directed = ring(20).tolil()
    directed[0, 7] = 1.0
    assert is_directed(csr_array(directed))
    assert not any(is_directed(same) for same in (ring(20), np.triu(ring(20).toarray())))


def test_bad_input_is_named():
    with pytest.raises(InputError, match=r"has 3 links among 3 nodes, too few"):
        opened(ring(3))
    with pytest.raises(InputError, match="X has shape"):
        opened(features=np.ones((5, 2)))
    with pytest.raises(InputError, match=r"held_out=0.7"):
        opened(held_out=0.7)
    with pytest.raises(InputError, match="two lists of pairs"):
        opened(validation=[[0, 1]])
    with pytest.raises(InputError, match=r"links of validation hold \(0, 1\)"):
        opened(validation=([[0, 1]], [[0, 5]]))
    with pytest.raises(InputError, match=r"non-links of validation hold \(1, 2\)"):
        opened(validation=([[0, 3]], [[1, 2]]))
    with pytest.raises(InputError, match="validation has no links"):
        opened(validation=([], [[0, 5]]))
    with pytest.raises(InputError, match="pairs names node 20, outside 0 to 19"):
        check_pairs([[0, 20]], 20, "pairs")
    with pytest.raises(InputError, match="pairs node 4 with itself"):
        check_pairs([[4, 4]], 20, "pairs")
    with pytest.raises(InputError, match=r"pairs without a link"):
        opened(np.ones((12, 12)) - np.eye(12))


@pytest.mark.parametrize("bad", [[1, 2], [[0.5, 1.5]], [["a", "b"]], [[0, 1, 2]]])
def test_pairs_are_two_node_numbers_each(bad):
    with pytest.raises(InputError, match=r"two node numbers per pair|whole node numbers"):
        check_pairs(bad, 5, "pairs")


@pytest.mark.parametrize("share", [0.0, 1.0, -1, "much", None])
def test_impossible_shares_are_refused(share):
    with pytest.raises(InputError, match="missing="):
        check_share("missing", share, "a share")


# --- folds


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
