"""Labels spread over a given graph, against scikit-learn and by hand."""

from __future__ import annotations

import igraph
import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelPropagation, LabelSpreading

from truegraph import GraphLabelSpreading, InputError, learn_graph

PATH = csr_array(np.diag([1.0, 1.0, 2.0], 1) + np.diag([1.0, 1.0, 2.0], -1))


@pytest.fixture(scope="module")
def problem() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a dense kernel without diagonal, all labels, and the few known ones."""
    digits = load_digits()
    points, labels = digits.data[:200], digits.target[:200]
    kernel = rbf_kernel(points, gamma=1e-3)
    np.fill_diagonal(kernel, 0.0)
    known = np.where(np.random.default_rng(0).random(200) < 0.2, labels, -1)
    return kernel, labels, known


def test_spreading_is_that_of_scikit_learn(problem) -> None:
    kernel, _, known = problem
    ours = GraphLabelSpreading(kernel, alpha=0.8).fit(None, known)
    theirs = LabelSpreading(kernel=lambda a, b: kernel, alpha=0.8, max_iter=1000, tol=1e-12)
    theirs.fit(np.zeros((200, 1)), known)
    np.testing.assert_allclose(
        ours.label_distributions_, theirs.label_distributions_, rtol=1e-6, atol=1e-9
    )
    np.testing.assert_array_equal(ours.predict(), theirs.transduction_)


def test_propagation_is_that_of_scikit_learn(problem) -> None:
    kernel, _, known = problem
    ours = GraphLabelSpreading(kernel, method="propagation").fit(None, known)
    theirs = LabelPropagation(kernel=lambda a, b: kernel, max_iter=100_000, tol=1e-13)
    theirs.fit(np.zeros((200, 1)), known)
    np.testing.assert_allclose(
        ours.label_distributions_, theirs.label_distributions_, rtol=1e-5, atol=1e-8
    )


def test_propagation_on_a_path_by_hand() -> None:
    # Resistances 1, 1 and 1/2 between the ends with labels: potentials fall in proportion.
    found = GraphLabelSpreading(PATH, method="propagation").fit(None, ["a", None, None, "b"])
    np.testing.assert_allclose(found.predict_proba()[:, 0], [1.0, 0.6, 0.2, 0.0], atol=1e-12)
    assert found.predict(nodes=[1, 2]).tolist() == ["a", "b"]


def test_spreading_solves_its_equations() -> None:
    found = GraphLabelSpreading(PATH, alpha=0.9).fit(None, [0, -1, -1, 1]).predict_proba()
    dense = PATH.toarray()
    root = 1.0 / np.sqrt(dense.sum(axis=1))
    expected = np.linalg.solve(np.eye(4) - 0.9 * root[:, None] * dense * root, np.eye(4)[:, [0, 3]])
    np.testing.assert_allclose(found, expected / expected.sum(axis=1, keepdims=True), atol=1e-9)


@pytest.mark.parametrize("method", ["spreading", "propagation"])
def test_nodes_that_no_label_reaches_are_undecided(method: str) -> None:
    graph = np.zeros((5, 5))
    graph[0, 1] = graph[1, 0] = graph[2, 3] = graph[3, 2] = 1.0
    found = GraphLabelSpreading(graph, method=method).fit(None, [0, -1, 1, -1, -1]).predict_proba()
    np.testing.assert_allclose(found, [[1, 0], [1, 0], [0, 1], [0, 1], [0.5, 0.5]])


def test_a_learned_graph_serves_as_it_is() -> None:
    digits = load_digits()
    hidden = np.random.default_rng(0).random(digits.target.size) > 0.1
    labels = np.where(hidden, -1, digits.target)
    spreading = GraphLabelSpreading(learn_graph(digits.data)).fit(None, labels)
    assert (spreading.predict() == digits.target)[hidden].mean() > 0.95


def test_other_libraries_graphs() -> None:
    expected = GraphLabelSpreading(PATH).fit(None, [0, -1, -1, 1]).predict_proba()
    edges = [(0, 1, 1.0), (1, 2, 1.0), (2, 3, 2.0)]
    drawn = nx.Graph()
    drawn.add_weighted_edges_from(edges)
    for graph in (drawn, igraph.Graph.TupleList(edges, weights=True)):
        found = GraphLabelSpreading(graph).fit(None, [0, -1, -1, 1]).predict_proba()
        np.testing.assert_array_equal(found, expected)


def test_new_rows_come_first_as_in_scikit_learn() -> None:
    digits = load_digits()
    X, new, known = digits.data[:600], digits.data[600:700], digits.target[:600].copy()
    known[100:] = -1
    spreading = GraphLabelSpreading().fit(X, known)
    right = spreading.score(new, digits.target[600:700])
    assert right > (spreading.predict() == digits.target[:600])[100:].mean() - 0.1
    np.testing.assert_array_equal(spreading.predict(), spreading.transduction_)
    # a row that was fitted has about its own distribution, of any container
    again, own = (
        spreading.predict_proba(csr_array(X[:50])),
        spreading.predict_proba(nodes=range(50)),
    )
    assert (again.argmax(axis=1) == own.argmax(axis=1)).mean() > 0.95
    np.testing.assert_allclose(again.sum(axis=1), 1.0)
    with pytest.raises(ValueError, match="64"):
        spreading.predict(new[:, :3])


def test_works_inside_scikit_learn() -> None:
    X, y = load_digits(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), GraphLabelSpreading())
    assert cross_val_score(pipeline, X[:400], y[:400], cv=3).min() > 0.8


def test_the_estimator_can_be_cloned() -> None:
    copy = clone(GraphLabelSpreading(PATH, alpha=0.5, method="propagation"))
    assert (copy.alpha, copy.method) == (0.5, "propagation")


@pytest.mark.parametrize(
    ("options", "y", "message"),
    [
        ({"alpha": 1.0}, [0, -1, -1, 1], "alpha=1.0"),
        ({"method": "guess"}, [0, -1, -1, 1], "guess"),
        ({}, [0, -1, 1], "3 entries"),
        ({}, [-1, -1, -1, -1], "no labels"),
        ({}, [0, -1, -1, 0], "only one class"),
    ],
)
def test_bad_arguments_are_named(options: dict, y: list, message: str) -> None:
    with pytest.raises(InputError, match=message):
        GraphLabelSpreading(PATH, **options).fit(None, y)


def test_rows_and_graph_must_fit_together() -> None:
    with pytest.raises(InputError, match="both None"):
        GraphLabelSpreading().fit(None, [0, 1])
    with pytest.raises(InputError, match="X has 3 rows"):
        GraphLabelSpreading(PATH).fit(np.eye(3), [0, 1, -1])
    spreading = GraphLabelSpreading(PATH).fit(None, [0, -1, -1, 1])
    with pytest.raises(InputError, match="the fit had a graph and no rows"):
        spreading.predict(np.eye(4))
