"""The adapter of link prediction: its models, conditions, metrics and checks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from truegraph.errors import InputError
from truegraph.experiments.experiment import Experiment, builtin_experiments
from truegraph.experiments.tasks.base import Cell, Context, find_task
from truegraph.experiments.tasks.links import METRICS, LinksTask, split_of
from truegraph.report.paper import printed
from truegraph.tasks.links.names import MODELS, RIVALS

CONDITIONS = {"component": "largest", "split": "random", "oracle": False}


def cell_of(model: str, **options: Any) -> Cell:
    conditions = CONDITIONS | options.pop("conditions", {})
    return Cell("links", "cora", model, model, options, conditions)


def run(cell: Cell, tmp_path: Path, seeds: tuple[int, ...] = (0,)) -> list[Any]:
    task = LinksTask()
    task.check(cell)
    context = Context(tmp_path, task.open(cell).fingerprint)
    return task.run(cell, list(seeds), context)


def test_the_task_is_found_by_its_name():
    assert isinstance(find_task("links"), LinksTask)


def test_the_names_of_models_are_those_of_the_library():
    from truegraph.tasks.links.heuristics import RIVALS
    from truegraph.tasks.links.training import MODELS as AUTO_ENCODERS

    names = [name for base in AUTO_ENCODERS for name in (base, f"b{base}")]
    assert ["refined", *names, *RIVALS, "learned-graph"] == list(MODELS)


@pytest.mark.parametrize("name", ["links", "links-oracle"])
def test_built_in_experiments_can_be_run(name):
    experiment = builtin_experiments()[name]
    for cell in experiment.cells():
        if cell.dataset != "pubmed":
            LinksTask().check(cell)


def test_the_paper_prints_a_figure_for_all_auto_encoders():
    for cell in builtin_experiments()["links"].cells():
        is_rival = cell.model in (*RIVALS, "refined")
        for metric in ("auc", "ap"):
            figure = printed("links", cell.dataset, cell.model, cell.conditions, metric)
            assert (figure is None) == is_rival, (cell.model, metric)


@pytest.mark.parametrize("model", ["gae", "bvgae", "adamic-adar", "learned-graph"])
def test_trials_have_every_metric(model, tmp_path):
    settings = {"epochs": 3} if model in ("gae", "bvgae") else {}
    (result,) = run(cell_of(model, **settings), tmp_path, (2,))
    assert set(result.metrics) == set(METRICS)
    assert result.seed == 2
    calibrated = model in ("gae", "bvgae")
    assert (result.metrics["brier_score"] is not None) == calibrated
    assert result.metrics["auc"] is not None
    assert 0.4 < result.metrics["auc"] <= 1.0
    assert ("reliability" in result.details) == calibrated
    assert ("learned_graph" in result.details) == (model in ("bvgae", "learned-graph"))


def test_base_and_bayesian_version_share_the_split_and_the_cache(tmp_path):
    cells = [cell_of(model, epochs=3) for model in ("vgae", "bvgae")]
    run(cells[0], tmp_path)
    files = list(tmp_path.iterdir())
    assert len(files) == 1
    run(cells[1], tmp_path)
    assert list(tmp_path.iterdir()) == files
    dataset = builtin_dataset()
    splits = [split_of(dataset, cell, 7) for cell in cells]
    np.testing.assert_array_equal(splits[0].test_links, splits[1].test_links)


def builtin_dataset() -> Any:

    return LinksTask().open(cell_of("gae"))


def test_the_oracle_sees_the_test_links_and_says_so(tmp_path):
    honest, leak = (
        cell_of("adamic-adar", conditions={"oracle": oracle}) for oracle in (False, True)
    )
    values = [run(cell, tmp_path)[0].metrics["auc"] for cell in (honest, leak)]
    assert values[1] > values[0]
    for cell, is_told in ((honest, False), (leak, True)):
        context = Context(tmp_path, LinksTask().open(cell).fingerprint)
        LinksTask().run(cell, [0], context)
        assert any("LEAK" in note for note in context.notes) == is_told


def test_wrong_settings_are_named_before_anything_runs():
    task = LinksTask()
    for bad, message in (
        (cell_of("vgae", degree=3), "unknown option 'degree'"),
        (cell_of("bvgae", epoch=3), "unknown option 'epoch'"),
        (cell_of("pagerank", epochs=3), "has no settings"),
        (cell_of("learned-graph", base="gcn"), "unknown model 'gcn'"),
    ):
        with pytest.raises(InputError, match=message):
            task.check(bad)
    without_graph = Cell("links", "digits", "gae", "GAE", {}, CONDITIONS | {"component": "full"})
    with pytest.raises(InputError, match="has no graph"):
        task.check(without_graph)


def test_an_experiment_of_ones_own_can_compare_variants():
    experiment = Experiment.from_dict(
        {
            "name": "mine",
            "task": "links",
            "datasets": ["cora"],
            "models": ["vgae", {"name": "bvgae", "label": "B6", "degree": 6, "epochs": 50}],
            "oracle": [False, True],
            "trials": 2,
        }
    )
    assert len(experiment.cells()) == 4
    for cell in experiment.cells():
        LinksTask().check(cell)
