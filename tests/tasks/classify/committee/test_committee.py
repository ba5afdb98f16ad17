"""The committee as a whole: no leak, hostile inputs, new nodes, what it says of the graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import block_diag, csr_array

from truegraph import BayesianNodeClassifier, InputError
from truegraph.tasks.classify.committee import members
from truegraph.tasks.classify.trials import run_trials


def _known(planted: Any) -> np.ndarray:
    labels = np.full(120, -1)
    labels[planted.splits[0].train] = planted.labels[planted.splits[0].train]
    return labels


def _low(**changes: Any) -> BayesianNodeClassifier:
    return BayesianNodeClassifier(**{"effort": "low", "random_state": 0, **changes})


def _accuracy(classifier: BayesianNodeClassifier, labels: np.ndarray) -> float:
    return float((classifier.predict() == labels).mean())


def test_poisoned_test_labels_change_nothing(planted: Any) -> None:
    given = planted._asdict() | {"splits": planted.splits[:2], "seeds": [0, 1]}
    poisoned = planted.labels.copy()
    spared = np.unique(np.concatenate([split.train for split in planted.splits[:2]]))
    others = np.setdiff1d(np.arange(120), spared)
    poisoned[others] = (poisoned[others] + 1) % 3
    options = {"samples": 3}
    clean = run_trials("auto", **given, options=options, keep_weights=True)
    found = run_trials("auto", **{**given, "labels": poisoned}, options=options, keep_weights=True)
    assert np.array_equal(clean.probabilities, found.probabilities)
    assert clean.beliefs is not None
    assert clean.weights is not None
    for first, second in zip(clean.beliefs, found.beliefs or [], strict=True):
        assert first.view_weights == second.view_weights
        assert first.agreement == second.agreement > 0.0
    for first, second in zip(clean.weights, found.weights or [], strict=True):
        assert [v.sharpness for v in first.voices] == [v.sharpness for v in second.voices]


def test_each_trial_is_what_it_would_be_alone(planted: Any) -> None:
    given = planted._asdict() | {"options": {"effort": "low"}}
    together = run_trials("auto", **given, seeds=[0, 1, 2])
    alone = run_trials("auto", **{**given, "splits": planted.splits[2:]}, seeds=[2])
    assert np.array_equal(together.probabilities[2], alone.probabilities[0])


def test_a_good_graph_is_trusted_and_a_recipe_is_trained(planted: Any) -> None:
    fitted = BayesianNodeClassifier(samples=3, random_state=0)
    fitted.fit(planted.features, _known(planted), graph=planted.graph)
    assert fitted.observed_graph_weight_ > 0.5
    assert "refined" in fitted.view_weights_
    assert sum(fitted.view_weights_.values()) == pytest.approx(1.0)
    assert any("neighbours are mostly of one class" in note for note in fitted.notes_)
    assert fitted.learned_graph_ is not None
    assert _accuracy(fitted, planted.labels) > 0.85


def test_a_random_graph_is_not_trusted_and_no_recipe_is_trained(
    planted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> Any:
        raise AssertionError("trained for nothing")

    monkeypatch.setattr(members, "_trained", refuse)
    generator = np.random.default_rng(0)
    points = 3.0 * np.eye(3)[planted.labels] + generator.normal(size=(120, 3))
    links = np.triu(generator.random((120, 120)) < 0.05, 1)
    fitted = BayesianNodeClassifier(random_state=0)
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
    fitted = BayesianNodeClassifier(samples=3, random_state=0).fit(points, known)
    assert fitted.view_weights_["refined"] > 0.3
    assert fitted.observed_graph_weight_ == 0.0
    assert _accuracy(fitted, labels) > 0.9
    assert np.array_equal(fitted.predict(X=9.0 * np.eye(3)), [0, 1, 2])


def test_trees_take_part_where_single_columns_tell(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    points = generator.normal(size=(120, 9))
    labels = (points[:, 0] > 0.0).astype(int)
    known = np.where(np.arange(120) < 60, labels, -1)
    fitted = _low().fit(points, known)
    assert fitted.view_weights_["trees"] > 0.2
    fitted.save(tmp_path / "trees")
    loaded = BayesianNodeClassifier.load(tmp_path / "trees")
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
    loaded = BayesianNodeClassifier.load(tmp_path / "cleaned")
    assert np.array_equal(loaded.predict_proba(**new), fitted.predict_proba(**new))


def test_no_features(planted: Any) -> None:
    fitted = _low().fit(None, _known(planted), graph=planted.graph)
    assert fitted.observed_graph_weight_ > 0.9
    assert fitted.learned_graph_ is None
    assert _accuracy(fitted, planted.labels) > 0.6
    assert fitted.predict_proba(edges=[(120, 0), (120, 1)]).shape == (1, 3)


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
    assert (fitted.predict(np.arange(120, 240)) == planted.labels).mean() > 0.6


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
    for number, changes in enumerate([{"effort": "high", "samples": 3}, {"effort": "low"}]):
        fitted = BayesianNodeClassifier(random_state=0, **changes)
        fitted.fit(planted.features, names, graph=planted.graph)
        node = int(fitted.predictive_entropy_.argmin())
        edges = [(120, int(other)) for other in planted.graph[[node]].indices]
        new = {"X": planted.features[[node]], "edges": edges}
        found = fitted.predict_proba(**new)
        assert found.argmax() == fitted.predict_proba([node]).argmax()
        again = fitted._weights.predict(fitted._inputs).probabilities
        np.testing.assert_allclose(again, fitted.predict_proba(), atol=1e-5)
        fitted.save(tmp_path / str(number))
        loaded = BayesianNodeClassifier.load(tmp_path / str(number))
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
        given = {"effort": "low", **options}
        results = run_trials("auto", **planted._asdict(), seeds=[0, 1, 2], options=given)
        assert results.beliefs is not None
        return set(results.beliefs[0].view_weights)

    assert not any("learned" in name for name in views(weights="equal", learned_graphs=False))
    blind = views(weights="equal", observed_graph=False)
    assert blind == {
        "class shares", "features", "raw features", "learned", "labels on learned",
        "labels on nearest", "trees",
    }  # fmt: skip


def test_options_of_the_committee_alone(planted: Any) -> None:
    for name, value in (("effort", "low"), ("class_prior", "uniform")):
        wrong = BayesianNodeClassifier(recipe="fast", **{name: value})
        with pytest.raises(InputError, match=f"{name}='{value}' does not go with recipe='fast'"):
            wrong.fit(planted.features, _known(planted), graph=planted.graph)
