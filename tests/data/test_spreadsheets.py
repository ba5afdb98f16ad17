"""Names that a spreadsheet would run as formulas."""

from __future__ import annotations

import pandas as pd

from truegraph.data.spreadsheets import escape_formulas


def test_formulas_are_escaped_on_request() -> None:
    table = pd.DataFrame({"=cmd": ["=1+1", "+a", "-b", "@c", "tea", "-3.5", None], "n": [-1.0] * 7})
    escaped = escape_formulas(table)
    assert list(escaped.columns) == ["'=cmd", "n"]
    assert escaped["'=cmd"].tolist()[:6] == ["'=1+1", "'+a", "'-b", "'@c", "tea", "-3.5"]
    assert escaped["n"].tolist() == [-1.0] * 7
    assert table.columns[0] == "=cmd"
