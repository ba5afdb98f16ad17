"""Vectors of strings: similar strings are near, and threads do not change a bit."""

from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_limits

from truegraph.data.columns.text_vectors import TextVectors

STRINGS = np.array([f"street {i % 30} of {['north', 'south'][i % 2]}" for i in range(90)], object)


def test_threads_do_not_change_the_vectors() -> None:
    results = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            results.append(TextVectors.fit(STRINGS).transform(STRINGS))
    assert np.array_equal(*results)


def test_equal_strings_have_equal_vectors_and_gaps_are_zero() -> None:
    vectors = TextVectors.fit(STRINGS).transform(np.array(["street 1", None, "street 1"], object))
    assert np.array_equal(vectors[0], vectors[2])
    assert not vectors[1].any()


def test_few_strings_get_few_columns() -> None:
    strings = np.array(["a b", "c d", "e f"], object)
    assert TextVectors.fit(strings).width == 2
