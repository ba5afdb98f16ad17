"""A plan in rows, for a page."""

from __future__ import annotations

import pandas as pd

from truegraph import ColumnPlan
from truegraph.data.columns.wording import plan_rows


def test_rows() -> None:
    table = pd.DataFrame({"key": list("dbca"), "x": [1.0, None, 4.0, 2.0], "y": [1] * 4})
    assert plan_rows(ColumnPlan().fit(table)) == [
        {
            "column": "key",
            "taken as": "id",
            "becomes": "names of the rows: its name and its unique values",
            "missing": 0,
        },
        {
            "column": "x",
            "taken as": "number",
            "becomes": "1 column, scaled by median and quartiles",
            "missing": 1,
        },
        {
            "column": "y",
            "taken as": "unused",
            "becomes": "nothing: the same value everywhere: 1",
            "missing": 0,
        },
    ]
