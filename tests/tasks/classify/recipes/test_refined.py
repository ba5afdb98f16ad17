"""The refined recipe as a whole: its steps, its options and its predictions for new nodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph import BayesianNodeClassifier, InputError
from truegraph.data import load_dataset, random_split
from truegraph.tasks.base import Run
from truegraph.tasks.classify.inputs import complete_inputs
from truegraph.tasks.classify.problem import Problem, open_problem
from truegraph.tasks.classify.recipes import refined
from truegraph.tasks.classify.recipes.ensemble import Ensemble
from truegraph.tasks.classify.recipes.refined_options import (
    FastOptions,
    RefinedOptions,
)
from truegraph.tasks.classify.recipes.scaled_classifiers import (
    classify,
)
from truegraph.tasks.classify.trials import find_method, run_trials

QUICK = {"degree": 8, "samples": 4, "settings": {"epochs": 30}}


def _problem(planted: Any) -> Problem:
    inputs = complete_inputs(planted.features, planted.graph, 120)
    return open_problem(
        inputs, planted.labels, planted.splits, [0, 1, 2], classes=3, use_validation=False
    )


def test_without_rounds_it_is_the_classifier_alone(planted: Any) -> None:
    options = RefinedOptions(rounds=0, calibration="none", **QUICK)
    results = run_trials("refined", **planted._asdict(), seeds=[0, 1, 2], options=options)
    assert results.certificates is None
    problem = _problem(planted)
    alone = classify(problem, planted.graph, 0, options, Run())
    assert np.array_equal(results.probabilities, alone.prediction.probabilities)


def test_features_of_both_signs_are_scaled_by_length(planted: Any) -> None:
    given = planted._asdict() | {"features": planted.features.toarray() - 0.1}
    results = run_trials("refined", **given, seeds=[0, 1, 2], options={**QUICK, "rounds": 0})
    assert any("only rows of length one" in note for note in results.notes)


def test_many_nodes_get_fewer_dimensions(planted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = _problem(planted)
    assert not refined.fitting_options(problem, FastOptions(), Run()).embedding_options
    monkeypatch.setattr(refined, "_MANY_NODES", 100)
    run = Run()
    assert refined.fitting_options(problem, FastOptions(), run).embedding_options == {
        "dimension": 16
    }
    assert "embedding: 16 dimensions on this many nodes" in run.notes
    own = FastOptions(embedding_options={"dimension": 7})
    assert refined.fitting_options(problem, own, Run()).embedding_options == {"dimension": 7}
    assert not refined.fitting_options(problem, RefinedOptions(), Run()).embedding_options


def test_recipes_of_the_estimator() -> None:
    def model(**changes: Any) -> tuple[str, Any]:
        return BayesianNodeClassifier(**changes)._model()

    assert model() == ("auto", {"effort": "normal", "class_prior": "auto"})
    assert model(recipe="paper") == ("bgcn", {})
    name, options = model(recipe="fast", degree=7, options={"rounds": 2})
    chosen = find_method(name).options(options)
    assert isinstance(chosen, FastOptions)
    assert (chosen.degree, chosen.rounds, chosen.embedding, chosen.samples) == (7, 2, "svd", 20)
    with pytest.raises(InputError, match="must be one of auto, paper, refined, fast"):
        model(recipe="best")
    with pytest.raises(InputError, match="unknown option 'base'"):
        find_method("refined").options({"base": "gat"})


def test_new_nodes_are_predicted_by_all_classifiers(planted: Any) -> None:
    labels = np.full(120, -1)
    labels[planted.splits[0].train] = planted.labels[planted.splits[0].train]
    classifier = BayesianNodeClassifier(recipe="fast", degree=8, samples=4, random_state=0)
    classifier.fit(planted.features, labels, graph=planted.graph)
    twin = 5  # a new node with the features and the neighbours of node 5
    edges = [(120, int(other)) for other in planted.graph[[twin]].indices]
    found = classifier.predict_proba(X=planted.features[[twin]], edges=edges)
    assert found.shape == (1, 3)
    assert found.argmax() == classifier.predict_proba([twin]).argmax()


def test_the_ensemble_gives_each_step_its_share(
    planted: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(refined, "step_shares", lambda *_: np.array([[0.25, 0.75, 0.0]]))
    monkeypatch.setattr(refined, "scaling_shares", lambda *_: np.array([[1.0, 1.0]]))
    labels = np.where(np.isin(np.arange(120), planted.splits[0].train), planted.labels, -1)
    classifier = BayesianNodeClassifier(degree=8, samples=4, random_state=0, recipe="refined")
    classifier.set_params(options={"embedding": "svd", "settings": {"epochs": 30}})
    classifier.fit(planted.features, labels, graph=planted.graph)
    classifier.save(tmp_path / "model")
    for one in (classifier, BayesianNodeClassifier.load(tmp_path / "model")):
        ensemble = one._weights
        assert isinstance(ensemble, Ensemble)
        assert [member.share for member in ensemble.members] == [0.25, 0.25, 0.75, 0.75]
        again = ensemble.predict(planted.graph, planted.features)
        np.testing.assert_allclose(again.probabilities, classifier.predict_proba(), atol=1e-5)


def test_on_cora_it_beats_its_control_and_is_calibrated() -> None:
    cora = load_dataset("cora")
    splits = [random_split(cora.labels, 5, random_state=seed) for seed in (100, 101)]

    def accuracy(options: dict[str, Any]) -> float:
        found = run_trials(
            "fast", cora.features, cora.graph, cora.labels, splits, [100, 101], options=options
        )
        right = [
            (row[split.test] == cora.labels[split.test]).mean()
            for row, split in zip(found.predictions, splits, strict=True)
        ]
        return float(np.mean(right))

    assert accuracy({"degree": 50}) > accuracy({"rounds": 0})


def test_a_graph_of_unlike_neighbours_is_left(planted: Any, tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    points = 3.0 * np.eye(3)[planted.labels] + generator.normal(size=(120, 3))
    apart = planted.labels[:, None] != planted.labels
    links = np.triu(apart & (generator.random((120, 120)) < 0.1), 1)
    graph = csr_array((links | links.T).astype(float))
    known = np.where(np.arange(120) % 4 == 0, planted.labels, -1)
    fitted = BayesianNodeClassifier(recipe="fast", degree=8, samples=4, random_state=0)
    fitted.fit(points, known, graph=graph)
    assert any("nearest neighbours of the features take its place" in n for n in fitted.notes_)
    assert (fitted.predict() == planted.labels).mean() > 0.85
    fitted.save(tmp_path / "model")
    loaded = BayesianNodeClassifier.load(tmp_path / "model")
    corners = 6.0 * np.eye(3)
    assert np.array_equal(fitted.predict(X=corners), [0, 1, 2])
    assert np.array_equal(loaded.predict_proba(X=corners), fitted.predict_proba(X=corners))


def test_trials_that_leave_the_graph_keep_their_places(
    planted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = planted._asdict() | {"seeds": [0, 1, 2], "options": {**QUICK, "rounds": 0}}
    plain = run_trials("fast", **given)
    monkeypatch.setattr(refined, "distrusted_graphs", lambda *_: [True, False, True])
    mixed = run_trials("fast", **given, keep_weights=True)
    assert np.array_equal(mixed.probabilities[1], plain.probabilities[1])
    assert not np.array_equal(mixed.probabilities[0], plain.probabilities[0])
    assert mixed.weights is not None
    assert [one.on_neighbours for one in mixed.weights] == [True, False, True]


def test_large_features_do_not_overflow_the_embedding(planted: Any) -> None:
    given = planted._asdict() | {"features": 1e5 * planted.features}
    results = run_trials("refined", **given, seeds=[0, 1, 2], options={**QUICK, "rounds": 1})
    assert np.isfinite(results.probabilities).all()
    assert results.certificates is not None
