"""Predicted classes: given labels stay, predictions have columns of their own."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from truegraph import NodeClassifier
from truegraph.report.classes import class_parts, prediction_table

GRAPH = np.kron(np.eye(2), np.ones((4, 4))) - np.eye(8)
LABELS = np.array(["no", "yes", None, None, "yes", "yes", None, None], dtype=object)


def found(labels: np.ndarray) -> pd.DataFrame:
    classifier = NodeClassifier("label-propagation", random_state=0).fit(None, labels, graph=GRAPH)
    return prediction_table(classifier, list("abcdefgh"), labels, None)


def test_a_given_label_stays_and_its_prediction_stands_beside_it() -> None:
    table = found(LABELS)
    assert list(table["node"]) == list("abcdefgh")
    assert list(table["label"][:2]) == ["no", "yes"]
    assert list(table["given"]) == ["true", "true", "false", "false"] * 2
    assert (table["label"] == table["prediction"])[LABELS == None].all()  # noqa: E711
    assert table["prediction"][6] == "yes"
    assert table["probability"].between(0.5, 1.0).all()


def test_parts_of_the_page() -> None:
    table = found(LABELS)
    table["prediction"] = "yes"  # against the label of node a
    table["set"], table["set_size"] = "yes", [1, 1, 1, 2, 1, 1, 1, 1]
    table["novelty"] = np.arange(8.0)
    edges = pd.DataFrame({"source": list("ab"), "target": list("cd"), "probability": [0.2, 0.9]})
    parts = {part["heading"]: part for part in class_parts(table, edges, 0.9)}
    doubtful = parts["Given labels that the model contradicts"]["cells"]
    assert [row[0] for row in doubtful] == ["a"]
    sizes = parts["Sets of classes"]["cells"]
    assert sizes == [["1", "3", "75.0%"], ["2", "1", "25.0%"]]
    novel = parts["Most novel nodes"]["cells"]
    assert [row[0] for row in novel] == ["h", "g", "d", "c"]
    assert len(parts["Edges that look false"]["cells"]) == 1


@pytest.mark.parametrize("edges", [None, pd.DataFrame({"probability": [0.9]})])
def test_what_is_not_there_has_no_part(edges: pd.DataFrame | None) -> None:
    given = found(LABELS)
    given = given[given["given"] == "true"].assign(label="yes", prediction="yes")
    assert not list(class_parts(given, edges, None))
