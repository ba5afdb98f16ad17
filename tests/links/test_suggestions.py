"""Suggestions: hidden links come first, as often as stated, with reasons."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph import AnswerWarning, LinkPredictor
from truegraph.data.link_splits import split_links
from truegraph.errors import InputError
from truegraph.links.pair_model import hiding_rounds
from truegraph.links.problem import is_among, pair_values
from truegraph.links.suggestions import ScoreShares, count_shares, explain


@pytest.mark.parametrize("model", ["auto", "adamic-adar"])
def test_suggestions_are_right_as_often_as_stated(model, teams):
    split = split_links(teams, validation=0.0, test=0.1, random_state=0)
    predictor = LinkPredictor(model, random_state=0).fit(split.train)
    table = predictor.suggest(150)
    right = is_among(table[["source", "target"]].to_numpy(), split.test_links, 400)
    assert right[:50].mean() > 0.6
    assert table["probability"].mean() == pytest.approx(right.mean(), abs=0.12)
    assert ((table["probability"] > 0.0) & (table["probability"] < 1.0)).all()
    assert (table["uncertainty"] > 0.0).all()
    assert table["probability"].is_monotonic_decreasing
    assert (pair_values(split.train, table[["source", "target"]].to_numpy()) == 0.0).all()


def test_a_smaller_missing_part_lowers_probabilities_alone(teams):
    predictor = LinkPredictor(random_state=0).fit(teams)
    usual, few = predictor.suggest(40), predictor.suggest(40, missing=0.01)
    assert usual[["source", "target"]].equals(few[["source", "target"]])
    is_free = usual["probability"] < 0.99
    ratio = usual["probability"][is_free] / few["probability"][is_free]
    np.testing.assert_allclose(ratio, (0.1 / 0.9) / (0.01 / 0.99))


def test_rounds_never_see_the_links_they_hide(teams):
    model = LinkPredictor(options={"rank": 16}, random_state=0).fit(teams)._model
    share, rounds = hiding_rounds(model)
    assert len(rounds) == 5
    assert share == pytest.approx(0.1, abs=0.01)
    assert all(0 < right.sum() <= round(0.1 * teams.nnz / 2) for _, right, _ in rounds)
    common = model.columns.names.index("common neighbours")
    # all candidates are at two steps on the graph without the hidden links
    assert all((columns[:, common] > 0.0).all() for columns, _, _ in rounds)


def test_explanations_name_what_is_shared(teams):
    predictor = LinkPredictor(options={"scale": "slack"}, random_state=0).fit(teams)
    row = predictor.suggest(1).iloc[0]
    dense = teams.toarray()
    shared = np.flatnonzero(dense[row["source"]] * dense[row["target"]])
    assert row["common_neighbours"] == len(shared)
    assert set(row["through"]) <= set(shared)
    slack = predictor.learned_graph_.slack(
        [(row["source"], row["target"])],
        np.sum((predictor.points_[row["source"]] - predictor.points_[row["target"]]) ** 2)[None],
    )
    assert row["slack"] == pytest.approx(slack[0])
    assert predictor.searched_.startswith(f"{len(predictor.suggest(10**6)):,} pairs")


def test_lists_are_as_long_as_few_are_false() -> None:
    """Groups that are nearly complete: what is missing can be told."""
    generator = np.random.default_rng(0)
    group = np.arange(200) // 10
    links = np.triu((group[:, None] == group) & (generator.random((200, 200)) < 0.9), 1)
    graph = csr_array((links | links.T).astype(float))
    predictor = LinkPredictor("resource-allocation", options={"held_out": 0.1}, random_state=0).fit(
        graph
    )
    few, more = (predictor.suggest(500, false_share=share) for share in (0.2, 0.8))
    everything = predictor.suggest(500)
    assert 0 < len(few) <= len(more) <= len(everything)
    assert few.equals(everything.head(len(few)))
    within = group[few["source"]] == group[few["target"]]
    assert within.mean() >= 0.8
    with pytest.warns(AnswerWarning, match=r"bounded by 0.2: the lowest bound is 0.9\d"):
        assert len(predictor.suggest(500, false_share=0.2, missing=0.001)) == 0
    with pytest.raises(InputError, match="false_share=2"):
        predictor.suggest(5, false_share=2)


def test_shares_hold_on_a_dense_graph_with_hubs():
    """On which the graph with all links has many more walks than those that lack some."""
    rng = np.random.default_rng(0)
    strength = (np.arange(700) + 10.0) ** -0.7
    group = rng.permutation(np.arange(700) % 8)
    chance = np.outer(strength, strength) * np.where(group[:, None] == group, 800.0, 120.0)
    links = np.triu(rng.random((700, 700)) < np.minimum(chance, 0.9), 1)
    graph = csr_array((links | links.T).astype(float))
    split = split_links(graph, validation=0.0, test=0.1, random_state=0)
    table = LinkPredictor(random_state=0).fit(split.train).suggest(1000)
    right = is_among(table[["source", "target"]].to_numpy(), split.test_links, 700)
    assert table["probability"].mean() == pytest.approx(right.mean(), abs=0.05)


# --- shares


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
        stated = shares.chances(scores[chosen], 0.1)[0].mean()
        assert stated == pytest.approx(is_link[chosen].mean(), rel=0.25)
    assert (np.diff(shares.chances(np.linspace(0, 9, 100), 0.1)[0]) >= 0.0).all()
    assert (shares.chances(np.array([0.5, 4.0]), 0.1)[1] > 0.0).all()


@pytest.mark.parametrize("right", [True, False])
def test_never_certain(right):
    shares = count_shares(np.arange(5.0), np.full(5, right), hidden=0.1)
    assert shares.shares[0] == pytest.approx(5.5 / 6 if right else 0.5 / 6)
    found, error = shares.chances(np.array([-9.0, 2.0, 99.0]), 0.1)
    assert ((found > 0.0) & (found <= 0.99)).all()
    assert (error > 0.01).all()


def test_chances_grow_in_proportion_to_what_is_missing():
    def chances(shares, missing):
        found = ScoreShares(np.arange(2.0), shares, np.full(2, 0.01), 0.5)
        return found.chances(np.arange(2.0), missing)

    counted, step = np.array([0.01, 0.2]), 1e-6
    np.testing.assert_allclose(chances(counted, 0.5)[0], 2.0 * counted / (1.0 - counted))
    chance, errors = chances(counted, 0.2)
    np.testing.assert_allclose(chance, 0.5 * counted / (1.0 - counted))
    slope = (chances(counted + step, 0.2)[0] - chance) / step
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
    moved = shares.on_another_graph(others, np.ones(len(others)), higher)
    np.testing.assert_allclose(moved.counted(higher)[0], shares.counted(others)[0], atol=0.02)
    hits = len(moved.hits) - np.searchsorted(moved.hits, np.log1p([1.0, 2.0]) + 3.0)
    np.testing.assert_allclose(hits, [(scores[is_right] > s).sum() for s in (1, 2)], atol=3)
    nothing = shares.on_another_graph(others[:0], others[:0], higher)
    assert nothing is shares


# --- reasons


def test_shared_neighbours_and_features_are_named():
    dense = np.zeros((6, 6))
    for i, j in (
        (0, 2),
        (1, 2),
        (0, 3),
        (1, 3),
        (3, 4),
        (0, 5),
        (5, 1),
        (5, 4),
        (5, 2),
        (0, 4),
        (4, 1),
    ):
        dense[i, j] = dense[j, i] = 1.0
    features = csr_array([[1, 1, 0], [1, 1, 1], [0, 1, 0], [0, 1, 0], [0, 0, 0], [0, 0, 1.0]])
    found = explain(np.array([[0, 1], [2, 4]]), csr_array(dense), features)
    assert found["common_neighbours"].tolist() == [4, 3]
    assert found["through"] == [[2, 3, 4], [0, 1, 5]]  # fewest links first, three at most
    assert found["shared_features"] == [[0, 1], []]  # the rarer one first


def test_columns_that_all_have_or_that_were_centred_are_no_reasons():
    features = csr_array([[5.0, -1.0, 1.0], [7.0, 0.5, 1.0], [2.0, 0.5, 0.0]])
    found = explain(np.array([[0, 1], [1, 2]]), csr_array((3, 3)), features)
    assert found["shared_features"] == [[2], []]


def test_in_a_bipartite_graph_partners_of_the_target_are_named():
    dense = np.zeros((16, 16))
    dense[:8, 8:] = 1.0
    dense[0, 8:] = dense[1:8, 8] = 0.0
    dense[0, 9] = dense[1, 8] = dense[2, 8] = 1.0
    found = explain(np.array([[0, 8], [8, 0]]), csr_array(dense + dense.T), None)
    assert found["common_neighbours"].tolist() == [0, 0]
    # 0 - 9 - 1 - 8: 1 and 2 have 9 in common with 0, and 9 has 1 in common with 8.
    assert found["through"] == [[1, 2], [9]]
