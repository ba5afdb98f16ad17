"""The refined and the fast recipe: shares of the rounds, temperatures, and what is left out."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph import InputError, NodeClassifier
from truegraph.classify import propagation
from truegraph.classify.calibration import tempered
from truegraph.classify.inputs import complete_inputs
from truegraph.classify.problem import Problem
from truegraph.classify.propagation import FAST_DEFAULTS, REFINED_DEFAULTS
from truegraph.fit_log import FitLog

QUICK = {"degree": 8, "samples": 4, "network_options": {"epochs": 30}}


def _problem(planted: Any) -> Problem:
    inputs = complete_inputs(planted.features, planted.graph, 120)
    train = planted.splits[0].train
    return Problem(inputs, planted.labels, train, train[:0], 3, 0)


def _recipe(planted: Any, **options: Any) -> SimpleNamespace:
    defaults = REFINED_DEFAULTS
    return propagation.checked_recipe(_problem(planted), QUICK | options, FitLog(), defaults)


def test_rounds_count_by_the_confidence_that_they_gain() -> None:
    recipe = SimpleNamespace(safeguard=(0.01, 0.05))
    log = FitLog()
    assert propagation._step_shares([0.5, 0.6, 0.55], recipe, log) == [0.0, 0.5, 0.5]
    assert log.notes == []
    assert propagation._step_shares([0.5, 0.53, 0.55], recipe, log) == pytest.approx(
        [0.25, 0.25, 0.5]
    )
    assert log.alarms == []
    assert propagation._step_shares([0.5, 0.5], recipe, log) == [1.0, 0.0]
    assert "share of the result is 0 %" in log.alarms[0]
    always = SimpleNamespace(safeguard=None)
    assert propagation._step_shares([0.5, 0.4], always, log) == [0.0, 1.0]


def test_results_are_raised_to_the_level_of_the_tempered_first_prediction() -> None:
    first = np.array([[0.6, 0.4], [0.7, 0.3]], np.float32)
    vague = np.array([[0.6, 0.4], [0.55, 0.45]], np.float32)
    sure = np.array([[0.9, 0.1], [0.8, 0.2]], np.float32)
    heat = propagation._result_temperature(first, vague, 0.5)
    level = (0.36 / 0.52 + 0.49 / 0.58) / 2  # probabilities squared, normalised
    assert tempered(vague, heat).max(axis=1).mean() == pytest.approx(level, abs=1e-6)
    assert heat < 0.5  # what is vaguer than the first needs more than its temperature
    assert propagation._result_temperature(first, sure, 0.5) == 1.0
    assert propagation._result_temperature(first, vague, 1.5) == 1.0


def test_labels_left_out_are_not_trained_on(planted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    made = propagation.train_ensemble

    def spy(*given: Any, **more: Any) -> Any:
        seen.append(given[3])
        return made(*given, **more)

    monkeypatch.setattr(propagation, "train_ensemble", spy)
    problem = _problem(planted)
    found = propagation.left_out_predictions(problem, _recipe(planted), FitLog())
    assert [len(folds) for folds in seen] == [3]
    left = np.concatenate([np.setdiff1d(problem.train, kept) for kept in seen[0]])
    assert np.array_equal(np.sort(left), np.sort(problem.train))
    nodes, folds, _ = found
    assert np.array_equal(np.sort(nodes), np.sort(problem.train))
    for node, fold in zip(nodes, folds, strict=True):
        assert node not in seen[0][fold]


def test_the_average_gives_each_step_its_share(
    planted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(propagation, "_step_shares", lambda *_: [0.25, 0.75, 0.0])
    problem = _problem(planted)
    fitted = propagation.refined(problem, QUICK | {"embedding": "svd"}, FitLog())
    assert fitted.shares == [0.25, 0.75]
    np.testing.assert_allclose(fitted.predict(problem.inputs), fitted.probabilities, atol=1e-5)


def test_many_nodes_get_fewer_dimensions_and_edges(
    planted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem, log = _problem(planted), FitLog()
    monkeypatch.setattr(propagation, "_MANY_NODES", 100)
    monkeypatch.setattr(propagation, "EDGES", 1800.0)
    found = propagation.checked_recipe(problem, None, log, FAST_DEFAULTS)
    assert found.embedding_options == {"dimension": 16}
    assert found.degree == 15.0
    assert "embedding: 16 dimensions on this many nodes" in log.notes
    own = {"embedding_options": {"dimension": 7}, "degree": 9.0}
    found = propagation.checked_recipe(problem, own, FitLog(), FAST_DEFAULTS)
    assert (found.embedding_options, found.degree) == ({"dimension": 7}, 9.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rounds": 0}, "rounds=0 must be a whole number"),
        ({"safeguard": (0.5, 0.1)}, "two gains of confidence"),
        ({"graph": "best"}, "graph='best'"),
        ({"embedding": "pca"}, "embedding='pca'"),
        ({"network_options": {"depth": 3}}, "unknown option 'depth'"),
    ],
)
def test_what_is_refused(planted: Any, options: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        propagation.refined(_problem(planted), QUICK | {"embedding": "svd"} | options, FitLog())


def test_a_graph_of_unlike_neighbours_is_left(planted: Any) -> None:
    generator = np.random.default_rng(0)
    points = 3.0 * np.eye(3)[planted.labels] + generator.normal(size=(120, 3))
    apart = planted.labels[:, None] != planted.labels
    links = np.triu(apart & (generator.random((120, 120)) < 0.1), 1)
    graph = csr_array((links | links.T).astype(float))
    known = np.where(np.arange(120) % 4 == 0, planted.labels, -1)
    fitted = NodeClassifier("bgcn-fast", degree=8, options={"samples": 4}, random_state=0)
    fitted.fit(points, known, graph=graph)
    assert any("nearest neighbours of the features take its place" in n for n in fitted.notes_)
    assert (fitted.predict() == planted.labels).mean() > 0.85
    assert np.array_equal(fitted.predict(6.0 * np.eye(3)), [0, 1, 2])
