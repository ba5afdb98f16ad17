"""Stiff problems are recognised, and solved whole where they fit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from truegraph.errors import ConvergenceWarning

Prepared = Callable[..., Any]


def stiff_points() -> np.ndarray:
    """Return points of which most are far from all others, in units of the nearest ones."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(400, 3)) * 10.0 ** rng.uniform(0.0, 3.0, size=(400, 1))


def test_a_stiff_problem_is_solved_in_one_process(prepared: Prepared, tmp_path: Path) -> None:
    graph = prepared(tmp_path / "s", stiff_points(), options={"theta": 1.0}, size=150).run()
    assert graph.certificate.stalled
    assert graph.certificate.converged


def test_a_stiff_problem_that_does_not_fit_says_so(prepared: Prepared, tmp_path: Path) -> None:
    with pytest.warns(ConvergenceWarning, match="above tol"):
        graph = prepared(
            tmp_path / "s", stiff_points(), options={"theta": 1.0}, size=150, memory=1e6
        ).run()
    assert not graph.certificate.converged
    assert graph.certificate.relative_gap > graph.certificate.tolerance
