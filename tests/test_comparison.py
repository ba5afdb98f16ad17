"""`compare`: the same splits for all models, a winner that deserves it, one's own data."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import truegraph
from truegraph.comparison import Comparison, compare, usual_models
from truegraph.data import Interactions, NodeDataset, random_split
from truegraph.errors import DataError, InputError
from truegraph.trials import fit_classifier, node_split, score_classifier

CHEAP = ["label-propagation", "nearest-neighbours"]


@pytest.fixture(scope="module")
def groups() -> NodeDataset:
    """Three groups that features tell apart better than edges, one label of them wrong."""
    rng = np.random.default_rng(0)
    kind = np.arange(150) % 3
    features = 2 * np.eye(3)[kind] + 0.4 * rng.normal(size=(150, 3))
    chance = np.where(kind[:, None] == kind, 0.10, 0.02)
    upper = np.triu(rng.random((150, 150)) < chance, k=1)
    labels = kind.copy()
    labels[7] = (kind[7] + 1) % 3
    return NodeDataset(
        "groups",
        labels,
        features,
        truegraph.data.as_adjacency((upper | upper.T).astype(float)),
        class_names=("red", "green", "blue"),
        node_names=np.array([f"person {number}" for number in range(150)]),
    )


@pytest.fixture(scope="module")
def found(groups: NodeDataset) -> Comparison:
    return compare("classify", groups, CHEAP, trials=6, workers=1)


def test_the_better_model_wins(found: Comparison) -> None:
    assert found.winner == found.leader == "nearest-neighbours"
    assert found.table.loc["nearest-neighbours", "accuracy"] > 0.8
    assert found.conclusion.startswith("The winner is nearest-neighbours")
    assert len(found.trials) == 12
    assert not found.outcome.failed


def test_few_trials_name_no_winner(groups: NodeDataset) -> None:
    few = compare("classify", groups, CHEAP, trials=2, workers=1)
    assert few.winner is None
    assert "use 6 or more trials" in few.conclusion
    alone = compare("classify", groups, CHEAP[:1], trials=1, workers=1)
    assert alone.winner is None
    assert "Nothing to compare with" in alone.conclusion


def test_names_of_nodes_survive(found: Comparison, groups: NodeDataset) -> None:
    table = found.never_right(most=150)
    assert len(table)
    for row in table.itertuples():
        assert groups.node_names is not None
        [number] = np.flatnonzero(groups.node_names == row.node)
        assert row.label == ("red", "green", "blue")[groups.labels[number]] != row.predicted


def test_a_trial_is_one_fit_of_the_public_estimator(found: Comparison, groups: NodeDataset) -> None:
    split = node_split(groups, 5, 3)
    labels = np.full(150, -1)
    labels[split.train] = groups.labels[split.train]
    model = truegraph.NodeClassifier("label-propagation", random_state=3)
    model.fit(groups.features, labels, graph=groups.graph)
    right = model.predict()[split.test] == groups.labels[split.test]
    assert found.values("label-propagation")[3] == pytest.approx(right.mean())


def test_labels_of_test_nodes_change_nothing(groups: NodeDataset) -> None:
    split = node_split(groups, 5, 0)
    labels = groups.labels.copy()
    labels[split.test] = (labels[split.test] + 1) % 3
    for name in ("label-propagation", "random-forest"):
        options = {"n_estimators": 10} if name == "random-forest" else {}
        one, other = (
            fit_classifier(name, options, data, split, 0).predict_proba()
            for data in (groups, replace(groups, labels=labels))
        )
        assert np.array_equal(one, other)


def test_models_of_scikit_learn_are_scored_as_the_others(groups: NodeDataset) -> None:
    split = node_split(groups, 5, 0)
    for name in ("random-forest", "gradient-boosting", "nearest-neighbours"):
        scores = score_classifier(fit_classifier(name, {}, groups, split, 0), groups, split)
        assert 0.0 <= scores["metrics"]["accuracy"] <= 1.0
        assert np.isnan(scores["metrics"]["coverage_90"])
    with pytest.raises(InputError, match="needs features"):
        fit_classifier("random-forest", {}, replace(groups, features=None), split, 0)


def test_trials_are_kept_and_continued(groups: NodeDataset, tmp_path: Path) -> None:
    compare("classify", groups, CHEAP, trials=1, workers=1, out=tmp_path)
    more = compare("classify", groups, CHEAP, trials=2, workers=1, out=tmp_path)
    assert more.outcome.run == 2
    other = replace(groups, labels=np.roll(groups.labels, 1))
    assert compare("classify", other, CHEAP, trials=1, workers=1, out=tmp_path).outcome.run == 2
    more.to_csv(tmp_path)
    assert (tmp_path / "trials.csv").read_text().count("\n") == 5
    document = json.loads(json.dumps(more.to_dict()))
    assert len(document["models"]["label-propagation"]["accuracy"]) == 2


def test_a_model_that_fails_is_told(groups: NodeDataset) -> None:
    options = {"nearest-neighbours": {"n_neighbors": 1000}}
    found = compare("classify", groups, CHEAP, trials=1, options=options, workers=1)
    assert [record["model"] for record in found.outcome.failed] == ["nearest-neighbours"]
    assert found.leader == "label-propagation"


@pytest.mark.filterwarnings("ignore::truegraph.errors.AnswerWarning")  # a random graph
def test_links(groups: NodeDataset) -> None:
    models = ["adamic-adar", "common-neighbours"]
    found = compare("links", groups, models, trials=2, workers=1)
    assert found.table.shape == (2, 9)
    assert found.table["auc"].between(0, 1).all()
    assert found.winner is None


def test_recommenders_are_tested_user_by_user() -> None:
    found = compare("recommend", "planted", ["popularity", "ease"], trials=2, workers=1)
    assert found.winner == "ease"
    assert found.tests["popularity"].n > 100
    assert found.table.loc["ease", "recall@20"] > found.table.loc["popularity", "recall@20"]


def test_wrong_input_is_named(groups: NodeDataset) -> None:
    with pytest.raises(InputError, match="task='guess'"):
        compare("guess", groups)
    with pytest.raises(InputError, match="random-forest"):
        compare("classify", groups, ["random-forrest"])
    with pytest.raises(InputError, match="twice"):
        compare("classify", groups, ["gcn", "gcn"])
    with pytest.raises(InputError, match="trials=0"):
        compare("classify", groups, CHEAP, trials=0)
    with pytest.raises(InputError, match="per_class=3 does not go with 'links'"):
        compare("links", groups, per_class=3)
    with pytest.raises(InputError, match="split='time' must be random or fixed"):
        compare("classify", groups, CHEAP, split="time")
    with pytest.raises(InputError, match="leave"):
        compare("classify", groups, CHEAP, per_class=48)
    with pytest.raises(InputError, match="no graph"):
        compare("links", replace(groups, graph=None), component="full")
    with pytest.raises(InputError, match="Interactions"):
        compare("recommend", groups)
    with pytest.raises(InputError, match="NodeDataset"):
        compare("links", Interactions.from_arrays(["a"], ["b"]))
    with pytest.raises((InputError, DataError)):
        compare("classify", "corra", CHEAP)


def test_the_usual_models_are_auto_and_rivals_that_suit_the_data(groups: NodeDataset) -> None:
    every = ("auto", "logistic-regression", "random-forest", "gradient-boosting")
    assert usual_models("classify", groups) == (*every, "label-propagation")
    assert usual_models("classify", replace(groups, graph=None)) == every
    alone = replace(groups, features=None)
    assert usual_models("classify", alone) == ("auto", "label-propagation")


def test_a_fixed_split_needs_the_published_one(groups: NodeDataset) -> None:
    split = random_split(groups.labels, 20, test_size=60, validation_size=20, random_state=0)
    published = replace(groups, public_split=split)
    found = node_split(published, 5, 3, "fixed")
    assert np.array_equal(found.test, split.test)
    assert np.isin(found.train, split.train).all()
    with pytest.raises(DataError, match="no public split"):
        compare("classify", groups, CHEAP, split="fixed")


def test_a_group_is_never_split(groups: NodeDataset) -> None:
    people = np.arange(150) // 5
    split = node_split(groups, 5, 0, groups=people)
    parts = [set(people[part]) for part in (split.train, split.validation, split.test)]
    assert not parts[0] & parts[1] | parts[1] & parts[2] | parts[0] & parts[2]
    assert np.bincount(groups.labels[split.train]).tolist() == [5, 5, 5]
    other = node_split(groups, 5, 1, groups=people)
    assert set(people[other.test]) != parts[2]
    found = compare("classify", groups, CHEAP, trials=2, workers=1, groups=people)
    assert len(found.outcome.done) == 4
    with pytest.raises(InputError, match="groups has 3 entries for 150 nodes"):
        compare("classify", groups, CHEAP, groups=[1, 2, 3])
    with pytest.raises(InputError, match="half are for training"):
        compare("classify", groups, CHEAP, groups=["one"] * 150)
    with pytest.raises(InputError, match="groups go with classify"):
        compare("links", groups, groups=people)
