"""Saved refined predictors and heuristics predict the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from truegraph import LinkPredictor


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"options": {"scale": "neighbours"}},
        {"options": {"scale": "off", "rank": 8}},
        {"model": "katz"},
    ],
)
@pytest.mark.parametrize("has_features", [True, False])
def test_saved_predictors_predict_the_same(options, has_features, planted: Any, tmp_path):
    features = planted.features if has_features else None
    predictor = LinkPredictor(random_state=2, **options).fit(planted.graph, features)
    predictor.save(tmp_path)
    loaded = LinkPredictor.load(tmp_path)
    pairs = np.array([[0, 1], [5, 80], [119, 3]])
    np.testing.assert_array_equal(loaded.predict_proba(pairs), predictor.predict_proba(pairs))
    np.testing.assert_array_equal(loaded.uncertainty(pairs), predictor.uncertainty(pairs))
    assert loaded.suggest(10).equals(predictor.suggest(10))
    assert loaded.suggest_for(4).equals(predictor.suggest_for(4))
    assert loaded.notes_ == predictor.notes_
    assert loaded.searched_ == predictor.searched_
