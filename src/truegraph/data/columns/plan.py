"""The column plan: how a table of mixed columns becomes points.

>>> import pandas as pd
>>> from truegraph import ColumnPlan
>>> table = pd.DataFrame(
...     {"customer_id": [7, 3, 9, 4], "age": [31, 45, None, 28], "plan": ["a", "b", "a", "a"]}
... )
>>> plan = ColumnPlan().fit(table)
>>> print(plan.describe())
1 number scaled, 1 category to 2 columns, customer_id: taken as the id (its name and its unique \
values), 1 missing value filled
>>> plan.transform(table).shape
(4, 3)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from truegraph.data.columns.encoders import (
    ENCODERS,
    Categories,
    Encoder,
    encoder_document,
    encoder_from_document,
)
from truegraph.data.columns.frames import as_pandas, row_names
from truegraph.data.columns.kinds import KINDS, Column, check_known, column_kind, recognise
from truegraph.data.columns.wording import describe_plan, unreadable_cells
from truegraph.errors import InputError

_FORMAT = 1


class ColumnPlan(TransformerMixin, BaseEstimator):
    """Turn the columns of a table into numbers whose distances mean something.

    Numbers are scaled by median and quartiles and level off at three spreads; categories become
    0/1 columns; dates become elapsed time and season; text and columns of more than 40 categories
    become string vectors. Each column of the table counts the same in distances, and missing
    values lie in the middle.

    Parameters
    ----------
    scale : {"auto", "none"}, default="auto"
        "none" keeps numbers as they are; missing ones become the median.
    id_column : str or None, default="auto"
        Name of the column that names the rows. "auto" looks for unique values under a name such
        as id, uuid or key, for unique text in the first column, or for whole numbers that count
        up by one. None: there is none, every column is a feature.
    drop : sequence of str, default=()
        Columns to leave out.
    columns : sequence of str, or dict of str to str, optional
        Columns to use, and no others; a dict also says what they are: "number", "category",
        "date" or "text", or None to find out.

    Attributes
    ----------
    columns_ : list of Column
        What every column of the fitted table is, in its order.
    encoders_ : dict of str to Encoder
        How each used column becomes numbers.
    missing_ : dict of str to int
        Missing values that were filled, by column.
    unreadable_ : dict of str to tuple of (int, str)
        Number and first example of values that are neither missing nor of the column's kind.
    """

    def __init__(
        self,
        scale: str = "auto",
        *,
        id_column: str | None = "auto",
        drop: Sequence[str] = (),
        columns: Sequence[str] | dict[str, str | None] | None = None,
    ) -> None:
        self.scale = scale
        self.id_column = id_column
        self.drop = drop
        self.columns = columns

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find out what the columns of a table are, and measure them.

        Parameters
        ----------
        X : DataFrame of pandas or polars, shape (n_rows, n_columns)
        y : ignored
        """
        if self.scale not in ("auto", "none"):
            raise InputError(f"scale={self.scale!r} must be 'auto' or 'none'.")
        frame = as_pandas(X)
        if not len(frame):
            raise InputError("the table has no rows.")
        self.columns_ = self._recognised(frame)
        self.encoders_: dict[str, Encoder] = {}
        self.missing_: dict[str, int] = {}
        self.unreadable_: dict[str, tuple[int, str]] = {}
        for column in self.columns_:
            if column.kind in ENCODERS:
                self._fit_column(column, frame[column.name])
        if not self.encoders_:
            reasons = "; ".join(f"{one.name}: {one.why or one.kind}" for one in self.columns_)
            raise InputError(
                f"no column of the table is usable ({reasons}); add one, or name those to use."
            )
        return self

    def _recognised(self, frame: pd.DataFrame) -> list[Column]:
        given = self.columns if isinstance(self.columns, dict) else {}
        kept = None if self.columns is None else list(self.columns)
        for argument, names in (("drop", self.drop), ("columns", kept or ())):
            for name in names:
                check_known(name, frame, argument)
        found = []
        for column in recognise(frame.drop(columns=list(self.drop)), self.id_column):
            kind = given.get(column.name)
            wanted = kept is not None and column.name in kept
            if kind is not None:
                found.append(_as_asked(column, kind, frame[column.name]))
            elif wanted and column.kind in ("id", "unused"):
                found.append(column_kind(frame[column.name]))
            elif kept is None or wanted or column.kind == "id":
                found.append(column)
            else:
                found.append(Column(column.name, "unused", "not requested"))
        return found + [Column(name, "unused", "dropped on request") for name in self.drop]

    def _fit_column(self, column: Column, values: pd.Series) -> None:
        encoder = ENCODERS[column.kind].fit(values, self.scale, column.date_format)
        self.encoders_[column.name] = encoder
        count, example = unreadable_cells(values, column)
        if count:
            self.unreadable_[column.name] = count, example
        missing = int(values.isna().sum()) + count
        if missing:
            self.missing_[column.name] = missing

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the points of a table with the columns of the fitted one.

        Parameters
        ----------
        X : DataFrame of pandas or polars
            Further columns are ignored; categories that the fit did not see count as missing.

        Returns
        -------
        points : ndarray of float64, shape (n_rows, n_points_columns)
        """
        check_is_fitted(self, "encoders_")
        frame = as_pandas(X)
        lacking = [name for name in self.encoders_ if name not in frame.columns]
        if lacking:
            raise InputError(
                f"the table lacks the columns {', '.join(lacking)}, which the plan was fitted "
                f"with; found {', '.join(map(str, frame.columns))}; add or rename them."
            )
        widths = [len(encoder.parts()) for encoder in self.encoders_.values()]
        points = np.empty((len(frame), sum(widths)))
        end = 0
        for (name, encoder), width in zip(self.encoders_.items(), widths, strict=True):
            points[:, end : end + width] = encoder.transform(frame[name])
            end += width
        return points

    def ids(self, X: Any) -> list[Any] | None:
        """Return the values of a table's id column, or None if it has none."""
        check_is_fitted(self, "encoders_")
        column = self.id_name
        if column is None or column not in X.columns:
            return None
        return as_pandas(X)[column].tolist()

    def names(self, X: Any) -> NDArray[np.str_] | None:
        """Return the names of a table's rows as text: its ids, else its index, else None."""
        ids = self.ids(X)
        if ids is None:
            return row_names(as_pandas(X))
        return np.asarray([str(value) for value in ids], dtype=str)

    @property
    def id_name(self) -> str | None:
        """Name of the column that names the rows, or None."""
        return next((one.name for one in self.columns_ if one.kind == "id"), None)

    def unknown_categories(self, X: Any) -> dict[str, list[str]]:
        """Return the categories of a table that the fit did not see, by column."""
        frame = as_pandas(X)
        found = {
            name: encoder.unknown(frame[name])
            for name, encoder in self.encoders_.items()
            if isinstance(encoder, Categories)
        }
        return {name: values for name, values in found.items() if values}

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the points' columns, such as "age" and "plan=basic"."""
        check_is_fitted(self, "encoders_")
        names = [f"{name}{part}" for name, one in self.encoders_.items() for part in one.parts()]
        return np.asarray(names, dtype=object)

    def describe(self) -> str:
        """Return in one line what becomes of the columns."""
        check_is_fitted(self, "encoders_")
        return describe_plan(self)

    def to_document(self, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
        """Return the fitted plan as JSON; arrays are added to `arrays`, names "columns...."."""
        check_is_fitted(self, "encoders_")
        params = self.get_params(deep=False)
        params["drop"] = list(self.drop)
        if self.columns is not None and not isinstance(self.columns, dict):
            params["columns"] = list(self.columns)
        return {
            "format": _FORMAT,
            "params": params,
            "columns": [vars(column) for column in self.columns_],
            "encoders": [
                {
                    "name": name,
                    "kind": encoder.kind,
                    **encoder_document(encoder, f"columns.{place}", arrays),
                }
                for place, (name, encoder) in enumerate(self.encoders_.items())
            ],
            "missing": self.missing_,
            "unreadable": {name: list(found) for name, found in self.unreadable_.items()},
        }

    @classmethod
    def from_document(cls, document: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        """Return the plan that `to_document` described; it turns tables the same, bit for bit."""
        if document.get("format") != _FORMAT:
            raise InputError(
                f"the column plan has format {document.get('format')!r}; this version reads "
                f"format {_FORMAT}; fit and save the model again."
            )
        plan = cls(**document["params"])
        plan.columns_ = [Column(**column) for column in document["columns"]]
        plan.encoders_ = {
            one["name"]: encoder_from_document(one["kind"], one, f"columns.{place}", arrays)
            for place, one in enumerate(document["encoders"])
        }
        plan.missing_ = {str(name): int(count) for name, count in document["missing"].items()}
        plan.unreadable_ = {
            str(name): (int(count), str(example))
            for name, (count, example) in document["unreadable"].items()
        }
        return plan


def _as_asked(column: Column, kind: str, values: pd.Series) -> Column:
    if kind not in KINDS:
        raise InputError(
            f"columns: {column.name!r} is to be a {kind!r}; use one of {', '.join(KINDS)}."
        )
    found = column_kind(values)
    if kind == "date" and found.kind != "date":
        raise InputError(
            f"columns: {column.name!r} is to be a date, but values such as "
            f"{str(values.dropna().iloc[0])!r} are not; write them as 2024-12-31."
        )
    return Column(column.name, kind, date_format=found.date_format)
