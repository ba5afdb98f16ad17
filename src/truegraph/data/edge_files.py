"""Readers for users' edges: any two columns of ids, with or without a header.

Truegraph's graphs have no direction, and at most one edge between two nodes. What becomes of edges
that a file lists more than once, or in one direction only, is decided here and reported.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from truegraph import gate
from truegraph.data.adjacency import adjacency_from_edges
from truegraph.data.storage import PathLike
from truegraph.data.tables import CsvTable, Table, is_number, open_table
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
Notes = tuple[str, ...]
EdgeTable = tuple[pd.DataFrame, Table, dict[str, int]]


def read_edges(
    path: PathLike,
    *,
    source: str | None = None,
    target: str | None = None,
    weight: str | None = None,
    time: str | None = None,
) -> pd.DataFrame:
    """Read edges from a table in a file.

    Parameters
    ----------
    path : path-like
        .csv, .tsv or .txt (also .gz), .parquet, .xlsx, or "-" for standard input. Fields are
        separated by commas, semicolons, tabs or spaces; lines above the table that begin with #
        or % are comments.
    source, target : str, optional
        Names of the columns with the two ends. Default: source and target, from and to, src and
        dst or head and tail if there are such columns, else the first two.
    weight : str, optional
        Name of the column with weights; default: weight, if there is one.
    time : str, optional
        Name of a column with numbers or dates, which become seconds since 1970.

    Returns
    -------
    edges : DataFrame
        The columns source and target (str) and, if given, weight and time (float64), in the file's
        order.
    """
    columns = {"source": source, "target": target, "weight": weight, "time": time}
    return read_edge_table(path, columns)[0]


def read_edge_table(
    path: PathLike, columns: Mapping[str, str | None] | None = None, nodes: Collection[str] = ()
) -> EdgeTable:
    """Return edges as `read_edges` does, their table, and the position of each column in it.

    A first line that holds two of `nodes` is not a header.
    """
    wanted = columns or {}
    is_asked = any(wanted.values())
    table = open_table(path, partial(_has_header, nodes=nodes, is_asked=is_asked))
    if len(table.names) < 2:
        raise InputError(
            f"{path}: found the one column {table.names[0]!r}; give two columns of node ids, "
            "separated by a comma, semicolon, tab or space."
        )
    place = _places(table, wanted)
    if table.header:
        table.check_named_once(place.values())
    ends = [place["source"], place["target"]]
    weights, moments = ([place[role]] if role in place else [] for role in ("weight", "time"))
    frame = table.columns(ends, weights, moments)
    frame = frame.rename(columns={position: role for role, position in place.items()})
    table.check_ids(ends)
    if "weight" in frame and (frame["weight"] < 0).any():
        problem = "a weight must not be negative; correct or remove the edge."
        raise table.error(int((frame["weight"] < 0).argmax()), place["weight"], problem)
    return frame, table, place


def _has_header(table: CsvTable, nodes: Collection[str], is_asked: bool) -> bool:
    """Return whether the first line names the columns.

    Numbers are ids, and so is what other lines, or `nodes`, hold too.
    """
    first = [field.strip() for field in table.first]
    lowered = [name.lower() for name in first]
    if is_asked or any(set(pair) <= set(lowered) for pair in _USUAL_NAMES):
        return True
    if any(is_number(field) for field in first[:2]) or all(field in nodes for field in first[:2]):
        return False
    columns = range(min(2, len(first)))
    frame = table.rows_without_header(columns).iloc[1:]
    return not any((frame[column] == field).any() for column in columns for field in first[:2])


def _places(table: Table, wanted: Mapping[str, str | None]) -> dict[str, int]:
    """Return the position of each column that is read, the ends first."""
    lowered = [name.lower() for name in table.names]
    place: dict[str, int] = {}
    usual = next((pair for pair in _USUAL_NAMES if set(pair) <= set(lowered)), None)
    if usual is not None:
        place = {"source": lowered.index(usual[0]), "target": lowered.index(usual[1])}
    if "weight" in lowered:
        place["weight"] = lowered.index("weight")
    place |= {role: table.position(name, role) for role, name in wanted.items() if name is not None}
    taken = {place[role] for role in ("source", "target") if role in place}
    free = (position for position in range(len(lowered)) if position not in taken)
    ends = {role: place[role] if role in place else next(free) for role in ("source", "target")}
    if ends["source"] == ends["target"]:
        name = table.names[ends["source"]]
        raise InputError(f"{table.path}: source and target are the same column {name!r}; name two.")
    return ends | {role: where for role, where in place.items() if where not in ends.values()}


def edge_notes(table: Table, place: Mapping[str, int]) -> Notes:
    """Return what was chosen, and which columns were not read, for people."""
    notes = []
    names = [table.names[place[role]] for role in ("source", "target")]
    if [name.lower() for name in names] != ["source", "target"]:
        notes.append(f"{table.path}: edges run from {names[0]} to {names[1]}")
    rest = [name for where, name in enumerate(table.names) if where not in place.values()]
    if rest:
        how = "if one holds weights, name it with weight= (--weight)"
        notes.append(
            f"{table.path}: {counted(len(rest), 'column')} not read: {', '.join(rest[:5])}"
            f"{', ...' if len(rest) > 5 else ''}; {how}"
        )
    return tuple(notes)


def merge_edges(
    sources: NDArray[np.int64],
    targets: NDArray[np.int64],
    weights: NDArray[np.float64] | None,
    n_nodes: int,
    *,
    duplicates: str = "max",
    directed: str = "any",
) -> tuple[sparse.csr_array, Notes]:
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
    both = np.isin(np.arange(len(keys)), position[forward])
    both &= np.isin(np.arange(len(keys)), position[~forward])
    merged = pd.Series(values[real]).groupby(position).agg(duplicates).to_numpy(np.float64)
    keep = both if directed == "mutual" else np.ones(len(keys), dtype=bool)
    ends = np.divmod(keys[keep], max(n_nodes, 1))
    graph = adjacency_from_edges(*ends, merged[keep], n_nodes)
    loops = int(np.count_nonzero(sources == targets))
    zeros = int(np.count_nonzero((values == 0) & (sources != targets)))
    repeated = int(real.sum()) - len(keys)
    notes = _merging_notes(loops, zeros, repeated, duplicates)
    return graph, notes + _direction_notes(both, directed, repeated > 0)


def _merging_notes(loops: int, zeros: int, repeated: int, duplicates: str) -> Notes:
    kept = {"max": "the largest weight stays", "sum": "weights are summed"}
    rule = f"{kept.get(duplicates, 'the weight is how often')}; duplicates={duplicates}"
    notes = {
        f"{counted(loops, 'self-loop')} dropped": loops,
        f"{counted(zeros, 'edge')} of weight 0 dropped": zeros,
        f"{counted(repeated, 'edge')} merged with one listed before ({rule})": repeated,
    }
    return tuple(note for note, count in notes.items() if count > 0)


def _direction_notes(both: NDArray[np.bool_], directed: str, repeated: bool) -> Notes:
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
