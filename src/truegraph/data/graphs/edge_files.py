"""Readers for users' edges: any two columns of ids, with or without a header.

Truegraph's graphs have no direction, and at most one edge between two nodes. What becomes of edges
that a file lists more than once, or in one direction only, is decided here and reported.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from truegraph import gate
from truegraph.data.graphs.adjacency import adjacency_from_edges
from truegraph.data.storage import PathLike
from truegraph.data.table_fields import is_number
from truegraph.data.tables import CsvTable, Table, check_named_once, open_table, table_error
from truegraph.errors import InputError
from truegraph.wording import counted

DUPLICATES = ("max", "sum", "count")
DIRECTIONS = ("any", "mutual")

_USUAL_NAMES = (
    ("source", "target"),
    ("from", "to"),
    ("src", "dst"),
    ("head", "tail"),
)


@dataclass(frozen=True, eq=False)
class EdgeTable:
    """Edges as a file lists them.

    Attributes
    ----------
    path : path-like
    table : CsvTable or ParquetTable
    header : bool
        Whether the file has one.
    frame : DataFrame
        The columns source and target (str) and, if given, weight (float64), in the file's order.
    names : tuple of str
        What the file calls source and target.
    notes : tuple of str
        What was chosen, for people.
    """

    path: PathLike
    table: Table
    header: bool
    frame: pd.DataFrame
    names: tuple[str, str]
    notes: tuple[str, ...]

    def place(self, row: int) -> str:
        """Return where a row stands, for messages."""
        return self.table.place(row, header=self.header)


def read_edges(
    path: PathLike,
    *,
    source: str | None = None,
    target: str | None = None,
    weight: str | None = None,
) -> pd.DataFrame:
    """Read edges from a CSV or Parquet file; parameters as in `read_edge_table`.

    Returns
    -------
    edges : DataFrame
        The columns source and target (str) and, if given, weight (float64), in the file's order.
    """
    return read_edge_table(path, source=source, target=target, weight=weight).frame


def read_edge_table(
    path: PathLike,
    *,
    source: str | None = None,
    target: str | None = None,
    weight: str | None = None,
    nodes: Collection[str] = (),
) -> EdgeTable:
    """Read edges from a CSV or Parquet file, with what was recognised.

    Parameters
    ----------
    path : path-like
        Fields are separated by commas, semicolons, tabs or spaces; lines above the table that
        begin with # or % are comments.
    source, target : str, optional
        Names of the columns with the two ends. Default: source and target, from and to, src and
        dst or head and tail if there are such columns, else the first two.
    weight : str, optional
        Name of the column with weights; default: weight, if there is one.
    nodes : collection of str, optional
        Ids of nodes known from elsewhere: a first line that holds two of them is not a header.

    Raises
    ------
    InputError
        If the file cannot be read; the message names line and column.
    """
    table = open_table(path)
    if len(table.first) < 2:
        raise InputError(
            f"{path}: found the one column {table.first[0]!r}; give two columns of node ids, "
            "separated by a comma, semicolon, tab or space."
        )
    header = _has_header(table, nodes, asked=(source, target, weight))
    lowered = [name.strip().lower() for name in table.first] if header else []
    ends = _ends(path, table, lowered, source, target)
    weights = _weight(path, table, lowered, weight)
    if header:
        check_named_once(table, [*ends, *weights])
    frame = table.columns(ends, weights, header=header)
    _check_values(table, frame, ends, weights, header)
    names = [table.first[i].strip() if header else f"column {i + 1}" for i in ends]
    notes = []
    if tuple(name.lower() for name in names) != ("source", "target"):
        notes.append(f"{path}: edges run from {names[0]} to {names[1]}")
    columns = {ends[0]: "source", ends[1]: "target", **dict.fromkeys(weights, "weight")}
    frame = frame.rename(columns=columns)
    return EdgeTable(path, table, header, frame, (names[0], names[1]), tuple(notes))


def _has_header(table: Table, nodes: Collection[str], asked: tuple[str | None, ...]) -> bool:
    """Return whether the first line names the columns.

    Numbers are ids, and so is what other lines, or `nodes`, hold too.
    """
    if not isinstance(table, CsvTable) or table.has_comment_header or any(asked):
        return True
    first = [field.strip() for field in table.first]
    lowered = [name.lower() for name in first]
    if any(set(pair) <= set(lowered) for pair in _USUAL_NAMES):
        return True
    if any(is_number(field) for field in first[:2]) or all(field in nodes for field in first[:2]):
        return False
    frame = table.columns([0, 1], [], header=False).iloc[1:]
    return not any((frame[column] == field).any() for column in (0, 1) for field in first[:2])


def _ends(
    path: PathLike, table: Table, lowered: list[str], source: str | None, target: str | None
) -> list[int]:
    usual = next((pair for pair in _USUAL_NAMES if set(pair) <= set(lowered)), None)
    found: list[int | None] = [None, None]
    if usual is not None:
        found = [lowered.index(name) for name in usual]
    for end, (role, name) in enumerate((("source", source), ("target", target))):
        if name is not None:
            found[end] = _named(path, table, lowered, name, role)
    taken = {place for place in found if place is not None}
    free = (place for place in range(len(table.first)) if place not in taken)
    ends = [next(free) if place is None else place for place in found]
    if ends[0] == ends[1]:
        raise InputError(
            f"{path}: source and target are the same column {table.first[ends[0]]!r}; name two."
        )
    return ends


def _weight(path: PathLike, table: Table, lowered: list[str], name: str | None) -> list[int]:
    if name is not None:
        return [_named(path, table, lowered, name, "weight")]
    return [lowered.index("weight")] if "weight" in lowered else []


def _named(path: PathLike, table: Table, lowered: list[str], name: str, role: str) -> int:
    if name.strip().lower() not in lowered:
        raise InputError(
            f"{path}: no column is called {name!r}, which would hold the {role}; the first line "
            f"has {', '.join(table.first)}."
        )
    return lowered.index(name.strip().lower())


def _check_values(
    table: Table, frame: pd.DataFrame, ends: list[int], weights: list[int], header: bool
) -> None:
    for column in ends:
        blank = (frame[column] == "").to_numpy()
        if blank.any():
            row = int(blank.argmax())
            problem = "the node's id is missing; give one, or remove the row."
            raise table_error(table, row, column, problem, header=header)
    for column in weights:
        negative = frame[column].to_numpy() < 0
        if negative.any():
            problem = "a weight must not be negative; correct or remove the edge."
            raise table_error(table, int(negative.argmax()), column, problem, header=header)


def merge_edges(
    sources: NDArray[np.int64],
    targets: NDArray[np.int64],
    weights: NDArray[np.float64] | None,
    n_nodes: int,
    *,
    duplicates: str = "max",
    directed: str = "any",
) -> tuple[sparse.csr_array, tuple[str, ...]]:
    """Make a graph of listed edges, and say what was dropped and merged.

    Parameters
    ----------
    sources, targets : ndarray of int64, shape (n_edges,)
    weights : ndarray of float64, shape (n_edges,), or None
        None: 1 each.
    n_nodes : int
    duplicates : {"max", "sum", "count"}
        Weight of an edge that is listed more than once: the largest, the sum, or how often it is
        listed, whatever its weights.
    directed : {"any", "mutual"}
        Which edges stay: those listed in either direction, or only those listed in both.

    Returns
    -------
    graph : csr_array of float64, shape (n_nodes, n_nodes)
    notes : tuple of str
    """
    for name, value, allowed in (
        ("duplicates", duplicates, DUPLICATES),
        ("directed", directed, DIRECTIONS),
    ):
        if value not in allowed:
            raise InputError(f"{name}={value!r} must be {' or '.join(allowed)}.")
    sources = gate.indices("sources", sources, n_nodes)
    targets = gate.indices("targets", targets, n_nodes)
    if len(sources) != len(targets):
        raise InputError(f"sources has {len(sources)} nodes and targets {len(targets)}.")
    values = np.ones(len(sources))
    if weights is not None:
        values = gate.numbers("weights", weights, length=len(sources), nonnegative=True)
    real = (sources != targets) & (values != 0)
    low, high = np.minimum(sources, targets)[real], np.maximum(sources, targets)[real]
    keys, position = np.unique(low * n_nodes + high, return_inverse=True)
    forward = (sources < targets)[real]
    both = np.bincount(position[forward], minlength=len(keys)) > 0
    both &= np.bincount(position[~forward], minlength=len(keys)) > 0
    merged = _merged(values[real], position, len(keys), duplicates)
    keep = both if directed == "mutual" else np.ones(len(keys), dtype=bool)
    ends = np.divmod(keys[keep], max(n_nodes, 1))
    graph = adjacency_from_edges(*ends, merged[keep], n_nodes)
    notes = _merging_notes(sources, targets, values, len(keys), duplicates)
    return graph, notes + _direction_notes(both, directed, int(real.sum()) > len(keys))


def _merged(
    values: NDArray[np.float64], position: NDArray[np.int64], count: int, duplicates: str
) -> NDArray[np.float64]:
    if duplicates == "max":
        merged = np.zeros(count)
        np.maximum.at(merged, position, values)
        return merged
    return np.bincount(position, values if duplicates == "sum" else None, count).astype(np.float64)


def _merging_notes(
    sources: NDArray[np.int64],
    targets: NDArray[np.int64],
    values: NDArray[np.float64],
    different: int,
    duplicates: str,
) -> tuple[str, ...]:
    loops = int(np.count_nonzero(sources == targets))
    zeros = int(np.count_nonzero((values == 0) & (sources != targets)))
    repeated = len(sources) - loops - zeros - different
    kept = {"max": "the largest weight stays", "sum": "weights are summed"}
    rule = f"{kept.get(duplicates, 'the weight is how often')}; duplicates={duplicates}"
    notes = {
        f"{counted(loops, 'self-loop')} dropped": loops,
        f"{counted(zeros, 'edge')} of weight 0 dropped": zeros,
        f"{counted(repeated, 'edge')} merged with one listed before ({rule})": repeated,
    }
    return tuple(note for note, count in notes.items() if count > 0)


def _direction_notes(both: NDArray[np.bool_], directed: str, repeated: bool) -> tuple[str, ...]:
    single = int(np.count_nonzero(~both))
    if directed == "mutual":
        return (
            f"{single:,} edges dropped that are listed in one direction only (directed=mutual)",
        )
    if repeated and 0 < single < len(both):
        return (
            f"{single:,} of {len(both):,} edges are listed in one direction only; the graph has no "
            "direction, so they count as the others (directed=any)",
        )
    return ()
