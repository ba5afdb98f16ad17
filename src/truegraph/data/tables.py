"""Users' tables as CSV or Parquet, with errors that name the file, the line and the column.

Reading is left to pandas, which is fast but does not say where a file is wrong and passes over some
faults silently. So the number of fields is counted here, and a failed read is repeated slowly to
find the place.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from truegraph.data.field_counts import is_plainly_even
from truegraph.data.storage import existing_file
from truegraph.data.table_fields import delimiter_of, is_number
from truegraph.errors import InputError

TEXT_ENDINGS = (".csv", ".tsv", ".txt", ".tab", ".dat", ".edges", ".edgelist")
PARQUET_ENDINGS = (".parquet", ".pq")

_COMMENTS = ("#", "%")  # as SNAP and KONECT write them above their edges


class CsvTable:
    """A text table with commas, semicolons, tabs or spaces between the fields.

    Lines above the table that begin with # or % are comments. The last of them is the header if it
    has as many fields as the table.

    Attributes
    ----------
    path : Path
    delimiter : str
        "," or ";" or a tab; " " stands for any number of spaces.
    first : list of str
        Fields of the first line, which may be a header.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = existing_file(path)
        try:
            comment, self._above, line = self._top()
            self.delimiter = delimiter_of(line)
            if not line.count(self.delimiter):
                self.delimiter = " " if len(line.split()) > 1 else ","
            names = self._split(comment)
            fits = len(names) == len(self._split(line)) > 1 and not any(map(is_number, names))
            self._header = names if fits else None
            self._first_line, self.first = next(self._records(), (0, []))
        except (UnicodeDecodeError, csv.Error) as error:
            raise _no_text(self.path, error) from error
        if not self.first:
            raise InputError(f"{path}: the file is empty; give a table with one row per line.")

    def _top(self) -> tuple[str, int, str]:
        """Return the last comment, the number of lines up to it, and the first line below."""
        comment, above = "", 0
        with self.path.open(encoding="utf-8-sig", newline="") as stream:
            for number, line in enumerate(stream, start=1):
                if line.startswith(_COMMENTS):
                    comment, above = line.strip().lstrip("".join(_COMMENTS)).strip(), number
                elif line.strip("\r\n"):
                    return comment, above, line
        return comment, above, ""

    def _split(self, line: str) -> list[str]:
        return line.split() if self.delimiter == " " else line.split(self.delimiter)

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        if self._header is not None:
            yield self._above, self._header
        with self.path.open(encoding="utf-8-sig", newline="") as stream:
            below = islice(stream, self._above, None)
            reader = csv.reader(below, delimiter=self.delimiter, skipinitialspace=True)
            for fields in reader:
                if self.delimiter == " " and fields and not fields[-1]:
                    fields.pop()  # spaces at the end of the line
                if fields:
                    yield self._above + reader.line_num, fields

    @property
    def has_comment_header(self) -> bool:
        """Whether the columns are named in the last comment above the table."""
        return self._header is not None

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
            raise _no_text(self.path, error) from error
        except ValueError as error:
            raise self._why_no_numbers(numbers, header, error) from error
        return checked_frame(self, frame, numbers, header=header)

    def pieces(
        self, text: Sequence[int], numbers: Sequence[int], *, header: bool, rows: int
    ) -> Iterator[pd.DataFrame]:
        """Read what `columns` reads, so many rows at a time."""
        self._check_field_counts()
        types: dict[int, Any] = dict.fromkeys(text, str) | dict.fromkeys(numbers, np.float64)
        count = 0
        try:
            with pd.read_csv(**self._parser_options(types, header), chunksize=rows) as reader:
                for frame in reader:
                    if not np.isfinite(frame[list(numbers)].to_numpy()).all():
                        raise ValueError("not finite")
                    count += len(frame)
                    yield frame
        except (ValueError, OverflowError):
            self.columns(text, numbers, header=header)  # says what is wrong, and where
            raise
        if count == 0:
            raise InputError(f"{self.path}: the table has no rows.")

    def mixed(self, *, header: bool) -> pd.DataFrame:
        """Read all columns, each as numbers if it can be and else as text.

        Returns
        -------
        frame : DataFrame
            Columns are named by their positions. Empty fields and the usual marks (NA, null, ?)
            are missing values.
        """
        self._check_field_counts()
        try:
            frame = self._parse(None, header)
        except UnicodeDecodeError as error:
            raise _no_text(self.path, error) from error
        return checked_frame(self, frame, [], header=header)

    def _parse(self, types: dict[int, Any] | None, header: bool) -> pd.DataFrame:
        try:
            return pd.read_csv(**self._parser_options(types, header))
        except (pd.errors.ParserError, pd.errors.EmptyDataError, OverflowError) as error:
            raise _no_text(self.path, error) from error

    def _parser_options(self, types: dict[int, Any] | None, header: bool) -> dict[str, Any]:
        marks: dict[str, Any] = {"na_filter": False, "usecols": sorted(types or ())}
        if types is None:
            marks = {"na_values": ["?", "-", "--"], "low_memory": False}
        return marks | {
            "filepath_or_buffer": self.path,
            "sep": r"\s+" if self.delimiter == " " else self.delimiter,
            "header": None,
            "names": list(range(len(self.first))),
            "skiprows": self._first_line if header else self._above,
            "dtype": types,
            "skipinitialspace": True,
            "index_col": False,
            "encoding": "utf-8-sig",
        }

    def _check_field_counts(self) -> None:
        if is_plainly_even(self.path, self.delimiter, len(self.first), self._first_line):
            return
        try:
            line, count = next(self._uneven_lines(), (0, 0))
        except (UnicodeDecodeError, csv.Error) as error:
            raise _no_text(self.path, error) from error
        if line:
            raise InputError(
                f"{self.path}, line {line}: {count} fields instead of {len(self.first)} as on the "
                "first line; correct the line."
            )

    def _uneven_lines(self) -> Iterator[tuple[int, int]]:
        delimiter, expected = self.delimiter.encode(), len(self.first)
        with self.path.open("rb") as stream:
            below = islice(stream, self._first_line, None)
            for number, line in enumerate(below, start=self._first_line + 1):
                if b'"' in line:
                    # Quotes may hide delimiters and line ends: count with the csv module instead.
                    yield from (
                        (place, len(fields))
                        for place, fields in self._records()
                        if len(fields) != expected
                    )
                    return
                spaced = delimiter == b" "
                count = len(line.split()) if spaced else line.count(delimiter) + 1
                if count != expected and line.strip(b"\r\n"):
                    yield number, count

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


def _no_text(path: Path, error: Exception) -> InputError:
    return InputError(f"{path}: not a text table ({error}); save it as CSV in UTF-8.")


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
            plain = isinstance(frame.index, pd.RangeIndex) and frame.index.name is None
            self._frame = frame if plain else frame.reset_index()
        except ImportError as error:
            raise ImportError(
                "reading Parquet needs pyarrow; install it with: pip install 'truegraph[parquet]'"
            ) from error
        except Exception as error:  # pandas believes whatever the file says about its columns
            raise InputError(f"{path}: not a readable Parquet file ({error!r}).") from error
        self.first = [str(name) for name in self._frame.columns]

    def first_value(self, *, header: bool) -> str:
        """Return the field in the first column of the first row, or "" without rows."""
        return str(self._frame.iat[0, 0]) if self._frame.size else ""

    def place(self, row: int, *, header: bool) -> str:
        """Return how row `row` (from 0) is called in an error."""
        return f"row {row + 1}"

    def columns(self, text: Sequence[int], numbers: Sequence[int], *, header: bool) -> pd.DataFrame:
        """Read some columns, by their positions, as text or as finite float64."""
        whole = self.pieces(text, numbers, header=header, rows=max(1, len(self._frame)))
        return next(whole)

    def pieces(
        self, text: Sequence[int], numbers: Sequence[int], *, header: bool, rows: int
    ) -> Iterator[pd.DataFrame]:
        """Read what `columns` reads, so many rows at a time."""
        measured = {column: self._numbers(column) for column in numbers}
        index = range(len(self._frame))
        checked = checked_frame(self, pd.DataFrame(measured, index=index), numbers, header=header)
        for start in range(0, len(self._frame), rows):
            part = slice(start, start + rows)
            parts: dict[int, Any] = {column: self._text(column, part) for column in text}
            yield pd.DataFrame(parts | {column: checked[column][part] for column in numbers})

    def mixed(self, *, header: bool) -> pd.DataFrame:
        """Return all columns as they are, named by their positions."""
        frame = self._frame.set_axis(range(self._frame.shape[1]), axis=1)
        return checked_frame(self, frame, [], header=header)

    def _text(self, column: int, rows: slice) -> pd.Series:
        whole = self._frame.iloc[:, column]
        values = whole[rows]
        if values.dtype.kind in "iu":  # only different numbers need be written out
            codes, different = pd.factorize(values)
            return pd.Series(different).astype(str).take(codes).set_axis(values.index)
        if values.dtype.kind == "f" and (whole.dropna() % 1 == 0).all():
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
    if suffix in TEXT_ENDINGS:
        return CsvTable(path)
    if suffix in PARQUET_ENDINGS:
        return ParquetTable(path)
    raise InputError(
        f"{path}: the ending {suffix!r} is not that of a table; give a .csv or .parquet file."
    )


def table_error(table: Table, row: int, column: int, problem: str, *, header: bool) -> InputError:
    """Return the error that says what is wrong at a place of a table."""
    named = header or isinstance(table, ParquetTable)
    name = repr(table.first[column]) if named else str(column + 1)
    return InputError(f"{table.path}, {table.place(row, header=header)}, column {name}: {problem}")


def check_named_once(table: Table, places: Iterable[int]) -> None:
    """Raise unless the columns that are read have names of their own, whatever their case."""
    names = [name.split(":")[0].strip().lower() for name in table.first]
    for place in places:
        if names.count(names[place]) > 1:
            raise InputError(
                f"{table.path}: two columns are called {table.first[place].strip()!r}; "
                "rename one of them."
            )


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
        return "the value is missing; give a number."
    return f"{str(value)!r} is not a finite number; correct or remove it."
