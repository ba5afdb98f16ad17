"""Training on triples: learning, stopping, the best epoch, one result for any threads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from truegraph.data import load_interactions, split_randomly
from truegraph.nn.recommenders.negatives import negative_pool
from truegraph.nn.recommenders.registry import (
    RANKING_MODELS,
    recommender_settings,
)
from truegraph.nn.recommenders.training import RankingError, TrainedRanking, train_ranking
from truegraph.nn.recommenders.triples import TripleSampler
from truegraph.nn.recommenders.validation_recall import HeldOutRecall

SPLIT = split_randomly(load_interactions("planted"), random_state=0)


def trained(name: str, recall: bool = True, seed: int = 0, **options: Any) -> TrainedRanking:
    settings = recommender_settings(name, {"width": 16, "epochs": 6, "batch": 512} | options)
    model = RANKING_MODELS[name](settings, SPLIT.train)
    sampler = TripleSampler(
        SPLIT.train,
        negative_pool(SPLIT.train, settings.pool),
        batch=settings.batch,
        negatives=settings.negatives,
        by=model.sampling,
        seed=seed,
    )
    held_out = HeldOutRecall(SPLIT.train, SPLIT.validation) if recall else None
    return train_ranking(model, model.initial(seed), sampler, held_out)


def same(first: TrainedRanking, second: TrainedRanking) -> bool:
    return all(torch.equal(first.weights[name], second.weights[name]) for name in first.weights)


@pytest.mark.parametrize("name", list(RANKING_MODELS))
def test_every_model_learns(name: str) -> None:
    found = trained(name, learning_rate=0.01, epochs=20)
    assert found.losses[-1] < 0.8 * found.losses[0]
    assert found.best_recall > 0.6  # chance is 0.12
    assert found.best_recall == np.nanmax(found.recalls) == found.recalls[found.best_epoch]


def test_the_best_epoch_is_restored() -> None:
    found = trained("bpr-mf", learning_rate=0.05, epochs=30)
    model = RANKING_MODELS["bpr-mf"](recommender_settings("bpr-mf"), SPLIT.train)
    recall = HeldOutRecall(SPLIT.train, SPLIT.validation)
    assert recall(model.vectors(found.weights, None), 240) == found.best_recall


def test_patience_ends_training() -> None:
    found = trained("bpr-mf", learning_rate=0.05, epochs=500, patience=7)
    assert len(found.losses) == found.best_epoch + 8
    assert len(found.losses) < 500
    rare = trained("bpr-mf", learning_rate=0.05, epochs=20, evaluate_every=4)
    assert np.isfinite(rare.recalls).nonzero()[0].tolist() == [3, 7, 11, 15, 19]


def test_the_start_is_kept_only_if_it_may_be() -> None:
    settings = recommender_settings("bpr-mf", {"width": 16, "epochs": 5, "batch": 512})
    settings = replace(settings, learning_rate=1.0)  # ruins what was learned
    model = RANKING_MODELS["bpr-mf"](settings, SPLIT.train)
    good = trained("bpr-mf", learning_rate=0.01, epochs=20)
    pool = negative_pool(SPLIT.train, "uniform")
    sampler = TripleSampler(SPLIT.train, pool, batch=512, negatives=1, by="users", seed=0)
    recall = HeldOutRecall(SPLIT.train, SPLIT.validation)
    kept = train_ranking(model, good.weights, sampler, recall, may_keep_start=True)
    assert same(kept, good)
    assert kept.best_epoch == -1
    assert kept.best_recall == kept.start[0] == good.best_recall
    lost = train_ranking(model, good.weights, sampler, recall)
    assert lost.best_epoch >= 0
    assert lost.best_recall < good.best_recall
    assert np.isnan(lost.start).all()


def test_without_validation_the_last_epoch_counts() -> None:
    found = trained("bpr-mf", recall=False)
    assert found.best_epoch == 5
    assert np.isnan(found.best_recall)


def test_first_weights_are_left_alone_and_the_seed_decides() -> None:
    first, again, other = (trained("ngcf", seed=seed) for seed in (1, 1, 2))
    assert same(first, again)
    assert not same(first, other)


@pytest.mark.parametrize("name", ["ngcf", "mgccf"])
def test_the_number_of_threads_does_not_show(name: str) -> None:
    before = torch.get_num_threads()
    results = []
    try:
        for threads in (1, 2, 4):
            torch.set_num_threads(threads)
            results.append(trained(name, epochs=2))
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    assert same(results[0], results[1])
    assert same(results[0], results[2])


def test_popular_negatives_are_another_training() -> None:
    uniform, popular = trained("bpr-mf"), trained("bpr-mf", pool="popularity")
    assert not same(uniform, popular)


def test_a_loss_that_is_not_finite_ends_training() -> None:
    with pytest.raises(RankingError, match="Lower learning_rate"):
        trained("bpr-mf", learning_rate=1e30, recall=False, epochs=50)
