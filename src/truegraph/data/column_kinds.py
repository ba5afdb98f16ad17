"""What each column of a table is: an id, a number, a category, a date, text, a block, or of no use.

Nothing here depends on labels or on other tables: what a column is shows in its name and values.
"""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass, field
from functools import partial
from numbers import Number
from pathlib import PurePath
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from truegraph.data.quantities import (
    PLAIN,
    NumberFormat,
    format_words,
    number_format,
    read_numbers,
)
from truegraph.errors import InputError
from truegraph.saving import savable
from truegraph.suggestions import suggestion

KINDS = ("number", "category", "date", "text", "block")

MOST_CATEGORIES = 40  # as skrub's TableVectorizer
_SHARE_OF_CATEGORIES = 0.7  # more different values than this per row are names, not categories
_SHARE_THAT_DECIDES = 0.95  # of the values that must read as dates: a few gaps have other words
_FEWEST_ROWS_TO_COUNT = 10  # 1, 2, 3 may well be measurements
LONGEST_NAME = 40  # letters on average; longer text is prose
_SAMPLE = 200  # dates whose format is guessed; more take time and tell no more
_ISO = ("ISO8601",)

# What stands for a missing value; the list of skrub's and pandas' readers, and dashes.
_MISSING = {"", "-", "--", "—", "?", "...", "na", "n/a", "#n/a", "#na", "<na>", "nan", "null"}
_MISSING |= {"-nan", "1.#ind", "-1.#ind", "1.#qnan", "-1.#qnan", "#n/a n/a"}

NO_NUMBER = "none"  # stands for a missing number or date; among words it may be a word

ID_NAMES = {"", "id", "node", "node_id", "name", "index", "key", "uuid", "guid", "uid"}
_ID_ENDING = re.compile(r"(?:^|[^a-z])(?:id|uuid|guid|uid|key)$|^id[_ -]|[a-z](?:Id|ID|UUID|Key)$")
_CODE_NAME = re.compile(
    r"(?:^|[^a-z])(?:zip|zip_?code|plz|post_?code|postal(?:_?code)?|phone|telephone|tel|mobile|fax|"
    r"iban|bic|isbn|ean|upc|gtin|sku|ssn)(?:$|[^a-z])"
)
_LOOKS_LIKE_DATE = r"\s*(?:\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d{1,2}[ -]\w+[ -]\d{4}|\w+ \d+, )"
# Cells that say what they are when they are written out; others may write their address.
_WRITABLE = (
    *(str, Number, datetime.date, datetime.time, datetime.timedelta, np.generic),
    *(UUID, PurePath, pd.Period, pd.Interval),
)


@savable
@dataclass(frozen=True, eq=False)
class Column:
    """A column, what it is and, once fitted, how it becomes numbers.

    Attributes
    ----------
    name : str
    kind : {"id", "number", "category", "date", "text", "block", "unused"}
    why : str
        For an id or an unused column the reason, for numbers how they are written, for people.
    written : tuple or None
        How the numbers or dates of a column of text are written.
    learned : dict
        Means, scales, levels, axes: what `column_encoders` measured.
    parts : tuple of str
        What its columns of numbers are called after its name.
    becomes : str
        What becomes of it, for people.
    """

    name: str
    kind: str
    why: str = ""
    written: tuple[Any, ...] | None = None
    learned: dict[str, Any] = field(default_factory=dict)
    parts: tuple[str, ...] = ()
    becomes: str = ""


def recognise(frame: pd.DataFrame, id_column: str | None) -> list[Column]:
    """Return what every column of a table is; id_column is a name, None, or "auto" to find it."""
    if id_column not in (None, "auto"):
        check_known(str(id_column), frame, "id_column")
    found = [column_kind(frame[name]) for name in frame.columns]
    ids = _ids(frame, {column.name: column.kind for column in found}, id_column)
    return [ids.get(column.name, column) for column in found]


_NAMED = "its name and its unique values"
_TEXT_IN_FRONT = "unique text in the first column"
_COUNTS = "its values count up by one"


def _ids(frame: pd.DataFrame, kinds: dict[str, str], wanted: str | None) -> dict[str, Column]:
    if wanted is None or (wanted == "auto" and frame.shape[1] < 2):
        return {}
    if wanted != "auto":
        return {wanted: Column(wanted, "id")}
    reasons = {name: _why_id(frame, name, kind) for name, kind in kinds.items()}
    # A name says more than unique text, and both say more than counting.
    order = (_NAMED, _TEXT_IN_FRONT, _COUNTS)
    found = sorted(filter(reasons.get, reasons), key=lambda name: order.index(reasons[name]))
    columns = {
        name: Column(name, "unused", f"a second id: {reasons[name]}")
        for name in found[1:]
        if reasons[name] != _TEXT_IN_FRONT
    }
    return columns | {name: Column(name, "id", reasons[name]) for name in found[:1]}


def _why_id(frame: pd.DataFrame, name: str, kind: str) -> str:
    values = frame[name]
    whole = _is_whole(values)
    if kind == "block" or values.hasnans or not (whole or is_text(values)) or not values.is_unique:
        return ""
    if is_id_name(name):
        return _NAMED
    if whole:
        steps = np.diff(pd.to_numeric(values))
        counted = len(values) >= _FEWEST_ROWS_TO_COUNT and bool((steps == 1).all())
        return _COUNTS if counted else ""
    in_front = name == frame.columns[0] and values.astype("str").str.len().mean() <= LONGEST_NAME
    return _TEXT_IN_FRONT if in_front and kind == "text" else ""


def _is_whole(values: pd.Series) -> bool:
    """Return whether a column holds whole numbers, as such or as a file writes them."""
    if is_text(values):
        return bool(values.astype("str").str.fullmatch(r"[+-]?[1-9]\d{0,17}|0").all())
    return values.dtype.kind in "iu"


def is_id_name(name: str) -> bool:
    """Return whether a column is named like an id: id, customer_id, userId, uuid, key, ..."""
    plain = name.strip().lower().removeprefix("unnamed: 0")
    return plain in ID_NAMES or bool(_ID_ENDING.search(name) or _ID_ENDING.search(plain))


def check_known(name: str, frame: pd.DataFrame, argument: str) -> None:
    """Raise an InputError unless a table has a column of this name."""
    if name not in frame.columns:
        known = [str(column) for column in frame.columns]
        raise InputError(f"{argument}: the table has no column {name!r}.{suggestion(name, known)}")


def is_text(values: pd.Series) -> bool:
    """Return whether a column holds strings."""
    return bool(pd.api.types.is_string_dtype(values.dtype) or values.dtype == object)


def check_cells(values: pd.Series) -> None:
    """Raise where cells are objects, bytes or mappings, which say nothing when written out."""
    if values.dtype != object or is_block(values):
        return
    known = values.dropna()
    bad = known[[not isinstance(cell, _WRITABLE) for cell in known]]
    if len(bad):
        kind = type(bad.iloc[0]).__name__
        raise InputError(
            f"column {str(values.name)!r} holds cells of type {kind}; turn them into numbers or "
            "text, each in a column of its own, or drop the column."
        )


def column_kind(values: pd.Series) -> Column:
    """Return what a column is that is not an id."""
    name, kind = str(values.name), values.dtype.kind
    if kind == "c":
        raise InputError(
            f"Complex data not supported: column {name!r} holds complex numbers; take the real "
            "part or the size."
        )
    check_cells(values)
    if is_block(values):
        return Column(name, "block")
    known = (cleaned(values) if is_text(values) else values).dropna()
    different = known.nunique()
    if different < 2:
        what = f"the same value everywhere: {known.iloc[0]}" if different else "no values"
        return Column(name, "unused", what)
    if kind == "M" or isinstance(values.dtype, pd.DatetimeTZDtype):
        return Column(name, "date")
    if kind == "m":
        return Column(name, "number")
    if kind == "b" or isinstance(values.dtype, pd.CategoricalDtype):
        return _category_or_text(name, known, different)
    if pd.api.types.is_numeric_dtype(values.dtype):
        return _number_or_code(name, known, different)
    return _text_kind(name, known, different)


def is_block(values: pd.Series) -> bool:
    """Return whether every cell that is there holds a list of numbers, all of one length."""
    if values.dtype != object:
        return False
    known = values.dropna()
    if known.empty or not known.map(lambda cell: isinstance(cell, list | tuple | np.ndarray)).all():
        return False
    if known.map(len).nunique() > 1:
        raise InputError(
            f"column {str(values.name)!r} holds lists of different lengths; give each row as many "
            "numbers, or drop the column."
        )
    return True


def _number_or_code(
    name: str, known: pd.Series, different: int, written: NumberFormat = PLAIN, words: str = ""
) -> Column:
    whole = bool((known % 1 == 0).all())
    if whole and _CODE_NAME.search(name.strip().lower()):
        return _code(name, known, different)
    # Repeated whole numbers under a name such as store_id stand for other things.
    if whole and is_id_name(name) and different < len(known):
        if different <= MOST_CATEGORIES:
            return Column(name, "category")
        return Column(name, "unused", f"{different:,} different keys of other things")
    return Column(name, "number", words, written)


def _code(name: str, known: pd.Series, different: int) -> Column:
    if _few(known, different):
        return Column(name, "category", "codes, not numbers")
    return Column(name, "unused", f"{different:,} different codes, which are no measurements")


def _text_kind(name: str, known: pd.Series, different: int) -> Column:
    counts = known.value_counts()
    unique = pd.Series(counts.index, dtype="str")
    if unique.str.fullmatch(r"0\d+").any() or _CODE_NAME.search(name.strip().lower()):
        return _code(name, known, different)  # 01234: names, such as zip codes and parts
    weights = counts.to_numpy().astype(np.int64)
    measured = unique.str.lower() != NO_NUMBER
    unique, weights = unique[measured].reset_index(drop=True), weights[measured.to_numpy()]
    written = number_format(unique, weights)
    if written is not None:
        values = pd.Series(numbers(known, written)).dropna()
        words = format_words(unique, written)
        return _number_or_code(name, values, values.nunique(), written, words)
    formats = _date_formats(unique, weights)
    if formats:
        return Column(name, "date", written=formats)
    return _category_or_text(name, known, different)


def _category_or_text(name: str, known: pd.Series, different: int) -> Column:
    few = _few(known, different) or known.dtype.kind == "b"
    return Column(name, "category" if few else "text")


def _few(known: pd.Series, different: int) -> bool:
    return different <= min(MOST_CATEGORIES, _SHARE_OF_CATEGORIES * len(known))


def _date_formats(unique: pd.Series, counts: NDArray[np.int64]) -> tuple[str, ...]:
    """Return how dates are written, one format for each shape such as 9.9.2024; () for no dates."""
    if unique.head(_SAMPLE).str.match(_LOOKS_LIKE_DATE).mean() < _SHARE_THAT_DECIDES:
        return ()
    shapes = unique.str.replace(r"\d{4}", "Y", regex=True).str.replace(r"\d+", "9", regex=True)
    shapes = shapes.str.replace(r"[^\W\dY9T]+", "a", regex=True)
    formats: list[str] = []
    for shape in pd.Series(counts).groupby(shapes.to_numpy()).sum().nlargest(3).index:
        guess = _guessed_format(unique[shapes == shape])
        if guess is not None and guess not in formats:
            formats.append(guess)
    found = dates(unique, tuple(formats)).notna().to_numpy()
    return tuple(formats) if counts[found].sum() >= _SHARE_THAT_DECIDES * counts.sum() else ()


def _guessed_format(cells: pd.Series) -> str | None:
    from skrub import ToDatetime  # takes a second to import, and only text needs it

    sample = cells.sample(min(_SAMPLE, len(cells)), random_state=0).rename("dates")
    try:
        guess = ToDatetime().fit(sample).format_
    except ValueError:
        return None
    if guess.startswith("%Y-%m-%d"):
        return _ISO[0]
    return guess.replace("%m.%d.", "%d.%m.")  # with points the day always comes first


def cleaned(values: pd.Series) -> pd.Series:
    """Return text without spaces around it, missing where it only says that nothing is there."""
    text = values.astype("str").str.strip()
    return text.where(values.notna() & ~text.str.lower().isin(_MISSING))


def present(values: pd.Series, kind: str) -> NDArray[np.bool_]:
    """Return which cells are there, as far as a column of this kind is concerned."""
    if not is_text(values) or kind == "block":
        return values.notna().to_numpy()
    known = cleaned(values)
    is_word = kind not in ("number", "date") or known.str.lower() != NO_NUMBER
    return (known.notna() & is_word).to_numpy()


def numbers(values: pd.Series, written: tuple[Any, ...] | None = None) -> NDArray[np.float64]:
    """Return a column as float64, NaN where a value is not a finite number."""
    kind = values.dtype.kind
    if kind == "m":
        array = values.dt.total_seconds().to_numpy(np.float64, na_value=np.nan)
    elif is_text(values):
        read = partial(read_numbers, written=written or PLAIN)
        array = by_value(values, read).to_numpy(np.float64)
    elif kind == "M" or isinstance(values.dtype, pd.CategoricalDtype | pd.DatetimeTZDtype):
        array = np.full(len(values), np.nan)
    else:
        array = values.to_numpy(dtype=np.float64, na_value=np.nan)
        _check_distinct(values, array)
    return np.where(np.isfinite(array), array, np.nan)


def _check_distinct(values: pd.Series, floats: NDArray[np.float64]) -> None:
    """Raise when whole numbers that differ become the same float64."""
    if values.dtype.kind not in "iu" or not (np.abs(floats) >= 2.0**53).any():
        return
    if pd.Series(floats).nunique() < values.nunique():
        raise InputError(
            f"column {str(values.name)!r} holds whole numbers as large as {values.max()}, which "
            "float64 makes equal; subtract an offset, or drop the column."
        )


def dates(values: pd.Series, formats: tuple[str, ...] | None) -> pd.Series:
    """Return a column as dates without a time zone, missing where a value is none."""
    if values.dtype.kind == "M" or isinstance(values.dtype, pd.DatetimeTZDtype):
        return _without_zone(pd.to_datetime(values, utc=True))
    found = pd.Series(pd.NaT, index=values.index, dtype="datetime64[s]")
    for one in (formats or _ISO) if is_text(values) else ():
        parsed = by_value(values, partial(pd.to_datetime, format=one, errors="coerce", utc=True))
        found = found.fillna(_without_zone(parsed))
    return found


def times(values: pd.Series) -> NDArray[np.float64]:
    """Return numbers as they are and dates in seconds since 1970; NaN where neither is there."""
    formats: tuple[str, ...] | None = None
    if is_text(values):
        counts = cleaned(values).value_counts()
        unique = pd.Series(counts.index, dtype="str")
        formats = _date_formats(unique, counts.to_numpy().astype(np.int64))
        if not formats:
            return numbers(values)
    elif values.dtype.kind in "biuf":
        return numbers(values)
    found = dates(values, formats)
    return np.where(found.notna(), found.astype("int64").to_numpy(np.float64), np.nan)


def _without_zone(values: Any) -> pd.Series:
    return values.dt.tz_localize(None).astype("datetime64[s]")


def categories(values: pd.Series) -> NDArray[Any]:
    """Return a column as text, None where it is missing; 3.0 and 3 are the same category."""
    names = by_value(values, _category_names).astype(object)
    return names.where(names.notna(), None).to_numpy()


def _category_names(cells: pd.Series) -> pd.Series:
    if pd.api.types.is_float_dtype(cells.dtype):  # each by itself, whatever the others are
        return pd.Series([str(int(x)) if float(x).is_integer() else str(x) for x in cells])
    return cleaned(cells)


def by_value(values: pd.Series, function: Any) -> pd.Series:
    """Apply a slow function once to each different value of text; missing stays missing."""
    if is_text(values):
        values = cleaned(values)
    codes, unique = pd.factorize(values)
    found = pd.Series(function(pd.Series(unique))).reset_index(drop=True)
    return found.reindex(codes).set_axis(values.index)
