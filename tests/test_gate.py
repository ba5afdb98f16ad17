"""The gate itself: what it lets through unchanged, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from truegraph import gate
from truegraph.errors import InputError

FORMATS = ("csr", "csc", "coo", "lil", "dok", "dia", "bsr")


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_arrives_as_the_same_matrix(form: str) -> None:
    matrix = sparse.random_array((6, 4), density=0.5, rng=np.random.default_rng(0), format=form)
    found = gate.sparse_matrix("M", matrix)
    assert isinstance(found, sparse.csr_array)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found.toarray(), matrix.toarray())


@pytest.mark.parametrize("form", FORMATS)
def test_what_is_given_is_not_changed(form: str) -> None:
    matrix = sparse.random_array((6, 6), density=0.5, rng=np.random.default_rng(0), format=form)
    before = matrix.copy()
    gate.sparse_matrix("M", matrix, nonnegative=True)
    assert (before != matrix).nnz == 0
    assert type(before) is type(matrix)


def test_unused_room_at_the_end_of_the_arrays_is_no_fault() -> None:
    matrix = sparse.csr_array(np.eye(3))
    matrix.data, matrix.indices = np.append(matrix.data, np.nan), np.append(matrix.indices, 99)
    np.testing.assert_array_equal(gate.sparse_matrix("M", matrix).toarray(), np.eye(3))


def test_a_list_of_lists_with_a_value_too_many_is_refused() -> None:
    matrix = sparse.lil_array(np.eye(3))
    matrix.data[1] = [1.0, 2.0, 3.0]
    with pytest.raises(InputError, match="M is a damaged sparse matrix"):
        gate.sparse_matrix("M", matrix)


def test_objects_that_are_numbers_are_taken() -> None:
    found = gate.table("T", np.array([[1, 2.5], [3, True]], dtype=object))
    np.testing.assert_array_equal(found, [[1.0, 2.5], [3.0, 1.0]])


@pytest.mark.parametrize("value", [2**53 + 1, -(2**53) - 1])
def test_whole_numbers_that_would_be_rounded_are_refused(value: int) -> None:
    assert gate.table("T", [[2**53]])[0, 0] == 2.0**53
    with pytest.raises(InputError, match="would round"):
        gate.table("T", [[value]])


def test_long_double_that_would_become_infinite_is_refused() -> None:
    large = np.array([[np.longdouble(10) ** 400]])
    with pytest.raises(InputError, match="too large for float64"):
        gate.table("T", large)


@pytest.mark.parametrize("value", [True, 1.0, "3", None, -1, 11, 10**400])
def test_a_count_is_a_whole_number_within_bounds(value: object) -> None:
    assert gate.whole_number("k", np.int8(10), at_most=10) == 10
    with pytest.raises(InputError, match="k="):
        gate.whole_number("k", value, at_most=10)


@settings(deadline=None, derandomize=True, database=None, max_examples=150)
@given(data=st.data())
def test_three_arrays_pass_exactly_if_scipy_finds_them_sound(data: st.DataObject) -> None:
    rows, columns = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4))
    indptr = data.draw(st.lists(st.integers(-1, 5), min_size=rows, max_size=rows + 2))
    indices = data.draw(st.lists(st.integers(-1, columns), max_size=5))
    length = data.draw(st.integers(0, 5))
    matrix = sparse.csr_array((rows, columns))
    matrix.indptr = np.array(indptr, dtype=np.int32)
    matrix.indices = np.array(indices, dtype=np.int32)
    matrix.data = np.ones(length)
    used = indices[: max(indptr[-1], 0)]
    sound = (
        len(indptr) == rows + 1
        and indptr[0] == 0
        and indptr == sorted(indptr)
        and indptr[-1] <= len(indices) == length
        and all(0 <= index < columns for index in used)
    )
    if sound:
        matrix.prune()
        matrix.check_format(full_check=True)
        assert gate.sparse_matrix("M", matrix).nnz == indptr[-1]
    else:
        with pytest.raises(InputError, match="M is a damaged"):
            gate.sparse_matrix("M", matrix)
