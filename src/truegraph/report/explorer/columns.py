"""What is known of each node: categories and numbers to colour nodes by and to show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from truegraph import gate
from truegraph.data.frames import as_pandas, is_frame
from truegraph.data.identifiers import unknown_id
from truegraph.errors import InputError

NO_VALUE = 65535  # code of a node without a category
_MOST_CATEGORIES = 400
_FEW_CATEGORIES = 40  # of a column of a table
_MOST_COLUMNS = 24  # of a table of features
_COLUMNS = {  # of a table of predictions, and what the page calls them
    "mutual_information": "mutual information",
    "predictive_entropy": "entropy",
    "probability": "probability of prediction",
}


class Column:
    """One value per node: codes (uint16, `NO_VALUE` for none) of categories, or float32 numbers."""

    def __init__(self, name: str, values: NDArray[Any], categories: Any = None) -> None:
        self.name, self.values, self.categories = name, values, categories

    def of(self, nodes: NDArray[np.int64]) -> Column:
        """Return the column of some nodes."""
        return Column(self.name, self.values[nodes], self.categories)


class Predictions(NamedTuple):
    """Predictions of the nodes, and how uncertain each is: what a label would tell."""

    columns: list[Column]
    uncertainty: NDArray[np.float64]  # (n_nodes,)
    classes: Sequence[str] = ()
    probabilities: NDArray[np.float64] | None = None  # (n_nodes, n_classes)


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
    try:
        codes, known = pd.factorize(given.mask(none), sort=True)
    except TypeError:  # values of several kinds
        codes, known = pd.factorize(given.mask(none).map(str, na_action="ignore"), sort=True)
    if len(known) > _MOST_CATEGORIES:
        raise InputError(
            f"{name}s holds {len(known)} different values, more than {_MOST_CATEGORIES} classes; "
            "give classes, or pass numbers as features."
        )
    return Column(name, np.where(codes < 0, NO_VALUE, codes).astype(np.uint16), [*map(str, known)])


def number_column(name: str, values: Any) -> Column:
    """Return a column of numbers."""
    return Column(name, np.asarray(values, dtype=np.float32))


def table_columns(frame: pd.DataFrame) -> list[Column]:
    """Return the first columns of a table that can be shown: numbers, and few categories."""
    found = []
    for name in frame.columns[:_MOST_COLUMNS]:
        kind = frame[name].dtype
        is_text = pd.api.types.is_string_dtype(kind) or kind.kind in "bOU"
        is_text |= isinstance(kind, pd.CategoricalDtype)
        if kind.kind in "iuf":
            found.append(number_column(str(name), frame[name]))
        elif is_text and frame[name].nunique() <= _FEW_CATEGORIES:
            found.append(category_column(str(name), frame[name].to_numpy(object), len(frame)))
    return found


def read_predictions(
    given: Any, names: Sequence[Any] | None, n_nodes: int, classes: Sequence[str]
) -> Predictions:
    """Return predictions from probabilities (n_nodes, n_classes), or the table of ``classify``."""
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
    is_named = len(classes) == dense.shape[1]
    known = list(classes) if is_named else [str(number) for number in range(dense.shape[1])]
    entropy = -(dense * np.log(np.where(dense > 0.0, dense, 1.0))).sum(axis=1)
    columns = [
        Column("prediction", dense.argmax(axis=1).astype(np.uint16), known),
        number_column(_COLUMNS["probability"], dense.max(axis=1)),
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
        table = table.iloc[[place[name] for name in wanted]]
    elif len(table) != n_nodes:
        raise InputError(f"predictions has {len(table)} rows for {n_nodes} nodes; give one each.")
    return table.reset_index(drop=True)


def _from_table(table: pd.DataFrame) -> Predictions:
    predicted = table["prediction" if "prediction" in table.columns else "label"]
    columns = [category_column("prediction", predicted.to_numpy(object), len(table))]
    uncertainty = None
    for name, shown in _COLUMNS.items():
        if name not in table.columns:
            continue
        values = pd.to_numeric(table[name], errors="coerce").to_numpy(np.float64)
        if np.isfinite(values).any():
            columns.append(number_column(shown, values))
            known = np.nan_to_num(1.0 - values if name == "probability" else values)
            uncertainty = known if uncertainty is None else uncertainty
    return Predictions(columns, np.ones(len(table)) if uncertainty is None else uncertainty)
