"""The regression against data whose log odds are known."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from truegraph.links.regression import fit_regression


def drawn(count: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(count, 2)) * [1.0, 50.0] + [0.0, 7.0]
    odds = 1.5 * columns[:, 0] - 0.02 * columns[:, 1] - 1.0
    return columns, rng.random(count) < expit(odds), odds


def test_recovers_known_odds_and_their_errors():
    columns, truth, odds = drawn(20_000, 0)
    found = fit_regression(columns, truth, weight=np.ones(len(truth)))
    wrong = found.logits(columns) - odds
    assert np.abs(wrong).max() < 0.3
    # errors say how far off other draws would be
    again = [
        fit_regression(*drawn(2000, seed)[:2], weight=np.ones(2000)).logits(columns[:5])
        for seed in range(1, 40)
    ]
    stated = fit_regression(*drawn(2000, 99)[:2], weight=np.ones(2000)).errors(columns[:5])
    np.testing.assert_allclose(stated, np.std(again, axis=0), rtol=0.5)


def test_by_default_both_classes_weigh_the_same():
    columns, truth, odds = drawn(40_000, 3)
    found = fit_regression(columns, truth).logits(columns)
    shift = np.log(truth.mean() / (1 - truth.mean()))
    np.testing.assert_allclose(found, odds - shift, atol=0.4)


def test_weights_stand_for_rows():
    columns, truth, _ = drawn(3000, 4)
    twice = fit_regression(
        np.concatenate([columns, columns[truth]]),
        np.concatenate([truth, truth[truth]]),
        weight=np.ones(len(truth) + truth.sum()),
    )
    weighed = fit_regression(columns, truth, weight=np.where(truth, 2.0, 1.0))
    np.testing.assert_allclose(twice.logits(columns), weighed.logits(columns), atol=0.02)
