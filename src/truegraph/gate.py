"""The gate that all input passes before it reaches a compiled loop: one check per kind of input.

Compiled loops trust their indices: one out of range reads foreign memory. So every matrix,
table, list of numbers and list of pairs that a user gives, or that a file holds, goes through one
of these functions. They raise an `InputError` that names the argument, and never change what they
are given.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from truegraph.errors import InputError

_LARGEST_EXACT = 2**53  # whole numbers beyond it are rounded when they become float64
_COMPRESSED = ("csr", "csc", "bsr")


def sparse_matrix(
    name: str,
    matrix: Any,
    *,
    shape: tuple[int | None, int | None] = (None, None),
    nonnegative: bool = False,
    finite: bool = True,
) -> csr_array:
    """Return a SciPy sparse matrix of any format as CSR of float64, fully checked.

    Parameters
    ----------
    name : str
        What messages call the argument.
    matrix : sparse matrix or array
        Not changed; the result may share its memory.
    shape : tuple of two int or None
        Wanted number of rows and of columns; None: any.
    nonnegative : bool, default=False
        Whether to refuse values below zero.
    finite : bool, default=True
        Whether to refuse NaN and infinity.
    """
    if not issparse(matrix):
        raise InputError(
            f"{name} has type {type(matrix).__name__}; give a SciPy sparse matrix, for example a "
            "csr_array."
        )
    _check_shape(name, matrix, shape)
    given: Any = matrix
    _check_kind(name, np.dtype(given.dtype))
    try:
        if given.format in ("dok", "lil"):
            _check_lists(name, given)
            given = given.tocoo()
        _check_structure(name, given)
        rows = csr_array(given)
    except InputError:
        raise
    except (TypeError, ValueError, IndexError, OverflowError) as error:
        raise InputError(f"{name} is a damaged sparse matrix: {error}; build it again.") from error
    _check_compressed(name, rows)
    stored = int(rows.indptr[-1])
    data = as_floats(name, rows.data[:stored])
    checked = csr_array((data, rows.indices[:stored], rows.indptr), shape=rows.shape)
    if finite:
        check_finite(name, checked)
    if nonnegative:
        _check_sign(name, checked)
    return checked


def table(
    name: str,
    values: Any,
    *,
    shape: tuple[int | None, int | None] = (None, None),
    nonnegative: bool = False,
    finite: bool = True,
) -> Any:
    """Return a table of numbers: CSR if it is sparse, else a dense array, of float64.

    The parameters are those of `sparse_matrix`.
    """
    if issparse(values):
        return sparse_matrix(name, values, shape=shape, nonnegative=nonnegative, finite=finite)
    dense = as_floats(name, values)
    _check_shape(name, dense, shape)
    if finite:
        check_finite(name, dense)
    if nonnegative:
        _check_sign(name, dense)
    return dense


def array(name: str, values: Any, shape: tuple[int | None, ...]) -> NDArray[Any]:
    """Return an array as it is, after checking that it is real, finite and of a shape.

    None in the shape stands for any size. Used for the content of saved files.
    """
    given = real_numbers(name, values)
    if given.ndim != len(shape) or any(
        want not in (None, size) for want, size in zip(shape, given.shape, strict=True)
    ):
        shown = ", ".join("any" if size is None else str(size) for size in shape)
        raise InputError(f"{name} has shape {given.shape}, but ({shown}) is expected.")
    check_finite(name, given)
    return given


def numbers(
    name: str, values: Any, *, length: int | None = None, nonnegative: bool = False
) -> NDArray[np.float64]:
    """Return a list of finite numbers as float64, shape (length,)."""
    array = as_floats(name, values)
    if array.ndim != 1 or (length is not None and array.size != length):
        wanted = "a flat list of numbers" if length is None else f"{length} numbers"
        raise InputError(f"{name} has shape {array.shape}; give {wanted}.")
    check_finite(name, array[:, None])
    if nonnegative:
        _check_sign(name, array[:, None])
    return array


def indices(name: str, values: Any, size: int, *, what: str = "node") -> NDArray[np.int64]:
    """Return a list of numbers from 0 to size - 1 as int64, shape (n,)."""
    array = np.asarray(values)
    if array.size == 0 and array.ndim <= 1:
        return np.empty(0, dtype=np.int64)
    if array.ndim != 1:
        raise InputError(f"{name} has shape {array.shape}; give a list of {what} numbers.")
    return _in_range(name, array, size, what)


def whole_numbers(
    name: str, values: Any, *, length: int | None = None, at_least: int | None = None
) -> NDArray[np.int64]:
    """Return a list of whole numbers as int64, shape (length,)."""
    array = np.asarray(values)
    if array.size == 0 and array.ndim <= 1:
        array = np.empty(0, dtype=np.int64)
    if array.ndim != 1 or (length is not None and array.size != length):
        wanted = "a flat list" if length is None else f"{length} of them"
        raise InputError(f"{name} has shape {array.shape}; give whole numbers, {wanted}.")
    if array.dtype.kind not in "biu":
        raise InputError(f"{name} has type {array.dtype}; give whole numbers.")
    if array.size and array.max() > np.iinfo(np.int64).max:
        raise InputError(f"{name} holds {array.max()}, which does not fit into 64 bits.")
    if array.size and at_least is not None and array.min() < at_least:
        raise InputError(f"{name} holds {array.min()}; give whole numbers of at least {at_least}.")
    return array.astype(np.int64, copy=False)


def pairs(name: str, values: Any, size: int, *, what: str = "node") -> NDArray[np.int64]:
    """Return pairs of numbers from 0 to size - 1 as int64, shape (n, 2)."""
    array = np.asarray(values)
    if array.size == 0 and (array.ndim <= 1 or array.shape == (0, 2)):
        return np.empty((0, 2), dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != 2:
        raise InputError(
            f"{name} has shape {array.shape}; give two {what} numbers per pair: shape (n, 2)."
        )
    return _in_range(name, array, size, what)


def whole_number(name: str, value: Any, *, at_least: int = 0, at_most: int | None = None) -> int:
    """Return a whole number within bounds as an int."""
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not is_whole or value < at_least or (at_most is not None and value > at_most):
        upper = "" if at_most is None else f" and at most {at_most}"
        raise InputError(f"{name}={value!r} must be a whole number of at least {at_least}{upper}.")
    return int(value)


def as_floats(name: str, values: Any) -> NDArray[np.float64]:
    """Return numbers as a float64 array of any shape; precision is never lost."""
    array = real_numbers(name, values)
    try:
        with np.errstate(over="ignore"):
            floats: NDArray[np.float64] = array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} is not a table of numbers: {error}; convert it.") from error
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        lost = np.isinf(floats) & np.isfinite(array)
        if lost.any():
            raise InputError(f"{name} holds {array[lost][0]}, too large for float64; scale it.")
    return floats


def real_numbers(name: str, values: Any) -> NDArray[Any]:
    """Return an array as it is, after refusing types and whole numbers that float64 cannot hold."""
    try:
        array = np.asarray(values)
    except (TypeError, ValueError) as error:  # rows of different lengths, for instance
        raise InputError(f"{name} is not a table of numbers: {error}; convert it.") from error
    _check_kind(name, array.dtype)
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8 and array.size:
        largest = max(int(array.max()), -int(array.min()))
        if largest > _LARGEST_EXACT:
            raise InputError(
                f"{name} holds the whole number {largest}, which float64 would round; subtract an "
                "offset, or scale the values."
            )
    return array


def check_finite(name: str, values: Any) -> None:
    """Raise when an array (n, m) or sparse matrix holds NaN or infinity, naming the first place."""
    data = _stored(values)
    # A finite sum proves that all is finite, without a mask as large as the data.
    with np.errstate(over="ignore", invalid="ignore"):
        if data.dtype.kind not in "fc" or np.isfinite(np.sum(data)):
            return
    bad = ~np.isfinite(data)
    if not bad.any():
        return
    entry = int(np.flatnonzero(bad.ravel())[0])
    kind = "NaN" if np.isnan(data.ravel()[entry]) else "infinity"
    raise InputError(
        f"{name} contains {kind} in {_place(values, entry)}; "
        "remove or replace the values that are not finite."
    )


def _check_sign(name: str, values: Any) -> None:
    data = _stored(values)
    if data.size and data.min() < 0.0:
        entry = int(np.flatnonzero(data.ravel() < 0.0)[0])
        raise InputError(
            f"{name} contains the negative value {data.ravel()[entry]:g} in "
            f"{_place(values, entry)}; give values >= 0."
        )


def _stored(values: Any) -> Any:
    return values.data if bool(issparse(values)) else values


def _place(values: Any, entry: int) -> str:
    if bool(issparse(values)):
        row = int(np.searchsorted(values.indptr, entry, side="right")) - 1
        return f"row {row}, column {int(values.indices[entry])}"
    if values.ndim != 2:
        return f"entry {entry}"
    row, column = divmod(entry, values.shape[1])
    return f"row {row}, column {column}"


def _check_kind(name: str, dtype: np.dtype[Any]) -> None:
    """Refuse complex numbers, text and dates; objects may turn out to be numbers."""
    if dtype.kind in "biufO":
        return
    remedy = "take the real part or the absolute value" if dtype.kind == "c" else "convert it"
    problem = "Complex data not supported" if dtype.kind == "c" else "it holds no numbers"
    raise InputError(f"{name} has type {dtype}, not real numbers: {problem}; {remedy}.")


def _check_shape(name: str, values: Any, wanted: tuple[int | None, int | None]) -> None:
    if values.ndim != 2:
        raise InputError(f"{name} has shape {values.shape}; give a table with rows and columns.")
    for size, want, what in zip(values.shape, wanted, ("rows", "columns"), strict=True):
        if want is not None and size != want:
            raise InputError(
                f"{name} has shape {values.shape}, but {want} {what} are expected; give a table "
                "of that size."
            )


def _check_structure(name: str, matrix: Any) -> None:
    """Check the index arrays of the formats that are converted by compiled loops."""
    if matrix.format in _COMPRESSED:
        _check_compressed(name, matrix)
    elif matrix.format == "coo":
        ends = [np.asarray(end) for end in matrix.coords]
        for end, size in zip(ends, matrix.shape, strict=True):
            if end.ndim != 1 or end.size != np.size(matrix.data):
                raise _damaged(name, "its coordinates and values differ in number")
            _check_index(name, end, size)
    elif matrix.format == "dia":
        offsets = np.asarray(matrix.offsets)
        if np.ndim(matrix.data) != 2 or offsets.shape != matrix.data.shape[:1]:
            raise _damaged(name, "its diagonals and offsets differ in number")
        if np.unique(offsets).size != offsets.size:
            raise _damaged(name, "an offset occurs twice")


def _check_lists(name: str, matrix: Any) -> None:
    """Check that a LIL matrix has as many places as values in every row."""
    if matrix.format == "lil" and (
        len(matrix.rows) != matrix.shape[0]
        or [len(row) for row in matrix.rows] != [len(row) for row in matrix.data]
    ):
        raise _damaged(name, "its lists of columns and of values differ in length")


def _check_compressed(name: str, matrix: Any) -> None:
    """Check the three arrays of a CSR, CSC or BSR matrix against each other and its shape."""
    major, minor = matrix.shape if matrix.format != "csc" else matrix.shape[::-1]
    data, places = np.asarray(matrix.data), np.asarray(matrix.indices)
    starts = np.asarray(matrix.indptr)
    if matrix.format == "bsr":
        if data.ndim != 3 or 0 in data.shape[1:] or major % data.shape[1] or minor % data.shape[2]:
            raise _damaged(name, "its blocks do not fit its shape")
        major, minor = major // data.shape[1], minor // data.shape[2]
    elif data.ndim != 1:
        raise _damaged(name, f"its values have shape {data.shape}")
    if places.ndim != 1 or places.size != len(data):
        raise _damaged(name, f"it has {places.size} indices for {len(data)} values")
    if starts.ndim != 1 or starts.size != major + 1:
        raise _damaged(name, f"indptr has {starts.size} entries, not {major + 1}")
    if starts.dtype.kind not in "iu":
        raise _damaged(name, f"indptr has type {starts.dtype}")
    if starts[0] != 0 or starts[-1] > places.size:
        raise _damaged(name, f"indptr runs from {starts[0]} to {starts[-1]}")
    if (starts[1:] < starts[:-1]).any():
        raise _damaged(name, f"indptr falls after entry {int(np.argmax(starts[1:] < starts[:-1]))}")
    _check_index(name, places[: int(starts[-1])], minor)


def _check_index(name: str, places: NDArray[Any], size: int) -> None:
    if places.dtype.kind not in "iu":
        raise _damaged(name, f"its indices have type {places.dtype}")
    if places.size and (places.min() < 0 or places.max() >= size):
        outside = places.min() if places.min() < 0 else places.max()
        raise _damaged(name, f"it has an index of {outside}, outside 0 to {size - 1}")


def _damaged(name: str, problem: str) -> InputError:
    return InputError(f"{name} is a damaged sparse matrix: {problem}; build it again.")


def _in_range(name: str, array: NDArray[Any], size: int, what: str) -> NDArray[np.int64]:
    if array.dtype.kind not in "iu":
        raise InputError(f"{name} has type {array.dtype}; give whole {what} numbers.")
    if array.size and (array.min() < 0 or array.max() >= size):
        outside = array.min() if array.min() < 0 else array.max()
        raise InputError(f"{name} names {what} {outside}, outside 0 to {size - 1}; correct it.")
    return array.astype(np.int64)
