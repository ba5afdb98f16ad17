"""The choice of "auto": who competes, who wins, that blends add up."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph import InputError, Recommender
from truegraph.data import load_interactions, split_randomly
from truegraph.recommend.choosing import Blend, Search, _winner, choose
from truegraph.recommend.ease import EASE, GraphEASE

SPLIT = split_randomly(load_interactions("planted"), random_state=0)


@cache
def contest(**how: tuple[str, ...]) -> tuple:
    more = [(SPLIT.train, SPLIT.test)]
    return choose("auto", how or None, SPLIT.train, SPLIT.validation, more=more)


def test_every_family_competes_and_the_winner_is_no_worse_than_any() -> None:
    choice, model = contest()
    tried = {name for name, *_ in choice.tried}
    assert {"ease", "gf-cf", "graph-ease", "ials"} <= tried
    assert sum(name == "ease" for name, *_ in choice.tried) == 6
    assert choice.model == model.name
    assert choice.options == model.options
    found = Search(SPLIT.train, SPLIT.validation).measure(model)
    assert found == pytest.approx((choice.recall, choice.ndcg))
    assert choice.recall > 0.97 * max(recall for *_, recall, _ in choice.tried)


def test_families_can_be_named() -> None:
    assert {name for name, *_ in contest(models=("ease",))[0].tried} == {"ease"}
    with pytest.raises(InputError, match="'svd' cannot compete"):
        contest(models=("svd",))
    with pytest.raises(InputError, match="at least one model"):
        contest(models=())
    with pytest.raises(InputError, match="unknown option 'penalty'"):
        Recommender(options={"penalty": 3.0}).fit(SPLIT.train)


def test_the_winner_of_equally_good_ones_wins() -> None:
    rng = np.random.default_rng(0)
    base = rng.random(400)
    noise = rng.normal(scale=0.2, size=(3, 400))
    noise -= noise[:, :300].mean(axis=1, keepdims=True)
    unknown = np.full(400, np.nan)

    def values(*gains: float) -> np.ndarray:
        table = np.array([base + noise[place] + gain for place, gain in enumerate(gains)])
        table[:, 300:] = np.nan  # users without held-out interactions
        return np.stack([table, np.tile(unknown, (len(gains), 1))])

    assert _winner(values(0.0, 0.0, 0.0), has_blend=False) == 0
    assert _winner(values(0.0, 0.1, 0.0), has_blend=False) == 1
    assert _winner(values(0.0, 0.1, 0.101), has_blend=False) == 1
    assert _winner(values(0.0, 0.1, 0.3), has_blend=False) == 2
    assert _winner(values(0.0, 0.1, 0.101), has_blend=True) == 2
    assert _winner(values(0.0, 0.1, 0.099), has_blend=True) == 1


def test_a_blend_adds_up() -> None:
    parts = [
        EASE.fit({"penalty": 50.0}, SPLIT.train),
        GraphEASE.fit(GraphEASE.DEFAULTS, SPLIT.train),
    ]
    blend = Blend.joined(parts, SPLIT.train)
    lengths = [
        np.linalg.norm(scale * one.scores(SPLIT.train), axis=1).mean()
        for scale, one in zip(blend.scales, parts, strict=True)
    ]
    assert lengths == pytest.approx([0.5, 0.5], rel=1e-4)
    scores = blend.scores(SPLIT.train[[5]])[0]
    own = SPLIT.train[[5]].indices.astype(np.int64)
    direct, graph = blend.contributions(own, 17)
    assert (direct + graph).sum() == pytest.approx(scores[17], abs=1e-5)
    again = Blend.fit(blend.options, SPLIT.train)
    assert (again.scores(SPLIT.train) == blend.scores(SPLIT.train)).all()
    assert (blend.similarity(3) == parts[1].similarity(3)).all()


def test_poisoned_held_out_interactions_do_not_reach_the_fits() -> None:
    """Whatever is held out, a family's only candidate is fitted to the training part alone."""
    poisoned = csr_array(1.0 - SPLIT.train.toarray()).astype(np.float32)
    scores = [
        choose("ease", {"penalty": 50.0}, SPLIT.train, held_out)[1]
        for held_out in (SPLIT.validation, poisoned)
    ]
    assert (scores[0].weights == scores[1].weights).all()
