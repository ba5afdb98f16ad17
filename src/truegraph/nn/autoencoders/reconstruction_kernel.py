"""The compiled kernel of the reconstruction loss: CPU, float32, exact over all pairs.

The columns lie in panels of WIDTH nodes, stored as (d, WIDTH), so that the innermost loop runs
over neighbouring nodes in vector registers; rows go four at a time to use each load four times.
Only tiles on and right of the diagonal are computed. They are dealt to a fixed number of lanes,
each with a gradient of its own; lanes are added in order, which fixes the bits for any number of
threads. The threads are Python's, since the loops release the interpreter lock: they wait without
spinning, which a busy machine rewards. About 2 ns per unordered pair and core at d = 16, half the
time of blocked torch operations. WIDTH is a constant of the compiled code: known offsets are what
lets it vectorise.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

WIDTH = 128
LANES = 16
ROWS_PER_PRODUCT = 64  # a product of 64 factors in (1, 2] fits float32

ZERO, ONE, _HALF = np.float32(0.0), np.float32(1.0), np.float32(0.5)
_LOG2_E = np.float32(1.4426950408889634)
_LOWEST_POWER = np.float32(-126.0)
# 2^f = 1 + f (c1 + c2 f + ... + c6 f^5) on [-1/2, 1/2], minimax fit with relative error 2e-9.
_C1, _C2, _C3, _C4, _C5, _C6 = (
    np.float32(c)
    for c in (
        0.6931472028551128,
        0.24022647913622297,
        0.05550332471053636,
        0.009618437358107147,
        0.0013398874437014006,
        0.00015353361847123537,
    )
)

# Reassociation lets sums use vector registers; NaN and infinity keep their meaning.
_fast: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "fastmath": {"contract", "reassoc", "nsz", "arcp"},
    "error_model": "numpy",  # the check for a zero divisor would keep loops scalar
}
compiled = njit(**_fast)
# A called function is compiled twice, alone and within its caller, with sums in another order;
# which of the two is linked differs between the process that compiles and those that read the
# cache. Inlined, there is only one.
inlined = njit(inline="always", **_fast)


@intrinsic
def _bits_as_float(typing_context: Any, bits: Any) -> Any:
    """Read the 32 bits of an integer as a float."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(types.float32))

    return types.float32(types.int32), build


@inlined
def exp_of_minus(a: Any) -> Any:
    """exp(-a) for a >= 0 as 2^n 2^f, in operations that vectorise."""
    power = max(-a * _LOG2_E, _LOWEST_POWER)
    n = np.int32(power - _HALF)
    f = power - np.float32(n)
    p = _C1 + f * (_C2 + f * (_C3 + f * (_C4 + f * (_C5 + f * _C6))))
    return (ONE + f * p) * _bits_as_float(np.int32((n + 127) << 23))  # type: ignore[call-arg]


@inlined
def logits_of_four_rows(rows: Any, i: int, panel: Any, x: Any) -> None:
    """Fill x (4 * WIDTH,) with the logits of rows i..i+3 against one panel."""
    x[:] = ZERO
    for k in range(0, rows.shape[1], 4):
        a0, a1, a2, a3 = rows[i, k], rows[i, k + 1], rows[i, k + 2], rows[i, k + 3]
        b0, b1, b2, b3 = rows[i + 1, k], rows[i + 1, k + 1], rows[i + 1, k + 2], rows[i + 1, k + 3]
        c0, c1, c2, c3 = rows[i + 2, k], rows[i + 2, k + 1], rows[i + 2, k + 2], rows[i + 2, k + 3]
        d0, d1, d2, d3 = rows[i + 3, k], rows[i + 3, k + 1], rows[i + 3, k + 2], rows[i + 3, k + 3]
        t = panel[k * WIDTH : (k + 4) * WIDTH]
        for j in range(WIDTH):
            t0, t1, t2, t3 = t[j], t[WIDTH + j], t[2 * WIDTH + j], t[3 * WIDTH + j]
            x[j] += a0 * t0 + a1 * t1 + a2 * t2 + a3 * t3
            x[WIDTH + j] += b0 * t0 + b1 * t1 + b2 * t2 + b3 * t3
            x[2 * WIDTH + j] += c0 * t0 + c1 * t1 + c2 * t2 + c3 * t3
            x[3 * WIDTH + j] += d0 * t0 + d1 * t1 + d2 * t2 + d3 * t3


@inlined
def logistic(x: Any, product: Any) -> Any:
    """Turn one row of logits into sigmoids, and return the linear part of its softplus sum.

    softplus(x) = (x + |x|)/2 + log(1 + exp(-|x|)); the factors 1 + exp(-|x|) are multiplied up in
    `product`, column by column, so that one logarithm serves many rows.
    """
    linear = ZERO
    for j in range(WIDTH):
        size = abs(x[j])
        e = exp_of_minus(size)
        factor = ONE + e
        product[j] *= factor
        linear += x[j] + size
        x[j] = (ONE if x[j] >= ZERO else e) / factor
    return 0.5 * linear


@inlined
def take_logarithms(product: Any, n_columns: int) -> float:
    """Return the sum of log(product) over the real columns, and start the products again."""
    total = 0.0
    for j in range(n_columns):
        total += np.log(np.float64(product[j]))
    product[:] = ONE
    return total


@inlined
def add_to_row_gradients(x: Any, panel: Any, i: int, gradient: Any) -> None:
    """Add sum_j x_rj z_j for the four rows r that start at column i of a panel gradient."""
    for k in range(0, panel.size // WIDTH, 2):
        t = panel[k * WIDTH : (k + 2) * WIDTH]
        a0 = a1 = b0 = b1 = c0 = c1 = d0 = d1 = ZERO
        for j in range(WIDTH):
            t0, t1 = t[j], t[WIDTH + j]
            xa, xb, xc, xd = x[j], x[WIDTH + j], x[2 * WIDTH + j], x[3 * WIDTH + j]
            a0, a1 = a0 + xa * t0, a1 + xa * t1
            b0, b1 = b0 + xb * t0, b1 + xb * t1
            c0, c1 = c0 + xc * t0, c1 + xc * t1
            d0, d1 = d0 + xd * t0, d1 + xd * t1
        first, second = k * WIDTH + i, (k + 1) * WIDTH + i
        for offset, even, odd in ((0, a0, a1), (1, b0, b1), (2, c0, c1), (3, d0, d1)):
            gradient[first + offset] += even
            gradient[second + offset] += odd


@inlined
def add_to_column_gradients(rows: Any, i: int, x: Any, gradient: Any) -> None:
    """Add sum_r x_rj z_r over the four rows r = i..i+3 to every column j of a panel gradient."""
    for k in range(rows.shape[1]):
        a, b, c, d = rows[i, k], rows[i + 1, k], rows[i + 2, k], rows[i + 3, k]
        g = gradient[k * WIDTH : (k + 1) * WIDTH]
        for j in range(WIDTH):
            g[j] += a * x[j] + b * x[WIDTH + j] + c * x[2 * WIDTH + j] + d * x[3 * WIDTH + j]


@inlined
def _tile(
    rows: Any, panels: Any, p: int, q: int, n_nodes: int, x: Any, product: Any, gradient: Any
) -> float:
    """Add the gradient of the tile of panels p <= q, and return its sum of softplus."""
    n_columns = min(WIDTH, n_nodes - q * WIDTH)
    last = min(n_nodes, (p + 1) * WIDTH)
    total = 0.0
    product[:] = ONE
    for i in range(p * WIDTH, last, 4):
        logits_of_four_rows(rows, i, panels[q], x)
        for r in range(4):
            if i + r < last:
                total += logistic(x[r * WIDTH : (r + 1) * WIDTH], product)
            else:
                x[r * WIDTH : (r + 1) * WIDTH] = ZERO
        add_to_row_gradients(x, panels[q], i - p * WIDTH, gradient[p])
        if p != q:
            add_to_column_gradients(rows, i, x, gradient[q])
        if (i + 4) % ROWS_PER_PRODUCT == 0 or i + 4 >= last:
            total += take_logarithms(product, n_columns)
    return total if p == q else 2.0 * total


@compiled
def _sum_over_lane(rows: Any, panels: Any, n_nodes: int, lane: int, gradient: Any) -> float:
    """Return one lane's sum of softplus; fill half of its gradient (panels, d * WIDTH)."""
    n_panels = panels.shape[0]
    n_tiles = n_panels * (n_panels + 1) // 2
    x = np.empty(4 * WIDTH, np.float32)
    product = np.empty(WIDTH, np.float32)
    gradient[:] = ZERO
    first, last = n_tiles * lane // LANES, n_tiles * (lane + 1) // LANES
    p, q = 0, first
    while q >= n_panels and p < n_panels:  # tile number -> row and column of the triangle
        p += 1
        q += p - n_panels
    total = 0.0
    for _ in range(first, last):
        total += _tile(rows, panels, p, q, n_nodes, x, product, gradient)
        q += 1
        if q == n_panels:
            p += 1
            q = p
    return total


@compiled
def _add_lanes_and_corrections(
    z: Any, gradients: Any, indptr: Any, indices: Any, a: Any, b: Any, part: int, gradient: Any
) -> float:
    """Fill half of the gradient in one part of the rows, and return their sum of corrections."""
    n_nodes, d = z.shape
    correction = 0.0
    for i in range(n_nodes * part // LANES, n_nodes * (part + 1) // LANES):
        panel, column = i // WIDTH, i % WIDTH
        for k in range(d):
            total = 0.0
            for lane in range(LANES):
                total += gradients[lane, panel, k * WIDTH + column]
            gradient[i, k] = total
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            x = 0.0
            for k in range(d):
                x += z[i, k] * z[j, k]
            small = np.exp(-abs(x))
            sigmoid = (1.0 if x >= 0.0 else small) / (1.0 + small)
            correction += a[e] * (max(x, 0.0) + np.log1p(small)) + b[e] * x
            for k in range(d):
                gradient[i, k] += (a[e] * sigmoid + b[e]) * z[j, k]
    return correction


def panels_of(z: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return z (N, d) padded with zeros, by rows and by panels (panels, d * WIDTH)."""
    n_nodes, dimension = z.shape
    n_panels, depth = -(-n_nodes // WIDTH), -(-dimension // 4) * 4
    rows = np.zeros((n_panels * WIDTH, depth), dtype=np.float32)
    rows[:n_nodes, :dimension] = z
    by_panel = rows.reshape(n_panels, WIDTH, depth).transpose(0, 2, 1)
    return rows, np.ascontiguousarray(by_panel).reshape(n_panels, depth * WIDTH)


def sum_over_pairs(
    z: NDArray[np.float32],
    indptr: NDArray[np.int64],
    indices: NDArray[np.int64],
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    n_threads: int,
) -> tuple[float, NDArray[np.float32]]:
    """Sum softplus(x) over all ordered pairs and a softplus(x) + b x over the stored ones.

    Parameters
    ----------
    z : ndarray of float32, shape (N, d)
        Embedding; the logits are x_ij = z_i . z_j.
    indptr, indices : ndarray of int64
        The stored pairs as CSR, both directions of each.
    a, b : ndarray of float64, shape (n_stored,)
        Coefficients of the stored pairs, symmetric.
    n_threads : int
        Most threads to use.

    Returns
    -------
    total : float
    half_gradient : ndarray of float32, shape (N, d)
        Half of the derivative of the total by z.
    """
    rows, panels = panels_of(z)
    gradients = np.empty((LANES, *panels.shape), dtype=np.float32)

    def lane_sum(lane: int) -> float:
        return float(_sum_over_lane(rows, panels, len(z), lane, gradients[lane]))

    total = sum_over_units(lane_sum, n_threads)
    correction, gradient = added_up(z, gradients, (indptr, indices, a, b), n_threads)
    return total + correction, gradient


def added_up(
    z: NDArray[np.float32], gradients: NDArray[np.float32], stored: tuple[Any, ...], n_threads: int
) -> tuple[float, NDArray[np.float32]]:
    """Return the sum over the stored pairs, and half of the gradient of lanes and stored pairs."""
    rows, _ = panels_of(z)
    real, gradient = rows[: len(z), : z.shape[1]], np.empty(z.shape, dtype=np.float32)

    def part_sum(part: int) -> float:
        return float(_add_lanes_and_corrections(real, gradients, *stored, part, gradient))

    return sum_over_units(part_sum, n_threads), gradient


def sum_over_units(function: Callable[[int], float], n_threads: int) -> float:
    """Return the sum of function(0), ..., function(LANES - 1), added in this order."""
    if n_threads == 1:
        return sum(map(function, range(LANES)))
    with ThreadPoolExecutor(min(n_threads, LANES)) as pool:
        return sum(pool.map(function, range(LANES)))
