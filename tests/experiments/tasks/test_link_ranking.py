"""The ranking of suggested links: counted right, no hidden link seen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from truegraph.data.graphs.link_splits import split_links
from truegraph.data.graphs.made_graphs import MADE_GRAPHS, teams
from truegraph.errors import InputError
from truegraph.experiments.experiment import builtin_experiments
from truegraph.experiments.tasks import link_ranking
from truegraph.experiments.tasks.base import Cell, Context
from truegraph.experiments.tasks.link_ranking import (
    LinkRankingTask,
    hard_negatives,
    suggestion_metrics,
)
from truegraph.tasks.links.problem import pair_values

CONDITIONS = {"component": "largest", "hidden": 0.1}


def test_metrics_by_hand():
    right = np.repeat([True, False], [150, 850])
    stated = np.repeat([0.9, 0.1], [100, 900])
    found = suggestion_metrics(right, stated)
    assert found["precision_100"] == 1.0
    assert found["precision_1000"] == found["precision_5000"] == 0.15
    assert found["stated_1000"] == pytest.approx(0.18)
    # bins of 100: 0.9 against 1, 0.1 against 0.5, eight times 0.1 against 0
    assert found["calibration_error"] == pytest.approx((0.1 + 0.4 + 8 * 0.1) / 10)
    assert found["largest_error"] == pytest.approx(0.4)
    assert suggestion_metrics(right[:0], stated[:0])["precision_100"] is None


def test_hard_negatives_are_no_links_and_keep_one_end():
    graph = teams(300, 150, 30)
    split = split_links(graph, validation=0.0, test=0.1, random_state=0)
    found = hard_negatives(split.train, graph, split.test_links, np.random.default_rng(0))
    assert found.shape == (len(split.test_links), 50, 2)
    assert (pair_values(graph, found.reshape(-1, 2)) == 0.0).all()
    assert (found[:, :25, 0] == split.test_links[:, :1]).all()
    assert (found[:, 25:, 0] == split.test_links[:, 1:]).all()
    assert (found[:, :, 0] != found[:, :, 1]).all()


def test_a_trial_counts_hidden_links(monkeypatch, tmp_path: Path):
    monkeypatch.setitem(MADE_GRAPHS, "small", lambda: teams(300, 200, 30))
    task = LinkRankingTask()
    cell = Cell("link-ranking", "small", "adamic-adar", "AA", {}, CONDITIONS)
    task.check(cell)
    source = task.open(cell)
    context = Context(tmp_path, source.fingerprint)
    first, again = task.run(cell, [3], context)[0], task.run(cell, [3], context)[0]
    assert first.metrics == again.metrics
    assert 0.1 < first.metrics["precision_100"] <= 1.0
    assert 0.0 < first.metrics["hard_mrr"] <= 1.0
    assert "pairs" in first.details["searched"]
    assert any("stand-in" in note or "made up" in note for note in source.notes)


def test_data_sets_without_features_are_the_same_graph():
    cells = [
        Cell("link-ranking", name, "katz", "Katz", {}, CONDITIONS)
        for name in ("cora", "cora-links", "coral")
    ]
    full, plain = (link_ranking.opened(cell) for cell in cells[:2])
    assert plain.features is None
    assert (full.graph != plain.graph).nnz == 0
    with pytest.raises(InputError, match="no data set is called"):
        link_ranking.opened(cells[2])


def test_the_built_in_experiment_can_be_run():
    task = LinkRankingTask()
    cells = builtin_experiments()["links-ranking"].cells()
    here = [cell for cell in cells if not cell.dataset.startswith("pubmed")]
    refused = []
    for cell in [*here, replace(here[0], model="oracle"), replace(here[0], dataset="coral")]:
        try:
            task.check(cell)
        except InputError:
            refused.append((cell.dataset, cell.model))
    assert len(here) == 7 * 7  # data sets and models
    assert refused == [(here[0].dataset, "oracle"), ("coral", here[0].model)]
