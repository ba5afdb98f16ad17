"""Trials on the rows of tables, and the made table of mixed columns."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from lab.mixed_table import mixed_table
from lab.rows import run
from lab.tables import drawn_labels, load_rows

from truegraph import ColumnPlan


def test_made_table_is_the_same_for_a_seed_and_cleaning_changes_no_meaning() -> None:
    raw, cleaned, segment = mixed_table(3)
    again, _, other = mixed_table(3)
    assert raw.equals(again)
    assert (segment == other).all()
    assert not raw.equals(mixed_table(4)[0])
    file = pd.read_csv(io.StringIO(raw.to_csv(index=False)))
    plan = ColumnPlan().fit(file)
    kinds = {row["column"]: row["taken as"] for row in plan.rows()}
    assert [name for name, kind in kinds.items() if kind == "number"] == [
        *("spent", "discount", "weight", "distance", "ordered at")
    ]
    assert kinds["customer"] == "id"
    assert kinds["since"] == "date"
    gaps = {row["column"]: row["missing"] for row in plan.rows()}
    assert {name: gaps[name] for name in cleaned} == cleaned.isna().sum().to_dict()


def test_every_class_has_a_label_even_if_that_makes_more_of_them() -> None:
    classes = np.repeat(np.arange(30), 4)
    assert set(classes[drawn_labels(classes, 20, 0)]) == set(range(30))
    assert len(drawn_labels(classes, 50, 0)) == 50


def _accuracy(model: str, given: str) -> float:
    job = {
        "dataset": "iris",
        "conditions": {"labels": 5, "drawn": "per class"},
        "model": model,
        "options": {"given": given},
        "seed": 1000,
    }
    accuracy: float = run(load_rows("iris"), job)["metrics"]["accuracy"]
    return accuracy


@pytest.mark.filterwarnings("ignore::truegraph.errors.AnswerWarning")
def test_a_table_of_measurements_is_not_worse_than_its_array() -> None:
    table = _accuracy("auto", "table")
    assert table >= _accuracy("auto", "array")
    assert table >= _accuracy("random-forest", "table") - 0.02
