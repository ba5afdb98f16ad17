"""Readers for users' features: mixed tables, sparse matrices with a list of ids, long tables.

======================  ============================================================================
.csv .parquet .xlsx     one row per node; one column may hold the node's id, the others its features
the same, long          header ``node, feature, value`` (or ``node, feature``): one row per entry
.npy                    an array
.npz                    a sparse matrix of scipy.sparse or an array ``x``, and ``ids`` with names
.npz and .ids.txt       a sparse matrix of scipy.sparse, and a text file with one id per line
======================  ============================================================================

Text tables may be compressed (.csv.gz), and "-" is a text table from standard input.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from truegraph.data.column_kinds import ID_NAMES, is_id_name
from truegraph.data.column_plan import ColumnPlan
from truegraph.data.point_files import read_array
from truegraph.data.storage import PathLike
from truegraph.data.tables import (
    CsvTable,
    Table,
    is_number,
    is_table_file,
    open_table,
)
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
    if not is_table_file(path):
        return NodeFeatures(*read_array(path), None, ())
    table = open_table(path)
    frame = table.frame()
    if _is_long(frame):
        return _from_long_table(table, frame)
    fitted = _fitted(table, frame, ColumnPlan() if plan is None else plan, known)
    names = None
    if fitted.id_name is not None and fitted.id_name in frame.columns:
        place = table.names.index(fitted.id_name)
        names = table.check_ids([place], once=True)[place].to_numpy(str)
    notes = [f"{path}: {fitted.describe()}"]
    if isinstance(table, CsvTable) and table.delimiter == ";":
        notes.insert(0, f"{path}: fields are separated by semicolons")
    return NodeFeatures(frame, names, fitted, tuple(notes))


def _text(table: Table, place: int) -> pd.Series:
    """Return a column as it is written in the file: "007" is not 7."""
    return table.columns([place])[place]


def read_distances(path: PathLike) -> tuple[NDArray[np.float64], Names | None]:
    """Read a square table of distances as it is; a first column of text names the rows."""
    table = open_table(path)
    places = range(len(table.names))
    first = _text(table, 0)
    named = table.header and table.names[0].lower() in ID_NAMES
    if len(places) > 1 and (named or not is_number(first.iloc[0])):
        return table.columns([], places[1:]).to_numpy(np.float64), first.to_numpy(str)
    return table.columns([], places).to_numpy(np.float64), None


def _fitted(
    table: Table, frame: pd.DataFrame, plan: ColumnPlan, known: Collection[str]
) -> ColumnPlan:
    if hasattr(plan, "encoders_"):
        return plan
    wanted = clone(plan)
    if plan.id_column == "auto" and _first_is_id(table, frame, known):
        wanted.set_params(id_column=str(frame.columns[0]))
    try:
        return wanted.fit(frame)
    except InputError as error:
        raise InputError(f"{table.path}: {error}") from error


def _first_is_id(table: Table, frame: pd.DataFrame, known: Collection[str]) -> bool:
    """Return whether the first column holds ids, even if one of them is there twice by mistake."""
    first = _text(table, 0)
    if frame.shape[1] < 2 or first.nunique() <= len(first) / 2:
        return False
    if known:
        return bool(first.isin(known).any())
    return is_id_name(table.names[0]) and not first.is_unique


def _is_long(frame: pd.DataFrame) -> bool:
    names = [str(name).lower() for name in frame.columns]
    return (
        len(names) in (2, 3)
        and names[1] in _LONG_FEATURES
        and (len(names) == 2 or names[2] in _LONG_VALUES)
    )


def _from_long_table(table: Table, frame: pd.DataFrame) -> NodeFeatures:
    rows, nodes = pd.factorize(_text(table, 0))
    columns, features = pd.factorize(_text(table, 1))
    values = np.ones(len(frame))
    if frame.shape[1] == 3:
        values = table.columns([], [2])[2].to_numpy()
    shape = (len(nodes), len(features))
    matrix = sparse.csr_array(sparse.coo_array((values, (rows, columns)), shape=shape))
    repeated = len(values) - matrix.nnz
    path = table.path
    notes = [f"{path}: long table of {shape[0]:,} nodes and {shape[1]:,} features"]
    if repeated:
        notes.append(f"{path}: {counted(repeated, 'entry', 'entries')} added to one listed before")
    return NodeFeatures(matrix, np.asarray(nodes, dtype=str), None, tuple(notes))


def numbered(features: NodeFeatures) -> NodeFeatures:
    """Return features whose nodes have names: those of the file, else 0, 1, 2, ..."""
    if features.names is not None:
        return features
    names = np.array([str(number) for number in range(features.values.shape[0])])
    note = "no column of ids was found: nodes are called 0, 1, 2, ... in the file's order"
    return replace(features, names=names, notes=(*features.notes, note))
