"""Training on the most probable graph, on the mean graph, and on draws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from truegraph import BayesianNodeClassifier
from truegraph.errors import InputError
from truegraph.learning import learn_graph
from truegraph.learning.posterior.samples import Chain
from truegraph.tasks.classify.recipes.algorithm1 import BGCNOptions
from truegraph.tasks.classify.recipes.graph_inference import DrawnGraphs
from truegraph.tasks.classify.results import TrialResults
from truegraph.tasks.classify.trials import run_trials


@pytest.fixture(scope="module")
def embedding() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(120, 4))


def _run(planted: Any, quick: Any, embedding: np.ndarray, **options: Any) -> TrialResults:
    options = {**quick["bgcn"], "embedding": embedding, **options}
    return run_trials("bgcn", **planted._asdict(), seeds=[0, 1, 2], options=options)


def test_the_map_is_the_default(planted: Any, quick: Any, embedding: np.ndarray) -> None:
    usual = _run(planted, quick, embedding)
    chosen = _run(planted, quick, embedding, graph_inference="map")
    assert np.array_equal(usual.probabilities, chosen.probabilities)
    assert "graph posterior" not in usual.seconds


def test_a_sure_posterior_is_the_map(planted: Any, quick: Any, embedding: np.ndarray) -> None:
    # Without dropout, whose masks depend on how many nodes take part.
    still = {"tol": 1e-10, "settings": {"epochs": 30, "dropout": 0.0}}
    usual = _run(planted, quick, embedding, **still)
    for inference in ("mean", "samples"):
        sure = _run(
            planted, quick, embedding, graph_inference=inference, concentration=1e12, **still
        )
        np.testing.assert_allclose(sure.probabilities, usual.probabilities, atol=1e-4)
    unsure = _run(planted, quick, embedding, graph_inference="mean", **still)
    assert np.abs(unsure.probabilities - usual.probabilities).max() > 1e-3
    assert unsure.seconds["graph posterior"] > 0.0


@pytest.mark.parametrize("inference", ["mean", "samples"])
def test_the_seed_decides(planted: Any, quick: Any, embedding: np.ndarray, inference: str) -> None:
    first = _run(planted, quick, embedding, graph_inference=inference)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        second = _run(planted, quick, embedding, graph_inference=inference)
    finally:
        torch.set_num_threads(threads)
    assert np.array_equal(first.probabilities, second.probabilities)
    alone = run_trials(
        "bgcn",
        **{**planted._asdict(), "splits": planted.splits[1:2]},
        seeds=[1],
        options={**quick["bgcn"], "embedding": embedding, "graph_inference": inference},
    )
    assert np.array_equal(first.probabilities[1], alone.probabilities[0])


def test_every_epoch_has_its_own_draw(embedding: np.ndarray) -> None:
    posteriors = [learn_graph(embedding, degree=5).posterior()] * 2
    drawn = DrawnGraphs(posteriors, [0, 1], 3)
    epochs = [drawn.of_epoch(epoch) for epoch in range(3)]
    values = [graph.data for graphs in epochs for graph in graphs]
    for i, first in enumerate(values):
        assert all(not np.array_equal(first, second) for second in values[:i])
    again = DrawnGraphs(posteriors[:1], [1], 3)
    assert np.array_equal(again.of_epoch(0)[0].data, epochs[0][1].data)


def test_an_interrupt_reaches_the_caller(
    embedding: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = DrawnGraphs([learn_graph(embedding, degree=5).posterior()], [0], 3)
    drawn.of_epoch(0)

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Chain, "advance", interrupted)
    with pytest.raises(KeyboardInterrupt), pytest.warns(UserWarning, match="interrupted: 1 of 3"):
        drawn.of_epoch(1)


def test_snapshots_predict_on_their_draws(planted: Any, quick: Any, embedding: np.ndarray) -> None:
    options = {"graph_inference": "samples", "weight_sampling": "snapshots"}
    learned = _run(planted, quick, embedding, **options, predict_on="learned")
    observed = _run(planted, quick, embedding, **options)
    assert not np.array_equal(learned.probabilities, observed.probabilities)


def test_the_estimator_passes_it_on(planted: Any, quick: Any, tmp_path: Any) -> None:
    options = {k: v for k, v in quick["bgcn"].items() if k not in ("degree", "samples")}
    labels = np.where(np.isin(np.arange(120), planted.splits[0].train), planted.labels, -1)
    fitted = [
        BayesianNodeClassifier(
            degree=8,
            samples=5,
            recipe="paper",
            options={**options, "graph_inference": name},
            random_state=0,
        ).fit(planted.features, labels, graph=planted.graph)
        for name in ("map", "mean")
    ]
    assert not np.array_equal(fitted[0].predict_proba(), fitted[1].predict_proba())
    assert fitted[1].learned_graph_.posterior().concentration > 0.0
    fitted[1].save(tmp_path)
    loaded = BayesianNodeClassifier.load(tmp_path)
    assert loaded.options["graph_inference"] == "mean"
    assert np.array_equal(loaded.predict_proba(), fitted[1].predict_proba())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"graph_inference": "mode"}, "graph_inference='mode' must be one of map, mean, samples"),
        ({"concentration": 5.0}, "does not change the most probable graph; set graph_inference"),
        ({"concentration": -5.0, "graph_inference": "mean"}, r"concentration=-5\.0 must be"),
        (
            {"graph_inference": "samples", "predict_on": "learned"},
            "set weight_sampling='snapshots'",
        ),
    ],
)
def test_bad_options_are_named(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        BGCNOptions(**options)
