"""Readers for users' features: mixed tables, sparse matrices with a list of ids, long tables.

==================  ================================================================================
.csv .parquet       one row per node; one column may hold the node's id, the others its features
the same, long      header ``node, feature, value`` (or ``node, feature``): one row per entry
.npy                an array
.npz                a sparse matrix of scipy.sparse or an array ``x``, and ``ids`` with the names
.npz and .ids.txt   a sparse matrix of scipy.sparse, and a text file with one id per line
==================  ================================================================================
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from truegraph.data.columns.kinds import is_id_name
from truegraph.data.columns.plan import ColumnPlan
from truegraph.data.mixed_tables import MixedTable, read_mixed_table
from truegraph.data.nodes.point_files import read_array
from truegraph.data.storage import PathLike
from truegraph.data.table_fields import ID_HEADERS, has_header, is_number
from truegraph.data.tables import PARQUET_ENDINGS, TEXT_ENDINGS, Table, open_table, table_error
from truegraph.errors import InputError
from truegraph.wording import counted

Names = NDArray[np.str_]

_LONG_FEATURES = {"feature", "feature_id", "variable", "attribute", "column"}
_LONG_VALUES = {"value", "count", "weight", "amount"}


@dataclass(frozen=True, eq=False)
class NodeFeatures:
    """Features from a file, before columns are turned into numbers.

    Attributes
    ----------
    values : DataFrame, ndarray of float64 or csr_array of float64, shape (n_nodes, ...)
        A table of mixed columns, or a matrix.
    names : ndarray of str, shape (n_nodes,), or None
        Ids of the nodes; None if the file has none.
    plan : ColumnPlan or None
        Fitted plan of a table.
    notes : tuple of str
        What was recognised, for people.
    """

    values: Any
    names: Names | None
    plan: ColumnPlan | None
    notes: tuple[str, ...]

    def matrix(self) -> Any:
        """Return the features as numbers: an ndarray or csr_array of float64."""
        return self.values if self.plan is None else self.plan.transform(self.values)


def read_features(
    path: PathLike, plan: ColumnPlan | None = None, *, known: Collection[str] = ()
) -> NodeFeatures:
    """Read node features.

    Parameters
    ----------
    path : path-like
        See the module for the formats.
    plan : ColumnPlan, optional
        What to do with the columns of a table; default ``ColumnPlan()``. A fitted plan is used
        as it is.
    known : collection of str, optional
        Ids that other files name: a first column that holds one of them is the id, whatever it is
        called.

    Raises
    ------
    InputError
        If the file cannot be read, or two rows have the same id; the message names the line.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in (*TEXT_ENDINGS, *PARQUET_ENDINGS):
        return NodeFeatures(*read_array(path), None, ())
    mixed = read_mixed_table(path)
    if _is_long(mixed.frame):
        return _from_long_table(mixed)
    fitted = _fitted(path, mixed, ColumnPlan() if plan is None else plan, known)
    names = None
    if fitted.id_name is not None and fitted.id_name in mixed.frame.columns:
        names = mixed.text(fitted.id_name).to_numpy(str)
        place = list(mixed.frame.columns).index(fitted.id_name)
        remedy = "; give one, or remove the row."
        check_ids(mixed.table, names, place, header=mixed.header, remedy=remedy)
    notes = (*mixed.notes, f"{path}: {fitted.describe()}")
    return NodeFeatures(mixed.frame, names, fitted, notes)


def read_distances(path: PathLike) -> tuple[NDArray[np.float64], Names | None]:
    """Read a square table of distances as it is; a first column of text names the rows.

    Returns
    -------
    distances : ndarray of float64, shape (n, n)
    node_names : ndarray of str, shape (n,), or None
    """
    table = open_table(path)
    header = has_header(table.first)
    places = range(len(table.first))
    named = header and table.first[0].strip().lower() in ID_HEADERS
    if len(table.first) > 1 and (named or not is_number(table.first_value(header=header))):
        frame = table.columns([0], places[1:], header=header)
        return frame.drop(columns=0).to_numpy(np.float64), frame[0].to_numpy(str)
    return table.columns([], places, header=header).to_numpy(np.float64), None


def _fitted(
    path: PathLike, mixed: MixedTable, plan: ColumnPlan, known: Collection[str]
) -> ColumnPlan:
    if hasattr(plan, "encoders_"):
        return plan
    wanted = clone(plan)
    if plan.id_column == "auto" and _first_is_id(mixed, known):
        wanted.set_params(id_column=str(mixed.frame.columns[0]))
    try:
        return wanted.fit(mixed.frame)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _first_is_id(mixed: MixedTable, known: Collection[str]) -> bool:
    """Return whether the first column holds ids, even if one of them is there twice by mistake."""
    first = mixed.frame.iloc[:, 0]
    if mixed.frame.shape[1] < 2 or first.nunique() <= len(first) / 2:
        return False
    if known:
        return bool(mixed.text(str(first.name)).isin(known).any())
    return is_id_name(str(first.name)) and not first.is_unique


def check_ids(table: Table, names: Names, place: int, *, header: bool, remedy: str) -> None:
    """Raise an InputError for nodes without an id, and for those that are listed twice.

    Parameters
    ----------
    table : Table
        Where the names come from.
    names : ndarray of str, shape (n_rows,)
    place : int
        Their column.
    header : bool
        Whether the first row names the columns.
    remedy : str
        What to do about a missing id.
    """
    blank = names == ""
    if blank.any():
        problem = f"the node's id is missing{remedy}"
        raise table_error(table, int(blank.argmax()), place, problem, header=header)
    repeated = pd.Index(names).duplicated()
    if repeated.any():
        row = int(repeated.argmax())
        first = table.place(int((names == names[row]).argmax()), header=header)
        problem = (
            f"node {str(names[row])!r} is listed twice, first on {first}; remove one of the two."
        )
        raise table_error(table, row, place, problem, header=header)


def _is_long(frame: pd.DataFrame) -> bool:
    names = [str(name).lower() for name in frame.columns]
    return (
        len(names) in (2, 3)
        and names[1] in _LONG_FEATURES
        and (len(names) == 2 or names[2] in _LONG_VALUES)
    )


def _from_long_table(mixed: MixedTable) -> NodeFeatures:
    frame, path = mixed.frame, mixed.table.path
    node, feature = (mixed.text(str(name)) for name in frame.columns[:2])
    rows, nodes = pd.factorize(node)
    columns, features = pd.factorize(feature)
    values = np.ones(len(frame))
    if frame.shape[1] == 3:
        given = frame.iloc[:, 2]
        values = pd.to_numeric(given, errors="coerce").to_numpy(np.float64)
        bad = ~np.isfinite(values)
        if bad.any():
            row = int(bad.argmax())
            value = given.iloc[row]
            problem = "the value is missing." if pd.isna(value) else f"{value!r} is no number."
            problem += " Correct it, or remove the row."
            raise table_error(mixed.table, row, 2, problem, header=mixed.header)
    shape = (len(nodes), len(features))
    matrix = sparse.csr_array(sparse.coo_array((values, (rows, columns)), shape=shape))
    repeated = len(values) - matrix.nnz
    notes = [f"{path}: long table of {shape[0]:,} nodes and {shape[1]:,} features"]
    if repeated:
        notes.append(f"{path}: {counted(repeated, 'entry', 'entries')} added to one listed before")
    names = np.asarray(nodes, dtype=str)
    return NodeFeatures(matrix, names, None, (*mixed.notes, *notes))


def numbered(features: NodeFeatures) -> NodeFeatures:
    """Return features whose nodes have names: those of the file, else 0, 1, 2, ..."""
    if features.names is not None:
        return features
    names = np.array([str(number) for number in range(features.values.shape[0])])
    note = "no column of ids was found: nodes are called 0, 1, 2, ... in the file's order"
    return replace(features, names=names, notes=(*features.notes, note))
