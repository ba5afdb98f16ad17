r"""An unbiased estimate of the sum over all pairs, from every m-th tile of them.

For logits x_ij = z_i . z_j a quadratic q(x) = a + b x + c x^2 can be summed over all pairs in
closed form,

    sum_ij q(x_ij) = a N^2 + b |s|^2 + c |Z'Z|_F^2,     s = sum_i z_i,

so only softplus(x) - q(x), which is small where q is fitted to the logits at hand, is estimated:
from the tiles (p, q) with (p + q) mod m = shift, m times, and from the tiles on the diagonal once.
With the shift drawn at random every pair counts with probability 1/m, so value and gradient are
unbiased; m estimates with all shifts have the exact sum as their mean, which is what the tests
check. The coefficients do not depend on the shift.

The tiles are those of `reconstruction_kernel`, with the same panels, lanes and bits for any number
of threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from truegraph.nn.autoencoders.reconstruction_kernel import (
    LANES,
    ONE,
    ROWS_PER_PRODUCT,
    WIDTH,
    ZERO,
    add_to_column_gradients,
    add_to_row_gradients,
    added_up,
    compiled,
    exp_of_minus,
    inlined,
    logits_of_four_rows,
    panels_of,
    sum_over_units,
    take_logarithms,
)

_FIT_PAIRS = 20_000


def fitted_quadratic(z: NDArray[np.float32]) -> tuple[float, float, float]:
    """Return a, b and c of the quadratic next to softplus on a sample of the logits z_i . z_j."""
    rng = np.random.default_rng(0)
    first, second = rng.integers(z.shape[0], size=(2, _FIT_PAIRS))
    x = np.einsum("ij,ij->i", z[first].astype(np.float64), z[second].astype(np.float64))
    powers = np.column_stack([np.ones_like(x), x, x * x])
    found = np.linalg.lstsq(powers, np.logaddexp(0.0, x), rcond=None)[0]
    a, b, c = (float(value) for value in found)
    return a, b, c


def sampled_sum(
    z: NDArray[np.float32], stored: tuple[Any, ...], parts: int, shift: int, n_threads: int
) -> tuple[float, NDArray[np.float32]]:
    """Estimate the sum of softplus(z_i . z_j) over all ordered pairs from every parts-th tile.

    Parameters
    ----------
    z : ndarray of float32, shape (N, d)
    stored : (indptr, indices, a, b)
        The stored pairs, whose corrections are exact, as in `reconstruction_kernel`.
    parts : int
        Of how many tiles one is looked at.
    shift : int
        Which one, from 0 to parts - 1.
    n_threads : int
        Most threads to use.

    Returns
    -------
    total : float
    half_gradient : ndarray of float32, shape (N, d)
        Half of the derivative of the estimate by z.
    """
    constant, slope, bend = fitted_quadratic(z)
    rows, panels = panels_of(z)
    gradients = np.empty((LANES, *panels.shape), dtype=np.float32)
    curve = (np.float32(slope), np.float32(bend))

    def lane_sum(lane: int) -> float:
        return float(
            _sum_over_lane(rows, panels, len(z), lane, parts, shift, *curve, gradients[lane])
        )

    total = sum_over_units(lane_sum, n_threads)
    correction, gradient = added_up(z, gradients, stored, n_threads)
    slope, bend = float(curve[0]), float(curve[1])  # as the kernel subtracted them
    wide = z.astype(np.float64)
    sums, products = wide.sum(axis=0), np.einsum("ik,il->kl", wide, wide)
    total += constant * (len(z) ** 2 - _weighted_pairs(len(z), parts, shift))
    total += slope * float(np.sum(sums * sums)) + bend * float(np.sum(products * products))
    gradient += (slope * sums + 2.0 * bend * np.einsum("ik,kl->il", wide, products)).astype(
        np.float32
    )
    return total + correction, gradient


def _weighted_pairs(n_nodes: int, parts: int, shift: int) -> float:
    """Return how many ordered pairs the visited tiles stand for."""
    sizes = np.full(-(-n_nodes // WIDTH), float(WIDTH))
    sizes[-1] = n_nodes - WIDTH * (len(sizes) - 1)
    group = np.arange(len(sizes)) % parts
    in_group = np.bincount(group, weights=sizes, minlength=parts)
    crossing = sum(in_group[g] * in_group[(shift - g) % parts] for g in range(parts))
    on_diagonal = float(np.sum(sizes**2))
    chosen_diagonal = float(np.sum(sizes[(2 * np.arange(len(sizes))) % parts == shift] ** 2))
    return parts * (crossing - chosen_diagonal) + on_diagonal


@inlined
def _rest_of_row(x: Any, product: Any, b: Any, c: Any, weight: Any) -> Any:
    """Turn logits into the weighted slopes of softplus(x) - b x - c x^2.

    Returns the sum of that but for the logarithms, see `reconstruction_kernel.logistic`.
    """
    total = ZERO
    for j in range(WIDTH):
        value = x[j]
        size = abs(value)
        e = exp_of_minus(size)
        factor = ONE + e
        product[j] *= factor
        total += np.float32(0.5) * (value + size) - value * (b + c * value)
        slope = (ONE if value >= ZERO else e) / factor
        x[j] = weight * (slope - (b + (c + c) * value))
    return total


@inlined
def _rest_of_tile(
    rows: Any,
    panels: Any,
    p: int,
    q: int,
    n_nodes: int,
    x: Any,
    product: Any,
    b: Any,
    c: Any,
    weight: Any,
    gradient: Any,
) -> float:
    """Add the weighted gradient of the tile of panels p <= q; return its weighted sum."""
    n_columns = min(WIDTH, n_nodes - q * WIDTH)
    last = min(n_nodes, (p + 1) * WIDTH)
    total = 0.0
    product[:] = ONE
    for i in range(p * WIDTH, last, 4):
        logits_of_four_rows(rows, i, panels[q], x)
        for r in range(4):
            if i + r < last:
                total += _rest_of_row(x[r * WIDTH : (r + 1) * WIDTH], product, b, c, weight)
            else:
                x[r * WIDTH : (r + 1) * WIDTH] = ZERO
        add_to_row_gradients(x, panels[q], i - p * WIDTH, gradient[p])
        if p != q:
            add_to_column_gradients(rows, i, x, gradient[q])
        if (i + 4) % ROWS_PER_PRODUCT == 0 or i + 4 >= last:
            total += take_logarithms(product, n_columns)
    return weight * total if p == q else 2.0 * weight * total


@compiled
def _sum_over_lane(
    rows: Any,
    panels: Any,
    n_nodes: int,
    lane: int,
    parts: int,
    shift: int,
    b: Any,
    c: Any,
    gradient: Any,
) -> float:
    """Return one lane's weighted sum; fill half of its gradient (panels, d * WIDTH).

    Rows of tiles go to the lanes in turn, so that each has long and short ones.
    """
    n_panels = panels.shape[0]
    x = np.empty(4 * WIDTH, np.float32)
    product = np.empty(WIDTH, np.float32)
    gradient[:] = ZERO
    total = 0.0
    for p in range(lane, n_panels, LANES):
        for q in range(p, n_panels):
            if p != q and (p + q) % parts != shift:
                continue
            weight = ONE if p == q else np.float32(parts)
            total += _rest_of_tile(rows, panels, p, q, n_nodes, x, product, b, c, weight, gradient)
    return total
