"""Users' tables as CSV or Parquet, with errors that name the file, the line and the column.

Reading is left to pandas, which is fast but does not say where a file is wrong and passes over some
faults in silence. So the number of fields is counted here, and a failed read is repeated slowly to
find the place.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from truegraph.data.storage import existing_file
from truegraph.errors import InputError

ID_HEADERS = {"", "id", "node", "node_id", "name", "index"}

_DELIMITERS = ",;\t"


class CsvTable:
    """A text table with commas, semicolons or tabs between the fields.

    Attributes
    ----------
    path : Path
    first : list of str
        Fields of the first line, which may be a header.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = existing_file(path)
        try:
            with self.path.open(encoding="utf-8-sig", newline="") as stream:
                line = next((line for line in stream if line.strip("\r\n")), "")
            self._delimiter = max(_DELIMITERS, key=line.count)
            self._first_line, self.first = next(self._records(), (0, []))
        except (UnicodeDecodeError, csv.Error) as error:
            raise InputError(
                f"{path}: not a text table ({error}). Save it as CSV in UTF-8."
            ) from error
        if not self.first:
            raise InputError(f"{path}: the file is empty. Give a table with one row per line.")

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        with self.path.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.reader(stream, delimiter=self._delimiter, skipinitialspace=True)
            for fields in reader:
                if fields:
                    yield reader.line_num, fields

    def first_value(self, *, header: bool) -> str:
        """Return the field in the first column of the first data row, or "" without rows."""
        records = (fields[0] for _, fields in self._records())
        return next(islice(records, int(header), None), "")

    def place(self, row: int, *, header: bool) -> str:
        """Return the line on which data row `row` (from 0) stands."""
        for number, (line, _) in enumerate(self._records()):
            if number == row + header:
                return f"line {line}"
        return f"row {row + 1}"

    def columns(self, text: Sequence[int], numbers: Sequence[int], *, header: bool) -> pd.DataFrame:
        """Read some columns, by their positions, as text or as finite float64.

        Parameters
        ----------
        text, numbers : sequence of int
            Positions of the columns to read.
        header : bool
            Whether the first line is a header.

        Returns
        -------
        frame : DataFrame
            Columns are named by their positions.

        Raises
        ------
        InputError
            If a line has another number of fields than the first, a field is not a finite number,
            or there are no rows.
        """
        self._check_field_counts()
        types: dict[int, Any] = dict.fromkeys(text, str) | dict.fromkeys(numbers, np.float64)
        try:
            frame = self._parse(types, header)
        except UnicodeDecodeError as error:
            raise InputError(f"{self.path}: not a text table ({error}).") from error
        except ValueError as error:
            raise self._why_no_numbers(numbers, header, error) from error
        return checked_frame(self, frame, numbers, header=header)

    def _parse(self, types: dict[int, Any], header: bool) -> pd.DataFrame:
        return pd.read_csv(
            self.path,
            sep=self._delimiter,
            header=None,
            names=list(range(len(self.first))),
            usecols=sorted(types),
            skiprows=self._first_line if header else 0,
            dtype=types,
            na_filter=False,
            skipinitialspace=True,
            index_col=False,
            encoding="utf-8-sig",
        )

    def _check_field_counts(self) -> None:
        try:
            line, count = next(self._uneven_lines(), (0, 0))
        except (UnicodeDecodeError, csv.Error) as error:
            raise InputError(f"{self.path}: not a text table ({error}).") from error
        if line:
            raise InputError(
                f"{self.path}, line {line}: {count} fields instead of {len(self.first)} as on the "
                "first line. Correct the line."
            )

    def _uneven_lines(self) -> Iterator[tuple[int, int]]:
        delimiter, expected = self._delimiter.encode(), len(self.first)
        with self.path.open("rb") as stream:
            for number, line in enumerate(stream, start=1):
                if b'"' in line:
                    # Quotes may hide delimiters and line ends: count with the csv module instead.
                    yield from (
                        (place, len(fields))
                        for place, fields in self._records()
                        if len(fields) != expected
                    )
                    return
                if line.count(delimiter) + 1 != expected and line.strip(b"\xef\xbb\xbf\r\n"):
                    yield number, line.count(delimiter) + 1

    def _why_no_numbers(
        self, numbers: Sequence[int], header: bool, error: ValueError
    ) -> InputError:
        frame = self._parse(dict.fromkeys(numbers, str), header)
        for column in numbers:
            bad = pd.to_numeric(frame[column], errors="coerce").isna().to_numpy()
            if bad.any():
                row = int(bad.argmax())
                return table_error(self, row, column, _fault(frame[column][row]), header=header)
        return InputError(f"{self.path}: cannot be read as numbers ({error}).")


class ParquetTable:
    """A Parquet file; an index that was saved with it becomes the first columns.

    Attributes
    ----------
    path : Path
    first : list of str
        Names of the columns.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = existing_file(path)
        try:
            frame = pd.read_parquet(self.path)
        except ImportError as error:
            raise ImportError(
                "reading Parquet needs pyarrow. Install it with: pip install 'truegraph[parquet]'"
            ) from error
        except (ValueError, OSError) as error:
            raise InputError(f"{path}: not a readable Parquet file ({error}).") from error
        plain = isinstance(frame.index, pd.RangeIndex) and frame.index.name is None
        self._frame = frame if plain else frame.reset_index()
        self.first = [str(name) for name in self._frame.columns]

    def first_value(self, *, header: bool) -> str:
        """Return the field in the first column of the first row, or "" without rows."""
        return str(self._frame.iat[0, 0]) if self._frame.size else ""

    def place(self, row: int, *, header: bool) -> str:
        """Return how row `row` (from 0) is called in an error."""
        return f"row {row + 1}"

    def columns(self, text: Sequence[int], numbers: Sequence[int], *, header: bool) -> pd.DataFrame:
        """Read some columns, by their positions, as text or as finite float64."""
        parts: dict[int, Any] = {column: self._text(column) for column in text}
        parts |= {column: self._numbers(column) for column in numbers}
        return checked_frame(self, pd.DataFrame(parts), numbers, header=header)

    def _text(self, column: int) -> pd.Series:
        values = self._frame.iloc[:, column]
        if values.dtype.kind == "f" and (values.dropna() % 1 == 0).all():
            values = values.astype("Int64")  # numbers with gaps, not measurements
        return values.astype(str).where(values.notna(), "")

    def _numbers(self, column: int) -> pd.Series:
        values = self._frame.iloc[:, column]
        converted = pd.to_numeric(values, errors="coerce").astype(np.float64)
        bad = converted.isna().to_numpy()
        if bad.any():
            row = int(bad.argmax())
            raise table_error(self, row, column, _fault(values.iloc[row]), header=True)
        return converted


Table = CsvTable | ParquetTable


def open_table(path: str | os.PathLike[str]) -> Table:
    """Open a table by the ending of its name: .csv, .tsv, .txt or .parquet."""
    suffix = Path(path).suffix.lower()
    if suffix in (".csv", ".tsv", ".txt"):
        return CsvTable(path)
    if suffix in (".parquet", ".pq"):
        return ParquetTable(path)
    raise InputError(
        f"{path}: the ending {suffix!r} is not that of a table. Give a .csv or .parquet file."
    )


def table_error(table: Table, row: int, column: int, problem: str, *, header: bool) -> InputError:
    """Return the error that says what is wrong at a place of a table."""
    named = header or isinstance(table, ParquetTable)
    name = repr(table.first[column]) if named else str(column + 1)
    return InputError(f"{table.path}, {table.place(row, header=header)}, column {name}: {problem}")


def checked_frame(
    table: Table, frame: pd.DataFrame, numbers: Sequence[int], *, header: bool
) -> pd.DataFrame:
    """Return `frame` if it has rows and its number columns are finite."""
    if len(frame) == 0:
        raise InputError(f"{table.path}: the table has no rows.")
    for column in numbers:
        bad = ~np.isfinite(frame[column].to_numpy())
        if bad.any():
            row = int(bad.argmax())
            raise table_error(table, row, column, _fault(frame[column][row]), header=header)
    return frame


def _fault(value: Any) -> str:
    if value is None or str(value) == "":
        return "the value is missing. Give a number."
    return f"{str(value)!r} is not a finite number. Correct or remove it."


def has_header(first: list[str]) -> bool:
    """Return whether the first line of a table of numbers is a header.

    It is one if a field after the first is not a number, or if the first field is a usual name for
    a column of ids.
    """
    if len(first) == 1:
        return not is_number(first[0])
    if not all(is_number(field) for field in first[1:]):
        return True
    # pandas numbers unnamed columns; three or more such numbers in a row are no point.
    counted = len(first) > 2 and first == [str(i) for i in range(len(first))]
    return counted or first[0].strip().lower() in ID_HEADERS


def is_number(field: str) -> bool:
    """Return whether a field reads as a number."""
    try:
        float(field)
    except ValueError:
        return False
    return True
