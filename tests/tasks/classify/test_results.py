"""Results of trials: entropies by hand, other orders, portions joined."""

from __future__ import annotations

import numpy as np
import pytest

from truegraph.tasks.classify.results import TrialResults, joined_results

ONE = TrialResults(
    np.array([[[0.5, 0.5], [0.9, 0.1]]], dtype=np.float32),
    np.array([[0.2, 0.5]], dtype=np.float32),
    weights=["first"],
)
OTHER = TrialResults(
    np.array([[[0.0, 1.0], [0.3, 0.7]]], dtype=np.float32),
    np.array([[0.0, 0.1]], dtype=np.float32),
    weights=["second"],
)


def test_information_is_what_entropy_is_more_than_expected_and_never_negative() -> None:
    assert ONE.predictions.tolist() == [[0, 0]]
    assert ONE.predictive_entropy[0, 0] == pytest.approx(np.log(2))
    information = ONE.mutual_information
    assert information is not None
    assert information[0] == pytest.approx([np.log(2) - 0.2, 0.0])
    assert TrialResults(ONE.probabilities).mutual_information is None


def test_portions_are_joined_and_put_in_order() -> None:
    both = joined_results([ONE, OTHER], {"total": 1.0}, ["a note"])
    assert both.notes == ("a note",)
    turned = both.in_order([1, 0])
    assert turned.weights == ["second", "first"]
    assert np.array_equal(turned.probabilities[0], OTHER.probabilities[0])
    assert turned.graphs is None
