"""The refined recipe step by step: what is tempered, what counts, what is averaged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph import BayesianNodeClassifier, InputError
from truegraph.data import load_dataset, random_split
from truegraph.learning.learned import LearnedGraph
from truegraph.learning.search.distances import EmbeddingDistance
from truegraph.tasks.classify.inputs import complete_inputs, distance_graph
from truegraph.tasks.classify.methods import Run
from truegraph.tasks.classify.problem import Problem, open_problem
from truegraph.tasks.classify.recipes import refined
from truegraph.tasks.classify.recipes.ensemble import Ensemble, Prediction, tempered
from truegraph.tasks.classify.recipes.node_graphs import combined_distance, map_graph
from truegraph.tasks.classify.recipes.refined import (
    Classified,
    FastOptions,
    RefinedOptions,
    classify,
    means,
    result_temperatures,
    round_graphs,
    round_labels,
    scaling_temperatures,
    step_shares,
    temperatures,
)
from truegraph.tasks.classify.trials import find_method, run_trials

QUICK = {"degree": 8, "samples": 4, "settings": {"epochs": 30}}


def _problem(planted: Any) -> Problem:
    inputs = complete_inputs(planted.features, planted.graph, 120)
    return open_problem(
        inputs, planted.labels, planted.splits, [0, 1, 2], classes=3, use_validation=False
    )


def _step(*rows: list[list[float]]) -> Classified:
    chances = np.array(rows, dtype=np.float32)
    return Classified(Prediction(chances, np.zeros(chances.shape[:2], np.float32)), None)


def test_scalings_get_the_confidence_of_the_last_one() -> None:
    generator = np.random.default_rng(0)
    vague = [generator.dirichlet([5, 5, 5], size=(2, 50)).astype(np.float32) for _ in range(3)]
    sure = [generator.dirichlet([0.3] * 3, size=(2, 50)).astype(np.float32) for _ in range(3)]
    first, second = scaling_temperatures([vague, sure], temper=True)
    assert (first < 1.0).all()
    assert (second == 1.0).all()
    reached = tempered(np.mean(vague, axis=0), first).max(axis=2).mean(axis=1)
    np.testing.assert_allclose(reached, np.mean(sure, axis=0).max(axis=2).mean(axis=1), rtol=1e-6)
    assert all((heat == 1.0).all() for heat in scaling_temperatures([vague, sure], temper=False))


def test_training_nodes_keep_their_class_in_the_distances(planted: Any) -> None:
    problem = _problem(planted)
    wrong = np.zeros((3, 120, 3), dtype=np.float32)
    wrong[..., 0], wrong[..., 1] = 0.6, 0.4
    prediction = Prediction(wrong, np.zeros((3, 120), np.float32))
    hard, soft = (round_labels(problem, prediction, kind) for kind in ("hard", "soft"))
    for trial, train in enumerate(problem.train):
        own = np.eye(3)[planted.labels[train]]
        rest = np.setdiff1d(np.arange(120), train)
        assert np.array_equal(hard[trial, train], own)
        assert np.array_equal(soft[trial, train], own)
        assert (hard[trial, rest] == [1.0, 0.0, 0.0]).all()
        np.testing.assert_allclose(soft[trial, rest], np.tile([0.6, 0.4, 0.0], (len(rest), 1)))


def test_the_nearest_graph_is_that_of_the_combined_distance(planted: Any) -> None:
    problem = _problem(planted)
    points = np.random.default_rng(0).normal(size=(120, 3))
    distances = [EmbeddingDistance(points)] * 3
    chances = np.full((3, 120, 3), 1 / 3, dtype=np.float32)
    prediction = Prediction(chances, np.zeros((3, 120), np.float32))
    options = RefinedOptions(degree=5, graph="nearest")
    learned, graphs = round_graphs(problem, distances, prediction, None, options, Run())
    assert learned is None
    labels = round_labels(problem, prediction, "hard")
    expected = distance_graph(combined_distance(points, labels[1], planted.graph), 5)
    assert (graphs[1] != expected).nnz == 0


def test_the_search_for_theta_begins_where_it_ended_in_the_round_before(
    planted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = []

    def noted(*arguments: Any) -> LearnedGraph:
        begun.append(arguments[3])
        return map_graph(*arguments)

    monkeypatch.setattr(refined, "map_graph", noted)
    problem = _problem(planted)
    distances = [EmbeddingDistance(np.random.default_rng(0).normal(size=(120, 3)))] * 3
    chances = np.full((3, 120, 3), 1 / 3, dtype=np.float32)
    prediction = Prediction(chances, np.zeros((3, 120), np.float32))
    arguments = (problem, distances, prediction)
    first, _ = round_graphs(*arguments, None, RefinedOptions(degree=5), Run())
    round_graphs(*arguments, first, RefinedOptions(degree=5), Run())
    assert first is not None
    assert begun == [None] * 3 + [graph.certificate.theta for graph in first]


def test_rounds_count_by_the_confidence_that_they_earn() -> None:
    # One node, four trials: both rounds lose confidence, gain much, gain 0.01, and gain 0.03 in
    # the first round and much in the second.
    base = _step([[0.8, 0.2]], [[0.6, 0.4]], [[0.6, 0.4]], [[0.6, 0.4]])
    first = _step([[0.7, 0.3]], [[0.9, 0.1]], [[0.61, 0.39]], [[0.63, 0.37]])
    second = _step([[0.3, 0.7]], [[0.2, 0.8]], [[0.39, 0.61]], [[0.3, 0.7]])
    steps = [base, first, second]
    run = Run()
    shares = step_shares(steps, RefinedOptions(), run)
    wanted = [[1, 0, 0], [0, 0.5, 0.5], [1, 0, 0], [0.25, 0.25, 0.5]]
    np.testing.assert_allclose(shares, wanted, atol=1e-5)
    assert "their share of the result is 44 %" in run.notes[0]
    results = means(steps, shares)
    expected = [[0.8, 0.2], [0.55, 0.45], [0.6, 0.4], [0.4575, 0.5425]]
    for result, row in zip(results, expected, strict=True):
        np.testing.assert_allclose(result.probabilities, [row], atol=1e-5)

    quiet = Run()
    trusting = step_shares(steps, RefinedOptions(safeguard=None), quiet)
    assert trusting.tolist() == [[0, 0.5, 0.5]] * 4
    last = step_shares(steps, RefinedOptions(average="last"), Run())
    np.testing.assert_allclose(last, [[1, 0, 0], [0, 0, 1], [1, 0, 0], [0, 0, 1]], atol=1e-5)
    assert step_shares([base], RefinedOptions(rounds=0), quiet).tolist() == [[1]] * 4
    assert not quiet.notes


def test_a_hair_of_confidence_changes_the_prediction_by_a_hair() -> None:
    base = _step(*[[[0.6, 0.4]]] * 2000)
    confidence = np.linspace(0.55, 0.7, 2000)
    rounds = _step(*[[[1 - sure, sure]] for sure in confidence])
    shares = step_shares([base, rounds], RefinedOptions(rounds=1), Run())
    found = np.array([one.probabilities for one in means([base, rounds], shares)])
    assert shares[0, 0] == 1.0
    assert shares[-1, 1] == 1.0
    assert np.abs(np.diff(found, axis=0)).max() < 0.002


def test_results_are_raised_to_the_level_of_the_tempered_first_prediction() -> None:
    first = _step(*[[[0.6, 0.4], [0.7, 0.3]]] * 4).prediction
    vague, sure = [[0.6, 0.4], [0.55, 0.45]], [[0.9, 0.1], [0.8, 0.2]]
    results = [
        Prediction(np.array(one, np.float32), np.zeros(2, np.float32))
        for one in (vague, sure, vague, vague)
    ]
    heat = result_temperatures(first, results, np.array([0.5, 0.5, 1.0, 1.5]))
    level = (0.36 / 0.52 + 0.49 / 0.58) / 2  # probabilities squared, normalised
    assert tempered(vague, heat[0]).max(axis=1).mean() == pytest.approx(level, abs=1e-6)
    assert heat[0] < 0.5  # what is vaguer than the first prediction needs more than its temperature
    assert heat[1:] == [1.0, 1.0, 1.0]  # sure enough, or nothing to correct


def test_without_rounds_it_is_the_classifier_alone(planted: Any) -> None:
    options = RefinedOptions(rounds=0, calibration="none", **QUICK)
    results = run_trials("refined", **planted._asdict(), seeds=[0, 1, 2], options=options)
    assert results.certificates is None
    problem = _problem(planted)
    alone = classify(problem, planted.graph, 0, options, Run())
    assert np.array_equal(results.probabilities, alone.prediction.probabilities)


def test_temperatures_see_no_label_but_the_own_ones(planted: Any) -> None:
    problem = _problem(planted)
    options = RefinedOptions(**QUICK)
    heat = temperatures(problem, options, Run())
    assert heat.shape == (3,)
    assert (heat != 1.0).all()
    alone = temperatures(problem.select([1]), options, Run())
    assert alone[0] == heat[1]
    single = replace(problem, train=[train[:1] for train in problem.train])
    assert (temperatures(single, options, Run()) == 1.0).all()


def test_labels_left_out_are_not_trained_on(planted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    made = refined._trained

    def spy(problem: Problem, *rest: Any) -> Any:
        seen.append(problem)
        return made(problem, *rest)

    monkeypatch.setattr(refined, "_trained", spy)
    problem = _problem(planted)
    temperatures(problem, RefinedOptions(**QUICK), Run())
    (folds,) = seen
    assert folds.trials == 9
    for trial, train in enumerate(problem.train):
        own = [kept for kept, seed in zip(folds.train, folds.seeds, strict=True) if seed == trial]
        left = [np.setdiff1d(train, kept) for kept in own]
        assert np.array_equal(np.sort(np.concatenate(left)), np.sort(train))


def test_features_of_both_signs_are_scaled_by_length(planted: Any) -> None:
    given = planted._asdict() | {"features": planted.features.toarray() - 0.1}
    results = run_trials("refined", **given, seeds=[0, 1, 2], options={**QUICK, "rounds": 0})
    assert any("only rows of length one" in note for note in results.notes)


def test_many_nodes_get_fewer_edges_each() -> None:
    points = np.zeros((12_000, 1))
    inputs = complete_inputs(points + 1.0, csr_array((12_000, 12_000)), 12_000)
    split = random_split(np.arange(12_000) % 3, 2, random_state=0)
    problem = open_problem(
        inputs, np.arange(12_000) % 3, [split], [0], classes=3, use_validation=False
    )
    assert refined._degree(problem, RefinedOptions()) == 50
    assert refined._degree(problem, RefinedOptions(degree=80)) == 80


def test_many_nodes_get_fewer_dimensions(planted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = _problem(planted)
    assert not refined._fitting(problem, FastOptions(), Run()).embedding_options
    monkeypatch.setattr(refined, "_MANY_NODES", 100)
    run = Run()
    assert refined._fitting(problem, FastOptions(), run).embedding_options == {"dimension": 16}
    assert "embedding: 16 dimensions on so many nodes" in run.notes
    own = FastOptions(embedding_options={"dimension": 7})
    assert refined._fitting(problem, own, Run()).embedding_options == {"dimension": 7}
    assert not refined._fitting(problem, RefinedOptions(), Run()).embedding_options


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rounds": -1}, "rounds is -1"),
        ({"samples": 0}, "samples is 0"),
        ({"scalings": ()}, "scalings is"),
        ({"scalings": ("sum", "max")}, "one or both of sum, length"),
        ({"scalings": "sum"}, "scalings is 'sum'"),
        ({"graph": "knn"}, "Use one of learned, nearest"),
        ({"calibration": True}, "Use one of cross-fit, none"),
        ({"safeguard": True}, "safeguard is True. Give two gains of confidence"),
        ({"safeguard": (0.05, 0.01)}, "the smaller one first"),
        ({"safeguard": (0.0, 0.01, 0.05)}, "Give two gains"),
        ({"embedding": "pca"}, "Use 'vgae', 'svd' or an array"),
        ({"embedding": "svd", "embedding_options": {"epochs": 3}}, "unknown entry 'epochs'"),
    ],
)
def test_bad_options_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        RefinedOptions(**changes)


def test_recipes_of_the_estimator() -> None:
    def model(**changes: Any) -> tuple[str, Any]:
        return BayesianNodeClassifier(**changes)._model()

    assert model()[0] == "bgcn"
    name, options = model(recipe="fast", degree=7, options={"rounds": 2})
    chosen = find_method(name).options(options)
    assert isinstance(chosen, FastOptions)
    assert (chosen.degree, chosen.rounds, chosen.embedding, chosen.samples) == (7, 2, "svd", 20)
    with pytest.raises(InputError, match="Use one of paper, refined, fast"):
        model(recipe="best")
    with pytest.raises(InputError, match="base is 'gat', but recipe 'refined' has no such choice"):
        model(recipe="refined", base="gat")


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
