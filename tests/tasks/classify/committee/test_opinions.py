"""Opinions: labels that are read, many labels, and the shares of the classes."""

from __future__ import annotations

import numpy as np
import pytest

from truegraph.tasks.classify.committee import opinions
from truegraph.tasks.classify.committee.opinions import class_shares, open_trial


def test_only_training_labels_are_read() -> None:
    labels = np.arange(40) % 2
    train = np.array([3, 4, 9, 10])
    poisoned = np.full(40, 7)
    poisoned[train] = labels[train]
    first, second = (open_trial(given, train, 0, 2) for given in (labels, poisoned))
    assert np.array_equal(first.labels, second.labels)
    assert np.array_equal(first.folds, second.folds)


def test_of_very_many_labels_a_part_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opinions, "_MOST_LABELS", 50)
    labels = np.where(np.arange(1000) < 3, 2, np.arange(1000) % 2)
    trial = open_trial(labels, np.arange(1000), 0, 3)
    assert 48 <= len(trial.train) <= 52
    assert set(trial.labels) == {0, 1, 2}


def test_shares_of_the_classes() -> None:
    trial = open_trial(np.array([0, 0, 0, 1, 1]), np.arange(5), 0, 3)
    opinion = class_shares(trial, 7)
    np.testing.assert_allclose(opinion.probabilities, np.tile([4 / 8, 3 / 8, 1 / 8], (7, 1)))
    # one of two labels of a class left out: at most 2 + 1 of the others and 1 + 1 of its own
    assert opinion.densities.shape == (5,)
    assert (opinion.densities[:3] > opinion.densities[3:].max()).all()
    assert (opinion.densities < np.log(4 / 7)).all()
