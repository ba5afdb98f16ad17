"""Inner products of sparse rows by pairs: memory of the pairs alone, however long a row is."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.runtime.compiled import compiled
from truegraph.runtime.interrupts import in_parts

_LEAST = 1024  # pairs at a time, enough for all threads


def row_products(first: csr_array, second: csr_array, pairs: NDArray[Any]) -> NDArray[np.float64]:
    """Return the inner products (n,) of rows i and j of two matrices for pairs (i, j), (n, 2).

    Columns ascend in both matrices. A pair costs no more than its shorter row times the logarithm
    of its longer one.
    """
    out = np.empty(len(pairs))
    ends = np.ascontiguousarray(pairs, dtype=np.int64)
    given = [(m.indptr, m.indices, m.data) for m in (first, second)]
    in_parts(
        len(pairs),
        lambda start, stop: _products(*given[0], *given[1], ends[start:stop], out[start:stop]),
        least=_LEAST,
    )
    return out


@compiled(parallel=True)
def _products(
    indptr: Any, columns: Any, data: Any, other_indptr: Any, others: Any, values: Any,
    pairs: Any, out: Any,
) -> None:  # fmt: skip
    for p in prange(pairs.shape[0]):
        e, last = indptr[pairs[p, 0]], indptr[pairs[p, 0] + 1]
        f, other_last = other_indptr[pairs[p, 1]], other_indptr[pairs[p, 1] + 1]
        total = 0.0
        while e < last and f < other_last:
            if columns[e] == others[f]:
                total += data[e] * values[f]
                e += 1
                f += 1
            elif columns[e] < others[f]:
                e = _from(columns, e + 1, last, others[f])
            else:
                f = _from(others, f + 1, other_last, columns[e])
        out[p] = total


@compiled
def _from(ascending: Any, first: int, last: int, least: int) -> int:
    """Return the first place from `first` to `last` with an entry of at least `least`."""
    step = 1
    while first + step <= last and ascending[first + step - 1] < least:
        first += step
        step *= 2
    last = min(last, first + step - 1)
    while first < last:
        middle = (first + last) // 2
        if ascending[middle] < least:
            first = middle + 1
        else:
            last = middle
    return first
