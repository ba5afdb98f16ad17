"""Options of the commands that read the user's own tables and edges."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truegraph.cli.common import options as cli
from truegraph.cli.common.options import INPUT, choice, option
from truegraph.errors import InputError

if TYPE_CHECKING:
    from truegraph.data import ColumnPlan


@dataclass(frozen=True, kw_only=True)
class TableOptions:
    """How the columns of a table become numbers."""

    scale: str = option(
        INPUT,
        "Scale the numbers of a table column by column, or keep them.",
        metavar="auto|none",
        value="auto",
    )
    id_column: str | None = option(
        INPUT,
        "Column of a table with the names of the nodes, or none.",
        "--id",
        metavar="COLUMN",
        default="recognised",
    )
    drop: str | None = option(INPUT, "Columns of a table to leave out.", metavar="COLUMN,...")
    columns: str | None = option(
        INPUT,
        "Columns of a table to use, and no others; =number, =category, =date or =text after a "
        "name says what it is.",
        metavar="COLUMN[=KIND],...",
    )

    def plan(self) -> ColumnPlan:
        """Return the plan that the options ask for."""
        choice("--scale", self.scale, ("auto", "none"))
        from truegraph.data import ColumnPlan

        wanted = None if self.columns is None else _kinds(self.columns)
        dropped = tuple(_names("--drop", self.drop))
        name = "auto" if self.id_column is None else self.id_column
        is_none = name.lower() == "none"
        return ColumnPlan(
            self.scale, id_column=None if is_none else name, drop=dropped, columns=wanted
        )


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


@dataclass(frozen=True, kw_only=True)
class NodeFiles:
    """Files with the nodes of a graph."""

    edges: Path | None = cli.EDGES
    features: Path | None = cli.FEATURES


@dataclass(frozen=True, kw_only=True)
class EdgeOptions(TableOptions):
    """How tables and edges are read."""

    source: str | None = option(
        INPUT,
        "Column of the edges with their first ends.",
        "--source",
        metavar="COLUMN",
        default="source, from or the first one",
    )
    target: str | None = option(
        INPUT,
        "Column of the edges with their second ends.",
        "--target",
        metavar="COLUMN",
        default="target, to or the second one",
    )
    weight: str | None = option(
        INPUT,
        "Column of the edges with their weights.",
        "--weight",
        metavar="COLUMN",
        default="weight, if there is one",
    )
    duplicates: str = option(
        INPUT,
        "Weight of an edge that is listed more than once: the largest, the sum, or how often.",
        metavar="max|sum|count",
        value="max",
    )
    directed: str = option(
        INPUT,
        "Graphs have no direction: keep edges listed in any direction, or only mutual ones.",
        metavar="any|mutual",
        value="any",
    )

    def reading(self) -> dict[str, Any]:
        """Return how to read the files, as `truegraph.data.read_node_data` takes it."""
        choice("--duplicates", self.duplicates, ("max", "sum", "count"))
        choice("--directed", self.directed, ("any", "mutual"))
        names = ("source", "target", "weight", "duplicates", "directed")
        return {"plan": self.plan(), **{name: getattr(self, name) for name in names}}
