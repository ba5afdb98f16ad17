"""Whole tables of mixed columns from files: numbers, text and gaps, as people save them.

How numbers are written is decided for the file as a whole: where one column has decimal commas,
"1.234" in another means one thousand two hundred and thirty-four. Columns with values such as
"01234" (zip codes, part numbers) stay text.
"""

from __future__ import annotations

import mmap
import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from truegraph.data.columns.kinds import cleaned_text, has_leading_zeros, is_text
from truegraph.data.table_fields import COMMA_NUMBER, ID_HEADERS, is_number
from truegraph.data.tables import CsvTable, Table, open_table, table_error
from truegraph.errors import InputError

_POINT_NUMBER = r"[+-]?(?:\d+|\d{1,3}(?:,\d{3})+)(?:\.\d+)?"
_LEADING_ZERO = re.compile(rb"(?:\A|[\s,;\"])0\d+(?:[\s,;\"]|\Z)")
_POINT_GROUPS = re.compile(r"[+-]?\d{1,3}(?:\.\d{3})+")


@dataclass(frozen=True, eq=False)
class MixedTable:
    """A table from a file.

    Attributes
    ----------
    table : CsvTable or ParquetTable
    frame : DataFrame
        Its columns by name, in the file's order.
    header : bool
        Whether the file names its columns.
    notes : tuple of str
        What was recognised, for people.
    """

    table: Table
    frame: pd.DataFrame
    header: bool
    notes: tuple[str, ...]

    def text(self, column: str) -> pd.Series:
        """Return a column as it is written in the file: "007" is not 7."""
        place = list(self.frame.columns).index(column)
        return self.table.columns([place], [], header=self.header)[place]


def read_mixed_table(path: str | os.PathLike[str]) -> MixedTable:
    """Read all columns of a CSV or Parquet file."""
    table = open_table(path)
    header = names_columns(table)
    frame = table.mixed(header=header)
    notes: tuple[str, ...] = ()
    if isinstance(table, CsvTable):
        frame, codes = _with_codes(table, frame, header)
        frame, notes = _with_numbers(table, frame, header)
        notes = (*codes, *notes)
        _check_size(table, frame, header)
        if table.delimiter == ";":
            notes = (f"{path}: fields are separated by semicolons", *notes)
    named = header or not isinstance(table, CsvTable)
    names = [name.strip() for name in table.first] if named else _numbered(len(table.first))
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"{path}: two columns are called {twice!r}; rename one of them.")
    return MixedTable(table, frame.set_axis(names, axis=1), header, notes)


def _numbered(count: int) -> list[str]:
    return [f"column {number}" for number in range(1, count + 1)]


def names_columns(table: Table) -> bool:
    """Return whether the first line of a table of mixed columns names them.

    It does unless one of its fields, after a first one that may be an id, is a number or empty.
    """
    first = table.first
    if not isinstance(table, CsvTable) or table.has_comment_header:
        return True
    if first[0].strip().lower() in ID_HEADERS:
        return True
    counted = len(first) > 2 and first == [str(number) for number in range(len(first))]
    later = first[1:] or first
    return counted or not any(_is_value(field) for field in later)


def _is_value(field: str) -> bool:
    """Return whether a field is a number, also one with commas, or empty."""
    is_grouped = re.fullmatch(f"{COMMA_NUMBER}|{_POINT_NUMBER}", field.strip()) is not None
    return not field or is_number(field) or is_grouped


def _with_codes(
    table: CsvTable, frame: pd.DataFrame, header: bool
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Give columns of whole numbers back as text where some of them have leading zeros."""
    if not _may_hold_codes(table.path):
        return frame, ()
    places = [place for place in range(frame.shape[1]) if frame[place].dtype.kind in "iuf"]
    text = table.columns(places, [], header=header)
    codes = [place for place in places if has_leading_zeros(text[place])]
    if not codes:
        return frame, ()
    frame = frame.copy()
    for place in codes:
        frame[place] = text[place].where(frame[place].notna())
    columns = ", ".join(_name(table, place, header) for place in codes)
    return frame, (f"{table.path}: values of {columns} begin with 0, so they are names",)


def _may_hold_codes(path: Path) -> bool:
    """Return whether a field may be a whole number such as 007, by a quick look at the file."""
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as text:
        return _LEADING_ZERO.search(text) is not None


def _with_numbers(
    table: CsvTable, frame: pd.DataFrame, header: bool
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Read the text columns that hold numbers with decimal commas or thousands separators."""
    places = range(frame.shape[1])
    found = {place: _unique_text(frame[place]) for place in places if is_text(frame[place])}
    with_comma = {
        place: values
        for place, values in found.items()
        if values.str.contains(",", regex=False).any()
        or values.str.fullmatch(_POINT_GROUPS.pattern).all()
    }
    commas = [p for p, v in with_comma.items() if v.str.fullmatch(COMMA_NUMBER).all()]
    groups = [p for p, v in with_comma.items() if v.str.fullmatch(_POINT_NUMBER).all()]
    if not commas and not groups:
        return frame, ()
    pointed = _columns_with_points(table, frame, header)
    # "1,234" may be read in both ways: the rest of the file decides.
    only_groups = set(commas) <= set(groups)
    if only_groups and (table.delimiter == "," or pointed):
        return _converted(table, frame, groups, header, thousands=",", decimal=".")
    if not commas:
        return frame, ()
    clash = [p for p in pointed if not _unique_text(pointed[p]).str.fullmatch(COMMA_NUMBER).all()]
    if clash:
        values = pointed[clash[0]]
        row = int(values.fillna("").str.contains(".", regex=False).to_numpy().argmax())
        problem = (
            f"{values.iloc[row]!r} has a decimal point, but column "
            f"{_name(table, commas[0], header)} has decimal commas; write both in the same way."
        )
        raise table_error(table, row, int(clash[0]), problem, header=header)
    frame = frame.copy()
    for place, values in pointed.items():
        frame[place] = values
    return _converted(table, frame, [*commas, *pointed], header, thousands=".", decimal=",")


def _check_size(table: CsvTable, frame: pd.DataFrame, header: bool) -> None:
    """Refuse numbers that float64 cannot hold; "inf" itself is a gap like others."""
    for place in range(frame.shape[1]):
        if frame[place].dtype.kind != "f" or not np.isinf(frame[place]).any():
            continue
        text = table.columns([place], [], header=header)[place]
        lost = (np.isinf(frame[place]) & text.str.contains(r"\d", regex=True)).to_numpy()
        if lost.any():
            row = int(lost.argmax())
            problem = f"{text[row]!r} is too large for float64. Scale the column, or drop it."
            raise table_error(table, row, place, problem, header=header)


def _unique_text(values: pd.Series) -> pd.Series:
    return cleaned_text(pd.Series(values.dropna().unique(), dtype="str")).dropna()


def _columns_with_points(
    table: CsvTable, frame: pd.DataFrame, header: bool
) -> dict[int, pd.Series]:
    """Return, as text, the columns that were read as numbers with a point in them."""
    floats = [place for place in range(frame.shape[1]) if frame[place].dtype.kind == "f"]
    if not floats:
        return {}
    text = table.columns(floats, [], header=header)
    text = text.where(frame[floats].notna())
    return {p: text[p] for p in floats if text[p].str.contains(".", regex=False).any()}


def _converted(
    table: CsvTable,
    frame: pd.DataFrame,
    places: list[int],
    header: bool,
    *,
    thousands: str,
    decimal: str,
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    frame = frame.copy()
    for place in places:
        plain = frame[place].str.strip().str.replace(thousands, "", regex=False)
        frame[place] = pd.to_numeric(plain.str.replace(decimal, ".", regex=False))
    what = "decimal commas" if decimal == "," else "commas between thousands"
    columns = ", ".join(_name(table, place, header) for place in places)
    return frame, (f"{table.path}: {what} recognised in {columns}",)


def _name(table: CsvTable, place: int, header: bool) -> str:
    return repr(table.first[place].strip()) if header else str(place + 1)
