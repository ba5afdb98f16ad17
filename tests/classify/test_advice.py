"""Answers that look bad are said to, and tables go in and out of classifiers."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from truegraph import (
    AnswerWarning,
    ColumnPlan,
    InputWarning,
    NodeClassifier,
)
from truegraph.classify.averaging import class_advice, share_advice
from truegraph.errors import InputError

RNG = np.random.default_rng(0)
SEGMENT = np.arange(90) % 3
TABLE = pd.DataFrame(
    {
        "user_id": RNG.permutation(90) + 500,
        "income": RNG.lognormal(8 + SEGMENT, 0.3),
        "age": RNG.normal(30 + 10 * SEGMENT, 4),
        "plan": np.array(["a", "b", "c"])[np.where(RNG.random(90) < 0.8, SEGMENT, 0)],
    }
)
Y = np.where(np.arange(90) < 30, SEGMENT, -1)


def test_one_class_for_nearly_all_nodes() -> None:
    labels = np.r_[[0, 1] * 5, np.full(90, -1)]
    sure = np.tile([0.1, 0.9], (100, 1))
    (message,) = class_advice(sure, labels, np.array(["no", "yes"]))
    assert message.startswith("100 % of the nodes without a label are predicted to be of class yes")
    assert class_advice(sure, np.r_[[1] * 9, [0], np.full(90, -1)], np.array(["no", "yes"])) == []
    mixed = np.where(np.arange(100)[:, None] % 2, [0.9, 0.1], [0.1, 0.9])
    assert class_advice(mixed, labels, np.array(["no", "yes"])) == []


def test_raw_numbers_are_warned_of_and_tables_do_well() -> None:
    raw = TABLE[["income", "age"]].to_numpy()
    with pytest.warns(InputWarning, match="1 of 2 columns holds 100.0 % of the variance"):
        NodeClassifier("gcn", options={"epochs": 5}, random_state=0).fit(raw, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", AnswerWarning)
        warnings.simplefilter("error", InputWarning)
        classifier = NodeClassifier(random_state=0).fit(TABLE, Y)
    assert np.mean(classifier.predict(nodes=np.arange(30, 90)) == SEGMENT[30:]) > 0.9
    same = NodeClassifier(random_state=0).fit(ColumnPlan().fit_transform(TABLE), Y)
    assert np.array_equal(classifier.predict_proba(), same.predict_proba())


@pytest.mark.parametrize("model", ["gcn", "auto"])
def test_the_plan_is_saved_and_applied_to_new_nodes(model: str, tmp_path: Path) -> None:
    plan = ColumnPlan(drop=["plan"])
    classifier = NodeClassifier(model, plan=plan, random_state=0).fit(TABLE.head(80), Y[:80])
    new = TABLE.tail(10)
    expected = classifier.predict_proba(X=new)
    classifier.save(tmp_path / "model")
    loaded = NodeClassifier.load(tmp_path / "model")
    assert np.array_equal(loaded.predict_proba(X=new), expected)
    assert loaded.plan_.describe() == classifier.plan_.describe()
    with pytest.raises(InputError, match="the model was fitted on a table"):
        classifier.predict_proba(X=np.eye(2))


def test_labels_against_the_graph() -> None:
    """Each cluster has one label of each class, so a left-out label has only others around it."""
    cluster = np.repeat(np.arange(4), 10)
    graph = (cluster[:, None] == cluster).astype(float)
    place = np.arange(40) % 10
    y = np.where(place < 4, place, -1)
    with pytest.warns(AnswerWarning, match=r"all 16 labelled nodes that were left out .* wrongly"):
        NodeClassifier("bgcn-refined", random_state=3).fit(None, y, graph=graph)


def test_labels_against_the_features() -> None:
    """Whatever lies nearest to a labelled node is of another class."""
    centres = 30.0 * np.eye(4)  # corners that a linear classifier can tell apart as well
    points = np.repeat(centres, 2, axis=0)
    cloud = np.repeat(centres, 10, axis=0) + RNG.normal(0, 1, (40, 4))
    y = np.r_[[0, 1] * 4, np.full(40, -1)]
    with pytest.warns(AnswerWarning, match=r"all 8 labelled nodes that were left out .* wrongly"):
        NodeClassifier(random_state=0).fit(np.vstack([points, cloud]), y)


def test_a_learned_graph_without_a_share() -> None:
    with pytest.warns(AnswerWarning, match="share of the result is 0 %. Scale the features"):
        NodeClassifier(
            model="bgcn-refined", options={"safeguard": (0.98, 0.99)}, random_state=0
        ).fit(TABLE, Y)


def test_a_committee_without_a_learned_graph() -> None:
    """One column of twenty decides: neighbours by all of them tell nothing."""
    assert share_advice({"features": 0.9, "learned": 0.08, "refined": 0.02}) == []
    (message,) = share_advice({"trees": 0.7, "observed": 0.297, "learned": 0.003})
    assert "its share of the result is 0 %" in message
    points = np.random.default_rng(0).normal(size=(300, 20))
    y = np.where(np.arange(300) < 200, points[:, 0] > 0, -1)
    with pytest.warns(AnswerWarning) as heard:
        NodeClassifier(random_state=0).fit(points, y)
    (warning,) = heard  # the trees are right: labels are not said to be predicted wrongly
    assert "without a learned graph: its share of the result is 0 %" in str(warning.message)
