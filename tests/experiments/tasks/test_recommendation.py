"""Recommendation in the engine: metrics, details, the cache, built-in experiments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from truegraph.data import load_interactions
from truegraph.errors import InputError
from truegraph.experiments.experiment import Experiment, builtin_experiments
from truegraph.experiments.tasks.base import Cell, Context, find_task
from truegraph.experiments.tasks.recommendation import MODELS, RecommendationTask
from truegraph.report.paper import printed
from truegraph.tasks.recommend import trials as recommendation_trials

QUICK = {"width": 16, "learning_rate": 0.01, "batch": 512, "epochs": 6}


def cell(model: str, split: str = "random", mask: str = "train", **settings: Any) -> Cell:
    own = settings if model in ("ease", "popularity") else QUICK | settings
    conditions = {"split": split, "mask": mask}
    return Cell("recommendation", "planted", model, model.upper(), own, conditions)


def context(folder: Path, *keep: str) -> Context:
    return Context(folder, load_interactions("planted").fingerprint, keep=keep)


def test_the_models_are_those_that_can_be_run() -> None:
    assert MODELS == recommendation_trials.MODELS
    assert isinstance(find_task("recommendation"), RecommendationTask)


def test_a_trial_has_every_metric_and_what_was_removed(tmp_path: Path) -> None:
    task = RecommendationTask()
    chosen = cell("bbpr-mf", fractions=[0.05, 0.2])
    task.check(chosen)
    (found,) = task.run(chosen, [3], context(tmp_path))
    assert found.seed == 3
    assert set(found.metrics) == set(task.metrics)
    assert all(isinstance(value, float) for value in found.metrics.values())
    assert found.metrics["removed_fraction"] in (0.05, 0.2)
    assert 0.0 < (found.metrics["overlap_test"] or 0.0) < 1.0
    assert found.details["learned_graph"]["converged"]
    assert 0.0 <= found.details["against_base"]["recall@20"]["p_value"] <= 1.0
    (base,) = task.run(cell("bpr-mf"), [3], context(tmp_path))
    difference = (found.metrics["recall@20"] or 0.0) - (base.metrics["recall@20"] or 0.0)
    told = found.details["against_base"]["recall@20"]["mean_difference"]
    assert told == pytest.approx(difference, abs=1e-12)
    assert base.metrics["overlap_test"] is None


def test_trainings_are_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = RecommendationTask()
    (first,) = task.run(cell("bbpr-mf"), [0], context(tmp_path))

    def never(*_: object, **__: object) -> None:
        raise AssertionError("trained again")

    monkeypatch.setattr("truegraph.nn.recommenders.trainings.train_ranking", never)
    (again,) = task.run(cell("bbpr-mf"), [0], context(tmp_path))
    task.run(cell("bpr-mf"), [0], context(tmp_path))
    assert again.metrics == first.metrics
    with pytest.raises(AssertionError, match="trained again"):
        task.run(cell("bpr-mf"), [1], context(tmp_path))


def test_what_is_kept_on_request(tmp_path: Path) -> None:
    task = RecommendationTask()
    plain = context(tmp_path)
    (silent,) = task.run(cell("bpr-mf"), [0], plain)
    assert "curve" not in silent.details["training"]
    asked = context(tmp_path, "curve", "users")
    (found,) = task.run(cell("bpr-mf"), [0], asked)
    curve = found.details["training"]["curve"]
    assert curve["epoch"] == [0, 1, 2, 3, 4, 5, 6]
    assert len(curve["test_recall"]) == len(curve["validation_recall"]) == 7
    assert found.metrics == silent.metrics
    arrays = asked.artefacts[found.details["users_file"]]
    assert arrays["recall@20"].mean() == pytest.approx(found.metrics["recall@20"])


def test_masking_validation_interactions_raises_recall(tmp_path: Path) -> None:
    task = RecommendationTask()
    masks = ("train", "train+validation")
    recalls = []
    for mask in masks:
        chosen = Cell(
            "recommendation", "planted", "ease", "EASE", {}, {"split": "random", "mask": mask}
        )
        (found,) = task.run(chosen, [0], context(tmp_path))
        recalls.append(found.metrics["recall@10"] or 0.0)
    assert recalls[1] > recalls[0]


def test_wrong_settings_are_told_before_anything_runs() -> None:
    with pytest.raises(InputError, match=r"'EASE' of the experiment: unknown option 'width'"):
        RecommendationTask().check(cell("ease", width=3))
    with pytest.raises(InputError, match="no times"):
        RecommendationTask().check(cell("ease", split="time"))


def test_the_papers_experiments_are_built_in() -> None:
    known = builtin_experiments()
    for name in ("recommendation", "overlap", "figure3"):
        experiment = known[name]
        assert experiment.task == "recommendation"
        assert "stand-in" in experiment.title
        assert Experiment.from_dict(experiment.to_dict()) == experiment
    assert known["recommendation_tuned"].datasets == ("ml100k",)
    rates = {cell.settings["learning_rate"] for cell in known["recommendation_tuned"].cells()}
    assert rates == {None}
    table = known["recommendation"]
    for chosen in table.cells():
        if chosen.model in ("ngcf", "bngcf", "mgccf", "bmgccf"):
            for metric in table.metrics[:4]:
                assert printed("recommendation", chosen.dataset, chosen.model, {}, metric)
    figure = printed("recommendation", "ml100k", "bngcf", {}, "overlap_test")
    assert figure is not None
    assert figure.mean == 0.621


def test_interactions_are_those_of_the_data_set() -> None:
    source = RecommendationTask().open(cell("ease"))
    assert source.source == "generated"
    assert source.fingerprint == load_interactions("planted").fingerprint
