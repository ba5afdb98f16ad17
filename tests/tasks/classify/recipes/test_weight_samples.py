"""Averages of samples and their entropy."""

from __future__ import annotations

import numpy as np

from truegraph.tasks.classify.recipes.weight_samples import average_of, entropy


def test_entropy_by_hand() -> None:
    np.testing.assert_allclose(
        entropy(np.array([[0.5, 0.5], [1.0, 0.0], [0.25, 0.75]])),
        [np.log(2), 0.0, 0.5623351446],
    )


def test_two_sure_samples_that_disagree_carry_all_the_information() -> None:
    average = average_of([np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])])
    assert average.samples == 2
    assert average.probabilities.tolist() == [[0.5, 0.5]]
    assert average.expected_entropy.tolist() == [0.0]
    assert entropy(average.probabilities)[0] == np.log(2)


def test_the_mean_is_kept_in_double_precision() -> None:
    samples = np.random.default_rng(0).random((1000, 3, 2), dtype=np.float32)
    expected = samples.astype(np.float64).mean(axis=0).astype(np.float32)
    np.testing.assert_array_equal(average_of(samples).probabilities, expected)
