"""The estimators: any labels, any graph, no graph, no features, new nodes, clear errors."""

from __future__ import annotations

import sys
import time
from typing import Any

import networkx
import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from truegraph import InputError, NodeClassifier
from truegraph.data import to_networkx, to_pandas, to_pyg

FURTHER = {
    "gcn_options": {"epochs": 30},
    "embedding_options": {"epochs": 20},
    "samples": 5,
}


def _bayesian(**changes: Any) -> NodeClassifier:
    options = {**FURTHER, **changes.pop("options", {})}
    return NodeClassifier("bgcn", **{"degree": 8, "random_state": 0, **changes}, options=options)


def _gcn(**changes: Any) -> NodeClassifier:
    given = {"model": "gcn", "options": {"epochs": 30}, "random_state": 0}
    return NodeClassifier(**given | changes)


@pytest.fixture
def y(planted: Any) -> np.ndarray:
    labels = np.full(120, -1)
    train = planted.splits[0].train
    labels[train] = planted.labels[train]
    return labels


def test_what_a_fitted_classifier_tells(planted: Any, y: np.ndarray) -> None:
    fitted = _bayesian().fit(planted.features, y, graph=planted.graph)
    test = planted.splits[0].test
    assert (fitted.predict(nodes=test) == planted.labels[test]).mean() > 0.6
    assert fitted.predict_proba(nodes=[5, 3]).shape == (2, 3)
    assert np.array_equal(fitted.predict_proba(nodes=[5]), fitted.predict_proba()[5:6])
    assert fitted.learned_graph_ is not None
    assert fitted.learned_graph_.certificate.converged
    assert fitted.predictive_entropy_.shape == (120,)
    assert fitted.mutual_information_ is not None
    assert (fitted.mutual_information_ <= fitted.predictive_entropy_).all()
    assert fitted.notes_ is not None
    assert fitted.seconds_["graph learning"] > 0.0


def test_names_as_labels(planted: Any, y: np.ndarray) -> None:
    names = np.array(["ant", "bee", "cat"])
    numbered = _gcn().fit(planted.features, y, graph=planted.graph)
    for missing in (None, np.nan):
        named = [missing if label < 0 else str(names[label]) for label in y]
        fitted = _gcn().fit(planted.features, named, graph=planted.graph)
        assert fitted.classes_.tolist() == ["ant", "bee", "cat"]
        assert np.array_equal(fitted.predict(), names[numbered.predict()])
    gaps = np.where(y < 0, np.nan, y * 10.0)
    assert _gcn().fit(planted.features, gaps, graph=planted.graph).classes_.tolist() == [0, 10, 20]


def test_pandas_labels(planted: Any, y: np.ndarray) -> None:
    pandas = pytest.importorskip("pandas")
    labels = pandas.array([None if label < 0 else label for label in y], dtype="Int64")
    fitted = _gcn().fit(planted.features, pandas.Series(labels), graph=planted.graph)
    plain = _gcn().fit(planted.features, y, graph=planted.graph)
    assert np.array_equal(fitted.predict_proba(), plain.predict_proba())


@pytest.mark.parametrize("convert", [to_networkx, to_pyg, to_pandas, csr_array.toarray])
def test_any_form_of_graph(planted: Any, y: np.ndarray, convert: Any) -> None:
    if convert is to_pyg:
        pytest.importorskip("torch_geometric")
    expected = _gcn().fit(planted.features, y, graph=planted.graph).predict_proba()
    fitted = _gcn().fit(planted.features.toarray(), y, graph=convert(planted.graph))
    assert np.array_equal(fitted.predict_proba(), expected)


def test_no_graph(planted: Any, y: np.ndarray) -> None:
    fitted = _bayesian().fit(planted.features, y)
    assert any("10 nearest neighbours by cosine distance" in note for note in fitted.notes_)
    shifted = _gcn().fit(planted.features.toarray() - 0.25, y)
    assert any("Euclidean" in note for note in shifted.notes_)
    assert any("divided by length" in note for note in shifted.notes_)


def test_no_features(planted: Any, y: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    fitted = _bayesian().fit(None, y, graph=planted.graph)
    assert any("identity features" in note for note in fitted.notes_)
    monkeypatch.setattr("truegraph.classify.inputs.LARGEST_IDENTITY", 100)
    fitted = _gcn().fit(None, y, graph=planted.graph)
    assert any("degree features" in note for note in fitted.notes_)
    assert fitted.predict_proba(edges=[(120, 0)]).shape == (1, 3)


def test_models_that_stop_early_draw_validation_nodes(planted: Any, y: np.ndarray) -> None:
    fitted = NodeClassifier("gat", options={"epochs": 5}, random_state=0)
    fitted.fit(planted.features, y, graph=planted.graph)
    assert "3 of 12 labelled nodes were drawn for validation" in fitted.notes_
    given = clone(fitted).fit(
        planted.features, y, graph=planted.graph, validation=planted.splits[0].train[:3]
    )
    assert not any("drawn" in note for note in given.notes_)
    alone = np.full(120, -1)
    alone[[0, 1]] = [0, 1]
    clone(fitted).fit(planted.features, alone, graph=planted.graph)


def test_validation_nodes_are_not_trained_on(planted: Any, y: np.ndarray) -> None:
    held = planted.splits[0].train[:3]
    without = y.copy()
    without[held] = -1
    fitted = _gcn().fit(planted.features, y, graph=planted.graph, validation=held)
    plain = _gcn().fit(planted.features, without, graph=planted.graph)
    assert np.array_equal(fitted.predict_proba(), plain.predict_proba())


@pytest.mark.parametrize(
    "estimator",
    [
        _gcn(),
        _bayesian(),
        _bayesian(options={"weight_sampling": "snapshots"}),
        _gcn(model="label-propagation", options=None),
    ],
    ids=["gcn", "bgcn", "snapshots", "label-propagation"],
)
def test_a_new_node_like_an_old_one_is_classified_alike(
    planted: Any, y: np.ndarray, estimator: Any
) -> None:
    fitted = clone(estimator).fit(planted.features, y, graph=planted.graph)
    node = int(fitted.predictive_entropy_.argmin())
    edges = [(120, int(other)) for other in planted.graph[[node]].indices]
    twin = planted.features[[node]]
    found = fitted.predict_proba(X=twin, edges=edges)
    assert found.shape == (1, 3)
    assert found.argmax() == fitted.predict_proba(nodes=[node]).argmax()
    assert fitted.predict(X=twin, edges=edges)[0] == fitted.predict(nodes=[node])[0]
    both = fitted.predict_proba(X=planted.features[[node, node]], edges=[*edges, (121, 120)])
    assert both.shape == (2, 3)


def test_new_nodes_without_edges(planted: Any, y: np.ndarray) -> None:
    fitted = _gcn().fit(planted.features, y, graph=planted.graph)
    alone = fitted.predict_proba(planted.features[:4])
    assert np.array_equal(alone[1:2], fitted.predict_proba(X=planted.features[[1]], edges=[]))
    # without an observed graph the neighbours of a new node are looked up
    points = np.repeat(np.eye(3), 40, axis=0) + np.random.default_rng(0).normal(0, 0.1, (120, 3))
    classes = np.repeat([0, 1, 2], 40)
    labels = np.where(np.arange(120) % 10 == 0, classes, -1)
    fitted = _gcn().fit(points, labels)
    assert np.array_equal(fitted.predict(X=np.eye(3)), [0, 1, 2])


def test_new_nodes_without_features(planted: Any, y: np.ndarray) -> None:
    fitted = _gcn().fit(None, y, graph=planted.graph)
    members = np.flatnonzero(fitted.predict() == 2)[:6]
    assert fitted.predict(edges=[(120, member) for member in members])[0] == 2


def test_bad_new_nodes(planted: Any, y: np.ndarray) -> None:
    fitted = _gcn().fit(planted.features, y, graph=planted.graph)
    for arguments, message in [
        ({"X": np.ones((1, 4))}, "X has 4 features, but NodeClassifier is expecting 18"),
        ({"X": np.full((1, 18), np.nan)}, "X contains NaN in row 0"),
        ({"X": np.ones((1, 18)), "edges": [(0, 1)]}, "joins the fitted nodes 0 and 1"),
        ({"X": np.ones((1, 18)), "edges": [(0, 125)]}, "node 125, outside 0 to 120"),
        ({"X": np.ones((1, 18)), "edges": [0, 120]}, r"shape \(2,\)"),
        ({"edges": [(0, 120)]}, "X is None"),
        ({"X": np.ones((1, 18)), "nodes": [0]}, r"either nodes \(fitted\) or X"),
        ({"nodes": [120]}, "node 120"),
        ({"nodes": [0.5]}, "whole node numbers"),
    ]:
        with pytest.raises(InputError, match=message):
            fitted.predict_proba(**arguments)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"y": np.full(120, -1)}, "no labels at all"),
        ({"y": [None] * 120}, "no labels at all"),
        ({"y": [3] * 120}, "only one class, 3"),
        ({"y": None}, "y is None"),
        ({"y": ["a", 1] * 60}, "mixes strings"),
        ({"y": np.zeros((120, 2))}, "shape"),
        ({"y": [0, 1]}, "y has 2 labels, but X has 120 rows"),
        ({"X": np.full((120, 2), np.nan)}, "contains NaN in row 0"),
        ({"X": np.array([["a"]] * 120)}, "not real numbers"),
        ({"graph": networkx.path_graph(4)}, "4 nodes, but 120"),
        ({"validation": [200]}, "node 200"),
        ({"X": None, "graph": None}, "neither features nor a graph"),
    ],
)
def test_bad_input_is_named(planted: Any, y: np.ndarray, changes: Any, message: str) -> None:
    given = {"X": planted.features, "y": y, "graph": planted.graph, **changes}
    with pytest.raises(InputError, match=message):
        _gcn().fit(**given)


def test_bad_validation_nodes(planted: Any, y: np.ndarray) -> None:
    unlabelled = int(np.flatnonzero(y < 0)[0])
    for nodes, message in [
        ([unlabelled], "has no label"),
        ([], "is empty"),
        (np.flatnonzero(y >= 0), "every labelled node"),
    ]:
        with pytest.raises(InputError, match=message):
            _gcn().fit(planted.features, y, graph=planted.graph, validation=nodes)


def test_unknown_model_and_state(planted: Any, y: np.ndarray) -> None:
    with pytest.raises(InputError, match="Did you mean 'gcn'"):
        NodeClassifier("GCN").fit(planted.features, y, graph=planted.graph)
    with pytest.raises(InputError, match="random_state='x'"):
        _gcn(random_state="x").fit(planted.features, y, graph=planted.graph)
    with pytest.raises(NotFittedError):
        NodeClassifier().predict()


def test_random_states(planted: Any, y: np.ndarray) -> None:
    def probabilities(state: Any) -> np.ndarray:
        fitted = _gcn(random_state=state).fit(planted.features, y, graph=planted.graph)
        return fitted.predict_proba()

    assert np.array_equal(probabilities(4), probabilities(4))
    same = [probabilities(np.random.RandomState(1)) for _ in range(2)]
    assert np.array_equal(*same)
    assert not np.array_equal(probabilities(None), probabilities(None))


def test_estimators_are_scikit_learn_objects() -> None:
    estimator = _bayesian(options={"schedule": "continue"})
    assert clone(estimator).get_params() == estimator.get_params()
    assert repr(NodeClassifier("gat")) == "NodeClassifier(model='gat')"


def test_a_class_with_one_member_is_fine(planted: Any) -> None:
    labels = np.full(120, -1)
    labels[:3] = [0, 1, 2]
    fitted = _bayesian().fit(planted.features, labels, graph=planted.graph)
    assert fitted.predict_proba().shape == (120, 3)


def test_an_interrupt_leaves_the_last_fit(
    planted: Any, y: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted = _gcn().fit(planted.features, y, graph=planted.graph)
    before = fitted.predict_proba()

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("truegraph.paper.step.Adam.step", interrupt)
    with pytest.raises(KeyboardInterrupt):
        fitted.fit(planted.features[:60], np.arange(60) % 2, graph=planted.graph[:60, :60])
    assert np.array_equal(fitted.predict_proba(), before)
    assert fitted.classes_.tolist() == [0, 1, 2]


def test_progress_bars(planted: Any, y: np.ndarray, capsys: pytest.CaptureFixture[str]) -> None:
    _bayesian(progress=True).fit(planted.features, y, graph=planted.graph)
    shown = capsys.readouterr()
    assert "graph learning" in shown.err
    assert shown.out == ""


def test_parameters_of_other_models_are_refused(planted: Any, y: np.ndarray) -> None:
    for changes in ({"effort": "low"}, {"class_prior": [1, 1, 2]}, {"degree": 5}):
        with pytest.raises(InputError, match=f"{next(iter(changes))}=.*does not go with model="):
            _gcn(**changes).fit(planted.features, y, graph=planted.graph)
    with pytest.raises(InputError, match="effort='high' must be one of low, normal"):
        NodeClassifier(effort="high").fit(planted.features, y, graph=planted.graph)
    with pytest.raises(InputError, match="unknown option 'epochs'"):
        NodeClassifier(options={"epochs": 3}).fit(planted.features, y, graph=planted.graph)


def _few_nodes(kind: str) -> tuple[Any, np.ndarray, Any]:
    if kind == "table":
        points = np.random.default_rng(0).normal(size=(100, 8)) + np.repeat([[0.0], [2.0]], 50, 0)
        y = np.where(np.arange(100) % 50 < 10, np.arange(100) // 50, -1)
        return points, y, None
    graph = networkx.cycle_graph(6) if kind == "cycle" else networkx.karate_club_graph()
    y = np.full(len(graph), -1)
    y[[0, 1, -1, -2]] = [0, 0, 1, 1]
    return None, y, graph


@pytest.mark.filterwarnings("ignore::truegraph.errors.AnswerWarning")
@pytest.mark.parametrize("kind", ["table", "cycle", "karate club"])
def test_few_nodes_take_less_than_two_seconds(kind: str) -> None:
    """After compiling, by the processor and the best of three, so that other work does not count.

    benchmarks/small_graphs.py has the figures, about a third of this.
    """
    X, y, graph = _few_nodes(kind)
    NodeClassifier(random_state=0).fit(X, y, graph=graph)
    seconds = np.inf
    for _ in range(3):
        if seconds >= 2.0:
            began = time.process_time()
            NodeClassifier(random_state=0).fit(X, y, graph=graph)
            seconds = time.process_time() - began
    assert seconds < 2.0


def test_training_loads_no_symbolic_shapes(
    planted: Any, y: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Torch loads sympy for them, which takes longer than training on few nodes."""
    monkeypatch.setitem(sys.modules, "torch.fx.experimental.symbolic_shapes", None)
    _gcn(options={"epochs": 2}).fit(planted.features, y, graph=planted.graph)
