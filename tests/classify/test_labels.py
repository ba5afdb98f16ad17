"""Class numbers and validation nodes from a user's labels."""

from __future__ import annotations

import numpy as np
import pytest

from truegraph.classify.labels import encode_labels, training_split
from truegraph.errors import InputError, InputWarning


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
    train, held_out, note = training_split(labels, None, True, seed=0)
    assert np.bincount(labels[held_out], minlength=3).tolist() == [2, 1, 0]
    assert np.array_equal(np.sort([*train, *held_out]), np.arange(13))
    assert note == "3 of 13 labelled nodes were drawn for validation"
    assert np.array_equal(training_split(labels, None, True, seed=0)[1], held_out)


def test_nothing_is_drawn_where_nothing_is_needed() -> None:
    train, held_out, note = training_split(np.array([0, 1, -1]), None, False, seed=0)
    assert train.tolist() == [0, 1]
    assert held_out.size == 0
    assert note is None


def test_labels_that_cannot_be_sorted() -> None:
    with pytest.raises(InputError, match="y"):
        encode_labels([(1, 2), 3, None])


def test_quantities_are_no_classes() -> None:
    values = np.random.default_rng(0).normal(size=80)
    with pytest.raises(InputError, match=r"80 different numbers.*NodeRegressor"):
        encode_labels(values)
    with pytest.warns(InputWarning, match=r"60 different numbers, from 0 to 59.*NodeRegressor"):
        encode_labels(np.arange(60))
    encode_labels(np.arange(60).astype(str))
    encode_labels(np.arange(49) + 0.5)
