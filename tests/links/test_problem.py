"""What a link predictor is let see, and how bad input is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph.errors import InputError
from truegraph.fit_log import FitLog
from truegraph.links import problem as link_problem
from truegraph.links.problem import (
    check_pairs,
    check_share,
    features_or_nodes,
    open_link_problem,
)


def opened(graph=None, features=None, validation=None, asked=None, held_out=0.05, log=None):
    graph = ring(20) if graph is None else graph
    log = FitLog() if log is None else log
    return open_link_problem(graph, features, validation, asked, 0, log, held_out=held_out)


def ring(n_nodes: int) -> csr_array:
    turned = np.roll(np.eye(n_nodes), 1, axis=1)
    return csr_array(turned + turned.T)


def test_held_out_links_are_not_trained_on_but_known():
    problem = opened(ring(300))
    assert len(problem.links) == len(problem.non_links) == 15
    assert problem.known.nnz == 600
    assert problem.graph.nnz == 570
    assert not problem.graph.toarray()[tuple(problem.links.T)].any()
    assert problem.features is None


@pytest.mark.parametrize(("links", "held_out"), [(300, 15), (100, 10), (20, 4), (5, 1)])
def test_small_graphs_hold_out_a_larger_share(links, held_out):
    assert len(opened(ring(links)).links) == held_out


def test_given_validation_pairs_become_known_but_not_trained():
    graph = ring(20).tolil()
    graph[0, 1] = graph[1, 0] = 0.0
    given = ([[1, 0]], [[0, 5]])
    problem = opened(csr_array(graph), validation=given, asked=[[3, 9]])
    assert problem.graph.nnz == 38
    assert problem.known[0, 1] == 1.0
    mask = problem.hidden_pairs().toarray()
    assert mask[0, 1] == mask[0, 5] == mask[3, 9] == 1.0  # one direction only
    assert mask.sum() == 3.0


def test_weights_are_dropped_and_said_so():
    log = FitLog()
    assert set(opened(3.0 * ring(20), log=log).known.data) == {1.0}
    assert any("weights" in note for note in log.notes)
    # Where nothing is held out, weights count.
    assert set(opened(3.0 * ring(20), held_out=None).known.data) == {3.0}


def test_directions_are_dropped_and_said_so():
    directed, log = ring(20).tolil(), FitLog()
    directed[0, 7] = 1.0
    assert opened(csr_array(directed), log=log).known[7, 0] == 1.0
    assert any("directions" in note for note in log.notes)
    for same in (ring(20), np.triu(ring(20).toarray())):
        log = FitLog()
        opened(same, log=log)
        assert not any("directions" in note for note in log.notes)


def test_large_graphs_without_features_use_degrees(monkeypatch):
    monkeypatch.setattr(link_problem, "LARGEST_IDENTITY", 10)
    log = FitLog()
    assert features_or_nodes(opened(ring(20)), log).shape == (20, 2)
    assert any("degree" in note for note in log.notes)
    monkeypatch.undo()
    assert features_or_nodes(opened(ring(20)), log).shape == (20, 20)


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
        opened(asked=[[0, 20]])
    with pytest.raises(InputError, match="pairs node 4 with itself"):
        opened(asked=[[4, 4]])
    with pytest.raises(InputError, match=r"pairs without a link"):
        opened(np.ones((12, 12)))


@pytest.mark.parametrize("bad", [[1, 2], [[0.5, 1.5]], [["a", "b"]], [[0, 1, 2]]])
def test_pairs_are_two_node_numbers_each(bad):
    with pytest.raises(InputError, match=r"two node numbers per pair|whole node numbers"):
        check_pairs(bad, 5, "pairs")


def test_no_pairs_are_pairs_too():
    assert check_pairs([], 5, "pairs").shape == (0, 2)


@pytest.mark.parametrize("share", [0.0, 1.0, -1, "much", None])
def test_impossible_shares_are_refused(share):
    with pytest.raises(InputError, match="missing="):
        check_share("missing", share, "a share")
