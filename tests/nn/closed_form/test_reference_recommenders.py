"""Popularity, ItemKNN and EASE: by hand and by their defining equations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph.data import load_interactions, split_randomly
from truegraph.errors import InputError
from truegraph.nn.closed_form import reference_recommenders
from truegraph.nn.closed_form.reference_recommenders import (
    EASE,
    EASESettings,
    ItemKNN,
    ItemKNNSettings,
    Popularity,
    PopularitySettings,
)

TRAIN = csr_array(np.array([[1, 1, 0], [1, 1, 0], [0, 1, 1]], dtype=np.float32))


def test_popularity_counts() -> None:
    made = Popularity.fit(PopularitySettings(), TRAIN, None)
    assert made.scores(TRAIN[[0, 2]]).tolist() == [[2, 3, 1], [2, 3, 1]]
    with pytest.raises(InputError, match="similar items"):
        made.similarity(0)


def test_item_neighbours_by_hand() -> None:
    made = ItemKNN.fit(ItemKNNSettings(neighbours=1), TRAIN, None)
    # cosines: 0-1 2/sqrt(6), 1-2 1/sqrt(3), 0-2 0; item 1's nearest is 0
    near, far = 2 / np.sqrt(6), 1 / np.sqrt(3)
    table = made.weights.toarray()
    assert table == pytest.approx(np.array([[0, near, 0], [near, 0, far], [0, 0, 0]]))
    assert made.scores(csr_array(np.array([[0.0, 1.0, 0.0]]))).tolist()[0] == pytest.approx(
        [near, 0, far]
    )


def test_ease_minimises_its_objective() -> None:
    rng = np.random.default_rng(0)
    table = (rng.random((30, 8)) < 0.3).astype(np.float64)
    made = EASE.fit(EASESettings(penalty=2.0), csr_array(table), None)
    found = made.weights.astype(np.float64)
    assert np.diag(found) == pytest.approx(np.zeros(8))
    # The gradient is zero but on the diagonal, where a multiplier holds the weights at zero.
    gradient = table.T @ (table @ found - table) + 2.0 * found
    off = gradient - np.diag(np.diag(gradient))
    assert np.abs(off).max() < 1e-5


def test_hyperparameters_are_chosen_on_validation_only_if_there_is_any() -> None:
    split = split_randomly(load_interactions("planted"), random_state=0)
    assert EASE.fit(EASESettings(), split.train, None).settings.penalty == 200.0
    assert ItemKNN.fit(ItemKNNSettings(), split.train, None).settings.neighbours == 100
    chosen = EASE.fit(EASESettings(), split.train, split.validation)
    recalls = {
        penalty: reference_recommenders._recall(
            EASE.fit(EASESettings(penalty), split.train, None).scores, split.train, split.validation
        )
        for penalty in (20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)
    }
    assert recalls[chosen.settings.penalty] == max(recalls.values())


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference_recommenders, "_MOST_ITEMS", 2)
    with pytest.raises(InputError, match="3 x 3 items; up to 2"):
        EASE.fit(EASESettings(), TRAIN, None)
    with pytest.raises(InputError, match="neighbours=0"):
        ItemKNN.fit(ItemKNNSettings(0), TRAIN, None)
