"""The same data said differently give the same answer, for every model, to a stated tolerance."""

from __future__ import annotations

from typing import Any

import networkx
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import block_diag, csr_array

from truegraph import ColumnPlan, GraphLabelSpreading, InputError, NodeClassifier, NodeRegressor
from truegraph.classify.models import MODELS

NODES, WORDS = 60, 12
CLOSED_FORM = ("logistic-regression", "label-propagation", "label-spreading", "learned-spreading")
SHORT: dict[str, dict[str, Any]] = {
    "auto": {"trained_member": False},
    "dfnet-att": {"epochs": 3, "units": (4, 4), "heads": 2},
    "gat": {"epochs": 20},
    "sbm-gcn": {"epochs": 20},
    "bgcn-parametric": {
        "sampled_epochs": 6, "samples": 3, "start_iterations": 5, "fit_iterations": 5,
    },
    "bgcn": {"embedding": "svd", "samples": 4, "degree": 6},
    "bgcn-refined": {"embedding": "svd", "degree": 6, "rounds": 1, "samples": 4},
    "bgcn-fast": {"degree": 6, "samples": 4},
}  # fmt: skip

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # so few labels


def _made_up() -> tuple[np.ndarray, csr_array, np.ndarray, np.ndarray]:
    """Return counts of words, a graph, groups, and labels of a third of the nodes."""
    rng = np.random.default_rng(0)
    group = np.arange(NODES) % 3
    alike = group[:, None] == np.arange(WORDS) % 3
    # Of two neighbours at one distance the first in order counts: no two are here.
    present = rng.random((NODES, WORDS)) < 0.15 + 0.4 * alike
    features = present * rng.uniform(0.5, 1.5, present.shape) + 0.1 * rng.random(present.shape)
    chance = np.where(group[:, None] == group, 0.3, 0.03)
    edges = np.triu(rng.random((NODES, NODES)) < chance, 1)
    return features, csr_array((edges | edges.T).astype(float)), group, np.where(
        np.arange(NODES) < 21, group, -1
    )  # fmt: skip


FEATURES, GRAPH, GROUP, Y = _made_up()


def _chances(model: str, X: Any, y: Any, graph: Any, **fit: Any) -> np.ndarray:
    classifier = NodeClassifier(model, options=SHORT.get(model), random_state=0)
    return classifier.fit(X, y, graph=graph, **fit).predict_proba()


@pytest.mark.parametrize("model", MODELS)
def test_the_same_said_differently(model: str) -> None:
    plain = _chances(model, FEATURES, Y, GRAPH)
    # A class is a number inside, whatever its name: the same bits.
    names = np.array(["x", "y", "z", None], dtype=object)[Y]
    assert np.array_equal(_chances(model, FEATURES, names, GRAPH), plain)
    # A power of two is exact; rows are normalised, but an embedding by SVD adds rounding.
    scaled = _chances(model, 4.0 * FEATURES, Y, GRAPH)
    np.testing.assert_allclose(scaled, plain, atol=1e-5)
    if model in CLOSED_FORM:
        _check_closed_form(model, plain)
    else:
        _check_nearly(model, plain)


def _moved(model: str) -> np.ndarray:
    """Return the probabilities of rows in another order, put back."""
    order = np.random.default_rng(1).permutation(NODES)
    found = _chances(model, FEATURES[order], Y[order], GRAPH[order][:, order])
    return found[np.argsort(order)]


def _with_isolated(model: str) -> np.ndarray:
    graph = csr_array(block_diag([GRAPH, csr_array((1, 1))]))
    found = _chances(model, np.vstack([FEATURES, FEATURES[:1]]), np.r_[Y, -1], graph)
    return found[:NODES]


def _check_closed_form(model: str, plain: np.ndarray) -> None:
    is_learned = model == "learned-spreading"  # to the solver's tolerance
    np.testing.assert_allclose(_moved(model), plain, atol=1e-3 if is_learned else 1e-5)
    np.testing.assert_allclose(_chances(model, FEATURES, Y, 2.0 * GRAPH), plain, atol=1e-6)
    if model == "label-propagation":  # the others join a row to its like
        np.testing.assert_allclose(_with_isolated(model), plain, atol=1e-6)


def _check_nearly(model: str, plain: np.ndarray) -> None:
    """Compare where numbers are drawn: folds, dropout and trees fall on other rows.

    With weights of two the self-loops, of weight one, count less.
    """
    for found in (_moved(model), _chances(model, FEATURES, Y, 2.0 * GRAPH), _with_isolated(model)):
        assert np.abs(found - plain).mean() < 0.15


@pytest.mark.parametrize("model", ["auto", *CLOSED_FORM])
def test_weights_of_labels(model: str) -> None:
    plain = _chances(model, FEATURES, Y, GRAPH)
    equal = _chances(model, FEATURES, Y, GRAPH, sample_weight=np.full(NODES, 3.0))
    assert np.array_equal(equal, plain)
    without = np.where(np.arange(NODES) < 6, -1, Y)
    weights = np.where(np.arange(NODES) < 6, 0.0, 1.0)
    zero = _chances(model, FEATURES, Y, GRAPH, sample_weight=weights)
    assert np.array_equal(zero, _chances(model, FEATURES, without, GRAPH))
    heavy = _chances(model, FEATURES, Y, GRAPH, sample_weight=np.where(Y == 0, 9.0, 1.0))
    assert heavy[21:, 0].mean() > plain[21:, 0].mean()


def test_weights_of_values_and_of_labels_on_a_graph() -> None:
    values = np.where(Y >= 0, GROUP + FEATURES[:, 0], np.nan)
    plain = NodeRegressor(random_state=0).fit(FEATURES, values, graph=GRAPH).predict()
    equal = NodeRegressor(random_state=0).fit(FEATURES, values, np.full(NODES, 2.0), graph=GRAPH)
    np.testing.assert_allclose(equal.predict(), plain, rtol=1e-12)
    first = np.arange(NODES) < 6
    zero = NodeRegressor(random_state=0).fit(FEATURES, values, 1.0 - first, graph=GRAPH)
    known = np.where(first, np.nan, values)
    fewer = NodeRegressor(random_state=0).fit(FEATURES, known, graph=GRAPH)
    assert np.array_equal(zero.predict(), fewer.predict())
    for method in ("spreading", "propagation"):
        spreading = GraphLabelSpreading(GRAPH, method=method)
        plain = spreading.fit(None, Y).predict_proba()
        assert np.array_equal(spreading.fit(None, Y, np.ones(NODES)).predict_proba(), plain)
        zero = spreading.fit(None, Y, 1.0 - first).predict_proba()
        assert np.array_equal(zero, spreading.fit(None, np.where(first, -1, Y)).predict_proba())


def test_weights_that_are_refused() -> None:
    for weights, message in [
        (np.zeros(NODES), "sample_weight is zero"),
        (np.ones(3), "sample_weight has shape"),
        (-np.ones(NODES), "sample_weight"),
    ]:
        with pytest.raises(InputError, match=message):
            _chances("auto", FEATURES, Y, GRAPH, sample_weight=weights)
    with pytest.raises(InputError, match="sample_weight does not go with model='gcn'"):
        _chances("gcn", FEATURES, Y, GRAPH, sample_weight=1.0 + np.arange(NODES))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["a", "b", "", "a"], "the empty label ''"),
        ([1.0, 2.0, np.inf, np.nan], "infinity"),
        ([("a", 1), ("b", 2), None, None], r"\('a', 1\), a tuple"),
        (np.ma.masked_array([0, 1, 0, 1], [0, 0, 1, 0]), "masked array"),
    ],
)
def test_labels_that_name_no_class(y: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        NodeClassifier("label-propagation").fit(None, y, graph=np.eye(4)[::-1])


def test_unsigned_labels() -> None:
    y = np.array([2**63 + 1, 7, 7, 2**63 + 1], dtype=np.uint64)
    fitted = NodeClassifier("label-propagation").fit(None, y, graph=np.eye(4)[::-1])
    assert fitted.classes_.tolist() == [7, 2**63 + 1]


NAMES = [f"n{number:02d}" for number in range(NODES)]
TABLE = pd.DataFrame(FEATURES, index=NAMES, columns=[f"w{number}" for number in range(WORDS)])


def _shuffled(names: list[Any]) -> networkx.Graph:
    """Return the graph whose nodes and edges were added in another order."""
    rng, found = np.random.default_rng(2), networkx.Graph()
    found.add_nodes_from([names[node] for node in rng.permutation(NODES)])
    ends = np.argwhere(np.triu(GRAPH.toarray()))
    found.add_edges_from((names[i], names[j]) for i, j in rng.permutation(ends))
    return found


def test_nodes_are_matched_by_name_and_keep_their_names() -> None:
    plain = NodeClassifier(effort="low", random_state=0).fit(TABLE, Y, graph=GRAPH)
    named = NodeClassifier(effort="low", random_state=0).fit(TABLE, Y, graph=_shuffled(NAMES))
    assert np.array_equal(named.predict_proba(), plain.predict_proba())
    assert list(named.learned_graph_.names) == NAMES
    suspects = named.suspect_edges(threshold=1.0)
    assert set(suspects["source"]) | set(suspects["target"]) <= set(NAMES)
    with pytest.raises(InputError, match="is not in the index of X"):
        NodeClassifier(effort="low").fit(TABLE.set_axis(NAMES[::-1], axis=0).rename({"n03": "m"}),
                                         Y, graph=_shuffled(NAMES))  # fmt: skip


def test_nodes_that_are_whole_numbers_are_sorted() -> None:
    given = {"model": "label-propagation"}
    plain = NodeClassifier(**given).fit(None, Y, graph=GRAPH)
    found = NodeClassifier(**given).fit(None, Y, graph=_shuffled(list(range(1, NODES + 1))))
    assert np.array_equal(found.predict_proba(), plain.predict_proba())


def test_what_cannot_be_computed_is_not_there() -> None:
    fitted = NodeClassifier("label-propagation").fit(None, Y, graph=GRAPH)
    assert not hasattr(fitted, "edge_probability_")
    with pytest.raises(InputError, match="observed"):
        fitted.suspect_edges()


def test_a_loaded_estimator_keeps_its_plan(tmp_path: Any) -> None:
    plan = ColumnPlan(drop=["w0"], scale="each")
    NodeClassifier("logistic-regression", plan=plan).fit(TABLE, Y).save(tmp_path)
    loaded = NodeClassifier.load(tmp_path)
    assert loaded.plan.get_params() == plan.get_params()
    assert loaded.fit(TABLE, Y).n_features_in_ == WORDS
