"""Algorithm 1 step by step: known distances, known averages, known special cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, eye_array

from truegraph.data import NodeSplit
from truegraph.errors import InputError
from truegraph.learning.learned import LearnedGraph
from truegraph.nn.dropout import derive_seeds
from truegraph.nn.graph_operators import normalise_features
from truegraph.nn.training.training import Training
from truegraph.tasks.base import Run
from truegraph.tasks.classify.inputs import complete_inputs
from truegraph.tasks.classify.problem import Problem, open_problem
from truegraph.tasks.classify.recipes import algorithm1 as bgcn
from truegraph.tasks.classify.recipes import node_graphs
from truegraph.tasks.classify.recipes.algorithm1 import (
    BGCNOptions,
    base_labels,
    combined_distance,
    wanted_degree,
)
from truegraph.tasks.classify.trials import run_trials


def _problem(planted: Any) -> Problem:
    inputs = complete_inputs(planted.features, planted.graph, 120)
    return open_problem(
        inputs, planted.labels, planted.splits, [0, 1, 2], classes=3, use_validation=False
    )


def test_distances_of_a_path_by_hand() -> None:
    # The path 0 - 1 - 2 - 3 with predicted labels a a b b and the embedding 0, 1, 3, 6.
    path = csr_array(np.diag(np.ones(3), 1) + np.diag(np.ones(3), -1))
    embedding = np.array([[0.0], [1.0], [3.0], [6.0]])
    distance = combined_distance(embedding, np.array([0, 0, 1, 1]), path)
    rows, columns = np.triu_indices(4, 1)
    shares = np.array([[1, 0], [2 / 3, 1 / 3], [1 / 3, 2 / 3], [0, 1]])
    disagreement = 1.0 - (shares @ shares.T)[rows, columns]
    squared = np.array([1.0, 9.0, 36.0, 4.0, 25.0, 9.0])
    np.testing.assert_allclose(disagreement, [1 / 3, 2 / 3, 1, 5 / 9, 2 / 3, 1 / 3])
    # delta = 36 / 1
    np.testing.assert_allclose(
        distance.pair_values(rows, columns), squared + 36.0 * disagreement, rtol=1e-12
    )


def test_the_pipeline_learns_from_these_distances(
    planted: Any, quick: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[Any, Any, Any]] = []
    made = bgcn.combined_distance

    def spy(embedding: Any, labels: Any, graph: Any) -> Any:
        seen.append((embedding, labels, graph))
        return made(embedding, labels, graph)

    monkeypatch.setattr(bgcn, "combined_distance", spy)
    embedding = np.random.default_rng(0).normal(size=(120, 4))
    options = {**quick["bgcn"], "embedding": embedding}
    run_trials("bgcn", **planted._asdict(), seeds=[0, 1, 2], options=options)
    base = run_trials("gcn", **planted._asdict(), seeds=[0, 1, 2], options=quick["gcn"])
    assert len(seen) == 3
    for (given, labels, graph), predicted in zip(seen, base.predictions, strict=True):
        assert np.array_equal(given.queries, embedding)
        # predictions for all nodes, the training nodes too
        assert np.array_equal(labels, predicted)
        assert (graph != planted.graph).nnz == 0


def test_the_average_is_the_mean_of_the_samples(planted: Any, quick: Any) -> None:
    results = run_trials(
        "bgcn", **planted._asdict(), seeds=[0, 1, 2], options=quick["bgcn"], keep_weights=True
    )
    assert results.weights is not None
    for trial, samples in enumerate(results.weights):
        passes = np.stack([s[0] for s in samples.classifier.sample_proba(5, planted.graph)])
        mean = passes.astype(float).mean(axis=0)
        np.testing.assert_allclose(results.probabilities[trial], mean, atol=1e-6)
        entropies = -(passes * np.log(passes)).sum(axis=2).mean(axis=0)
        assert results.expected_entropy is not None
        np.testing.assert_allclose(results.expected_entropy[trial], entropies, atol=1e-5)


@pytest.mark.parametrize("schedule", ["fresh", "continue"])
def test_snapshots_are_the_last_iterates_without_dropout(
    planted: Any, quick: Any, schedule: str
) -> None:
    options = {
        **quick["bgcn"],
        "weight_sampling": "snapshots",
        "schedule": schedule,
        "continued_epochs": 6,
    }
    results = run_trials(
        "bgcn", **planted._asdict(), seeds=[0, 1, 2], options=options, keep_weights=True
    )
    assert results.weights is not None
    assert [samples.samples for samples in results.weights] == [5, 5, 5]
    for trial, samples in enumerate(results.weights):
        passes = samples.classifier.predict_proba(planted.graph)
        assert passes.shape == (5, 120, 3)
        assert len(np.unique(passes[:, 0, 0])) == 5
        np.testing.assert_allclose(results.probabilities[trial], passes.mean(axis=0), atol=1e-6)


def test_without_learned_edges_the_network_sees_features_alone(
    planted: Any, quick: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    learn = bgcn.map_graph

    def no_edges(*arguments: Any) -> LearnedGraph:
        found = learn(*arguments)
        empty = csr_array((120, 120))
        return LearnedGraph(empty, found.certificate, found.multipliers, found.candidates)

    monkeypatch.setattr(bgcn, "map_graph", no_edges)
    options = {**quick["bgcn"], "predict_on": "learned", "weight_sampling": "snapshots"}
    results = run_trials(
        "bgcn",
        **planted._asdict(),
        seeds=[0, 1, 2],
        options={**options, "samples": 1},
    )
    features = normalise_features(planted.features)
    training = Training(
        "gcn",
        features,
        planted.labels,
        [split.train for split in planted.splits],
        seeds=derive_seeds([0, 1, 2], 1),
        settings=BGCNOptions(settings=options["settings"]).gcn_settings,
    )
    known = training.run(csr_array(eye_array(120)))  # the diagonal is ignored: A + I = I
    assert np.array_equal(results.probabilities, known.predict_proba())


def test_continuing_uses_the_base_network(planted: Any, quick: Any) -> None:
    options = {**quick["bgcn"], "base_settings": None, "schedule": "continue"}
    labels, pretrained = base_labels(_problem(planted), BGCNOptions(**options), Run())
    assert pretrained is not None
    assert pretrained.epoch == 30
    assert np.array_equal(labels, pretrained.classifier.predict_proba().argmax(axis=2))


def test_any_classifier_may_be_the_base(planted: Any, quick: Any) -> None:
    for base in ("label-propagation", "gat"):
        settings = None if base == "label-propagation" else {"epochs": 5}
        options = {**quick["bgcn"], "base": base, "base_settings": settings}
        results = run_trials("bgcn", **planted._asdict(), seeds=[0, 1, 2], options=options)
        assert np.isfinite(results.probabilities).all()


def test_one_embedding_seed_is_shared(
    planted: Any, quick: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds: list[int] = []
    embed = node_graphs.embed_vgae

    def spy(*arguments: Any, random_state: int, **options: Any) -> Any:
        seeds.append(random_state)
        return embed(*arguments, random_state=random_state, **options)

    monkeypatch.setattr(node_graphs, "embed_vgae", spy)
    run_trials("bgcn", **planted._asdict(), seeds=[5, 6, 5], options=quick["bgcn"])
    assert seeds == [5, 6]
    options = {**quick["bgcn"], "embedding_seed": 9}
    run_trials("bgcn", **planted._asdict(), seeds=[5, 6, 5], options=options)
    assert seeds == [5, 6, 9]


def test_small_graphs_get_fewer_edges_and_say_so(planted: Any, quick: Any) -> None:
    assert wanted_degree(_problem(planted), BGCNOptions()) == 20
    assert wanted_degree(_problem(planted), BGCNOptions(degree=500)) == 119
    options = {**quick["bgcn"], "degree": None}
    results = run_trials("bgcn", **planted._asdict(), seeds=[0, 1, 2], options=options)
    assert any("20 edges per node are asked for, not 100" in note for note in results.notes)
    assert results.certificates is not None
    assert results.certificates[0].degree == pytest.approx(20, rel=0.02)
    few = NodeSplit(np.array([0, 1]), np.array([]), np.array([]))
    tiny = run_trials(
        "bgcn",
        np.eye(6),
        np.ones((6, 6)),
        np.array([0, 1, -1, -1, -1, -1]),
        [few],
        [0],
        options=quick["bgcn"],
    )
    assert any("5 edges per node are asked for, not 8" in note for note in tiny.notes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"schedule": "later"}, "schedule='later'"),
        ({"weight_sampling": "none"}, "weight_sampling='none'"),
        ({"predict_on": "both"}, "predict_on='both'"),
        ({"samples": 0}, "samples=0 must be at least 1"),
        ({"embedding": "pca"}, "embedding='pca'"),
        ({"embedding": np.zeros((4, 2))}, "120 rows are expected"),
        ({"samples": 31, "weight_sampling": "snapshots"}, "samples=31 exceeds"),
        ({"base": "nothing"}, "nothing"),
        ({"embedding_options": {"epoch": 3}}, "Did you mean 'epochs'"),
    ],
)
def test_bad_options_are_named(planted: Any, quick: Any, options: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        run_trials(
            "bgcn", **planted._asdict(), seeds=[0, 1, 2], options={**quick["bgcn"], **options}
        )
