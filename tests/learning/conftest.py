"""What the tests of the learner share: the hard instance, and few threads for small problems."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numba
import numpy as np
import pytest

from truegraph.learning import EmbeddingDistance, LabelDisagreement, SumDistance


@pytest.fixture(autouse=True)
def one_thread(request: pytest.FixtureRequest) -> Iterator[None]:
    """Most problems here are tiny: with several threads, waking them would be most of the time."""
    before = numba.get_num_threads()
    if request.node.get_closest_marker("large") is None:
        numba.set_num_threads(1)
    yield
    numba.set_num_threads(before)


@pytest.fixture(scope="session")
def cora_distance() -> SumDistance:
    """The paper's distance on Cora, the hard instance that ships with the large data."""
    folder = os.environ.get("TRUEGRAPH_DATA")
    if folder is None:
        pytest.skip("set TRUEGRAPH_DATA to the folder of the large data sets")
    with np.load(Path(folder) / "hard" / "cora_distance.npz") as arrays:
        embedding, shares = arrays["z"], arrays["p"]
    return SumDistance(EmbeddingDistance(embedding), LabelDisagreement.from_shares(shares))
