"""Drawing graphs: chains in threads, interrupts, warnings."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

import numpy as np
import pytest
from lab.known_problems import paper_graph

from truegraph import InputError, LearnedGraph
from truegraph.errors import ConvergenceWarning
from truegraph.learning.posterior import samples as module


@pytest.fixture(scope="module")
def graph() -> LearnedGraph:
    points = np.random.default_rng(0).normal(size=(60, 3))
    return paper_graph(points, degree=6, random_state=0)


def test_diagnostics_need_draws(graph: LearnedGraph) -> None:
    drawn = graph.posterior().sample(4, random_state=0)
    assert repr(drawn) == "GraphSamples(0 of 4 drawn, chains=4)"
    with pytest.raises(InputError, match="go through the samples first"):
        _ = drawn.diagnostics
    next(drawn)
    assert drawn.diagnostics.draws == 1
    assert repr(drawn) == "GraphSamples(1 of 4 drawn, chains=4)"


def test_draws_are_graphs_on_the_candidate_pairs(graph: LearnedGraph) -> None:
    drawn = graph.posterior().sample(10, random_state=0)
    matrices = list(drawn)
    assert len(matrices) == 10
    for matrix in matrices:
        assert np.array_equal(matrix.indices, graph.candidates.indices)
        assert np.array_equal(matrix.indptr, graph.candidates.indptr)
        assert (matrix != matrix.T).nnz == 0
        assert matrix.data.min() > 0.0
    facts = drawn.diagnostics
    assert (facts.draws, facts.chains, facts.burn_in, facts.stuck) == (10, 4, 100, 0)
    assert facts.sweeps == 3 * 67  # three draws of each chain make 200 sweeps
    assert facts.r_hat < 1.05
    assert facts.ess_min > 100.0
    assert facts.ess <= 4 * facts.sweeps * 1.5
    assert facts.seconds > 0.0
    assert next(drawn, None) is None


def test_same_bits_for_any_number_of_threads(graph: LearnedGraph) -> None:
    def draw(n_jobs: int | None, **how: Any) -> np.ndarray:
        return np.stack([m.data for m in graph.posterior().sample(9, 3, n_jobs=n_jobs, **how)])

    one = draw(1)
    assert np.array_equal(one, draw(2))
    assert np.array_equal(one, draw(-1))
    assert not np.array_equal(one, np.stack([m.data for m in graph.posterior().sample(9, 4)]))
    # chains are independent of one another: the first of three is the first of four
    assert np.array_equal(one[::4][:2], draw(2, chains=3, thin=67)[::3][:2])
    first = graph.posterior("gibbs", random_state=1, samples=20, n_jobs=1)
    second = graph.posterior("gibbs", random_state=1, samples=20, n_jobs=2)
    assert np.array_equal(first.mean.data, second.mean.data)
    assert np.array_equal(first.interval()[0].data, second.interval()[0].data)


def _interrupt_after(sweeps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Send Ctrl-C to this process when a chain has been advanced so many times."""
    advance, calls, lock = module.Chain.advance, [0], threading.Lock()

    def counted(self: Any, wanted: int, stop: threading.Event) -> None:
        advance(self, wanted, stop)
        with lock:
            calls[0] += 1
            due = calls[0] == sweeps
        if due:
            os.kill(os.getpid(), signal.SIGINT)
            stop.wait(10.0)

    monkeypatch.setattr(module.Chain, "advance", counted)


def test_an_interrupt_keeps_what_was_drawn(
    graph: LearnedGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = [m.data for m in graph.posterior().sample(400, 0)]
    _interrupt_after(4 * (1 + 60) + 2, monkeypatch)  # in the 61st round after the burn-in
    drawn = graph.posterior().sample(400, 0)
    with pytest.warns(ConvergenceWarning, match="interrupted: 240 of 400 graphs"):
        partial = [m.data for m in drawn]
    assert drawn.diagnostics.interrupted
    assert drawn.diagnostics.draws == len(partial) == 240
    assert np.array_equal(np.stack(partial), np.stack(whole[:240]))


def test_an_interrupted_posterior_is_made_of_what_was_drawn(
    graph: LearnedGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    _interrupt_after(4 * (1 + 60) + 2, monkeypatch)
    with pytest.warns(ConvergenceWarning, match="interrupted: 240 of 400"):
        posterior = graph.posterior("gibbs", random_state=0)
    assert posterior.diagnostics.draws == 240  # type: ignore[attr-defined]
    steps = posterior.inclusion().data * 240
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-6)


def test_an_interrupt_before_the_first_draw_is_an_interrupt(
    graph: LearnedGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    _interrupt_after(2, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        list(graph.posterior().sample(10, 0))


def test_a_chain_that_does_not_mix_is_told_of(graph: LearnedGraph) -> None:
    with pytest.warns(ConvergenceWarning, match="have not mixed after 6 sweeps: R-hat"):
        list(graph.posterior().sample(24, 0, burn_in=0, thin=1))


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"samples": 0}, "samples=0 must be a whole number of at least 1"),
        ({"samples": 2.5}, "samples=2.5 must be a whole number"),
        ({"samples": 5, "chains": 0}, "chains=0 must be"),
        ({"samples": 5, "burn_in": -1}, "burn_in=-1 must be"),
        ({"samples": 5, "thin": 0}, "thin=0 must be"),
        ({"samples": 5, "random_state": -1}, "random_state=-1 must be"),
        ({"samples": 5, "n_jobs": 0}, "n_jobs=0 must be"),
    ],
)
def test_bad_options_are_named(graph: LearnedGraph, how: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        graph.posterior().sample(**how)


def test_too_many_draws_to_keep(graph: LearnedGraph) -> None:
    with pytest.raises(InputError, match=r"samples=100000000 draws of \d+ pairs take"):
        graph.posterior("gibbs", samples=100_000_000)
