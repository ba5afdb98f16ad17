"""The schedule of Zhang et al.: which graph in which epoch, and when the block model is fitted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from truegraph.errors import InputError
from truegraph.progress import Progress
from truegraph.tasks.classify.inputs import complete_inputs
from truegraph.tasks.classify.problem import Problem, open_problem
from truegraph.tasks.classify.recipes import parametric_bgcn
from truegraph.tasks.classify.recipes.parametric_bgcn import DrawnGraphs, ParametricOptions
from truegraph.tasks.classify.recipes.weight_samples import Snapshots
from truegraph.tasks.classify.trials import run_trials


class FakeModel:
    """Writes down how it was fitted."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.fits: list[tuple[str, int]] = []

    def fit_random(self, iterations: int) -> None:
        self.fits.append(("A", iterations))

    def fit_from_probabilities(self, probabilities: np.ndarray, iterations: int) -> None:
        assert probabilities.shape == (120, 3)
        self.fits.append(("B", iterations))

    def sample_graph(self, rng: np.random.Generator) -> str:
        return f"drawn {rng.integers(10**9)}"


class FakeClassifier:
    """Predicts the same everywhere."""

    def predict_proba(self, graph: Any) -> np.ndarray:
        return np.full((3, 120, 3), 1 / 3)


def _problem(planted: Any) -> Problem:
    inputs = complete_inputs(planted.features, planted.graph, 120)
    return open_problem(
        inputs, planted.labels, planted.splits, [0, 1, 2], classes=3, use_validation=False
    )


def test_the_authors_schedule(planted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parametric_bgcn, "AssortativeMMSBM", FakeModel)
    problem = _problem(planted)
    graphs = DrawnGraphs(problem, ParametricOptions(), 200, Progress())
    fits: dict[int, list[tuple[str, int]]] = {}
    drawn = set()
    for epoch in range(200, 300):
        graph = graphs.of_epoch(epoch)
        if epoch == 200:
            assert graph is problem.inputs.graph
        else:
            drawn.update(graph)
        before = len(graphs._models[0].fits)
        graphs.refit(epoch, FakeClassifier())  # type: ignore[arg-type]
        if len(graphs._models[0].fits) > before:
            fits[epoch] = graphs._models[0].fits[before:]  # type: ignore[attr-defined]
    again = [("B", 200)]
    assert fits == {
        200: [("A", 1000), ("B", 200)],
        **dict.fromkeys((220, 240, 260, 280), again),
    }
    assert len(drawn) == 3 * 99  # a new graph for every trial and epoch


def test_the_last_iterates_are_averaged(planted: Any) -> None:
    options = ParametricOptions()
    first = options.gcn_settings.epochs + options.sampled_epochs - options.samples
    collected = []

    class Classifier:
        def predict_proba(self, graph: Any) -> np.ndarray:
            collected.append(graph)
            return np.full((1, 2, 2), 0.5)

    snapshots = Snapshots(first, None, keep_weights=False)
    for epoch in range(200, 300):
        snapshots(epoch, Classifier())  # type: ignore[arg-type]
    assert first == 241
    assert snapshots.average.samples == 59
    assert collected == [None] * 59  # on the graph of the epoch


def test_predicting_on_the_observed_graph_averages_the_kept_weights(
    planted: Any, quick: Any
) -> None:
    options = {**quick["bgcn-parametric"], "predict_on": "observed"}
    results = run_trials(
        "bgcn-parametric",
        **planted._asdict(),
        seeds=[0, 1, 2],
        options=options,
        keep_weights=True,
    )
    assert results.weights is not None
    for trial, samples in enumerate(results.weights):
        passes = samples.classifier.predict_proba(planted.graph)
        assert len(passes) == 4
        np.testing.assert_allclose(results.probabilities[trial], passes.mean(axis=0), atol=1e-6)
    sampled = run_trials(
        "bgcn-parametric",
        **planted._asdict(),
        seeds=[0, 1, 2],
        options=quick["bgcn-parametric"],
    )
    assert not np.array_equal(sampled.probabilities, results.probabilities)


def test_bad_options_are_named() -> None:
    with pytest.raises(InputError, match="predict_on='learned'"):
        ParametricOptions(predict_on="learned")
    with pytest.raises(InputError, match="samples=100"):
        ParametricOptions(samples=100)
