"""Options of the commands that read the user's own tables and edges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from truegraph.cli.common.options import INPUT, choice, option
from truegraph.errors import InputError

if TYPE_CHECKING:
    from truegraph.data import ColumnPlan

Scale = Annotated[
    str,
    option(
        INPUT,
        "Scale the numbers of a table column by column, or keep them.",
        metavar="auto|none",
        show_default=True,
    ),
]
IdColumn = Annotated[
    str | None,
    option(
        INPUT,
        "Column of a table with the names of the nodes, or none.",
        "--id",
        metavar="COLUMN",
        default="recognised",
    ),
]
Drop = Annotated[
    str | None, option(INPUT, "Columns of a table to leave out.", metavar="COLUMN,...")
]
Columns = Annotated[
    str | None,
    option(
        INPUT,
        "Columns of a table to use, and no others; =number, =category, =date or =text after a "
        "name says what it is.",
        metavar="COLUMN[=KIND],...",
    ),
]
SourceColumn = Annotated[
    str | None,
    option(
        INPUT,
        "Column of the edges with their first ends.",
        "--source",
        metavar="COLUMN",
        default="source, from or the first one",
    ),
]
TargetColumn = Annotated[
    str | None,
    option(
        INPUT,
        "Column of the edges with their second ends.",
        "--target",
        metavar="COLUMN",
        default="target, to or the second one",
    ),
]
WeightColumn = Annotated[
    str | None,
    option(
        INPUT,
        "Column of the edges with their weights.",
        "--weight",
        metavar="COLUMN",
        default="weight, if there is one",
    ),
]
Duplicates = Annotated[
    str,
    option(
        INPUT,
        "Weight of an edge that is listed more than once: the largest, the sum, or how often.",
        metavar="max|sum|count",
        show_default=True,
    ),
]
Directed = Annotated[
    str,
    option(
        INPUT,
        "Graphs have no direction: keep edges listed in any direction, or only mutual ones.",
        metavar="any|mutual",
        show_default=True,
    ),
]


def column_plan(
    scale: str, id_column: str | None, drop: str | None, columns: str | None
) -> ColumnPlan:
    """Return the plan that the options of a table ask for."""
    choice("--scale", scale, ("auto", "none"))
    from truegraph.data import ColumnPlan

    wanted = None if columns is None else _kinds(columns)
    name = "auto" if id_column is None else None if id_column.lower() == "none" else id_column
    return ColumnPlan(scale, id_column=name, drop=tuple(_names("--drop", drop)), columns=wanted)


def _kinds(text: str) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for part in _names("--columns", text):
        name, _, kind = part.partition("=")
        found[name.strip()] = kind.strip().lower() or None
    return found


def _names(option_name: str, text: str | None) -> list[str]:
    if text is None:
        return []
    names = [part.strip() for part in text.split(",")]
    if not all(names):
        raise InputError(f"{option_name} {text!r} has an empty entry; write a,b,c.")
    return names


def edge_options(
    source: str | None, target: str | None, weight: str | None, duplicates: str, directed: str
) -> dict[str, str | None]:
    """Return how to read edges, as `truegraph.data.read_node_data` takes it."""
    choice("--duplicates", duplicates, ("max", "sum", "count"))
    choice("--directed", directed, ("any", "mutual"))
    return {
        "source": source,
        "target": target,
        "weight": weight,
        "duplicates": duplicates,
        "directed": directed,
    }
