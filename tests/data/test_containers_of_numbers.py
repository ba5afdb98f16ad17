"""Every container, number type and index type gives the same answer as the plain array."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars
import pytest
from scipy import sparse

from truegraph import (
    GraphLabelSpreading,
    GraphLearner,
    LinkPredictor,
    NodeClassifier,
    NodeRegressor,
    Recommender,
    learn_graph,
)
from truegraph.data import Interactions, as_adjacency
from truegraph.errors import InputError

torch = pytest.importorskip("torch")
RNG = np.random.default_rng(0)
COUNTS = RNG.integers(0, 5, (30, 6)) * (RNG.random((30, 6)) < 0.6)
COUNTS[:, 0] = np.arange(30) % 3
UPPER = np.triu(RNG.random((30, 30)) < 0.25, 1)
GRAPH = (UPPER + UPPER.T + np.eye(30, k=1) + np.eye(30, k=-1) > 0).astype(int)


def long_indices(form: str) -> Callable[[Any], Any]:
    """Return a maker of sparse matrices whose index arrays are int64, as SciPy often makes them."""

    def make(array: Any) -> Any:
        matrix = sparse.coo_array(np.asarray(array)).asformat(form)
        for name in ("indices", "indptr"):
            if hasattr(matrix, name):
                setattr(matrix, name, getattr(matrix, name).astype(np.int64))
        return matrix

    return make


CONTAINERS: dict[str, Callable[[Any], Any]] = {
    **{form: long_indices(form) for form in ("csr", "csc", "coo", "bsr", "lil", "dok", "dia")},
    "csr_matrix": sparse.csr_matrix,
    "np.matrix": np.matrix,
    "masked": lambda a: np.ma.masked_array(a, mask=np.zeros(np.shape(a), dtype=bool)),
    "Fortran": np.asfortranarray,
    "not contiguous": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
    "read-only": lambda a: np.frombuffer(np.array(a).tobytes(), a.dtype).reshape(a.shape),
    "objects": lambda a: np.asarray(a, dtype=object),
    "tensor": lambda a: torch.tensor(np.array(a, dtype=np.float32)),
    "with a gradient": lambda a: torch.tensor(np.array(a, dtype=np.float64), requires_grad=True),
    "sparse tensor": lambda a: torch.tensor(np.array(a, dtype=np.float64)).to_sparse(),
    "CSR tensor": lambda a: torch.tensor(np.array(a, dtype=np.float64)).to_sparse_csr(),
} | {
    kind: lambda a, kind=kind: np.asarray(a).astype(kind)
    for kind in ("int8", "uint16", "int64", "float16", "float32", ">f8", ">i4", "longdouble")
}


@pytest.fixture(autouse=True)
def _without_advice() -> Any:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=UserWarning)
        warnings.filterwarnings("ignore", category=PendingDeprecationWarning)  # np.matrix
        yield


@pytest.mark.parametrize("container", CONTAINERS)
def test_features_and_graphs(container: str) -> None:
    features, graph = CONTAINERS[container](COUNTS), CONTAINERS[container](GRAPH)
    plain = learn_graph(COUNTS.astype(float), degree=4, random_state=0).adjacency
    assert abs(GraphLearner(4, random_state=0).fit(features).adjacency_ - plain).max() < 1e-6
    assert abs(as_adjacency(graph) - as_adjacency(GRAPH)).max() == 0
    expected = LinkPredictor(random_state=0).fit(GRAPH, COUNTS.astype(float))
    found = LinkPredictor(random_state=0).fit(graph, features)
    pairs = np.argwhere(UPPER)[:20]
    assert np.allclose(found.predict_proba(pairs), expected.predict_proba(pairs))


@pytest.mark.parametrize("container", CONTAINERS)
def test_estimators_of_nodes(container: str) -> None:
    features, graph = CONTAINERS[container](COUNTS), CONTAINERS[container](GRAPH)
    labels = np.where(np.arange(30) < 18, np.arange(30) % 3, -1)
    heights = np.where(labels < 0, np.nan, COUNTS[:, 1] + 0.5)
    classifier = NodeClassifier(effort="low", random_state=0)

    def answers(X: Any, graph: Any) -> list[np.ndarray]:
        return [
            classifier.fit(X, labels, graph=graph).predict_proba(),
            classifier.fit(X, labels).predict_proba(),
            NodeRegressor(random_state=0).fit(X, heights, graph=graph).predict(),
            GraphLabelSpreading().fit(X, labels).predict_proba(),
        ]

    for found, expected in zip(
        answers(features, graph), answers(COUNTS.astype(float), GRAPH), strict=True
    ):
        np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize(
    "kind",
    [
        list,
        pd.Series,
        polars.Series,
        torch.tensor,
        lambda y: np.asarray(y, dtype=">i4"),
        lambda y: np.asarray(y, dtype="int8"),
        lambda y: [None if one < 0 else one for one in y],
        lambda y: pd.Series([None if one < 0 else one for one in y], dtype="Int64"),
        lambda y: pd.Categorical([None if one < 0 else one for one in y]),
    ],
)
def test_labels(kind: Callable[[Any], Any]) -> None:
    labels = [int(one) for one in np.where(np.arange(30) < 18, np.arange(30) % 3, -1)]
    model = NodeClassifier("logistic-regression", random_state=0)
    expected = model.fit(COUNTS.astype(float), np.array(labels)).predict_proba()
    found = model.fit(COUNTS.astype(float), kind(labels))
    assert [int(one) for one in found.classes_] == [0, 1, 2]
    assert (found.predict_proba() == expected).all()


@pytest.mark.parametrize("container", CONTAINERS)
def test_interactions_and_features_of_items(container: str) -> None:
    liked = (np.random.default_rng(1).random((40, 6)) < 0.4).astype(int)
    made = CONTAINERS[container](liked)
    given = sparse.csr_array(liked) if isinstance(made, np.ndarray) else made
    described = CONTAINERS[container](COUNTS[:6])
    plain = Recommender("item-knn").fit(sparse.csr_array(liked))
    found = Recommender("item-knn").fit(given)
    assert found.recommend(range(40), k=3).equals(plain.recommend(range(40), k=3))
    assert Recommender("graph-ease", random_state=0).fit(given, items=described)
    assert len(Interactions.from_matrix(given)) == liked.sum()


def test_masked_entries_and_strange_tensors_are_refused() -> None:
    masked = np.ma.masked_array(COUNTS, mask=COUNTS == 4)
    brain = torch.zeros((30, 6), dtype=torch.bfloat16)
    for wrong in (masked, brain):
        for call in (lambda X: learn_graph(X, 4), lambda X: LinkPredictor().fit(GRAPH, X)):
            with pytest.raises(InputError, match="X "):
                call(wrong)
    with pytest.raises(InputError, match="graph "):
        as_adjacency(np.ma.masked_array(GRAPH, mask=GRAPH == 1))


def test_tables_of_numbers() -> None:
    expected = learn_graph(pd.DataFrame(COUNTS), 4, random_state=0).adjacency
    same = {
        "integer names": pd.DataFrame(COUNTS, columns=range(6)),
        "polars": polars.DataFrame(COUNTS, schema=[f"x{i}" for i in range(6)]),
        "nullable": pd.DataFrame(COUNTS).astype("Int64"),
        "big-endian": pd.DataFrame(COUNTS.astype(">i4")),
    }
    for name, frame in same.items():
        found = learn_graph(frame, 4, random_state=0).adjacency
        assert abs(found - expected).max() < 1e-6, name
