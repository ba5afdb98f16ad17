"""Weights and sharpness: evidence decides with many labels, the prior with few."""

from __future__ import annotations

import numpy as np
import pytest

from truegraph.tasks.classify.committee.weights import fit_sharpness, view_weights


def test_no_labels_leave_the_prior() -> None:
    found = view_weights(np.zeros((3, 0)), np.array([1.0, 1.0, 2.0]), 0)
    np.testing.assert_allclose(found, [0.25, 0.25, 0.5])


def test_equal_evidence_leaves_the_prior() -> None:
    found = view_weights(np.full((2, 30), -0.7), np.array([1.0, 3.0]), 0)
    np.testing.assert_allclose(found, [0.25, 0.75])


def test_the_same_advantage_counts_more_with_more_labels() -> None:
    generator = np.random.default_rng(0)

    def weight(labels: int) -> float:
        good = -0.5 + 0.3 * generator.normal(size=labels)
        return float(view_weights(np.stack([good, good - 0.1]), np.ones(2), 0)[0])

    assert 0.5 < weight(15) < weight(500)
    assert weight(500) > 0.999


def test_sharpness_follows_the_left_out_labels() -> None:
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 3, 300)
    folds = np.zeros((1, 300), dtype=np.int64)
    clear = np.eye(3)[labels][None] - 1 / 3
    vague = clear + generator.normal(size=clear.shape)
    sure, high = fit_sharpness(clear, labels, folds)
    unsure, low = fit_sharpness(vague, labels, folds)
    assert high.mean() > low.mean() > np.log(1 / 3)
    size = np.sqrt((vague**2).mean() / (clear**2).mean())
    assert sure.factor > unsure.factor * size
    scaled, same = fit_sharpness(7.0 * vague, labels, folds)
    assert scaled.factor == pytest.approx(unsure.factor / 7.0, rel=1e-3)
    np.testing.assert_allclose(same, low, atol=1e-3)


def test_without_left_out_labels_sharpness_is_usual() -> None:
    sharpness, densities = fit_sharpness(np.zeros((4, 2, 2)), np.array([0, 1]), np.full((4, 2), -1))
    assert densities.shape == (0,)
    assert np.isfinite(sharpness.factor)


def test_a_view_that_knows_nothing_is_hardly_believed() -> None:
    generator = np.random.default_rng(0)
    labels = np.arange(25) % 5
    folds = np.zeros((1, 25), dtype=np.int64)
    against = 0.5 - np.eye(5)[labels][None] + 0.1 * generator.normal(size=(1, 25, 5))
    sharpness, densities = fit_sharpness(against, labels, folds)
    # with the narrow prior of sharp views it would be sure of what is wrong
    assert sharpness.probabilities(against).max() < 0.3
    assert densities.mean() > np.log(1 / 5) - 0.05
