"""What the list of data sets says of each."""

from __future__ import annotations

import pytest

from truegraph.data import load_dataset
from truegraph.data.registry import REGISTRY


@pytest.mark.parametrize("name", ["cora", "citeseer", "digits"])
def test_listed_sizes_are_true(name: str) -> None:
    statistics = load_dataset(name).statistics()
    assert REGISTRY[name].statistics.items() <= statistics.items()
