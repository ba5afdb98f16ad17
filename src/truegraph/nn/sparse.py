"""Products of fixed sparse matrices with dense ones, for T trials at once.

``sparse_product(matrix, dense)`` multiplies each ``dense[t]`` of a (T, columns, width) tensor
from the left, and differentiates with respect to the dense factor. A :class:`FixedSparse` holds
either one matrix that all trials share or one matrix per trial. Dropout on the stored values
(sparse dropout: what is not stored is zero and stays zero) takes its mask from
:mod:`truegraph.nn.dropout`, forward and backward, without storing it.

The work on one trial is serial and in the order of storage, so its bits depend neither on T nor
on the number of threads; threads take different trials
(:mod:`truegraph.nn.training.trial_threads`). Serial work also makes the transposed product of the
backward pass a scattered sum over the same rows: no transpose is stored, and a matrix may be
a selection of another one's rows without a copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numba
import numpy as np
import torch
from scipy.sparse import csr_array, issparse

from truegraph.errors import InputError
from truegraph.nn import device
from truegraph.nn.dropout import Dropout, random_bits, survivors_torch

Array = np.ndarray
DroppedLayout = tuple[Array, Array, Array, Array, Array, Array, np.uint32, Any]


class FixedSparse:
    """One sparse matrix shared by all trials, or one for each trial, that never changes.

    Parameters
    ----------
    matrices : scipy sparse matrix of shape (rows, columns), or sequence of T of them
        Stored zeros are kept: the pattern may matter (attention). Matrices of different shapes
        are given the largest number of rows and of columns among them, with empty rows.
    dtype : numpy dtype
        float32; float64 only serves to check gradients.

    Attributes
    ----------
    shape : tuple (rows, columns)
    starts, stops : ndarray of shape (count, rows), int64
        Where each row begins and ends in ``indices`` and ``values``.
    indices, values : ndarray of shape (stored values,), int32 and float32
        The stored values of all matrices, one matrix behind the other.
    bases : ndarray of shape (count,), int64
        Where each matrix begins; an entry's number in its matrix is its position minus this.

    Examples
    --------
    >>> from scipy.sparse import eye_array
    >>> FixedSparse([eye_array(3), eye_array(3)])
    FixedSparse(2 of 3 x 3, 6 stored values)
    """

    def __init__(self, matrices: Any, dtype: type[np.floating] = np.float32) -> None:
        listed = [matrices] if issparse(matrices) else list(matrices)
        if not listed:
            raise InputError("matrices is empty; give at least one sparse matrix.")
        rows = [_sorted_csr(matrix, dtype) for matrix in listed]
        height, width = np.max([matrix.shape for matrix in rows], axis=0)
        self.shape = (int(height), int(width))
        self.bases = np.cumsum([0] + [matrix.nnz for matrix in rows[:-1]]).astype(np.int64)
        self.starts = np.zeros((len(rows), height), dtype=np.int64)
        self.stops = np.zeros((len(rows), height), dtype=np.int64)
        for k, (matrix, base) in enumerate(zip(rows, self.bases, strict=True)):
            self.starts[k, : matrix.shape[0]] = matrix.indptr[:-1] + base
            self.stops[k, : matrix.shape[0]] = matrix.indptr[1:] + base
        self.indices = np.concatenate([matrix.indices for matrix in rows]).astype(np.int32)
        self.values = np.concatenate([matrix.data for matrix in rows])

    @property
    def count(self) -> int:
        """Number of matrices: 1 (shared by all trials) or T."""
        return len(self.starts)

    @property
    def stored(self) -> int:
        """Number of stored values over all matrices."""
        return int((self.stops - self.starts).sum())

    def select(self, trials: np.ndarray | slice) -> FixedSparse:
        """Return the matrices of some trials, sharing memory; a shared matrix stays itself."""
        if self.count == 1:
            return self
        return self._view(self.starts[trials], self.stops[trials], self.bases[trials])

    def select_rows(self, rows: Sequence[np.ndarray], height: int | None = None) -> FixedSparse:
        """Return T matrices, each with the given rows of its own, sharing memory.

        Selections of different lengths are filled up with empty rows, up to the longest one or
        to a given height. The entries keep their numbers, hence their dropout.
        """
        height = max(len(chosen) for chosen in rows) if height is None else height
        starts, stops = np.zeros((2, len(rows), height), dtype=np.int64)
        which = np.arange(len(rows)) * self.count // len(rows)
        for trial, chosen in enumerate(rows):
            starts[trial, : len(chosen)] = self.starts[which[trial], chosen]
            stops[trial, : len(chosen)] = self.stops[which[trial], chosen]
        return self._view(starts, stops, self.bases[which])

    def _view(self, starts: np.ndarray, stops: np.ndarray, bases: np.ndarray) -> FixedSparse:
        view = object.__new__(FixedSparse)
        view.shape = (starts.shape[1], self.shape[1])
        view.starts, view.stops, view.bases = starts, stops, bases
        view.indices, view.values = self.indices, self.values
        return view

    def positions(self, matrix: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the row of each stored value of a matrix, and its position in ``values``."""
        lengths = self.stops[matrix] - self.starts[matrix]
        rows = np.repeat(np.arange(len(lengths)), lengths)
        first = np.repeat(self.starts[matrix] - np.cumsum(lengths) + lengths, lengths)
        return rows, first + np.arange(len(rows))

    def to_scipy(self, matrix: int = 0) -> csr_array:
        """Return a copy of one of the matrices."""
        rows, positions = self.positions(matrix)
        parts = (self.values[positions], (rows, self.indices[positions]))
        return csr_array(parts, shape=self.shape)

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"FixedSparse({self.count} of {rows} x {columns}, {self.stored} stored values)"

    @cached_property
    def _on_devices(self) -> dict[tuple[torch.device, int], tuple[torch.Tensor, ...]]:
        return {}

    def on_device(self, place: torch.device, matrix: int) -> tuple[torch.Tensor, ...]:
        """Return (coordinates, values, entry numbers) of one matrix as tensors on a device."""
        key = (place, matrix)
        if key not in self._on_devices:
            rows, positions = self.positions(matrix)
            parts = (
                np.stack([rows, self.indices[positions]]),
                self.values[positions],
                positions - self.bases[matrix],
            )
            self._on_devices[key] = tuple(torch.from_numpy(part).to(place) for part in parts)
        return self._on_devices[key]


def _sorted_csr(matrix: Any, dtype: type[np.floating]) -> csr_array:
    rows = csr_array(matrix, dtype=dtype)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def sparse_product(
    matrix: FixedSparse, dense: torch.Tensor, dropout: Dropout | None = None
) -> torch.Tensor:
    """Multiply a fixed sparse matrix with a dense tensor.

    Parameters
    ----------
    matrix : FixedSparse of shape (rows, columns)
        With one matrix per trial, the batch is divided evenly among them (T or T * heads).
    dense : Tensor of shape (batch, columns, width)
    dropout : Dropout, optional
        Drops stored values of the matrix, differently for each element of the batch.

    Returns
    -------
    Tensor of shape (batch, rows, width)
    """
    product: torch.Tensor = _SparseProduct.apply(dense, matrix, dropout)
    return product


class _SparseProduct(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, dense: torch.Tensor, matrix: FixedSparse, dropout: Dropout | None
    ) -> torch.Tensor:
        ctx.matrix, ctx.dropout = matrix, dropout
        return multiply(matrix, dense.contiguous(), dropout, transposed=False)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        dense = multiply(ctx.matrix, gradient.contiguous(), ctx.dropout, transposed=True)
        return dense, None, None


def multiply(
    matrix: FixedSparse, dense: torch.Tensor, dropout: Dropout | None, transposed: bool
) -> torch.Tensor:
    """Return the product with the matrix or its transpose, outside of automatic gradients."""
    if not device.uses_kernels(dense):
        return _multiply_torch(matrix, dense, dropout, transposed)
    out = torch.empty((len(dense), matrix.shape[transposed], dense.shape[2]), dtype=dense.dtype)
    arrays = (dense.detach().numpy(), out.numpy())
    if dropout is None:
        layout = (matrix.starts, matrix.stops, matrix.indices, matrix.values)
        (_scatter_rows if transposed else _gather_rows)(layout, *arrays)
    else:
        kernel = _scatter_dropped_rows if transposed else _gather_dropped_rows
        kernel(dropped_layout(matrix, dropout), *arrays)
    return out


def dropped_layout(matrix: FixedSparse, dropout: Dropout) -> DroppedLayout:
    """Return a matrix and the dropout of its stored values as arguments of a compiled loop."""
    return (
        matrix.starts,
        matrix.stops,
        matrix.indices,
        matrix.values,
        matrix.bases,
        dropout.keys,
        dropout.threshold,
        matrix.values.dtype.type(dropout.scale),
    )


@numba.njit(cache=True, nogil=True)
def _gather_rows(layout: Any, dense: np.ndarray, out: np.ndarray) -> None:
    starts, stops, indices, values = layout
    for batch in range(out.shape[0]):
        matrix = batch * starts.shape[0] // out.shape[0]
        for row in range(out.shape[1]):
            start, stop = starts[matrix, row], stops[matrix, row]
            weighted_sum(values[start:stop], indices[start:stop], dense[batch], out[batch, row])


@numba.njit(cache=True, nogil=True)
def _scatter_rows(layout: Any, dense: np.ndarray, out: np.ndarray) -> None:
    starts, stops, indices, values = layout
    out[:] = 0
    for batch in range(out.shape[0]):
        matrix = batch * starts.shape[0] // out.shape[0]
        for row in range(dense.shape[1]):
            start, stop = starts[matrix, row], stops[matrix, row]
            scatter_row(values[start:stop], indices[start:stop], dense[batch, row], out[batch])


@numba.njit(cache=True, nogil=True)
def _gather_dropped_rows(layout: Any, dense: np.ndarray, out: np.ndarray) -> None:
    buffers = row_buffers(layout[0], layout[1], layout[3])
    factors, kept = buffers[1:]
    for batch in range(out.shape[0]):
        matrix = batch * layout[0].shape[0] // out.shape[0]
        for row in range(out.shape[1]):
            left = surviving_row(layout, matrix, row, batch, buffers)
            weighted_sum(factors[:left], kept[:left], dense[batch], out[batch, row])


@numba.njit(cache=True, nogil=True)
def _scatter_dropped_rows(layout: Any, dense: np.ndarray, out: np.ndarray) -> None:
    buffers = row_buffers(layout[0], layout[1], layout[3])
    factors, kept = buffers[1:]
    out[:] = 0
    for batch in range(out.shape[0]):
        matrix = batch * layout[0].shape[0] // out.shape[0]
        for row in range(dense.shape[1]):
            left = surviving_row(layout, matrix, row, batch, buffers)
            scatter_row(factors[:left], kept[:left], dense[batch, row], out[batch])


@numba.njit(inline="always")
def row_buffers(
    starts: np.ndarray, stops: np.ndarray, values: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return room for the random bits, factors and columns of the longest row: numba code."""
    longest = np.max(stops - starts) + 1
    return (
        np.empty(longest, np.uint32),
        np.empty(longest, values.dtype),
        np.empty(longest, np.int32),
    )


@numba.njit(inline="always")
def row_bits(first: int, count: int, key: np.ndarray, bits: np.ndarray) -> None:
    """Write the random bits of entries from ``first`` on: numba code, in vector lanes."""
    low, high = key[0], key[1]
    for k in range(count):
        bits[k] = random_bits(first + k, low, high)


@numba.njit(inline="always")
def surviving_row(layout: Any, matrix: int, row: int, trial: int, buffers: Any) -> int:
    """Write what dropout leaves of a row, rescaled, and return how much it is: numba code."""
    starts, stops, indices, values, bases, keys, threshold, scale = layout
    bits, factors, kept = buffers
    start, stop = starts[matrix, row], stops[matrix, row]
    row_bits(start - bases[matrix], stop - start, keys[trial], bits)
    left = 0
    for k in range(stop - start):  # without a branch: it could not be predicted
        factors[left], kept[left] = values[start + k] * scale, indices[start + k]
        left += bits[k] < threshold
    return left


@numba.njit(inline="always")
def weighted_sum(
    factors: np.ndarray, indices: np.ndarray, dense: np.ndarray, out: np.ndarray
) -> None:
    """Write sum_k factors[k] * dense[indices[k]] to ``out``: numba code.

    Four rows at a time: the running sum is then read and written a quarter as often, which is
    what bounds the speed of this loop.
    """
    out[:] = 0
    whole = factors.size // 4 * 4
    for k in range(0, whole, 4):
        f0, f1, f2, f3 = factors[k], factors[k + 1], factors[k + 2], factors[k + 3]
        d0, d1 = dense[indices[k]], dense[indices[k + 1]]
        d2, d3 = dense[indices[k + 2]], dense[indices[k + 3]]
        for h in range(out.size):
            out[h] += (f0 * d0[h] + f1 * d1[h]) + (f2 * d2[h] + f3 * d3[h])
    for k in range(whole, factors.size):
        factor, row = factors[k], dense[indices[k]]
        for h in range(out.size):
            out[h] += factor * row[h]


@numba.njit(inline="always")
def scatter_row(factors: np.ndarray, indices: np.ndarray, row: np.ndarray, out: np.ndarray) -> None:
    """Add factors[k] * row to out[indices[k]] for every k: numba code."""
    for k in range(factors.size):
        factor, target = factors[k], out[indices[k]]
        for h in range(row.size):
            target[h] += factor * row[h]


def _multiply_torch(
    matrix: FixedSparse, dense: torch.Tensor, dropout: Dropout | None, transposed: bool
) -> torch.Tensor:
    products = []
    for batch in range(len(dense)):
        which = batch * matrix.count // len(dense)
        coordinates, values, entries = matrix.on_device(dense.device, which)
        if dropout is not None:
            own = Dropout(dropout.keys[batch : batch + 1], dropout.rate)
            values = values * dropout.scale * survivors_torch(entries, own)[0]
        rows = torch.sparse_coo_tensor(
            coordinates, values, matrix.shape, is_coalesced=True, check_invariants=False
        )
        products.append(torch.sparse.mm(rows.t() if transposed else rows, dense[batch]))
    return torch.stack(products)
