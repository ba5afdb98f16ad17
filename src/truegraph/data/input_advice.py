"""Warnings about points that can be used, but whose distances may be misleading."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from truegraph.errors import InputWarning, warn

_SHARE_THAT_DOMINATES = 0.95  # of the variance ...
_FEW_COLUMNS = 0.2  # ... in at most this share of the columns, and never more than half of them
_CENTRED = 1e-4  # means below this share of the deviation: principal components, not measurements
_ZEROS_OF_COUNTS = 0.9  # words and purchases are sparser; ratings on a scale are not
_FEWEST_COLUMNS_OF_COUNTS = 20  # fewer may be measurements that are whole numbers
_ROWS = 100_000  # more are judged by as many of them, evenly spaced
_ENTRIES, _FEW_ROWS = 10_000_000, 1000  # fewer rows where they are wide, but not fewer than these


def warn_about_points(points: Any, metric: str = "sqeuclidean") -> None:
    """Warn where a few columns fill the distances, or rows are counts compared by size."""
    for message in points_advice(points, metric):
        warn(message, InputWarning)


def points_advice(points: Any, metric: str = "sqeuclidean") -> list[str]:
    """Return advice about points, in full sentences."""
    rows, columns = points.shape
    if rows < 3:
        return []
    most = min(_ROWS, max(_FEW_ROWS, _ENTRIES // columns))
    if rows > most:
        points = points[:: -(-rows // most)]
    with np.errstate(over="ignore", invalid="ignore"):
        mean, deviation = _moments(points)
    if not np.isfinite(deviation).all():  # the learner itself says that values are too large
        return []
    found = [_constant(deviation), _dominated(mean, deviation)]
    if metric == "sqeuclidean" and columns >= _FEWEST_COLUMNS_OF_COUNTS:
        counts = _counts(points)
        found = [found[0], counts or found[1]]
    return [message for message in found if message]


def _moments(points: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    is_sparse = bool(sparse.issparse(points))
    if is_sparse:
        mean = np.asarray(points.mean(axis=0), dtype=np.float64).ravel()
        square = np.asarray(points.multiply(points).mean(axis=0), dtype=np.float64).ravel()
        return mean, np.sqrt(np.maximum(0.0, square - mean**2))
    mean = points.mean(axis=0, dtype=np.float64)
    return mean, points.std(axis=0, dtype=np.float64)


def _constant(deviation: NDArray[np.float64]) -> str:
    constant = int(np.count_nonzero(deviation == 0.0))
    if 2 * constant < len(deviation):
        return ""
    if constant == len(deviation):
        return "all rows are identical; check that the file was read correctly."
    return (
        f"{constant:,} of {len(deviation):,} columns have the same value in all rows and tell "
        "nothing; check that the file was read correctly."
    )


def _dominated(mean: NDArray[np.float64], deviation: NDArray[np.float64]) -> str:
    used = deviation > 0.0
    count = int(np.count_nonzero(used))
    variance = np.square(deviation / (deviation.max(initial=0.0) or 1.0))
    if count < 2 or (np.abs(mean[used]) <= _CENTRED * deviation[used]).all():
        return ""
    order = np.argsort(-variance, kind="stable")
    shares = np.cumsum(variance[order]) / variance.sum()
    few = int(np.searchsorted(shares, _SHARE_THAT_DOMINATES)) + 1
    if few > max(1, _FEW_COLUMNS * count):
        return ""
    names = ", ".join(str(column) for column in order[: min(few, 5)])
    more = ", ..." if few > 5 else ""
    holds = "holds" if few == 1 else "hold"
    return (
        f"{few} of {count:,} columns {holds} {100 * shares[few - 1]:.1f} % of the variance "
        f"(from 0: {names}{more}), so distances hardly see the others. Scale the columns; "
        "those of a table (DataFrame, .csv or .parquet) are scaled unless scale is 'none'."
    )


def _counts(points: Any) -> str:
    is_sparse = bool(sparse.issparse(points))
    data = points.data if is_sparse else points
    stored = np.count_nonzero(data)
    zeros = 1.0 - stored / (points.shape[0] * points.shape[1])
    if zeros < _ZEROS_OF_COUNTS or not stored:
        return ""
    if data.min() < 0 or data.max() <= 1 or np.any(data != np.floor(data)):
        return ""
    return (
        f"rows look like counts (whole numbers, {100 * zeros:.0f} % zeros): Euclidean distance "
        "compares how much was counted rather than what. Use metric='cosine'."
    )
