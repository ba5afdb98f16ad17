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
_LARGEST_SHORT = np.iinfo(np.int32).max  # compiled loops and scikit-learn want short indices
Shape = tuple[int | None, int | None]
_ANY: Shape = (None, None)


def plain(name: str, values: Any) -> Any:
    """Return tensors, np.matrix and lists as an array or, where they are sparse, as CSR.

    Tables, None and text pass unchanged. A masked array is refused if something is masked.
    """
    if values is None or issparse(values) or isinstance(values, str) or hasattr(values, "columns"):
        return values
    if type(values).__module__.partition(".")[0] == "torch":
        return _from_torch(name, values)
    if isinstance(values, np.ma.MaskedArray) and np.ma.getmaskarray(values).any():
        raise InputError(f"{name} is a masked array; fill masked entries with the column's mean.")
    try:
        return np.asarray(values)
    except (TypeError, ValueError) as error:  # rows of different lengths, for instance
        raise InputError(f"{name} is not a table of numbers: {error}; convert it.") from error


def _from_torch(name: str, tensor: Any) -> Any:
    """Return a tensor as an array, or as CSR (n, m) if it is sparse."""
    tensor = tensor.detach().cpu()
    try:
        if str(tensor.layout) == "torch.strided":
            return tensor.numpy()
        rows = tensor.to_sparse_csr()
        parts = (rows.values().numpy(), rows.col_indices().numpy(), rows.crow_indices().numpy())
        return csr_array(parts, shape=tuple(tensor.shape))
    except (TypeError, ValueError, RuntimeError) as error:  # bfloat16, three dimensions
        raise InputError(f"{name} is a tensor that NumPy cannot hold: {error}") from error


def sparse_matrix(
    name: str, matrix: Any, *, shape: Shape = _ANY, nonnegative: bool = False, finite: bool = True
) -> csr_array:
    """Return a sparse matrix of any format and index type as checked CSR of float64.

    It may share the memory of `matrix`. `shape` holds the wanted numbers of rows and columns,
    None for any.
    """
    given: Any = plain(name, matrix)
    if not bool(issparse(given)):
        raise InputError(f"{name} has type {type(matrix).__name__}; give a SciPy sparse matrix.")
    _check_shape(name, given, shape)
    _check_kind(name, np.dtype(given.dtype))
    try:
        rows = csr_array(_as_checked_triples(name, given))
    except (TypeError, ValueError, IndexError, OverflowError) as error:
        raise error if isinstance(error, InputError) else _damaged(name, str(error)) from error
    _check_compressed(name, rows)
    stored = int(rows.indptr[-1])
    data, indices, indptr = as_floats(name, rows.data[:stored]), rows.indices[:stored], rows.indptr
    if max(stored, *rows.shape) <= _LARGEST_SHORT:
        indices, indptr = (part.astype(np.int32, copy=False) for part in (indices, indptr))
    checked = csr_array((data, indices, indptr), shape=rows.shape)
    _check_values(name, checked, nonnegative, finite)
    return checked


def table(
    name: str, values: Any, *, shape: Shape = _ANY, nonnegative: bool = False, finite: bool = True
) -> Any:
    """Return a table of numbers of float64: CSR if it is sparse, else a dense array."""
    given = plain(name, values)
    if issparse(given):
        return sparse_matrix(name, given, shape=shape, nonnegative=nonnegative, finite=finite)
    dense = as_floats(name, given)
    _check_shape(name, dense, shape)
    _check_values(name, dense, nonnegative, finite)
    return dense


def array(name: str, values: Any, shape: tuple[int | None, ...]) -> NDArray[Any]:
    """Return an array of a saved file as it is, after checking shape (None: any) and values."""
    given = real_numbers(name, values)
    sizes = zip(shape, given.shape, strict=False)
    if given.ndim != len(shape) or any(want not in (None, size) for want, size in sizes):
        raise InputError(f"{name} has shape {given.shape}, but {shape} is expected.")
    check_finite(name, given)
    return given


def numbers(
    name: str, values: Any, *, length: int | None = None, nonnegative: bool = False
) -> NDArray[np.float64]:
    """Return a list of finite numbers as float64, shape (length,)."""
    found = as_floats(name, values)
    if found.ndim != 1 or (length is not None and found.size != length):
        wanted = "a flat list of numbers" if length is None else f"{length} numbers"
        raise InputError(f"{name} has shape {found.shape}; give {wanted}.")
    _check_values(name, found[:, None], nonnegative, finite=True)
    return found


def indices(name: str, values: Any, size: int, *, what: str = "node") -> NDArray[np.int64]:
    """Return a list of numbers from 0 to size - 1 as int64, shape (n,)."""
    found = _listed(name, values)
    if found.ndim != 1:
        raise InputError(f"{name} has shape {found.shape}; give a list of {what} numbers.")
    return _in_range(name, found, size, what)


def whole_numbers(
    name: str, values: Any, *, length: int | None = None, at_least: int | None = None
) -> NDArray[np.int64]:
    """Return a list of whole numbers as int64, shape (length,)."""
    found = _listed(name, values)
    if found.ndim != 1 or (length is not None and found.size != length):
        wanted = "a flat list" if length is None else f"{length} of them"
        raise InputError(f"{name} has shape {found.shape}; give whole numbers, {wanted}.")
    if found.dtype.kind not in "biu":
        raise InputError(f"{name} has type {found.dtype}; give whole numbers.")
    if found.size and at_least is not None and found.min() < at_least:
        raise InputError(f"{name} holds {found.min()}; give whole numbers of at least {at_least}.")
    if found.dtype == np.uint64 and found.max(initial=0) > np.iinfo(np.int64).max:
        raise InputError(f"{name} holds {found.max()}, which does not fit into 64 bits.")
    return found.astype(np.int64, copy=False)


def pairs(name: str, values: Any, size: int, *, what: str = "node") -> NDArray[np.int64]:
    """Return pairs of numbers from 0 to size - 1 as int64, shape (n, 2)."""
    found = _listed(name, values)
    found = found.reshape(0, 2) if found.shape == (0,) else found
    if found.ndim != 2 or found.shape[1] != 2:
        raise InputError(
            f"{name} has shape {found.shape}; give two {what} numbers per pair: shape (n, 2)."
        )
    return _in_range(name, found, size, what)


def whole_number(name: str, value: Any, *, at_least: int = 0, at_most: int | None = None) -> int:
    """Return a whole number within bounds as an int."""
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not is_whole or value < at_least or (at_most is not None and value > at_most):
        upper = "" if at_most is None else f" and at most {at_most}"
        raise InputError(f"{name}={value!r} must be a whole number of at least {at_least}{upper}.")
    return int(value)


def as_floats(name: str, values: Any) -> NDArray[np.float64]:
    """Return numbers as a float64 array of any shape; precision is never lost."""
    given = real_numbers(name, values)
    try:
        with np.errstate(over="ignore"):
            floats: NDArray[np.float64] = given.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} is not a table of numbers: {error}; convert it.") from error
    if given.dtype.kind == "f" and given.dtype.itemsize > 8:
        lost = np.isinf(floats) & np.isfinite(given)
        if lost.any():
            raise InputError(f"{name} holds {given[lost][0]}, too large for float64; scale it.")
    return floats


def real_numbers(name: str, values: Any) -> NDArray[Any]:
    """Return an array as it is, after refusing types and whole numbers that float64 cannot hold."""
    given = np.asarray(plain(name, values))
    _check_kind(name, given.dtype)
    if given.dtype.kind in "iu" and given.dtype.itemsize == 8 and given.size:
        largest = max(int(given.max()), -int(given.min()))
        if largest > _LARGEST_EXACT:
            problem = f"holds the whole number {largest}, which float64 would round"
            raise InputError(f"{name} {problem}; subtract an offset, or scale the values.")
    return given


def check_finite(name: str, values: Any) -> None:
    """Raise when an array (n, m) or sparse matrix holds NaN or infinity, naming the first place."""
    data = _stored(values)
    # A finite sum proves that all is finite, without a mask as large as the data.
    with np.errstate(over="ignore", invalid="ignore"):
        if data.dtype.kind not in "fc" or np.isfinite(np.sum(data)):
            return
    bad = np.flatnonzero(~np.isfinite(data.ravel()))
    if bad.size:
        kind = "NaN" if np.isnan(data.ravel()[bad[0]]) else "infinity"
        where = f"{kind} in {_place(values, int(bad[0]))}"
        raise InputError(f"{name} contains {where}; remove or replace values that are not finite.")


def _check_values(name: str, values: Any, nonnegative: bool, finite: bool) -> None:
    if finite:
        check_finite(name, values)
    data = _stored(values).ravel()
    if nonnegative and data.size and data.min() < 0.0:
        first = int(np.argmax(data < 0.0))
        what = f"the negative value {data[first]:g} in {_place(values, first)}"
        raise InputError(f"{name} contains {what}; give values >= 0.")


def _stored(values: Any) -> Any:
    return values.data if bool(issparse(values)) else values


def _place(values: Any, entry: int) -> str:
    if bool(issparse(values)):
        row = int(np.searchsorted(values.indptr, entry, side="right")) - 1
        return f"row {row}, column {int(values.indices[entry])}"
    if values.ndim != 2:
        return f"entry {entry}"
    return "row {}, column {}".format(*divmod(entry, values.shape[1]))


def _check_kind(name: str, dtype: np.dtype[Any]) -> None:
    """Refuse complex numbers, text and dates; objects may turn out to be numbers."""
    if dtype.kind not in "biufO":
        is_complex = "Complex data not supported; take the real part or the absolute value"
        why = is_complex if dtype.kind == "c" else "it holds no numbers; convert it"
        raise InputError(f"{name} has type {dtype}, not real numbers: {why}.")


def _check_shape(name: str, values: Any, wanted: Shape) -> None:
    if values.ndim != 2:
        raise InputError(f"{name} has shape {values.shape}; give a table with rows and columns.")
    for size, want, what in zip(values.shape, wanted, ("rows", "columns"), strict=True):
        if want is not None and size != want:
            raise InputError(f"{name} has shape {values.shape}, but {want} {what} are expected.")


def _as_checked_triples(name: str, matrix: Any) -> Any:
    """Return a matrix whose index arrays were checked, as CSR, CSC or COO."""
    if matrix.format in ("csr", "csc"):
        _check_compressed(name, matrix)
        return matrix
    if matrix.format == "lil" and (
        len(matrix.rows) != matrix.shape[0]
        or [len(row) for row in matrix.rows] != [len(row) for row in matrix.data]
    ):
        raise _damaged(name, "its lists of columns and of values differ in length")
    entries = matrix.tocoo()
    for end, size in zip(map(np.asarray, entries.coords), entries.shape, strict=True):
        if end.ndim != 1 or end.size != np.size(entries.data):
            raise _damaged(name, "its coordinates and values differ in number")
        _check_index(name, end, size)
    return entries


def _check_compressed(name: str, matrix: Any) -> None:
    """Check the three arrays of a CSR or CSC matrix against each other and its shape."""
    major, minor = matrix.shape if matrix.format == "csr" else matrix.shape[::-1]
    data, places = np.asarray(matrix.data), np.asarray(matrix.indices)
    starts = np.asarray(matrix.indptr)
    if data.ndim != 1:
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
    outside = _outside(places, size)
    if outside is not None:
        raise _damaged(name, f"it has an index of {outside}, outside 0 to {size - 1}")


def _outside(places: NDArray[Any], size: int) -> Any:
    """Return a number that is not from 0 to size - 1, or None."""
    ends = (places.min(), places.max()) if places.size else ()
    return next((end for end in ends if not 0 <= end < size), None)


def _damaged(name: str, problem: str) -> InputError:
    return InputError(f"{name} is a damaged sparse matrix: {problem}; build it again.")


def _listed(name: str, values: Any) -> NDArray[Any]:
    """Return an array; an empty list is one of whole numbers."""
    found = np.asarray(plain(name, values))
    return found.astype(np.int64) if found.size == 0 else found


def _in_range(name: str, found: NDArray[Any], size: int, what: str) -> NDArray[np.int64]:
    if found.dtype.kind not in "iu":
        raise InputError(f"{name} has type {found.dtype}; give whole {what} numbers.")
    outside = _outside(found, size)
    if outside is not None:
        raise InputError(f"{name} names {what} {outside}, outside 0 to {size - 1}; correct it.")
    return found.astype(np.int64)
