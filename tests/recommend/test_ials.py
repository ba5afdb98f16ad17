"""Alternating least squares: stationary points, folding in, threads."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph.data import load_interactions, split_randomly
from truegraph.errors import InputError
from truegraph.recommend.ials import IALS, solve_rows

SPLIT = split_randomly(load_interactions("planted"), random_state=0)
OPTIONS = {"width": 8, "penalty": 3.0, "confidence": 4.0, "sweeps": 3}


def test_rows_solve_their_weighted_least_squares() -> None:
    rng = np.random.default_rng(0)
    items = rng.normal(size=(12, 3)).astype(np.float32)
    row = (rng.random(12) < 0.4).astype(np.float64)
    found = solve_rows(csr_array(row[None]), items, 2.0, 4.0)[0]
    confidence = np.diag(1.0 + 4.0 * row)
    system = items.T @ confidence @ items + 2.0 * np.eye(3)
    exact = np.linalg.solve(system, items.T @ confidence @ row)
    assert found == pytest.approx(exact, abs=1e-5)


def test_contributions_sum_to_the_score() -> None:
    made = IALS.fit(OPTIONS, SPLIT.train)
    scores = made.scores(SPLIT.train[[5]])[0]
    own = SPLIT.train[[5]].indices.astype(np.int64)
    for item in (1, 100):
        direct, graph = made.contributions(own, item)
        assert direct.sum() == pytest.approx(scores[item], abs=1e-4)
        assert not graph.any()


def test_the_number_of_threads_does_not_show() -> None:
    before, found = numba.get_num_threads(), []
    try:
        for threads in {1, numba.config.NUMBA_NUM_THREADS}:
            numba.set_num_threads(threads)
            found.append(IALS.fit(OPTIONS, SPLIT.train, seed=3).items)
    finally:
        numba.set_num_threads(before)
    assert (found[0] == found[-1]).all()
    assert (found[0] != IALS.fit(OPTIONS, SPLIT.train, seed=4).items).any()


def test_no_history_gives_zero_scores_and_impossible_settings_an_error() -> None:
    made = IALS.fit(OPTIONS, SPLIT.train)
    assert not made.scores(csr_array(np.zeros((1, 180), dtype=np.float32))).any()
    with pytest.raises(InputError, match="penalty"):
        IALS.checked({"penalty": -1.0})
    with pytest.raises(InputError, match="width"):
        IALS.checked({"width": 0})
