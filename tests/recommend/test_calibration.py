"""Probabilities of recommended items: they rise with what was taken, and are none without it."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from truegraph.recommend.calibration import Calibration, fit_calibration


class ItemNumbers:
    """Scores every item by its number, the same for everybody."""

    def scores(self, history: csr_array, users: np.ndarray) -> np.ndarray:
        return np.tile(np.arange(30, dtype=np.float32), (len(users), 1))


TRAIN = csr_array(np.eye(40, 30, dtype=np.float32) + np.eye(40, 30, -10, dtype=np.float32) > 0)


def test_items_that_are_taken_more_often_are_more_probable() -> None:
    rng = np.random.default_rng(0)
    taken = rng.random((40, 30)) < np.linspace(0.0, 0.9, 30)
    held_out = csr_array((taken & ~TRAIN.toarray()).astype(np.float32))
    chances = fit_calibration(ItemNumbers(), TRAIN, held_out)  # type: ignore[arg-type]
    assert chances is not None
    ranks, lengths = np.array([1, 15, 28]), np.full(3, 2)
    found = chances.probabilities(ranks, np.array([29.0, 14.0, 1.0], dtype=np.float32), lengths)
    assert (np.diff(found) <= 0.0).all()
    assert found[0] > 0.6 > 0.2 > found[2]
    assert ((found >= 0.0) & (found <= 1.0)).all()


def test_nothing_taken_gives_no_chances() -> None:
    nothing = csr_array((40, 30), dtype=np.float32)
    assert fit_calibration(ItemNumbers(), TRAIN, nothing) is None  # type: ignore[arg-type]


def test_between_knots_one_interpolates() -> None:
    centre, knots = np.zeros(3), np.array([0.0, 1.0])
    chances = Calibration(centre, np.array([0.0, 1.0, 0.0]), knots, np.array([0.2, 0.6]))
    ranks, lengths = np.ones(2, dtype=np.int64), np.zeros(2, dtype=np.int64)
    found = chances.probabilities(ranks, np.array([0.5, 9.0], dtype=np.float32), lengths)
    assert np.allclose(found, [0.4, 0.6])
