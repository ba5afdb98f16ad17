"""Extreme numbers and tiny graphs: an answer, or a message that says what to do."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from typing import Any

import networkx
import numpy as np
import pandas as pd
import pytest

from truegraph import InputError, NodeClassifier, learn_graph
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


@pytest.mark.filterwarnings("ignore::truegraph.errors.AnswerWarning")  # rightly: so few labels
@pytest.mark.parametrize("nodes", [2, 3, 4, 6])
@pytest.mark.parametrize(
    "model", ["auto", "bgcn", "bgcn-fast", "gcn", "label-propagation", "logistic-regression"]
)
@pytest.mark.parametrize("is_table", [True, False])
def test_tiny_graphs_give_an_answer_or_a_named_error(
    model: str, nodes: int, is_table: bool
) -> None:
    graph = networkx.to_scipy_sparse_array(networkx.path_graph(nodes))
    labels = np.array(["a", "b", None, None, "a", None], dtype=object)[:nodes]
    classifier = NodeClassifier(model, random_state=0)
    with suppress(InputError):
        classifier.fit(np.eye(nodes) if is_table else None, labels, graph=graph)
        shares = classifier.predict_proba()
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
