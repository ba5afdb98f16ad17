"""Tempered predictions and their averages."""

from __future__ import annotations

import numpy as np
import pytest

from truegraph.tasks.classify.recipes.ensemble import (
    Prediction,
    confidence_temperature,
    mean_of,
    tempered,
    tempered_average,
)
from truegraph.tasks.classify.recipes.weight_samples import entropy

CHANCES = np.random.default_rng(0).dirichlet([1.0, 2.0, 3.0], size=(2, 40))


def test_tempering_by_hand() -> None:
    np.testing.assert_allclose(tempered(np.array([0.8, 0.2]), 0.5), [0.64 / 0.68, 0.04 / 0.68])
    np.testing.assert_allclose(tempered(np.array([0.8, 0.2]), 1e9), [0.5, 0.5], atol=1e-6)
    assert np.array_equal(tempered(CHANCES, 1.0), CHANCES)
    both = tempered(CHANCES, np.array([0.5, 2.0]))
    np.testing.assert_allclose(both[0], tempered(CHANCES[0], 0.5))
    np.testing.assert_allclose(both[1], tempered(CHANCES[1], 2.0))
    assert np.isfinite(tempered(np.array([1.0, 0.0]), 0.1)).all()


@pytest.mark.parametrize("wanted", [0.5, 0.7, 0.9])
def test_the_wanted_confidence_is_reached(wanted: float) -> None:
    heat = confidence_temperature(CHANCES[0], wanted)
    assert tempered(CHANCES[0], heat).max(axis=1).mean() == pytest.approx(wanted, abs=1e-9)


def test_a_confidence_out_of_reach_gives_the_limit() -> None:
    assert confidence_temperature(CHANCES[0], 0.0) == pytest.approx(30.0, rel=1e-6)


def test_samples_carry_their_share_of_the_entropy() -> None:
    average = tempered_average(CHANCES, 1.0)
    before = entropy(average.probabilities)
    cooled = average.at(0.5)
    assert np.array_equal(cooled.probabilities.argmax(-1), average.probabilities.argmax(-1))
    np.testing.assert_allclose(
        cooled.expected_entropy / entropy(cooled.probabilities),
        average.expected_entropy / before,
        rtol=1e-4,
    )


def test_the_mean_is_that_of_probabilities_and_entropies() -> None:
    parts = [Prediction(c.astype(np.float32), entropy(c).astype(np.float32)) for c in CHANCES]
    mean = mean_of(parts)
    np.testing.assert_allclose(mean.probabilities, CHANCES.mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(mean.expected_entropy, entropy(CHANCES).mean(axis=0), rtol=1e-5)
    uneven = mean_of(parts, [3.0, 1.0])
    np.testing.assert_allclose(uneven.probabilities, 0.75 * CHANCES[0] + 0.25 * CHANCES[1], 1e-6)
    assert np.array_equal(mean_of(parts, [0.0, 1.0]).probabilities, parts[1].probabilities)
