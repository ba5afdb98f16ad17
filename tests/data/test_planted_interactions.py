"""Made-up interactions with known false negatives."""

from __future__ import annotations

import pytest

from truegraph.data.planted_interactions import planted_interactions


def test_planted_likes_are_hidden_as_told() -> None:
    planted = planted_interactions(random_state=3)
    observed, hidden = planted.observed.matrix, planted.hidden
    assert observed.multiply(hidden).nnz == 0
    assert (observed.sum(axis=1) > 0).all()
    assert (observed.sum(axis=0) > 0).all()
    users, items = hidden.nonzero()
    assert (planted.user_taste[users] == planted.item_taste[items]).mean() > 0.85
    assert len(planted.everything) == observed.nnz + hidden.nnz
    assert observed.nnz / len(planted.everything) == pytest.approx(0.4, abs=0.03)
