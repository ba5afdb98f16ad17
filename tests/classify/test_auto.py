"""The recommended model as a whole: no leak, hostile inputs, new nodes, what it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import block_diag, csr_array

from truegraph import NodeClassifier
from truegraph.classify import propagation
from truegraph.classify.inputs import complete_inputs
from truegraph.classify.models import find_model
from truegraph.classify.problem import Problem
from truegraph.fit_log import FitLog


def _known(planted: Any) -> np.ndarray:
    labels = np.full(120, -1)
    labels[planted.splits[0].train] = planted.labels[planted.splits[0].train]
    return labels


def _low(**changes: Any) -> NodeClassifier:
    return NodeClassifier(**{"effort": "low", "random_state": 0, **changes})


def _accuracy(classifier: NodeClassifier, labels: np.ndarray) -> float:
    return float((classifier.predict() == labels).mean())


@pytest.mark.parametrize("model", ["auto", "bgcn-refined", "bgcn-fast"])
def test_poisoned_labels_change_nothing(planted: Any, model: str) -> None:
    """Only the labels of training nodes are read, wherever others came from."""
    inputs = complete_inputs(planted.features, planted.graph, 120)
    train = planted.splits[0].train
    poisoned = (planted.labels + ~np.isin(np.arange(120), train)) % 3
    options = {"samples": 3}
    if model == "bgcn-refined":
        options["embedding"] = "svd"
    found = []
    for labels in (planted.labels, poisoned):
        problem = Problem(inputs, labels, train, train[:0], 3, 0)
        found.append(find_model(model).fit(problem, options, FitLog()))
    first, second = found
    assert np.array_equal(first.probabilities, second.probabilities)
    assert np.array_equal(first.predict(inputs), second.predict(inputs))
    if model == "auto":
        assert first.view_weights == second.view_weights
        assert [one.sharpness for one in first.views] == [one.sharpness for one in second.views]


def test_labels_of_validation_nodes_are_hidden(planted: Any) -> None:
    y = _known(planted)
    held = np.flatnonzero(y >= 0)[::4]
    poisoned = y.copy()
    poisoned[held] = (poisoned[held] + 1) % 3
    first = _low().fit(planted.features, y, graph=planted.graph, validation=held)
    second = _low().fit(planted.features, poisoned, graph=planted.graph, validation=held)
    assert np.array_equal(first.predict_proba(), second.predict_proba())


def test_a_good_graph_is_trusted_and_a_recipe_is_trained(planted: Any) -> None:
    fitted = NodeClassifier(options={"samples": 3}, random_state=0)
    fitted.fit(planted.features, _known(planted), graph=planted.graph)
    assert fitted.observed_graph_weight_ > 0.5
    assert "propagation" in fitted.view_weights_
    assert sum(fitted.view_weights_.values()) == pytest.approx(1.0)
    assert any("neighbours are mostly of one class" in note for note in fitted.notes_)
    assert fitted.learned_graph_ is not None
    assert _accuracy(fitted, planted.labels) > 0.85


def test_a_random_graph_is_not_trusted_and_no_recipe_is_trained(
    planted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> Any:
        raise AssertionError("trained for nothing")

    monkeypatch.setattr(propagation, "_trained", refuse)
    generator = np.random.default_rng(0)
    points = 3.0 * np.eye(3)[planted.labels] + generator.normal(size=(120, 3))
    links = np.triu(generator.random((120, 120)) < 0.05, 1)
    fitted = NodeClassifier(random_state=0)
    known = np.where(np.arange(120) % 3 == 0, planted.labels, -1)
    fitted.fit(points, known, graph=csr_array((links | links.T).astype(float)))
    assert fitted.observed_graph_weight_ < 0.1
    assert _accuracy(fitted, planted.labels) > 0.85


def test_no_graph(planted: Any) -> None:
    generator = np.random.default_rng(0)
    points = 3.0 * np.eye(3)[planted.labels] + generator.normal(size=(120, 3))
    fitted = _low().fit(points, _known(planted))
    assert fitted.observed_graph_weight_ == 0.0
    assert any(note.startswith("no graph was observed; predictions") for note in fitted.notes_)
    assert _accuracy(fitted, planted.labels) > 0.9
    assert np.array_equal(fitted.predict(X=9.0 * np.eye(3)), [0, 1, 2])


def test_without_a_graph_a_recipe_is_trained_on_the_nearest_neighbours() -> None:
    generator = np.random.default_rng(0)
    labels = np.arange(90) % 3
    points = 3.0 * np.eye(3)[labels] + generator.normal(size=(90, 3))
    known = np.where(np.arange(90) < 18, labels, -1)
    fitted = NodeClassifier(options={"samples": 3}, random_state=0).fit(points, known)
    assert fitted.view_weights_["propagation"] > 0.3
    assert fitted.observed_graph_weight_ == 0.0
    assert _accuracy(fitted, labels) > 0.9
    assert np.array_equal(fitted.predict(X=9.0 * np.eye(3)), [0, 1, 2])


def test_trees_take_part_where_single_columns_tell(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    points = generator.normal(size=(120, 9))
    labels = (points[:, 0] > 0.0).astype(int)
    known = np.where(np.arange(120) < 60, labels, -1)
    fitted = _low().fit(points, known)
    assert fitted.view_weights_["forest"] > 0.2
    fitted.save(tmp_path / "trees")
    loaded = NodeClassifier.load(tmp_path / "trees")
    new = generator.normal(size=(5, 9))
    assert np.array_equal(loaded.predict_proba(X=new), fitted.predict_proba(X=new))


def test_false_edges_are_found_and_left_out(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    group = np.repeat(np.arange(24), 10)
    labels = group % 3
    links = np.triu((group[:, None] == group) & (generator.random((240, 240)) < 0.4), 1)
    links |= np.triu(generator.random((240, 240)) < links.mean(), 1)  # as many false ones
    points = np.eye(24)[group] + 0.3 * generator.normal(size=(240, 24))
    known = np.full(240, -1)
    known[::4] = labels[::4]
    fitted = _low().fit(points, known, graph=csr_array((links | links.T).astype(float)))
    assert any("of the edges look random" in note for note in fitted.notes_)
    assert {"cleaned", "labels on cleaned"} & set(fitted.view_weights_)
    assert _accuracy(fitted, labels) > 0.9
    new = {"X": points[:1], "edges": [(240, other) for other in np.flatnonzero(links[0])[:3]]}
    fitted.save(tmp_path / "cleaned")
    loaded = NodeClassifier.load(tmp_path / "cleaned")
    assert np.array_equal(loaded.predict_proba(**new), fitted.predict_proba(**new))


def test_no_features(planted: Any) -> None:
    fitted = _low().fit(None, _known(planted), graph=planted.graph)
    assert fitted.observed_graph_weight_ > 0.9
    assert fitted.learned_graph_ is None
    assert _accuracy(fitted, planted.labels) > 0.6
    assert fitted.predict_proba(edges=[(120, 0), (120, 1)]).shape == (1, 3)


def test_two_groups_of_hubs_and_loners_without_features() -> None:
    """Spreading of labels fails where a few hubs have most edges; who is linked with whom does."""
    generator = np.random.default_rng(0)
    group = np.repeat([0, 1], 200)
    fame = generator.pareto(1.0, 400) + 0.05
    chance = np.outer(fame, fame) * np.where(group[:, None] == group, 0.02, 0.001)
    upper = np.triu(generator.random((400, 400)) < chance, 1)
    graph = csr_array((upper | upper.T).astype(float))
    labels = np.full(400, -1)
    known = [*generator.choice(200, 5, replace=False), *generator.choice(200, 5) + 200]
    labels[known] = group[known]
    fitted = _low().fit(None, labels, graph=graph)
    linked = np.diff(graph.indptr) > 0
    assert (fitted.predict() == group)[linked].mean() > 0.9
    assert "links, spread" in fitted.view_weights_


def test_mixed_scales_do_not_matter(planted: Any) -> None:
    generator = np.random.default_rng(0)
    points = 3.0 * np.eye(3)[planted.labels] + generator.normal(size=(120, 3))
    points = np.hstack([points, generator.normal(size=(120, 7))])
    plain = _low().fit(points, _known(planted))
    scaled = points * np.array([1e5, 1.0, 1e-4, *[1.0] * 7]) + 3.0
    mixed = _low().fit(scaled, _known(planted))
    assert _accuracy(mixed, planted.labels) > _accuracy(plain, planted.labels) - 0.1


@pytest.mark.parametrize(
    "features",
    [
        np.random.default_rng(0).normal(size=(120, 1)),
        np.ones((120, 4)),
        np.random.default_rng(0).normal(size=(4, 6))[np.arange(120) % 4],
        csr_array((120, 9)),
    ],
    ids=["one feature", "equal rows", "tied", "empty"],
)
def test_poor_features(planted: Any, features: Any) -> None:
    for graph in (planted.graph, None):
        fitted = _low().fit(features, _known(planted), graph=graph)
        chances = fitted.predict_proba()
        np.testing.assert_allclose(chances.sum(axis=1), 1.0, rtol=1e-5)
    fitted = _low().fit(features, _known(planted), graph=planted.graph)
    assert _accuracy(fitted, planted.labels) > 0.5  # the graph is still there


def test_equal_rows_and_no_graph_leave_the_shares_of_the_classes() -> None:
    labels = np.full(30, -1)
    labels[:5] = [0, 0, 0, 0, 1]
    fitted = _low().fit(np.ones((30, 2)), labels)
    np.testing.assert_allclose(fitted.predict_proba(), np.tile([5 / 7, 2 / 7], (30, 1)), atol=0.03)
    uniform = _low(class_prior="uniform").fit(np.ones((30, 2)), labels)
    assert uniform.predict_proba()[0, 1] > 0.5


def test_isolated_nodes_and_two_components(planted: Any) -> None:
    graph = csr_array(block_diag([planted.graph, planted.graph, csr_array((10, 10))]))
    table = planted.features.toarray()
    features = np.vstack([table, table, table[:10]])
    labels = np.concatenate([_known(planted), np.full(130, -1)])
    fitted = _low().fit(features, labels, graph=graph)
    chances = fitted.predict_proba()
    assert np.isfinite(chances).all()
    # no label lies in the second component, but its features are those of the first
    assert (fitted.predict(nodes=np.arange(120, 240)) == planted.labels).mean() > 0.6


def test_a_class_with_one_label(planted: Any) -> None:
    labels = _known(planted)
    labels[np.flatnonzero(labels == 2)[1:]] = -1
    fitted = _low().fit(planted.features, labels, graph=planted.graph)
    assert fitted.predict_proba().shape == (120, 3)
    single = np.full(120, -1)
    single[[np.flatnonzero(planted.labels == label)[0] for label in range(3)]] = [0, 1, 2]
    fitted = _low().fit(planted.features, single, graph=planted.graph)
    assert np.isfinite(fitted.predict_proba()).all()


def test_new_nodes_and_saving(planted: Any, tmp_path: Path) -> None:
    names = np.array(["ant", "bee", "cat"])[planted.labels].astype(object)
    names[planted.splits[0].test] = None
    for number, changes in enumerate([{"options": {"samples": 3}}, {"effort": "low"}]):
        fitted = NodeClassifier(random_state=0, **changes)
        fitted.fit(planted.features, names, graph=planted.graph)
        node = int(fitted.predictive_entropy_.argmin())
        edges = [(120, int(other)) for other in planted.graph[[node]].indices]
        new = {"X": planted.features[[node]], "edges": edges}
        found = fitted.predict_proba(**new)
        assert found.argmax() == fitted.predict_proba(nodes=[node]).argmax()
        again = fitted._fitted.predict(fitted._inputs)
        np.testing.assert_allclose(again, fitted.predict_proba(), atol=1e-5)
        fitted.save(tmp_path / str(number))
        loaded = NodeClassifier.load(tmp_path / str(number))
        assert np.array_equal(loaded.predict_proba(), fitted.predict_proba())
        assert np.array_equal(loaded.predict_proba(**new), found)
        assert loaded.view_weights_ == fitted.view_weights_
        assert list(loaded.view_weights_) == list(fitted.view_weights_)
        assert loaded.observed_graph_weight_ == fitted.observed_graph_weight_
        assert np.array_equal(loaded.mutual_information_, fitted.mutual_information_)


def test_uncertainty_about_the_graph_is_part_of_the_entropy(planted: Any) -> None:
    fitted = _low().fit(planted.features, _known(planted), graph=planted.graph)
    assert (fitted.mutual_information_ >= 0.0).all()
    assert (fitted.mutual_information_ <= fitted.predictive_entropy_).all()
    assert fitted.mutual_information_.max() > 0.0
    np.testing.assert_allclose(fitted.uncertainty_, 1.0 - fitted.predict_proba().max(axis=1))


def test_ablations(planted: Any) -> None:
    def views(**options: Any) -> set[str]:
        fitted = _low(options=options).fit(planted.features, _known(planted), graph=planted.graph)
        return set(fitted.view_weights_)

    assert not any("learned" in name for name in views(weights="equal", learned_graphs=False))
    blind = views(weights="equal", observed_graph=False)
    assert blind >= {
        "class shares", "features", "raw features", "learned", "labels on learned",
        "labels on nearest",
    }  # fmt: skip


def test_other_words_other_scales_and_other_orders(planted: Any) -> None:
    """The same data, said differently, give the same answer, or nearly where folds are drawn."""
    known = _known(planted)
    given = planted.features.toarray(), known
    plain = _low().fit(*given, graph=planted.graph).predict_proba()
    scaled = _low().fit(4.0 * given[0], known, graph=planted.graph)
    np.testing.assert_allclose(scaled.predict_proba(), plain, atol=1e-6)
    names = np.where(known < 0, None, np.array(["x", "y", "z"])[known])
    renamed = _low().fit(given[0], names, graph=planted.graph)
    assert np.array_equal(renamed.predict_proba(), plain)
    heavier = _low().fit(given[0], known, graph=2.0 * planted.graph)
    assert np.abs(heavier.predict_proba() - plain).mean() < 0.02  # self-loops weigh one
    order = np.random.default_rng(0).permutation(120)
    moved = _low().fit(given[0][order], known[order], graph=planted.graph[order][:, order])
    assert np.abs(moved.predict_proba() - plain[order]).mean() < 0.05
    more = csr_array(block_diag([planted.graph, csr_array((1, 1))]))
    rows, labels = np.vstack([given[0], np.zeros(18)]), np.r_[known, -1]
    isolated = _low().fit(rows, labels, graph=more).predict_proba()[:120]
    assert np.abs(isolated - plain).max() < 0.1


def test_a_new_row_like_a_fitted_one_gets_its_probabilities() -> None:
    generator = np.random.default_rng(0)
    labels = np.arange(90) % 3
    points = 2.0 * np.eye(3)[labels] + generator.normal(size=(90, 3))
    fitted = _low().fit(points, np.where(np.arange(90) < 30, labels, -1))
    found = fitted.predict_proba(points)
    assert np.abs(found - fitted.predict_proba()).mean() < 0.03
    # Each is predicted alike in any company.
    np.testing.assert_allclose(fitted.predict_proba(points[:4]), found[:4], atol=1e-6)
