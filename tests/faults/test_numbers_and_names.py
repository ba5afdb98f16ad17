"""Extreme numbers and tiny graphs: an answer, or a message that says what to do."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from contextlib import suppress
from typing import Any

import networkx
import numpy as np
import pandas as pd
import pytest

from truegraph import (
    GraphLabelSpreading,
    InputError,
    NodeClassifier,
    NodeRegressor,
    learn_graph,
)
from truegraph.classify.models import MODELS
from truegraph.data import as_adjacency

POINTS = np.random.default_rng(0).normal(size=(30, 3))
DISTANCES = ((POINTS[:, None] - POINTS) ** 2).sum(axis=2)


def test_tiny_points_and_distances() -> None:
    learn_graph(POINTS * 1e-140, 4)
    for scale in (1e-160, 1e-200):
        with pytest.raises(InputError, match="scale the points up"):
            learn_graph(POINTS * scale, 4)
    for scale in (1e-300, 1e-320):
        with pytest.raises(InputError, match="scale the distances up"):
            learn_graph(DISTANCES * scale, 4, metric="precomputed")
    mixed = np.where(np.eye(30)[::-1] + np.eye(30) > 0, DISTANCES, 1e-320 * (DISTANCES > 0))
    learn_graph(np.minimum(mixed, mixed.T), 4, metric="precomputed")


def test_parameters_beyond_the_precision() -> None:
    with pytest.raises(InputError, match=r"tol=.* must be"):
        learn_graph(POINTS, 4, options={"tol": 1e-300})
    for alpha, beta in ((1e-300, 1e300), (1e300, 1e-300)):
        with pytest.raises(InputError, match=r"alpha=.* and beta=.* are too extreme"):
            learn_graph(POINTS, options={"alpha": alpha, "beta": beta})


COMPLEX: dict[str, Any] = {
    "array": lambda: learn_graph(POINTS * 1j, 4),
    "table": lambda: learn_graph(pd.DataFrame({"x": POINTS[:, 0], "z": POINTS[:, 1] * 1j}), 4),
    "graph": lambda: as_adjacency(DISTANCES * 1j),
    "networkx": lambda: as_adjacency(networkx.Graph([(0, 1, {"weight": 2j})])),
    "edges": lambda: as_adjacency(pd.DataFrame({"source": [0], "target": [1], "weight": [2j]})),
}


@pytest.mark.parametrize("form", COMPLEX)
def test_complex_numbers_keep_their_imaginary_part_or_are_refused(form: str) -> None:
    with pytest.raises(InputError, match=r"complex|edge weights"):
        COMPLEX[form]()


@pytest.mark.filterwarnings("ignore::UserWarning")  # rightly: so few labels
@pytest.mark.parametrize("model", [*MODELS, "regressor", "spreading"])
def test_tiny_graphs_give_an_answer_or_a_named_error(model: str) -> None:
    for nodes, is_table in itertools.product([2, 3, 4, 5, 6], [True, False]):
        graph = networkx.to_scipy_sparse_array(networkx.path_graph(nodes))
        X = np.eye(nodes) if is_table else None
        y: Any = np.array(["a", "b", None, None, "a", None], dtype=object)[:nodes]
        with suppress(InputError):
            if model == "regressor":
                numbers = np.array([1.5, 2.5, np.nan, np.nan, 0.5, np.nan])[:nodes]
                found = NodeRegressor(random_state=0).fit(X, numbers, graph=graph).predict()
                assert found.shape == (nodes,)
                assert np.isfinite(found).all()
                continue
            if model == "spreading":
                shares = GraphLabelSpreading().fit(X, y).predict_proba()
            else:
                shares = NodeClassifier(model, random_state=0).fit(X, y, graph=graph)
                shares = shares.predict_proba()
            assert shares.shape == (nodes, 2)
            np.testing.assert_allclose(shares.sum(axis=1), 1.0, atol=1e-5)


def test_a_reader_that_has_had_enough_is_no_error() -> None:
    code = "from truegraph.cli import main; import sys; sys.argv[1:] = ['data', 'list']; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout is not None
    process.stdout.close()
    _, error = process.communicate(timeout=600)
    assert process.returncode == 0, error
    assert b"Traceback" not in error
