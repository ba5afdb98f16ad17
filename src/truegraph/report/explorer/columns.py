"""What is known about each node: categories and numbers to colour nodes by and to show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from truegraph import gate
from truegraph.data.columns.frames import as_pandas, is_frame
from truegraph.data.identifiers import unknown_id
from truegraph.errors import InputError

NO_VALUE = 65535  # code of a node without a category
_MOST_CATEGORIES = 400
_MOST_COLUMNS = 24  # of a table of features


@dataclass(frozen=True, eq=False)
class Column:
    """One value per node.

    Attributes
    ----------
    name : str
    values : ndarray of shape (n_nodes,)
        Codes (uint16, `NO_VALUE` for none) of categories, or float32 numbers (NaN for none).
    categories : sequence of str, or None
        None for numbers.
    """

    name: str
    values: NDArray[Any]
    categories: Sequence[str] | None = None


@dataclass(frozen=True, eq=False)
class Predictions:
    """What is predicted for each node.

    Attributes
    ----------
    columns : sequence of Column
        The predicted class, its probability, entropy and so on.
    uncertainty : ndarray of float64, shape (n_nodes,)
        What more labels would remove, if known; else all uncertainty.
    classes : sequence of str
    probabilities : ndarray of float64, shape (n_nodes, n_classes), or None
    """

    columns: Sequence[Column]
    uncertainty: NDArray[np.float64]
    classes: Sequence[str] = ()
    probabilities: NDArray[np.float64] | None = None


def category_column(name: str, values: Any, n_nodes: int) -> Column:
    """Return a column of categories; None, NaN, "" and, among whole numbers, -1 mean none."""
    listed = np.asarray(values, dtype=object)
    if listed.shape != (n_nodes,):
        raise InputError(
            f"{name}s has shape {listed.shape}; give one value for each of the {n_nodes} nodes."
        )
    given = pd.Series(listed)
    is_whole = given.map(lambda value: isinstance(value, int | np.integer)).all()
    none = given.isna() | given.astype(str).isin(["", "-1"] if is_whole else [""])
    found = given[~none]
    try:
        known = sorted(set(found.tolist()))
    except TypeError:
        known = sorted(set(found.tolist()), key=str)
    if len(known) > _MOST_CATEGORIES:
        raise InputError(
            f"{name}s holds {len(known)} different values, more than {_MOST_CATEGORIES} classes; "
            "give classes, or pass numbers as features."
        )
    code = {value: place for place, value in enumerate(known)}
    codes = np.full(n_nodes, NO_VALUE, dtype=np.uint16)
    codes[~none.to_numpy()] = [code[value] for value in found.tolist()]
    return Column(name, codes, [str(value) for value in known])


def number_column(name: str, values: Any) -> Column:
    """Return a column of numbers."""
    return Column(name, np.asarray(values, dtype=np.float32))


def table_columns(frame: pd.DataFrame) -> list[Column]:
    """Return the first columns of a table that can be shown: numbers, and few categories."""
    found = []
    for name in frame.columns[:_MOST_COLUMNS]:
        series = frame[name]
        if series.dtype.kind in "iuf":
            found.append(number_column(str(name), series))
        elif series.dtype.kind in "bOU" or isinstance(series.dtype, pd.CategoricalDtype):
            if series.nunique() <= 40:
                found.append(category_column(str(name), series.to_numpy(object), len(frame)))
        elif pd.api.types.is_string_dtype(series.dtype) and series.nunique() <= 40:
            found.append(category_column(str(name), series.to_numpy(object), len(frame)))
    return found


def read_predictions(
    given: Any, names: Sequence[Any] | None, n_nodes: int, classes: Sequence[str]
) -> Predictions:
    """Check predictions in either of their forms.

    Parameters
    ----------
    given : ndarray of shape (n_nodes, n_classes), or DataFrame
        Probabilities of the classes; or the table that `truegraph classify` writes, with a row
        per node and the column label, and perhaps node, probability, predictive_entropy and
        mutual_information.
    names : sequence or None
        Names of the nodes, for the column node.
    n_nodes : int
    classes : sequence of str
        Names of the classes, as far as labels tell.
    """
    if is_frame(given):
        return _from_table(_in_order(as_pandas(given), names, n_nodes))
    values = gate.table("predictions", given, shape=(n_nodes, None), nonnegative=True)
    dense = np.asarray(values.toarray() if hasattr(values, "toarray") else values)
    total = dense.sum(axis=1, keepdims=True)
    if dense.shape[1] == 0 or not np.allclose(total, 1.0, atol=1e-3):
        raise InputError(
            "predictions must be probabilities that sum to 1 in every row; pass predict_proba() of "
            "a classifier."
        )
    dense = dense / total
    named = list(classes) if len(classes) == dense.shape[1] else []
    known = named or [str(number) for number in range(dense.shape[1])]
    logs = np.log(np.where(dense > 0.0, dense, 1.0))
    entropy = -(dense * logs).sum(axis=1)
    columns = [
        Column("prediction", dense.argmax(axis=1).astype(np.uint16), known),
        number_column("probability of prediction", dense.max(axis=1)),
        number_column("entropy", entropy),
    ]
    return Predictions(columns, entropy, known, dense)


def _in_order(table: pd.DataFrame, names: Sequence[Any] | None, n_nodes: int) -> pd.DataFrame:
    """Return the rows of a table of predictions in the order of the nodes."""
    if "label" not in table.columns:
        raise InputError(
            f"predictions has the columns {', '.join(map(str, table.columns))}, but not label; "
            "give the table that truegraph classify writes, or an array of probabilities."
        )
    if "node" in table.columns:
        place = {str(name): row for row, name in enumerate(table["node"])}
        wanted = [str(name) for name in (range(n_nodes) if names is None else names)]
        lost = next((name for name in wanted if name not in place), None)
        if lost is not None:
            raise unknown_id(lost, place, "node in predictions")
        return table.iloc[[place[name] for name in wanted]].reset_index(drop=True)
    if len(table) != n_nodes:
        raise InputError(f"predictions has {len(table)} rows for {n_nodes} nodes; give one each.")
    return table.reset_index(drop=True)


def _from_table(table: pd.DataFrame) -> Predictions:
    columns = [category_column("prediction", table["label"].to_numpy(object), len(table))]
    words = {
        "probability": "probability of prediction",
        "predictive_entropy": "entropy",
        "mutual_information": "mutual information",
    }
    numbers = {}
    for name, shown in words.items():
        if name in table.columns:
            values = pd.to_numeric(table[name], errors="coerce").to_numpy(np.float64)
            if np.isfinite(values).any():
                numbers[name] = values
                columns.append(number_column(shown, values))
    for name in ("mutual_information", "predictive_entropy"):
        if name in numbers:
            return Predictions(columns, np.nan_to_num(numbers[name]))
    if "probability" in numbers:
        return Predictions(columns, 1.0 - np.nan_to_num(numbers["probability"]))
    return Predictions(columns, np.ones(len(table)))
