"""What a notebook does with the last line of a cell: nothing computes, nothing raises."""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import truegraph

RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(200, 3)) + 3 * np.eye(3)[np.arange(200) % 3]
LABELS = np.where(np.arange(200) < 60, np.arange(200) % 3, -1)
GRAPH = csr_array(np.roll(np.eye(200), 3, axis=1) + np.roll(np.eye(200), -3, axis=1))
TAKEN = csr_array((RNG.random((60, 40)) < 0.3).astype(float))
FITTED: dict[str, Callable[[], Any]] = {
    "GraphLearner": lambda: truegraph.GraphLearner(degree=4).fit(POINTS),
    "GraphLabelSpreading": lambda: truegraph.GraphLabelSpreading(GRAPH).fit(None, LABELS),
    "NodeClassifier": lambda: truegraph.NodeClassifier(random_state=0).fit(POINTS, LABELS),
    "NodeClassifier without features": lambda: truegraph.NodeClassifier(random_state=0).fit(
        None, LABELS, graph=GRAPH
    ),
    "NodeClassifier bgcn": lambda: truegraph.NodeClassifier("bgcn", options={"samples": 2}).fit(
        POINTS, LABELS, graph=GRAPH
    ),
    "NodeRegressor": lambda: truegraph.NodeRegressor(random_state=0).fit(POINTS, POINTS[:, 0]),
    "LinkPredictor": lambda: truegraph.LinkPredictor(random_state=0).fit(GRAPH, POINTS),
    "LinkPredictor vgae": lambda: truegraph.LinkPredictor(
        "bvgae", options={"epochs": 2}, random_state=0
    ).fit(GRAPH),
    "Recommender": lambda: truegraph.Recommender(random_state=0).fit(TAKEN),
    "Recommender bpr-mf": lambda: truegraph.Recommender(
        "bbpr-mf", options={"epochs": 2}, random_state=0
    ).fit(TAKEN),
    "ColumnPlan": lambda: truegraph.ColumnPlan().fit(truegraph.learn_graph(POINTS).to_pandas()),
}


def test_every_estimator_is_tried() -> None:
    found = {
        name
        for name in truegraph.__all__
        if isinstance(thing := getattr(truegraph, name), type) and hasattr(thing, "fit")
    }
    assert found == {name.split()[0] for name in FITTED}


@pytest.mark.parametrize("name", FITTED)
def test_the_last_line_of_a_cell(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = FITTED[name]()
    seconds = []
    for _ in range(2):  # the first may compile a loop
        began = time.process_time()
        assert type(fitted).__name__ in repr(fitted)
        assert "<" in fitted._repr_html_()
        assert fitted._repr_mimebundle_()["text/plain"] == repr(fitted)
        for attribute, _ in inspect.getmembers(fitted):  # as completion does, by tab
            assert attribute in dir(fitted)
        seconds.append(time.process_time() - began)
    assert min(seconds) < 2.0


def test_results_show_themselves() -> None:
    graph = truegraph.learn_graph(POINTS, degree=4)
    posterior = graph.posterior()
    for shown in (
        graph,
        graph.certificate,
        posterior,
        posterior.sample(2, chains=1, random_state=0),
    ):
        assert "<table>" in shown._repr_html_()
        assert repr(shown)
