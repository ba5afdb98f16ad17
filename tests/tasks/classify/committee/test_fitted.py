"""The mean of a committee: weights, confidence, class frequencies, uncertainty."""

from __future__ import annotations

import numpy as np
import pytest

from truegraph.tasks.classify.committee.fitted import averaged

SURE = np.array([[0.9, 0.1], [0.1, 0.9], [0.8, 0.2]])


def test_one_part_is_only_made_a_little_sharper() -> None:
    found = averaged([(1.0, SURE)], np.ones(2))[0].probabilities
    wanted = SURE**1.15 / (SURE**1.15).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_a_mean_is_as_sure_as_its_parts() -> None:
    other = np.array([[0.9, 0.1], [0.9, 0.1], [0.2, 0.8]])
    found = averaged([(0.7, SURE), (0.3, other)], np.ones(2))[0].probabilities
    plain = 0.7 * SURE + 0.3 * other
    assert np.array_equal(found.argmax(axis=1), plain.argmax(axis=1))
    wanted = 0.7 * SURE.max(axis=1).mean() + 0.3 * other.max(axis=1).mean()
    assert plain.max(axis=1).mean() < wanted <= found.max(axis=1).mean()


def test_parts_that_disagree_leave_mutual_information() -> None:
    agreeing = averaged([(0.5, SURE), (0.5, SURE)], np.ones(2))[0]
    apart = averaged([(0.5, SURE), (0.5, SURE[:, ::-1])], np.ones(2))[0]

    def information(found: object) -> float:
        chances = found.probabilities.astype(float)  # type: ignore[attr-defined]
        entropy = -(chances * np.log(chances)).sum(axis=1)
        return float((entropy - found.expected_entropy).mean())  # type: ignore[attr-defined]

    assert information(agreeing) == pytest.approx(0.0, abs=1e-5)
    assert information(apart) > 0.1


def test_class_factors_move_every_part() -> None:
    found = averaged([(1.0, np.array([[0.5, 0.5]]))], np.array([1.0, 3.0]))[0].probabilities
    assert found[0, 1] > 0.75
