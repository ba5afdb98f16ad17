"""What the recommenders of one calculation share: choosing, scoring, packing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph import InputError
from truegraph.nn.closed_form.base import check_at_least, packed, unpacked
from truegraph.nn.closed_form.ease import EASE

WEIGHTS = np.array([[0.0, 2.0, 1.0], [2.0, 0.0, 0.0], [1.0, 0.0, 0.0]], dtype=np.float32)
HISTORY = csr_array(np.array([[1.0, 0.0, 1.0]], dtype=np.float32))


@pytest.mark.parametrize("weights", [WEIGHTS, csr_array(WEIGHTS)], ids=["dense", "sparse"])
def test_scores_are_sums_of_weights(weights: object) -> None:
    model = EASE(None, weights)
    assert model.scores(HISTORY).tolist() == [[1.0, 2.0, 1.0]]
    direct, through_graph = model.contributions(np.array([0, 2]), 1)
    assert direct.tolist() == [2.0, 0.0]
    assert through_graph.tolist() == [0.0, 0.0]
    assert model.similarity(0).tolist() == [0.0, 2.0, 1.0]
    again = EASE.restored(None, model.arrays())
    assert again.scores(HISTORY).tolist() == [[1.0, 2.0, 1.0]]


def test_matrices_come_back_as_they_were() -> None:
    sparse = unpacked(packed(csr_array(WEIGHTS), "w"), "w")
    assert isinstance(sparse, csr_array)
    assert (sparse != csr_array(WEIGHTS)).nnz == 0
    assert np.array_equal(unpacked(packed(WEIGHTS, "w"), "w"), WEIGHTS)


def test_settings_below_their_bounds_are_named() -> None:
    @dataclass
    class Settings:
        penalty: float | None

    check_at_least(Settings(None), {"penalty": 1.0})
    check_at_least(Settings(1.0), {"penalty": 1.0})
    for wrong in (0.5, float("nan")):
        with pytest.raises(InputError, match="must be at least 1"):
            check_at_least(Settings(wrong), {"penalty": 1.0})
