"""What each column of a table is: an id, a number, a category, a date, text, or of no use.

Nothing here depends on labels or on other tables: what a column is shows in its name and values.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from truegraph.errors import InputError
from truegraph.suggestions import suggestion

KINDS = ("number", "category", "date", "text")

MOST_CATEGORIES = 40
_SHARE_OF_CATEGORIES = 0.7  # more different values than this per row are names, not categories
_SHARE_THAT_DECIDES = 0.95  # of the values that must read as numbers or dates
_FEWEST_ROWS_TO_COUNT = 10  # 1, 2, 3 may well be measurements
_LONGEST_NAME = 40  # letters on average; longer text is prose

_ID_NAMES = {"", "id", "node", "name", "index", "key", "uuid", "guid", "uid", "unnamed: 0"}
_ID_ENDING = re.compile(r"(?:^|[^a-z])(?:id|uuid|guid|uid|key)$|^id[_ -]|[a-z](?:Id|ID|UUID|Key)$")

# The first that fits wins: a day comes before a month unless slashes say otherwise.
_DATE_FORMATS = (
    "ISO8601",
    "%d.%m.%Y",
    "%d.%m.%Y %H:%M",
    "%d.%m.%Y %H:%M:%S",
    "%m/%d/%Y",
    "%d/%m/%Y",
    "%m/%d/%Y %H:%M",
    "%d/%m/%Y %H:%M",
    "%d-%m-%Y",
    "%Y/%m/%d",
    "%d %b %Y",
    "%d %B %Y",
    "%b %d, %Y",
    "%B %d, %Y",
)
_LOOKS_LIKE_DATE = re.compile(r"^\s*(\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d{1,2} \w+ \d{4}|\w+ \d+, )")


@dataclass(frozen=True)
class Column:
    """A column and what it is.

    Attributes
    ----------
    name : str
    kind : {"id", "number", "category", "date", "text", "unused"}
    why : str
        For an id or an unused column: the reason, for people.
    date_format : str or None
        How its dates are written; None for columns that hold dates already.
    """

    name: str
    kind: str
    why: str = ""
    date_format: str | None = None


def recognise(frame: pd.DataFrame, id_column: str | None) -> list[Column]:
    """Return what every column of a table is, in its order.

    Parameters
    ----------
    frame : DataFrame of shape (n_rows, n_columns)
    id_column : str or None
        "auto" looks for the column that names the rows, None takes none, anything else is its
        name.
    """
    ids = _ids(frame, id_column)
    return [ids.get(str(name)) or column_kind(frame[name]) for name in frame.columns]


def _ids(frame: pd.DataFrame, wanted: str | None) -> dict[str, Column]:
    if wanted is None:
        return {}
    if wanted != "auto":
        check_known(wanted, frame, "id_column")
        return {wanted: Column(wanted, "id", "")}
    if frame.shape[1] < 2:
        return {}
    reasons = {str(name): _why_id(frame, str(name)) for name in frame.columns}
    found = {name: why for name, why in reasons.items() if why}
    if not found:
        return {}
    # A name says more than unique text, and both say more than counting.
    first = min(found, key=lambda name: (_strength(name, found[name]), list(reasons).index(name)))
    columns = {first: Column(first, "id", found[first])}
    for name, why in found.items():
        if name != first and why != _TEXT_IN_FRONT:
            columns[name] = Column(name, "unused", f"a second id: {why}")
    return columns


_NAMED = "its name and its unique values"
_TEXT_IN_FRONT = "unique text in the first column"
_COUNTS = "its values count up by one"


def _strength(name: str, why: str) -> int:
    return (_NAMED, _TEXT_IN_FRONT, _COUNTS).index(why)


def _why_id(frame: pd.DataFrame, name: str) -> str:
    values = frame[name]
    whole = values.dtype.kind in "iu"
    if not (whole or is_text(values)) or values.hasnans or not values.is_unique:
        return ""
    if is_id_name(name):
        return _NAMED
    if whole:
        counted = len(values) >= _FEWEST_ROWS_TO_COUNT and bool((np.diff(values) == 1).all())
        return _COUNTS if counted else ""
    in_front = name == frame.columns[0] and values.astype(str).str.len().mean() <= _LONGEST_NAME
    return _TEXT_IN_FRONT if in_front and column_kind(values).kind == "text" else ""


def is_id_name(name: str) -> bool:
    """Return whether a column is named like an id: id, customer_id, userId, uuid, key, ..."""
    return name.strip().lower() in _ID_NAMES or bool(
        _ID_ENDING.search(name) or _ID_ENDING.search(name.lower())
    )


def check_known(name: str, frame: pd.DataFrame, argument: str) -> None:
    """Raise an InputError unless a table has a column of this name."""
    if name not in frame.columns:
        known = [str(column) for column in frame.columns]
        raise InputError(f"{argument}: the table has no column {name!r}.{suggestion(name, known)}")


def is_text(values: pd.Series) -> bool:
    """Return whether a column holds strings."""
    return bool(pd.api.types.is_string_dtype(values.dtype) or values.dtype == object)


def column_kind(values: pd.Series) -> Column:
    """Return what a column is that is not an id."""
    name = str(values.name)
    if values.dtype.kind == "c":
        raise InputError(f"column {name!r} holds complex numbers; take the real part or the size.")
    known = values.dropna()
    if known.empty:
        return Column(name, "unused", "no values")
    if is_text(values):
        known = cleaned_text(values).dropna()
        if known.empty:
            return Column(name, "unused", "no values")
    different = known.nunique()
    if different == 1:
        return Column(name, "unused", f"the same value everywhere: {known.iloc[0]}")
    kind = values.dtype.kind
    if kind == "M" or isinstance(values.dtype, pd.DatetimeTZDtype):
        return Column(name, "date")
    if kind == "m":
        return Column(name, "number")
    if kind == "b" or isinstance(values.dtype, pd.CategoricalDtype):
        return _category_or_text(name, known, different)
    if pd.api.types.is_numeric_dtype(values.dtype):
        return _key_or_number(name, known, different)
    return _text_kind(name, known, different)


def _key_or_number(name: str, known: pd.Series, different: int) -> Column:
    # Repeated whole numbers under a name such as store_id stand for other things.
    is_key = is_id_name(name) and bool((known % 1 == 0).all()) and different < len(known)
    if not is_key:
        return Column(name, "number")
    if different <= MOST_CATEGORIES:
        return Column(name, "category")
    return Column(name, "unused", f"{different} different keys of other things")


def _text_kind(name: str, known: pd.Series, different: int) -> Column:
    counts = known.value_counts()
    unique = pd.Series(counts.index, dtype="str")
    needed = _SHARE_THAT_DECIDES * counts.sum()
    if not has_leading_zeros(unique) and counts[numbers(unique).notna().to_numpy()].sum() >= needed:
        return Column(name, "number")
    date_format = _date_format(unique, counts, needed)
    if date_format is not None:
        return Column(name, "date", date_format=date_format)
    return _category_or_text(name, known, different)


def _category_or_text(name: str, known: pd.Series, different: int) -> Column:
    few = different <= min(MOST_CATEGORIES, _SHARE_OF_CATEGORIES * len(known))
    return Column(name, "category" if few or known.dtype.kind == "b" else "text")


def has_leading_zeros(values: pd.Series) -> bool:
    """Return whether text holds whole numbers such as 01234, which are names: zip codes, parts."""
    return bool(values.str.fullmatch(r"\s*0\d+\s*").any())


def _date_format(unique: pd.Series, counts: pd.Series, needed: float) -> str | None:
    """Return how dates are written, or None if the text holds none."""
    looks = unique.head(100).str.match(_LOOKS_LIKE_DATE.pattern)
    if looks.mean() < _SHARE_THAT_DECIDES:
        return None
    fits = {one: counts[dates(unique, one).notna().to_numpy()].sum() for one in _DATE_FORMATS}
    best = max(_DATE_FORMATS, key=lambda one: fits[one])
    return best if fits[best] >= needed else None


def cleaned_text(values: pd.Series) -> pd.Series:
    """Return text without spaces around it, missing where nothing is left."""
    text = values.astype("str").str.strip()
    return text.where(values.notna() & (text != ""))


def numbers(values: pd.Series) -> pd.Series:
    """Return a column as float64, missing where a value is not a finite number."""
    if values.dtype.kind == "m":
        found = values.dt.total_seconds()
    elif is_text(values):
        found = _by_value(values, lambda unique: pd.to_numeric(unique, errors="coerce"))
    else:
        found = values
    array = found.to_numpy(dtype=np.float64, na_value=np.nan)
    _check_distinct(values, array)
    return pd.Series(np.where(np.isfinite(array), array, np.nan), index=values.index)


def _check_distinct(values: pd.Series, floats: NDArray[np.float64]) -> None:
    """Raise when whole numbers that differ become the same float64."""
    if values.dtype.kind not in "iu" or not (np.abs(floats) >= 2.0**53).any():
        return
    if pd.Series(floats).nunique() < values.nunique():
        raise InputError(
            f"column {str(values.name)!r} holds whole numbers as large as {values.max()}, which "
            "float64 makes equal; subtract an offset, or drop the column."
        )


def dates(values: pd.Series, date_format: str | None) -> pd.Series:
    """Return a column as dates without a time zone, missing where a value is none."""
    return _by_value(values, lambda unique: _parsed(unique, date_format))


def _parsed(values: pd.Series, date_format: str | None) -> pd.Series:
    found: Any = pd.to_datetime(values, format=date_format, errors="coerce", utc=True)
    return found.dt.tz_localize(None)


def categories(values: pd.Series) -> NDArray[Any]:
    """Return a column as text, None where it is missing; 3.0 and 3 are the same category."""
    if pd.api.types.is_float_dtype(values.dtype):
        values = values.astype("Int64") if (values.dropna() % 1 == 0).all() else values
    return _by_value(values, cleaned_text).astype(object).to_numpy()


def _by_value(values: pd.Series, function: Callable[[pd.Series], pd.Series]) -> pd.Series:
    """Apply a slow function once to each different value; a missing one stays missing."""
    codes, unique = pd.factorize(values)
    found = function(pd.Series(unique)).reset_index(drop=True)
    return found.reindex(codes).set_axis(values.index)
