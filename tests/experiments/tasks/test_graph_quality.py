"""Scores of graphs, and the task that collects them."""

from __future__ import annotations

from pathlib import Path

import pytest

from truegraph import learn_graph
from truegraph.errors import InputError
from truegraph.experiments import Cell, Context, Experiment
from truegraph.experiments.tasks.graph_quality import GraphQualityTask, build_graph
from truegraph.experiments.tasks.point_sets import load_points


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


def test_without_settings_it_is_the_graph_of_the_library() -> None:
    points = load_points("wine").points
    built = build_graph(points, "learned", {}, [])
    assert (built != learn_graph(points, random_state=0).adjacency).nnz == 0


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
    default = next(entry for entry in experiment.models if entry.label == experiment.compare)
    assert default.settings == {}  # learn_graph(X), and nothing else
