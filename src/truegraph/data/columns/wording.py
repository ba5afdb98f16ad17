"""What a column plan does, in words for people and in rows for a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from truegraph.data.columns.kinds import Column, cleaned_text, dates, is_text, numbers
from truegraph.wording import counted

if TYPE_CHECKING:
    from truegraph.data.columns.plan import ColumnPlan


def describe_plan(plan: ColumnPlan) -> str:
    """Return in one line what becomes of the columns."""
    parts = []
    counts = {
        kind: [name for name, one in plan.encoders_.items() if one.kind == kind]
        for kind in ("number", "category")
    }
    if counts["number"]:
        verb = "scaled" if plan.scale == "auto" else "kept as they are"
        parts.append(f"{counted(len(counts['number']), 'number')} {verb}")
    if counts["category"]:
        width = sum(len(plan.encoders_[name].parts()) for name in counts["category"])
        number = counted(len(counts["category"]), "category", "categories")
        parts.append(f"{number} to {counted(width, 'column')}")
    parts += [
        f"{name} ({one.kind}) to {len(one.parts())}"
        for name, one in plan.encoders_.items()
        if one.kind in ("date", "text")
    ]
    parts += [
        f"{one.name}: taken as the id" + (f" ({one.why})" if one.why else "")
        for one in plan.columns_
        if one.kind == "id"
    ]
    parts += [f"{one.name}: left out ({one.why})" for one in plan.columns_ if one.kind == "unused"]
    if plan.missing_:
        total = sum(plan.missing_.values())
        parts.append(f"{counted(total, 'missing value', 'missing values')} filled")
    parts += [
        f"{name}: {counted(count, 'cell is', 'cells are')} not a {_kind(plan, name)}, such as "
        f"{example!r}, and taken as missing"
        for name, (count, example) in plan.unreadable_.items()
    ]
    return ", ".join(parts)


def _kind(plan: ColumnPlan, name: str) -> str:
    return plan.encoders_[name].kind


def plan_rows(plan: ColumnPlan) -> list[dict[str, Any]]:
    """Return one row per column of the table: column, taken as, becomes, missing."""
    return [
        {
            "column": one.name,
            "taken as": one.kind,
            "becomes": _becomes(plan, one),
            "missing": plan.missing_.get(one.name, 0),
        }
        for one in plan.columns_
    ]


def _becomes(plan: ColumnPlan, column: Column) -> str:
    if column.kind == "id":
        return "names of the rows" + (f": {column.why}" if column.why else "")
    if column.kind == "unused":
        return f"nothing: {column.why}"
    encoder = plan.encoders_[column.name]
    if encoder.kind == "number":
        bounded = plan.scale == "auto"
        return "1 column, scaled by median and quartiles" if bounded else "1 column as it is"
    what = {"category": "one per category", "date": "time and season", "text": "string vectors"}
    return f"{counted(len(encoder.parts()), 'column')}: {what[encoder.kind]}"


def unreadable_cells(values: pd.Series, column: Column) -> tuple[int, str]:
    """Return how many cells are there but not of the column's kind, and the first of them."""
    if column.kind not in ("number", "date"):
        return 0, ""
    given = cleaned_text(values) if is_text(values) else values
    found = numbers(given) if column.kind == "number" else dates(given, column.date_format)
    bad = (given.notna() & found.isna()).to_numpy()
    return int(bad.sum()), str(given[bad].iloc[0]) if bad.any() else ""
