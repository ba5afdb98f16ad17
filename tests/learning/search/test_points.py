"""Points, dense or sparse: distances without cancellation, rows of length one, checked ends."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph import InputError
from truegraph.learning.search.points import (
    check_squares,
    checked_points,
    squared_distances,
    unit_rows,
)

POINTS = np.array([[3.0, 0.0, 4.0], [0.0, 0.0, 0.0], [3.0, 1.0, 4.0]])
BOTH = [POINTS, csr_array(POINTS)]


@pytest.mark.parametrize("points", BOTH, ids=["dense", "sparse"])
def test_distances_and_lengths(points: object) -> None:
    found = checked_points(points)  # type: ignore[arg-type]
    assert squared_distances(found, [0, 0], [1, 2]).tolist() == [25.0, 1.0]
    unit = unit_rows(found)
    dense = unit if isinstance(unit, np.ndarray) else unit.toarray()
    assert np.linalg.norm(dense, axis=1) == pytest.approx(1.0)
    assert dense[1].tolist() == [0.0, 0.0, 0.0, 1.0]  # a row of zeros has an axis of its own
    assert dense[0] == pytest.approx([0.6, 0.0, 0.8, 0.0])


def test_rows_too_long_or_too_short_to_be_squared_have_a_direction() -> None:
    assert unit_rows(np.array([[3e200, 4e200], [3e-200, 4e-200]])) == pytest.approx(
        np.array([[0.6, 0.8], [0.6, 0.8]])
    )


@pytest.mark.parametrize(("scale", "remedy"), [(1e160, "scale the points down"), (1e-160, "up")])
def test_squares_beyond_float64_are_refused(scale: float, remedy: str) -> None:
    with pytest.raises(InputError, match=remedy):
        check_squares(POINTS * scale)
