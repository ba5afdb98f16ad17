"""Tests of the estimated frequencies of the classes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from truegraph import NodeClassifier
from truegraph.classify.calibration import (
    estimated_factors,
    shares_of,
    uneven_classes,
)

EVEN = np.full(3, 10.0)


def _predictions(shares: list[float], noise: float, seed: int = 0) -> NDArray[np.float64]:
    """Return what Bayes' rule with an even prior says of one number that depends on the class."""
    generator = np.random.default_rng(seed)
    truth = generator.choice(len(shares), 3000, p=shares)
    seen = truth + noise * generator.normal(size=len(truth))
    logs = -0.5 * ((seen[:, None] - np.arange(len(shares))) / noise) ** 2
    found = np.exp(logs - logs.max(axis=1, keepdims=True))
    return found / found.sum(axis=1, keepdims=True)


def test_uneven_classes_are_found_from_predictions_alone() -> None:
    chances = _predictions([0.7, 0.2, 0.1], noise=0.3)
    found = shares_of(EVEN, estimated_factors(chances, EVEN))
    np.testing.assert_allclose(found, [0.7, 0.2, 0.1], atol=0.1)  # nearer than a third
    note = uneven_classes(EVEN, estimated_factors(chances, EVEN))
    assert note is not None
    assert "33% of the labels" in note


def test_corrected_predictions_are_more_often_right() -> None:
    shares, noise = [0.9, 0.05, 0.05], 0.6
    chances = _predictions(shares, noise)
    truth = np.random.default_rng(0).choice(3, 3000, p=shares)
    before = np.mean(chances.argmax(axis=1) == truth)
    after = np.mean((chances * estimated_factors(chances, EVEN)).argmax(axis=1) == truth)
    assert after > before + 0.03


def test_even_classes_stay_as_they_are() -> None:
    factors = estimated_factors(_predictions([1 / 3, 1 / 3, 1 / 3], noise=0.3), EVEN)
    np.testing.assert_allclose(factors, 1.0, atol=0.01)
    assert uneven_classes(EVEN, factors) is None


def test_unsure_predictions_are_not_believed() -> None:
    flat = np.tile([0.36, 0.32, 0.32], (500, 1))
    np.testing.assert_allclose(estimated_factors(flat, EVEN), 1.0, atol=0.01)


def test_a_class_without_labels_keeps_its_factor() -> None:
    chances = np.hstack([_predictions([0.7, 0.2, 0.1], 0.3), np.full((3000, 1), 1e-6)])
    factors = estimated_factors(chances, np.r_[EVEN, 0.0])
    assert factors[3] == 1.0
    assert np.isfinite(factors).all()


@pytest.mark.parametrize("chances", [np.empty((0, 3)), np.zeros((4, 3))])
def test_nothing_to_go_by(chances: NDArray[np.float64]) -> None:
    assert np.isfinite(estimated_factors(chances, EVEN)).all()


def test_the_classifier_says_what_it_believes() -> None:
    generator = np.random.default_rng(1)
    truth = np.sort(generator.choice(2, 400, p=[0.85, 0.15]))
    features = truth[:, None] + 0.5 * generator.normal(size=(400, 4))
    y = np.full(400, -1)
    for label in (0, 1):
        y[np.flatnonzero(truth == label)[:10]] = label
    fitted = NodeClassifier(effort="low", random_state=0).fit(features, y)
    assert fitted.class_shares_ is not None
    assert fitted.class_shares_[0] > 0.75
    assert any("class_shares_" in note for note in fitted.notes_)
    as_drawn = NodeClassifier(effort="low", class_prior="train", random_state=0)
    np.testing.assert_allclose(as_drawn.fit(features, y).class_shares_, 0.5)
    assert NodeClassifier(model="bgcn-fast").fit(features, y).class_shares_ is None
