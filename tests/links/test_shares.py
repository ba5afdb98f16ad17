"""Counted shares: they hold, stay off 0 and 1, and move with the part that is missing."""

from __future__ import annotations

import numpy as np
import pytest

from truegraph.links.shares import (
    chance_errors,
    chances,
    count_shares,
    on_another_graph,
)


def test_shares_follow_the_truth_where_as_much_is_missing_as_was_hidden():
    """A world of links and other pairs: a tenth of the links is missing, a tenth gets hidden."""
    rng = np.random.default_rng(0)
    scores = rng.exponential(size=200_000)
    is_link = rng.random(200_000) < np.minimum(0.2 * scores, 0.95)
    is_observed = is_link & (rng.random(200_000) < 0.9)
    is_hidden = is_observed & (rng.random(200_000) < 0.1)
    suggested = ~is_observed | is_hidden
    shares = count_shares(scores[suggested], is_hidden[suggested], hidden=0.1)
    for low in (0.5, 1.0, 2.0, 3.0):
        chosen = ~is_observed & (scores > low) & (scores < low + 0.5)
        stated = shares.chances(scores[chosen], 0.1).mean()
        assert stated == pytest.approx(is_link[chosen].mean(), rel=0.25)
    assert (np.diff(shares.chances(np.linspace(0, 9, 100), 0.1)) >= 0.0).all()
    assert (shares.chance_errors(np.array([0.5, 4.0]), 0.1) > 0.0).all()


@pytest.mark.parametrize("right", [True, False])
def test_never_certain(right):
    shares = count_shares(np.arange(5.0), np.full(5, right), hidden=0.1)
    assert shares.shares[0] == pytest.approx(5.5 / 6 if right else 0.5 / 6)
    found = shares.chances(np.array([-9.0, 2.0, 99.0]), 0.1)
    assert ((found > 0.0) & (found <= 0.99)).all()
    assert (shares.chance_errors(np.array([2.0]), 0.1) > 0.01).all()


def test_chances_grow_in_proportion_to_what_is_missing():
    counted = np.array([0.01, 0.2])
    np.testing.assert_allclose(chances(counted, 0.5, 0.5), 2.0 * counted / (1.0 - counted))
    np.testing.assert_allclose(chances(counted, 0.2, 0.5), 0.5 * counted / (1.0 - counted))
    step = 1e-6
    slope = (chances(counted + step, 0.2, 0.5) - chances(counted, 0.2, 0.5)) / step
    errors = chance_errors(counted, np.full(2, 0.01), 0.2, 0.5)
    np.testing.assert_allclose(errors, 0.01 * slope, rtol=1e-4)


def test_nearly_equal_scores_are_counted_together():
    rng = np.random.default_rng(0)
    scores = np.repeat([0.1, 0.3], 500) + 1e-15 * rng.integers(3, size=1000)
    is_right = rng.random(1000) < np.repeat([0.02, 0.2], 500)
    shares = count_shares(scores, is_right, hidden=0.1)
    found = np.interp(scores, shares.scores, shares.shares)
    assert found[500:].max() < 0.35
    assert found[:500].max() < 0.1


def test_a_weight_stands_for_suggestions():
    scores, is_right = np.repeat(np.arange(4.0), 100), np.arange(400) % 100 < 20
    plain = count_shares(np.tile(scores, 3), np.tile(is_right, 3), hidden=0.1)
    weighed = count_shares(scores, is_right, hidden=0.1, weight=np.full(400, 3.0))
    np.testing.assert_allclose(plain.shares, weighed.shares)
    np.testing.assert_allclose(plain.errors, weighed.errors)


def test_a_few_suggestions_at_the_bottom_do_not_lift_the_others():
    scores = np.concatenate([[0.0], np.linspace(1.0, 2.0, 500)])
    is_right = np.arange(501) % 40 == 39
    shares = count_shares(scores, is_right, hidden=0.1)
    assert shares.shares.max() < 0.1


def test_the_bound_on_false_suggestions_holds_in_a_made_up_world():
    """A tenth of the links is missing, a tenth gets hidden, three times."""
    rng = np.random.default_rng(0)
    scores = rng.exponential(size=200_000)
    is_link = rng.random(200_000) < np.minimum(0.2 * scores, 0.95)
    is_observed = is_link & (rng.random(200_000) < 0.9)
    rounds = [is_observed & (rng.random(200_000) < 0.1) for _ in range(3)]
    suggested = [~is_observed | hidden for hidden in rounds]
    shares = count_shares(
        np.concatenate([scores[part] for part in suggested]),
        np.concatenate([hidden[part] for hidden, part in zip(rounds, suggested, strict=True)]),
        hidden=0.1,
        rounds=3,
    )
    order = np.flatnonzero(~is_observed)
    order = order[np.argsort(-scores[order], kind="stable")]
    bounds = shares.false_shares(scores[order], 0.1)
    realised = 1.0 - np.cumsum(is_link[order]) / np.arange(1, len(order) + 1)
    for allowed in (0.6, 0.7, 0.8):
        kept = np.flatnonzero(bounds <= allowed).max() + 1
        assert kept > 100
        assert realised[kept - 1] <= allowed + 0.01
        assert realised[kept - 1] > allowed - 0.15  # and the list is not needlessly short
    assert (shares.false_shares(scores[order][:50], 1e-4) > 0.9).all()


def test_shares_follow_the_rank_where_all_scores_are_higher():
    """The same candidates score higher on the graph that has the hidden links as well."""
    rng = np.random.default_rng(0)
    scores = rng.exponential(size=20_000)
    is_right = rng.random(20_000) < np.minimum(0.2 * scores, 0.9)
    shares = count_shares(scores, is_right, hidden=0.1)
    others = scores[~is_right]
    higher = np.log1p(others) + 3.0
    moved = on_another_graph(shares, others, np.ones(len(others)), higher)
    np.testing.assert_allclose(moved.counted(higher), shares.counted(others), atol=0.02)
    hits = len(moved.hits) - np.searchsorted(moved.hits, np.log1p([1.0, 2.0]) + 3.0)
    np.testing.assert_allclose(hits, [(scores[is_right] > s).sum() for s in (1, 2)], atol=3)
    nothing = on_another_graph(shares, others[:0], others[:0], higher)
    assert nothing is shares
