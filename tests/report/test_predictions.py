"""Predictions as a table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from truegraph.data import NodeDataset
from truegraph.report.predictions import (
    class_labels,
    prediction_table,
    set_columns,
    set_sizes,
)

PROBABILITIES = np.array([[0.25, 0.75], [0.9, 0.1], [0.5, 0.5]], dtype=np.float32)


def test_names_and_values() -> None:
    dataset = NodeDataset(
        name="d",
        labels=np.array([1, 0, -1]),
        class_names=("no", "yes"),
        node_names=np.array(["a", "b", "c"]),
    )
    table = prediction_table(dataset, PROBABILITIES, np.ones(3), np.full(3, 0.25))
    assert list(table["node"]) == ["a", "b", "c"]
    assert list(table["label"]) == ["yes", "no", "no"]
    assert list(table["probability"]) == pytest.approx([0.75, 0.9, 0.5])
    assert list(table["mutual_information"]) == [0.25] * 3
    assert list(class_labels(dataset, dataset.labels)) == ["yes", "no", ""]


def test_numbers_where_there_are_no_names() -> None:
    dataset = NodeDataset(name="d", labels=np.array([1, 0, -1]))
    table = prediction_table(dataset, PROBABILITIES, np.ones(3), None)
    assert list(table["node"]) == [0, 1, 2]
    assert list(table["label"]) == ["1", "0", "0"]
    assert table["mutual_information"].isna().all()


def test_sets_as_columns_and_as_a_table() -> None:
    dataset = NodeDataset(name="d", labels=np.array([1, 0, -1]), class_names=("no", "yes"))
    members = np.array([[True, False], [True, True], [False, True]])
    columns = set_columns(dataset, members)
    assert columns["set"] == ["no", "no; yes", "yes"]
    table = set_sizes(pd.Series(columns["set_size"]), 0.9)
    assert table.rows[1:] == [["1", "2", "66.7%"], ["2", "1", "33.3%"]]
    assert "90% of the sets should hold" in table.caption
    assert "1.33 classes" in table.caption
