"""Class numbers and validation nodes from a user's labels."""

from __future__ import annotations

import numpy as np
import pytest

from truegraph.errors import InputError
from truegraph.tasks.classify.labels import encode_labels, training_split


@pytest.mark.parametrize(
    ("y", "numbers", "classes"),
    [
        ([7, -1, 3, 7], [1, -1, 0, 1], [3, 7]),
        (["b", None, "a"], [1, -1, 0], ["a", "b"]),
        (["b", float("nan"), "a", -1], [1, -1, 0, -1], ["a", "b"]),
        (np.array(["b", "-1", "a"]), [2, 0, 1], ["-1", "a", "b"]),
        (np.array([0.0, np.nan, 2.0]), [0, -1, 1], [0.0, 2.0]),
        ([True, False, None], [1, 0, -1], [False, True]),
        (np.array([-2, -1, 5]), [0, -1, 1], [-2, 5]),
    ],
)
def test_labels_of_any_kind(y: object, numbers: list[int], classes: list[object]) -> None:
    labels, found = encode_labels(y)
    assert labels.tolist() == numbers
    assert found.tolist() == classes
    assert not found.dtype.hasobject


def test_a_fifth_of_each_class_is_drawn() -> None:
    labels = np.array([0] * 10 + [1] * 2 + [2] + [-1] * 5)
    split, note = training_split(labels, None, True, seed=0)
    assert np.bincount(labels[split.validation], minlength=3).tolist() == [2, 1, 0]
    assert np.array_equal(np.sort([*split.train, *split.validation]), np.arange(13))
    assert note == "3 of 13 labelled nodes were drawn for validation"
    again, _ = training_split(labels, None, True, seed=0)
    assert np.array_equal(split.validation, again.validation)


def test_nothing_is_drawn_where_nothing_is_needed() -> None:
    split, note = training_split(np.array([0, 1, -1]), None, False, seed=0)
    assert split.train.tolist() == [0, 1]
    assert split.validation.size == 0
    assert note is None


def test_labels_that_cannot_be_sorted() -> None:
    with pytest.raises(InputError, match="y"):
        encode_labels([(1, 2), 3, None])
