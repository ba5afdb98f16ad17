"""Users' tables in files: CSV (also compressed, or from standard input), Parquet, Excel.

Reading is left to pandas, which is fast but does not say where a file is wrong and passes over some
faults silently. So the number of fields is counted here, and errors name file, line and column.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from truegraph.data.column_kinds import ID_NAMES, cleaned, is_text, times
from truegraph.data.storage import PathLike, existing_file
from truegraph.errors import InputError
from truegraph.extras import with_remedy

TEXT_ENDINGS = (".csv", ".tsv", ".txt", ".tab", ".dat", ".edges", ".edgelist", ".inter")
FRAME_ENDINGS = (".parquet", ".pq", ".xlsx")

_COMMENTS = ("#", "%")  # as SNAP and KONECT write them above their edges
_COMMA_NUMBER = r"[+-]?(?:\d+|\d{1,3}(?:\.\d{3})+)(?:,\d+)?"  # 1.234,5
_POINT_NUMBER = r"[+-]?(?:\d+|\d{1,3}(?:,\d{3})+)(?:\.\d+)?"
_POINT_GROUPS = r"[+-]?(?:\d{1,3}|\d{1,3}(?:\.\d{3})+)"
_BLOCK = 1 << 24  # bytes
_MOST_RATIO, _SMALL = 100, 100_000_000  # a table is packed to a hundredth at best; bytes
_FORMULAS = tuple("=+-@\t\r\n＝＋－＠")  # of spreadsheets, also in full width


class Table:
    """A Parquet or Excel file; its columns have types, a saved index becomes the first ones."""

    path: PathLike
    names: list[str]
    header: bool  # whether the file names its columns

    def __init__(self, path: PathLike) -> None:
        self.path, self.header = path, True
        file = existing_file(path)
        try:
            if file.suffix.lower() == ".xlsx":
                frame = pd.read_excel(file, engine="openpyxl")
            else:
                frame = pd.read_parquet(file)
            plain = isinstance(frame.index, pd.RangeIndex) and frame.index.name is None
            self._frame = frame if plain else frame.reset_index()
        except ImportError as error:
            package = "openpyxl" if file.suffix.lower() == ".xlsx" else "pyarrow"
            raise with_remedy(ModuleNotFoundError(str(error), name=package)) from error
        except Exception as error:  # pandas believes whatever the file says about its columns
            kind = "Excel" if file.suffix.lower() == ".xlsx" else "Parquet"
            raise InputError(f"{path}: not a readable {kind} file ({error!r}).") from error
        self.names = [str(name) for name in self._frame.columns]
        if not len(self._frame):
            raise InputError(f"{path}: the table has no rows.")

    def place(self, row: int) -> str:
        """Return how row `row` (from 0) is called in an error."""
        return f"row {row + 1}"

    def _cells(self, places: Sequence[int]) -> pd.DataFrame:
        return pd.DataFrame({place: self._frame.iloc[:, place] for place in places})

    def frame(self) -> pd.DataFrame:
        """Return all columns as they are."""
        self.check_named_once()
        return self._frame.set_axis(self.names, axis=1)

    def columns(
        self, text: Sequence[int], numbers: Sequence[int] = (), moments: Sequence[int] = ()
    ) -> pd.DataFrame:
        """Read some columns, by their positions."""
        cells = self._cells([*text, *numbers, *moments])
        found: dict[int, Any] = {place: _as_text(cells[place]) for place in text}
        for place in numbers:
            values = pd.to_numeric(cells[place], errors="coerce").to_numpy(np.float64)
            found[place] = self._finite(place, values, cells[place], "number")
        for place in moments:
            found[place] = self._finite(place, times(cells[place]), cells[place], "number or date")
        return pd.DataFrame(found, index=cells.index)

    def _finite(
        self, place: int, values: NDArray[np.float64], cells: pd.Series, what: str
    ) -> NDArray[np.float64]:
        bad = ~np.isfinite(values)
        if bad.any():
            row = int(bad.argmax())
            cell = cells.iloc[row]
            problem = f"{str(cell)!r} is not a finite {what}; correct or remove it."
            if cell is None or str(cell) == "":
                problem = f"the value is missing; give a {what}."
            raise self.error(row, place, problem)
        return values

    def error(self, row: int, place: int, problem: str) -> InputError:
        """Return the error that says what is wrong at a place of the table."""
        name = repr(self.names[place]) if self.header else str(place + 1)
        return InputError(f"{self.path}, {self.place(row)}, column {name}: {problem}")

    def position(self, name: str, role: str) -> int:
        """Return the position of the column of a name, in whatever case."""
        lowered = [own.lower() for own in self.names]
        if name.strip().lower() not in lowered:
            raise InputError(
                f"{self.path}: no column is called {name!r}, which would hold the {role}; the "
                f"first line has {', '.join(self.names)}."
            )
        return lowered.index(name.strip().lower())

    def check_ids(self, places: Sequence[int], *, once: bool = False) -> pd.DataFrame:
        """Return columns of ids as text; raise where one is missing or, if wanted, is repeated."""
        frame = self.columns(places)
        for place in places:
            blank, repeated = (frame[place] == "").to_numpy(), frame[place].duplicated().to_numpy()
            if blank.any():
                problem = "the node's id is missing; give one, or remove the row."
                raise self.error(int(blank.argmax()), place, problem)
            if once and repeated.any():
                name = frame[place].iloc[int(repeated.argmax())]
                first = self.place(int((frame[place] == name).argmax()))
                problem = f"node {name!r} is listed twice, first on {first}; remove one of the two."
                raise self.error(int(repeated.argmax()), place, problem)
        return frame

    def check_named_once(self, places: Iterable[int] | None = None) -> None:
        """Raise unless columns have names of their own; by position whatever their case."""
        names = list(self.names)
        if places is not None:
            names = [name.split(":")[0].strip().lower() for name in names]
        for place in range(len(names)) if places is None else places:
            if names.count(names[place]) > 1:
                raise InputError(
                    f"{self.path}: two columns are called {self.names[place]!r}; "
                    "rename one of them."
                )


def open_table(path: PathLike, has_header: Callable[[CsvTable], bool] | None = None) -> Table:
    """Open a table by the ending of its name: .csv, .tsv, .txt (also .gz), .parquet or .xlsx."""
    suffix = ending(path)
    if suffix in FRAME_ENDINGS:
        return Table(path)
    if suffix in TEXT_ENDINGS:
        return CsvTable(path, has_header or names_columns)
    raise InputError(
        f"{path}: the ending {suffix!r} is not that of a table; give a .csv, .parquet or .xlsx "
        "file."
    )


def ending(path: PathLike) -> str:
    """Return the ending of a file's name in lower case, without .gz; standard input is text."""
    name = Path(path)
    if str(path) == "-":
        return ".csv"
    return Path(name.stem if name.suffix.lower() == ".gz" else name).suffix.lower()


def is_table_file(path: PathLike) -> bool:
    """Return whether `open_table` reads such a file."""
    return ending(path) in (*TEXT_ENDINGS, *FRAME_ENDINGS)


class CsvTable(Table):
    """A text table with commas, semicolons, tabs or spaces between the fields.

    Lines above the table that begin with # or % are comments. The last of them is the header if it
    has as many fields as the table.
    """

    def __init__(self, path: PathLike, has_header: Callable[[CsvTable], bool]) -> None:
        self.path = path
        try:
            self._check_unpacked()
            comment, self._above, line = self._top()
            self.delimiter = delimiter_of(line)
            names = self._split(comment)
            self.has_comment_header = len(names) == len(self._split(line)) > 1 and not any(
                map(is_number, names)
            )
            self._first_line, self.first = next(self._records(), (0, []))
        except (UnicodeDecodeError, csv.Error, OSError, EOFError) as error:
            raise self._no_text(error) from error
        if not self.first:
            raise InputError(f"{path}: the file is empty; give a table with one row per line.")
        self._width = len(self.first)
        if self.has_comment_header:
            self.first = names
        self._read: dict[int, pd.Series] = {}
        self.header = self.has_comment_header or has_header(self)
        numbered = [f"column {number}" for number in range(1, self._width + 1)]
        self.names = [name.strip() for name in self.first] if self.header else numbered

    def _open(self) -> BinaryIO:
        if str(self.path) == "-":
            return io.BytesIO(_standard_input(sys.stdin.buffer))
        file = existing_file(self.path)
        return gzip.open(file) if file.suffix.lower() == ".gz" else file.open("rb")  # type: ignore[return-value]

    def _check_unpacked(self) -> None:
        """Raise if a compressed file unpacks to much more than a table would."""
        if Path(self.path).suffix.lower() != ".gz":
            return
        limit = max(_SMALL, _MOST_RATIO * Path(self.path).stat().st_size)
        unpacked = 0
        with self._open() as stream:
            while block := stream.read(_BLOCK):
                unpacked += len(block)
                if unpacked > limit:
                    raise InputError(
                        f"{self.path}: refused: it unpacks to more than {limit:,} bytes; give the "
                        "table uncompressed."
                    )

    def _lines(self) -> Iterator[str]:
        with self._open() as stream:
            yield from io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")

    def _top(self) -> tuple[str, int, str]:
        """Return the last comment, the number of lines up to it, and the first line below."""
        comment, above = "", 0
        for number, line in enumerate(self._lines(), start=1):
            if line.startswith(_COMMENTS):
                comment, above = line.strip().lstrip("".join(_COMMENTS)).strip(), number
            elif line.strip("\r\n"):
                return comment, above, line
        return comment, above, ""

    def _split(self, line: str) -> list[str]:
        return line.split() if self.delimiter == " " else line.split(self.delimiter)

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        """Give the number of the last line and the fields of each row below the comments."""
        below = islice(self._lines(), self._above, None)
        reader = csv.reader(below, delimiter=self.delimiter, skipinitialspace=True)
        for fields in reader:
            if self.delimiter == " " and fields and not fields[-1]:
                fields.pop()  # spaces at the end of the line
            if fields:
                yield self._above + reader.line_num, fields

    @property
    def _skips_first(self) -> bool:
        return self.header and not self.has_comment_header

    def place(self, row: int) -> str:
        """Return the line on which data row `row` (from 0) stands."""
        line, _ = next(islice(self._records(), row + self._skips_first, None), (0, []))
        return f"line {line}" if line else f"row {row + 1}"

    def rows_without_header(self, places: Sequence[int]) -> pd.DataFrame:
        """Return columns as text, the first line among the rows."""
        new = sorted(set(places) - set(self._read))
        if new:
            if not self._read:
                self._check_field_counts()
            frame = self._parsed(new)
            self._read |= {place: frame[place] for place in new}
        return pd.DataFrame({place: self._read[place] for place in places})

    def _cells(self, places: Sequence[int]) -> pd.DataFrame:
        frame = self.rows_without_header(places)
        if self._skips_first:
            frame = frame.iloc[1:].reset_index(drop=True)
        if not len(frame):
            raise InputError(f"{self.path}: the table has no rows.")
        return frame

    def _parsed(self, places: list[int]) -> pd.DataFrame:
        try:
            with self._open() as stream:
                return pd.read_csv(
                    stream,
                    sep=r"\s+" if self.delimiter == " " else self.delimiter,
                    header=None,
                    names=list(range(self._width)),
                    usecols=places,
                    skiprows=self._above,
                    dtype=str,
                    na_filter=False,
                    skipinitialspace=True,
                    index_col=False,
                    encoding="utf-8-sig",
                )
        except (UnicodeDecodeError, OverflowError, pd.errors.ParserError) as error:
            raise self._no_text(error) from error

    def frame(self) -> pd.DataFrame:
        """Return all columns by name.

        How a column writes its numbers is left to the column plan, but for one case that only the
        file decides: where a column has decimal commas, 1.234 in another is 1234.
        """
        self.check_named_once()
        cells = self._cells(range(len(self.names)))
        typed = [self._typed(place, cells[place]) for place in range(len(self.names))]
        if any(is_text(column) and _has_decimal_commas(column) for column in typed):
            for place in range(len(typed)):
                if _has_point_groups(cells[place]):
                    digits = cells[place].str.replace(".", "", regex=False)
                    typed[place] = self._typed(place, digits)
        return pd.DataFrame(dict(zip(self.names, typed, strict=True)), index=cells.index)

    def _typed(self, place: int, cells: pd.Series) -> pd.Series:
        """Return a column as numbers if all of its cells are, else as it is."""
        values = pd.to_numeric(cells, errors="coerce")
        known = cleaned(cells) if values.hasnans else cells
        if values.isna().sum() > known.isna().sum() or known.str.match(r"0\d", na=False).any():
            return cells  # not numbers, or names such as the zip code 01234
        lost = np.isinf(values.to_numpy(np.float64))
        lost[lost] = known[lost].str.contains(r"\d").to_numpy(bool)
        if lost.any():
            row = int(lost.argmax())
            problem = f"{cells.iloc[row]!r} is too large for float64. Scale the column, or drop it."
            raise self.error(row, place, problem)
        return values

    def _check_field_counts(self) -> None:
        with self._open() as stream:
            if _is_plainly_even(stream, self.delimiter, self._width, self._above):
                return
        try:
            for line, fields in self._records():
                if len(fields) != self._width:
                    raise InputError(
                        f"{self.path}, line {line}: {len(fields)} fields instead of {self._width} "
                        "as on the first line; correct the line."
                    )
        except (UnicodeDecodeError, csv.Error) as error:
            raise self._no_text(error) from error

    def _no_text(self, error: Exception) -> InputError:
        if isinstance(error, OSError) and not isinstance(error, gzip.BadGzipFile):
            raise error
        return InputError(f"{self.path}: not a text table ({error}); save it as CSV in UTF-8.")


@lru_cache(maxsize=1)
def _standard_input(stream: BinaryIO) -> bytes:
    """Return what comes from standard input, which can be read only once."""
    return stream.read()


def _has_point_groups(cells: pd.Series) -> bool:
    """Return whether points may stand between thousands, or be decimal points: 1.234, 980."""
    known = _different(cells)
    points = known.str.contains(".", regex=False)
    return bool(points.any() and known.str.fullmatch(_POINT_GROUPS).all())


def _has_decimal_commas(cells: pd.Series) -> bool:
    known = _different(cells)
    commas = known[known.str.contains(",", regex=False)]
    if commas.empty or commas.str.fullmatch(_POINT_NUMBER).all():
        return False
    return bool(known.str.fullmatch(_COMMA_NUMBER).all())


def _different(cells: pd.Series) -> pd.Series:
    return cleaned(pd.Series(cells.unique(), dtype="str")).dropna()


def _is_plainly_even(stream: BinaryIO, delimiter: str, fields: int, above: int) -> bool:
    """Return whether every line has so many fields, and no quote could hide a delimiter.

    Lines are counted in blocks. False if it is not certain: empty lines, quotes and spaces need a
    closer look.
    """
    if delimiter == " ":
        return False
    for _ in range(above):
        stream.readline()
    rest = b""
    while block := stream.read(_BLOCK):
        if b'"' in block:
            return False
        block = rest + block
        end = block.rfind(b"\n") + 1
        rest = block[end:]
        if not _are_even(block[:end], delimiter, fields):
            return False
    return not rest or _are_even(rest + b"\n", delimiter, fields)


def _are_even(lines: bytes, delimiter: str, fields: int) -> bool:
    """Return whether every line, each with its end, has so many fields."""
    letters = np.frombuffer(lines, dtype=np.uint8)
    ends = np.flatnonzero(letters == ord("\n"))
    before = np.searchsorted(np.flatnonzero(letters == ord(delimiter)), ends)
    return bool((np.diff(before, prepend=0) == fields - 1).all())


def _as_text(values: pd.Series) -> pd.Series:
    """Return a column as text: 3.0 in a column of whole numbers with gaps is 3."""
    if is_text(values):
        return values.astype("str").where(values.notna(), "")
    if values.dtype.kind == "f" and (values.dropna() % 1 == 0).all():
        values = values.astype("Int64")  # numbers with gaps, not measurements
    codes, different = pd.factorize(values)  # only different values need be written out
    written = pd.Series(different).astype("str").reindex(codes)
    return written.set_axis(values.index).where(values.notna(), "")


def delimiter_of(line: str) -> str:
    """Return what separates the fields of a line; the commas of "0,5;0,25" are in its numbers."""
    for delimiter in (";", "\t"):
        fields = line.strip("\r\n").split(delimiter)
        with_comma = [field.strip() for field in fields if "," in field]
        if len(fields) > 1 and all(re.fullmatch(_COMMA_NUMBER, field) for field in with_comma):
            return delimiter
    most = max(",;\t", key=line.count)
    return most if most in line or len(line.split()) < 2 else " "


def names_columns(table: CsvTable) -> bool:
    """Return whether the first line of a table of mixed columns names them.

    It does unless one of its fields, after a first one that may be an id, is a number or empty.
    """
    first = table.first
    if first[0].strip().lower() in ID_NAMES:
        return True
    return _counts_up(first) or not any(_is_value(field) for field in first[1:] or first)


def _counts_up(first: list[str]) -> bool:
    """Return whether fields are the numbers 0, 1, 2, ... that pandas gives unnamed columns."""
    return len(first) > 2 and first == [str(number) for number in range(len(first))]


def _is_value(field: str) -> bool:
    """Return whether a field is a number, also one with commas, or empty."""
    is_grouped = re.fullmatch(f"{_COMMA_NUMBER}|{_POINT_NUMBER}", field.strip()) is not None
    return not field or is_number(field) or is_grouped


def is_number(field: str) -> bool:
    """Return whether a field reads as a number."""
    try:
        float(field)
    except ValueError:
        return False
    return True


def write_csv(table: pd.DataFrame, path: str | os.PathLike[str], *, escape: bool = False) -> None:
    """Write a table without its index as CSV, atomically."""
    from truegraph.data.storage import atomic_write

    if escape:
        cells = {
            name: table[name].map(_escaped) if is_text(table[name]) else table[name]
            for name in table.columns
        }
        table = pd.DataFrame(cells, index=table.index).rename(columns=_escaped)
    with atomic_write(path) as temporary:
        table.to_csv(temporary, index=False)


def _escaped(value: Any) -> Any:
    dangerous = isinstance(value, str) and value.startswith(_FORMULAS)
    return f"'{value}" if dangerous and not is_number(value) else value
