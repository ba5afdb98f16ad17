"""The Bayesian loop: the fair comparison, planted false negatives, poisoned test data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from truegraph.data import load_interactions, split_randomly
from truegraph.errors import InputError
from truegraph.nn.recommenders.training import TrainedRanking
from truegraph.nn.recommenders.trainings import Trainings
from truegraph.nn.recommenders.validation_recall import HeldOutRecall
from truegraph.tasks.recommend.algorithm3 import (
    BayesianOptions,
    continued_base,
    learned_pairs,
    removed_pairs,
    train_bayesian,
)
from truegraph.testing import planted_interactions

QUICK: dict[str, dict[str, Any]] = {
    "bpr-mf": {"width": 16, "learning_rate": 5e-3, "batch": 512},
    "lightgcn": {"width": 16, "learning_rate": 5e-3, "batch": 512, "patience": 20},
    "ngcf": {"width": 16, "learning_rate": 2e-3, "batch": 512, "patience": 10, "epochs": 20},
    "mgccf": {"width": 16, "learning_rate": 2e-3, "batch": 512, "patience": 20},
}
SPLIT = split_randomly(load_interactions("planted"), random_state=0)


def planted_trainings(name: str = "bpr-mf", seed: int = 0, **more: Any) -> Trainings:
    return Trainings(name, QUICK[name], SPLIT.train, SPLIT.validation, seed, **more)


def same(first: TrainedRanking, second: TrainedRanking) -> bool:
    return all(torch.equal(first.weights[name], second.weights[name]) for name in first.weights)


@pytest.mark.parametrize("name", list(QUICK))
def test_removing_nothing_gives_the_baseline_bit_for_bit(name: str) -> None:
    options = BayesianOptions(fractions=(0.0,), continued_patience=4)
    run = Trainings(name, QUICK[name] | {"epochs": 8}, SPLIT.train, SPLIT.validation, 3)
    baseline, found = continued_base(run, 4), train_bayesian(run, options)
    assert found.removed.count == 0
    assert same(baseline, found.trained)
    assert (baseline.losses == found.trained.losses).all()
    assert (baseline.recalls == found.trained.recalls).all()
    assert len(baseline.losses) >= 4
    assert baseline.start[0] == run.base().best_recall


def test_removing_something_does_not() -> None:
    options = BayesianOptions(fractions=(0.2,), continued_patience=4)
    run = planted_trainings(seed=3)
    found = train_bayesian(run, options)
    assert (continued_base(run, 4).losses != found.trained.losses).all()


@pytest.mark.parametrize(
    ("name", "seed", "gain"),
    [("bpr-mf", 0, 0.03), ("bpr-mf", 1, 0.03), ("bpr-mf", 2, 0.03), ("mgccf", 0, 0.005)],
)
def test_planted_false_negatives_are_found_and_removing_them_raises_recall(
    name: str, seed: int, gain: float
) -> None:
    planted = planted_interactions(liked_share=0.8, observed_share=0.25, random_state=seed)
    split = split_randomly(planted.observed, (0.85, 0.15, 0.0), random_state=seed)
    options = BayesianOptions(continued_patience=30)
    run = Trainings(name, QUICK[name], split.train, split.validation, seed)
    ranked = learned_pairs(run.vectors(run.base().weights), split.train, options)
    hidden = csr_array(planted.hidden + split.validation)
    chance = hidden.nnz / (240 * 180 - split.train.nnz)
    for fraction in options.fractions:
        assert removed_pairs(ranked, split.train, fraction, options).precision(hidden) > 3 * chance
    assert removed_pairs(ranked, split.train, 0.05, options).precision(hidden) > 5 * chance
    recall = HeldOutRecall(csr_array(split.train + split.validation), planted.hidden)

    def score(found: TrainedRanking) -> float:
        return recall(torch.from_numpy(run.vectors(found.weights)), 240)

    assert score(train_bayesian(run, options).trained) > score(continued_base(run, 30)) + gain


def test_the_fraction_with_the_best_validation_recall_wins() -> None:
    options = BayesianOptions(fractions=(0.1, 0.01), continued_patience=5)
    found = train_bayesian(planted_trainings(), options)
    assert list(found.recalls) == [0.01, 0.1]
    assert found.recalls[found.removed.fraction] == max(found.recalls.values())
    assert found.trained.best_recall == max(found.recalls.values())


def test_the_number_of_threads_does_not_show() -> None:
    options = BayesianOptions(fractions=(0.01, 0.05, 0.2), continued_patience=3)
    before, results = torch.get_num_threads(), []
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            results.append(train_bayesian(planted_trainings("ngcf"), options))
    finally:
        torch.set_num_threads(before)
    assert same(results[0].trained, results[1].trained)
    assert results[0].recalls == results[1].recalls


def test_what_is_watched_changes_nothing() -> None:
    """Test recall is recorded for pictures; poisoned, it leaves every bit as it was."""
    options = BayesianOptions(fractions=(0.05, 0.2), continued_patience=3)
    results = []
    for held_out in (None, SPLIT.test, csr_array(np.ones(SPLIT.train.shape) - SPLIT.test)):
        watched = None if held_out is None else HeldOutRecall(SPLIT.train, held_out)
        results.append(train_bayesian(planted_trainings("ngcf", watched=watched), options))
    for found in results[1:]:
        assert same(found.trained, results[0].trained)
        assert found.removed.fraction == results[0].removed.fraction
    assert np.isnan(results[0].trained.watched).all()
    assert (results[1].trained.watched != results[2].trained.watched).all()


def test_a_base_model_is_kept_and_read_again(tmp_path: Path) -> None:
    def base(seed: int) -> TrainedRanking:
        return planted_trainings(seed=seed, cache=tmp_path).base()

    first = base(0)
    assert len(list(tmp_path.glob("*.safetensors"))) == 1
    again = base(0)
    assert same(first, again)
    assert (first.recalls == again.recalls).all()
    assert (again.best_epoch, again.best_recall) == (first.best_epoch, first.best_recall)
    base(1)
    assert len(list(tmp_path.glob("*.safetensors"))) == 2


def test_the_degree_is_that_of_the_observed_graph_unless_given() -> None:
    run = planted_trainings()
    vectors = run.vectors(run.base().weights)

    def degree(options: BayesianOptions) -> float:
        return learned_pairs(vectors, SPLIT.train, options).graph.certificate.degree

    observed = 2 * SPLIT.train.nnz / 420
    assert degree(BayesianOptions()) == pytest.approx(observed, rel=0.02)
    assert degree(BayesianOptions(degree=5.0)) == pytest.approx(5.0, rel=0.02)


def test_what_cannot_be_run() -> None:
    with pytest.raises(InputError, match=r"ease.*no pool of negatives"):
        Trainings("ease", None, SPLIT.train, SPLIT.validation, 0)
    with pytest.raises(InputError, match="validation_share above 0"):
        train_bayesian(Trainings("bpr-mf", None, SPLIT.train, None, 0), BayesianOptions())
    for wrong in (
        {"fractions": ()},
        {"fractions": (2.0,)},
        {"degree": 0.0},
        {"continued_patience": 0},
    ):
        with pytest.raises(InputError, match=next(iter(wrong))):
            BayesianOptions(**wrong)  # type: ignore[arg-type]
