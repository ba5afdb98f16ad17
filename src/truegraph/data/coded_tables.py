"""Tables of millions of rows: columns of ids as numbers, read piece by piece.

Text takes ten times the memory of the numbers that stand for it. So a file is read in pieces, and
of every piece only the numbers stay. What comes out, and what is refused, is the same as if the
table were read at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from truegraph.data.tables import Table

PIECE = 1_000_000  # rows


@dataclass(frozen=True, eq=False)
class CodedColumns:
    """Columns of a table, by their positions.

    Attributes
    ----------
    codes : dict of int to ndarray of int64, shape (n_rows,)
        Of each column of text the number of every row's value.
    values : dict of int to tuple of str
        The value of each number, in ascending order.
    numbers : dict of int to ndarray of float64, shape (n_rows,)
    """

    codes: dict[int, NDArray[np.int64]]
    values: dict[int, tuple[str, ...]]
    numbers: dict[int, NDArray[np.float64]]


def read_coded(
    table: Table, text: Sequence[int], numbers: Sequence[int], *, header: bool, piece: int = PIECE
) -> CodedColumns:
    """Read some columns of a table as codes and as finite numbers.

    Parameters
    ----------
    table : CsvTable or ParquetTable
    text, numbers : sequence of int
        Positions of the columns.
    header : bool
        Whether the first line is a header.
    piece : int
        Rows that are held as text at a time.

    Raises
    ------
    InputError
        As `CsvTable.columns` does.
    """
    coders = {column: _Coder() for column in text}
    found: dict[int, list[NDArray[np.float64]]] = {column: [] for column in numbers}
    for frame in table.pieces(text, numbers, header=header, rows=piece):
        for column, coder in coders.items():
            coder.add(frame[column])
        for column, parts in found.items():
            parts.append(frame[column].to_numpy(np.float64))
    coded = {column: coder.finished() for column, coder in coders.items()}
    return CodedColumns(
        {column: codes for column, (codes, _) in coded.items()},
        {column: values for column, (_, values) in coded.items()},
        {column: np.concatenate(parts) for column, parts in found.items()},
    )


class _Coder:
    """Gives the values of a column numbers, one piece after the other."""

    def __init__(self) -> None:
        self._number: dict[str, int] = {}
        self._parts: list[NDArray[np.int32]] = []

    def add(self, column: pd.Series) -> None:
        codes, values = pd.factorize(column)
        known = self._number
        numbers = [known.setdefault(value, len(known)) for value in values.tolist()]
        self._parts.append(np.array(numbers, dtype=np.int32)[codes])

    def finished(self) -> tuple[NDArray[np.int64], tuple[str, ...]]:
        """Return the codes in ascending order of the values, and the values."""
        values = sorted(self._number)
        place = np.empty(len(values), dtype=np.int64)
        place[[self._number[value] for value in values]] = np.arange(len(values))
        return place[np.concatenate(self._parts)], tuple(values)
