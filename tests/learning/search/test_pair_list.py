"""Pairs are counted once, and values per pair make symmetric matrices."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph import InputError
from truegraph.learning.search.pairs import PairList

TRIANGLE_AND_TAIL = csr_array(
    np.array([[0, 1, 2, 0], [1, 0, 3, 0], [2, 3, 0, 4], [0, 0, 4, 0]], dtype=float)
)


def test_every_pair_once_and_both_of_its_entries() -> None:
    pairs = PairList.of(TRIANGLE_AND_TAIL)
    assert len(pairs) == 4
    assert list(zip(pairs.first, pairs.second, strict=True)) == [(0, 1), (0, 2), (1, 2), (2, 3)]
    assert TRIANGLE_AND_TAIL.data[pairs.entry].tolist() == [1, 2, 3, 4]
    values = np.array([1.0, 2.0, 3.0, 4.0])
    assert (pairs.symmetric(values) != TRIANGLE_AND_TAIL).nnz == 0
    assert pairs.degrees(values).tolist() == [3.0, 4.0, 9.0, 4.0]


@pytest.mark.parametrize("matrix", [[[0, 1], [0, 0]], [[1, 1], [1, 0]]])
def test_one_direction_or_a_diagonal_are_refused(matrix: list[list[int]]) -> None:
    with pytest.raises(InputError, match="both directions"):
        PairList.of(csr_array(np.array(matrix, dtype=float)))
