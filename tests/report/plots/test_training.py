"""Curves of training."""

from __future__ import annotations

import pytest

from truegraph.errors import InputError
from truegraph.report.plots.training import training_curves


def test_uneven_curves_are_refused() -> None:
    with pytest.raises(InputError, match=r"curves\['a'\]"):
        training_curves({"a": ([1, 2], [0.1])})
