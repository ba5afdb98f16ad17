"""The column plan: how a table of mixed columns becomes points.

>>> import pandas as pd
>>> from truegraph import ColumnPlan
>>> table = pd.DataFrame(
...     {"customer_id": [7, 3, 9, 4], "age": [31, 45, None, 28], "plan": ["a", "b", "a", "a"]}
... )
>>> plan = ColumnPlan().fit(table)
>>> print(plan.describe())
1 number scaled, 1 category to 2 columns, customer_id: used as the identifier (its name \
and its unique values), 1 missing value filled
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
from sklearn.utils.validation import check_is_fitted, validate_data

from truegraph.data.column_encoders import encoded, fitted, unread, unscaled
from truegraph.data.column_kinds import (
    KINDS,
    Column,
    check_known,
    column_kind,
    numbers,
    present,
    recognise,
)
from truegraph.data.frames import as_pandas, is_frame
from truegraph.errors import InputError
from truegraph.saving import savable
from truegraph.wording import counted

_SCALES = ("auto", "each", "none")
_ONE_UNIT = 5.0  # columns whose deviations differ by less may well be in one unit
_ALIKE = 2.0  # widest range of columns x0, x1, ... in one unit over the median range


@savable
class ColumnPlan(TransformerMixin, BaseEstimator):
    """Turn the columns of a table into numbers whose distances mean something.

    Numbers are standardised and level off at two standard deviations; categories become
    0/1 columns; dates become elapsed time and season; text and columns of more than 40 categories
    become axes of their groups of letters; lists of numbers, such as embeddings, are taken as they
    are, with one scale. Each column of the table counts about the same in distances, and missing
    values lie in the middle.

    A table of nothing but numbers in one unit is taken as the array that it is: its columns keep
    their sizes. That is so for columns called a (cm), b (cm), ..., for columns called x0, x1, ...
    whose ranges are about the same, and for columns whose standard deviations differ by less than
    a factor of 5.

    Parameters
    ----------
    scale : {"auto", "each", "none"}, default="auto"
        "each" scales every column, also of a table in one unit; "none" keeps numbers as they are,
        missing ones become the mean.
    id_column : str or None, default="auto"
        Name of the column that names the rows. "auto" looks for unique values under a name such
        as id, uuid or key, for unique text in the first column, or for whole numbers that count
        up by one. None: there is none, every column is a feature.
    drop : sequence of str, default=()
        Columns to leave out.
    columns : sequence of str, or dict of str to str, optional
        Columns to use, and no others; a dict also says what they are: "number", "category",
        "date", "text" or "block", or None to find out.

    Attributes
    ----------
    columns_ : list of Column
        What every column of the fitted table is, in its order.
    encoders_ : dict of str to Column
        The columns that become numbers.
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
        X : DataFrame of any library, or array, shape (n_rows, n_columns)
        y : ignored
        """
        if self.scale not in _SCALES:
            raise InputError(f"scale={self.scale!r} must be one of {', '.join(_SCALES)}.")
        frame = self._frame(X, reset=True)
        if not len(frame):
            raise InputError("the table has no rows.")
        self.columns_ = self._recognised(frame, is_array=not is_frame(X))
        self.missing_: dict[str, int] = {}
        self.unreadable_: dict[str, tuple[int, str]] = {}
        used = [column for column in self.columns_ if column.kind in KINDS]
        self.encoders_ = {
            one.name: fitted(one, frame[one.name], self.scale != "none") for one in used
        }
        if not self.encoders_:
            reasons = "; ".join(f"{one.name}: {one.why or one.kind}" for one in self.columns_)
            raise InputError(
                f"no column of the table is usable (n_samples = {len(frame)}; {reasons}); add one, "
                "or name those to use."
            )
        for name, column in self.encoders_.items():
            self._count_gaps(column, frame[name])
        if self.scale == "auto" and _are_in_one_unit(self.encoders_, frame):
            self.encoders_ = {name: unscaled(one) for name, one in self.encoders_.items()}
        return self

    def _count_gaps(self, column: Column, values: pd.Series) -> None:
        bad = unread(column, values)
        if bad.any():
            self.unreadable_[column.name] = int(bad.sum()), str(values[bad].iloc[0]).strip()
        missing = int((bad | ~present(values, column.kind)).sum())
        if missing:
            self.missing_[column.name] = missing

    def _frame(self, X: Any, *, reset: bool) -> pd.DataFrame:
        """Return the table as a pandas one; the columns of an array are called x0, x1, ..."""
        if is_frame(X):
            frame = as_pandas(X)
            if reset:
                validate_data(self, frame, skip_check_array=True)
            return frame
        if isinstance(X, np.ma.MaskedArray):
            X = np.ma.filled(X.astype(np.float64), np.nan)
        array = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")
        frame = pd.DataFrame({f"x{place}": column for place, column in enumerate(array.T)})
        return frame.infer_objects()

    def _recognised(self, frame: pd.DataFrame, is_array: bool) -> list[Column]:
        given = self.columns if isinstance(self.columns, dict) else {}
        kept = None if self.columns is None else list(self.columns)
        for argument, names in (("drop", self.drop), ("columns", kept or ())):
            for name in names:
                check_known(name, frame, argument)
        id_column = None if is_array and self.id_column == "auto" else self.id_column
        found = []
        for column in recognise(frame.drop(columns=list(self.drop)), id_column):
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

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the points of a table with the columns of the fitted one.

        Parameters
        ----------
        X : DataFrame of any library, or array
            Further columns of a DataFrame are ignored; categories that the fit did not see count
            as missing.

        Returns
        -------
        points : ndarray of float64, shape (n_rows, n_points_columns)
        """
        check_is_fitted(self, "encoders_")
        frame = self._frame(X, reset=False)
        lacking = [name for name in self.encoders_ if name not in frame.columns]
        if lacking:
            raise InputError(
                f"the table lacks the columns {', '.join(lacking)}, which the plan was fitted "
                f"with; found {', '.join(map(str, frame.columns))}; add or rename them."
            )
        points = np.empty((len(frame), sum(len(one.parts) for one in self.encoders_.values())))
        end = 0
        for name, column in self.encoders_.items():
            block = encoded(column, frame[name])
            points[:, end : end + block.shape[1]] = block
            end += block.shape[1]
        return points

    def ids(self, X: Any) -> list[Any] | None:
        """Return the values of a table's id column, or None if it has none."""
        check_is_fitted(self, "encoders_")
        frame = as_pandas(X)
        column = self.id_name
        return None if column is None or column not in frame.columns else frame[column].tolist()

    @property
    def id_name(self) -> str | None:
        """Name of the column that names the rows, or None."""
        return next((one.name for one in self.columns_ if one.kind == "id"), None)

    def misfits(self, X: Any) -> dict[str, tuple[int, list[str]]]:
        """Return what does not read as in the fitted table, and so counts as missing, by column.

        Categories that were not there, text where numbers or dates were, and numbers and dates
        that are written in another way.

        Returns
        -------
        misfits : dict of str to tuple
            Number of such cells, and the different ones, in order.
        """
        check_is_fitted(self, "encoders_")
        frame = as_pandas(X)
        found = {}
        for name, column in self.encoders_.items():
            if name in frame.columns:
                bad = frame[name][unread(column, frame[name])]
                found[name] = len(bad), sorted(set(bad.astype(str)))
        return {name: cells for name, cells in found.items() if cells[0]}

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the points' columns, such as "age" and "plan=basic"."""
        check_is_fitted(self, "encoders_")
        names = [f"{name}{part}" for name, one in self.encoders_.items() for part in one.parts]
        return np.asarray(names, dtype=object)

    def describe(self) -> str:
        """Return in one line what becomes of the columns."""
        check_is_fitted(self, "encoders_")
        return ", ".join(_described(self))

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per column of the table: column, taken as, becomes, missing."""
        return [
            {
                "column": one.name,
                "taken as": one.kind,
                "becomes": _becomes(self.encoders_.get(one.name, one)),
                "missing": self.missing_.get(one.name, 0),
            }
            for one in self.columns_
        ]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def _as_asked(column: Column, kind: str, values: pd.Series) -> Column:
    if kind not in KINDS:
        raise InputError(
            f"columns: {column.name!r} is to be a {kind!r}; use one of {', '.join(KINDS)}."
        )
    found = column_kind(values)
    if kind in ("date", "block") and found.kind != kind:
        how = "write them as 2024-12-31" if kind == "date" else "give lists of numbers"
        raise InputError(
            f"columns: {column.name!r} is to be a {kind}, but values such as "
            f"{str(values.dropna().iloc[0])!r} are not; {how}."
        )
    return found if found.kind == kind else Column(column.name, kind)


def _are_in_one_unit(encoders: dict[str, Column], frame: pd.DataFrame) -> bool:
    """Return whether all columns are numbers that may be compared as they are."""
    if len(encoders) == 1:
        return next(iter(encoders.values())).kind == "block"
    if not all(one.kind == "number" for one in encoders.values()):
        return False
    stems = {_stem(name) for name in encoders}
    if len(stems) == 1 and min(stems).startswith("("):
        return True
    columns = [numbers(frame[name], one.written) for name, one in encoders.items()]
    largest = max(float(np.nanmax(np.abs(values))) for values in columns)
    columns = [values / largest for values in columns]  # squares and spans stay finite
    deviations = [np.nanstd(values) for values in columns]
    if max(deviations) < _ONE_UNIT * min(deviations):
        return True
    ranges = [np.nanmax(values) - np.nanmin(values) for values in columns]
    are_alike = bool(max(ranges) < _ALIKE * np.median(ranges))
    return are_alike and len(stems) == 1 and "" not in stems


def _stem(name: str) -> str:
    """Return what columns of one unit have in common: "x" of x12, "(cm)" of length (cm)."""
    plain = name.strip().lower()
    if plain.endswith(")") and "(" in plain:
        return plain[plain.rindex("(") :]
    without = plain.rstrip("0123456789_. -")
    return "" if without == plain else without or "number"


def _described(plan: ColumnPlan) -> list[str]:
    encoders = plan.encoders_
    measured = [one for one in encoders.values() if one.kind == "number"]
    levels = [one for one in encoders.values() if one.kind == "category"]
    parts = []
    if measured:
        verb = "scaled" if measured[0].learned["scaled"] else "kept as they are"
        parts.append(f"{counted(len(measured), 'number')} {verb}")
    if levels:
        width = counted(sum(len(one.parts) for one in levels), "column")
        parts.append(f"{counted(len(levels), 'category', 'categories')} to {width}")
    parts += [
        f"{name} ({one.kind}) to {len(one.parts)}"
        for name, one in encoders.items()
        if one.kind not in ("number", "category")
    ]
    words = {
        "id": "used as the identifier",
        "unused": "left out",
        "number": "read as",
        "category": "",
    }
    for one in plan.columns_:
        word = words.get(one.kind, "")
        if one.kind in ("number", "category") and one.why:
            parts.append(f"{one.name}: {word} {one.why}".replace("  ", " "))
        elif one.kind in ("id", "unused"):
            parts.append(f"{one.name}: {word}" + (f" ({one.why})" if one.why else ""))
    if plan.missing_:
        total = sum(plan.missing_.values())
        parts.append(f"{counted(total, 'missing value', 'missing values')} filled")
    parts += [
        f"{name}: {counted(count, 'cell is', 'cells are')} not a {encoders[name].kind}, such as "
        f"{example!r}, and taken as missing"
        for name, (count, example) in plan.unreadable_.items()
    ]
    return parts


def _becomes(column: Column) -> str:
    if column.kind == "id":
        return "names of the rows" + (f": {column.why}" if column.why else "")
    return column.becomes or f"nothing: {column.why}"
