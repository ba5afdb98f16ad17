"""Trials of recommenders: shared base models, lists, poisoned test interactions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph.data import load_interactions, split_randomly
from truegraph.errors import InputError
from truegraph.evaluation.ranking import score_rankings
from truegraph.tasks.recommend.names import CLOSED_FORM
from truegraph.tasks.recommend.trials import (
    MODELS,
    RecommendationTrial,
    split_name,
    split_settings,
)

SPLIT = split_randomly(load_interactions("planted"), random_state=0)
QUICK: dict[str, Any] = {"width": 16, "learning_rate": 1e-2, "batch": 512, "epochs": 8}


def quick(model: str) -> dict[str, Any]:
    return {} if model in CLOSED_FORM else QUICK


@pytest.mark.parametrize("model", MODELS)
def test_every_model_beats_chance_and_lists_no_training_item(model: str) -> None:
    found = RecommendationTrial(SPLIT, 0).run(model, quick(model))
    assert found.top_items.shape == (240, 100)
    everyone = np.arange(240)[:, None]
    assert not SPLIT.train.toarray()[everyone, found.top_items].any()
    recall = score_rankings(found.top_items, SPLIT.test).means()["recall@20"]
    assert recall > (0.1 if model == "popularity" else 0.5)  # 20 of 164 would be 0.12
    assert (found.bayesian is not None) == (model not in CLOSED_FORM and split_name(model)[1])


def test_masks() -> None:
    trial = RecommendationTrial(SPLIT, 0, mask=("train", "validation"))
    found = trial.run("ease")
    assert not SPLIT.validation.toarray()[np.arange(240)[:, None], found.top_items].any()
    with pytest.raises(InputError, match="mask"):
        RecommendationTrial(SPLIT, 0, mask=("test",))


def test_base_and_bayesian_version_share_the_base_training(tmp_path: Path) -> None:
    alone = RecommendationTrial(SPLIT, 0).run("bbpr-mf", QUICK)
    together = RecommendationTrial(SPLIT, 0, cache=tmp_path)
    together.run("bpr-mf", QUICK)
    assert (together.run("bbpr-mf", QUICK).top_items == alone.top_items).all()
    assert len(list(tmp_path.glob("*.safetensors"))) == 7  # base, baseline, five fractions
    later = RecommendationTrial(SPLIT, 0, cache=tmp_path)
    assert (later.run("bbpr-mf", QUICK).top_items == alone.top_items).all()


def test_trainings_with_a_curve_serve_those_who_do_not_want_it(tmp_path: Path) -> None:
    alone = RecommendationTrial(SPLIT, 0).run("bbpr-mf", QUICK)
    RecommendationTrial(SPLIT, 0, cache=tmp_path, watch_test=True).run("bbpr-mf", QUICK)
    kept = set(tmp_path.glob("*.safetensors"))
    later = RecommendationTrial(SPLIT, 0, cache=tmp_path).run("bbpr-mf", QUICK)
    assert set(tmp_path.glob("*.safetensors")) == kept
    assert (later.top_items == alone.top_items).all()


@pytest.mark.parametrize("model", ["bngcf", "mgccf", "ease", "refined", "ials"])
def test_poisoned_test_interactions_change_nothing(model: str) -> None:
    poison = csr_array(np.ones(SPLIT.test.shape, dtype=np.float32) * np.nan)
    honest = RecommendationTrial(SPLIT, 0).run(model, quick(model))
    fooled = RecommendationTrial(replace(SPLIT, test=poison), 0).run(model, quick(model))
    assert (honest.top_items == fooled.top_items).all()
    assert honest.settings == fooled.settings


@pytest.mark.parametrize("model", ["bpr-mf", "bbpr-mf", "ease"])
def test_refitted_models_have_seen_the_validation_interactions(model: str) -> None:
    everyone = np.arange(240)[:, None]
    found = RecommendationTrial(SPLIT, 0, refit=True).run(model, quick(model))
    seen = (SPLIT.train + SPLIT.validation).toarray()
    assert not seen[everyone, found.top_items].any()
    recall = score_rankings(found.top_items, SPLIT.test).means()["recall@20"]
    assert recall > 0.5


@pytest.mark.parametrize("model", ["bpr-mf", "ease"])
def test_what_is_fitted_again_depends_on_the_validation_interactions(model: str) -> None:
    fixed = {"penalty": 100.0} if model == "ease" else QUICK | {"epochs": 2, "patience": 2}
    lists = [
        RecommendationTrial(SPLIT, 0, mask=("train", "validation"), refit=refit)
        .run(model, fixed | ({} if model == "ease" else {"continued_patience": 2}))
        .top_items
        for refit in (False, True)
    ]
    assert (lists[0] != lists[1]).any()


def test_settings_of_model_and_continuation_are_told_apart() -> None:
    own, options = split_settings("bngcf", {"layers": 2, "fractions": [0.1], "degree": 7})
    assert own.layers == 2
    assert options.fractions == (0.1,)
    assert options.degree == 7
    own, options = split_settings("ngcf", {"continued_patience": 3, "patience": 9})
    assert (own.patience, options.continued_patience) == (9, 3)
    with pytest.raises(InputError, match="unknown option 'fractions'"):
        split_settings("ngcf", {"fractions": [0.1]})
    with pytest.raises(InputError, match="must be one of ngcf, bngcf"):
        split_name("bease")


def test_test_recall_is_recorded_only_when_asked_for() -> None:
    silent = RecommendationTrial(SPLIT, 0).run("bpr-mf", QUICK).trained
    watched = RecommendationTrial(SPLIT, 0, watch_test=True).run("bpr-mf", QUICK).trained
    assert silent is not None
    assert watched is not None
    assert np.isnan(silent.watched).all()
    assert np.isfinite(watched.watched).all()
    assert (silent.losses == watched.losses).all()


def test_the_learning_rate_is_chosen_on_validation_when_it_is_left_open() -> None:
    open_rate = QUICK | {"learning_rate": None}
    trial = RecommendationTrial(SPLIT, 0)
    found = trial.run("bpr-mf", open_rate)
    recalls = {
        rate: RecommendationTrial(SPLIT, 0).run("bpr-mf", QUICK | {"learning_rate": rate}).trained
        for rate in (1e-3, 1e-2)
    }
    assert found.settings["learning_rate"] == 1e-2  # eight epochs are too few for the lower one
    assert recalls[1e-2].best_recall > recalls[1e-3].best_recall  # type: ignore[union-attr]
    bayesian = trial.run("bbpr-mf", open_rate)
    assert bayesian.settings["learning_rate"] == found.settings["learning_rate"]
