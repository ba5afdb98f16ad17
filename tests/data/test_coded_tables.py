"""Tables in pieces: the same columns and the same errors as a table that is read at once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from truegraph.data.coded_tables import read_coded
from truegraph.data.tables import CsvTable, open_table
from truegraph.errors import InputError


def written(folder: Path, text: str) -> CsvTable:
    file = folder / "t.csv"
    file.write_text(text)
    return CsvTable(file)


ROWS = 'who,what,stars\n7,tea,4\n007,"a, b",2\nann,NA,5\n7,tea,1\n\nbob,,3\nann,tea,2.5\n'


@pytest.mark.parametrize("piece", [1, 2, 3, 100])
def test_pieces_give_the_columns_of_the_whole(tmp_path: Path, piece: int) -> None:
    table = written(tmp_path, ROWS)
    whole = table.columns([0, 1], [2], header=True)
    found = read_coded(table, [0, 1], [2], header=True, piece=piece)
    for column in (0, 1):
        values = found.values[column]
        assert list(values) == sorted(set(whole[column]))
        assert [values[code] for code in found.codes[column]] == whole[column].tolist()
    assert found.numbers[2].tolist() == whole[2].tolist()


def test_parquet_gives_the_same_codes(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(-50, 50, 300), "b": rng.integers(9, size=300)})
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_csv(tmp_path / "t.csv", index=False)
    one, other = (
        read_coded(open_table(tmp_path / name), [0, 1], [], header=True, piece=70)
        for name in ("t.parquet", "t.csv")
    )
    assert one.values == other.values
    for column in (0, 1):
        np.testing.assert_array_equal(one.codes[column], other.codes[column])


def test_pieces_of_parquet_tell_whole_numbers_by_the_whole_column(tmp_path: Path) -> None:
    ids = [1.0, None, 3.0, 2.0]
    for last, wanted in ((4.0, ["", "1", "2", "3", "4"]), (4.5, ["", "1.0", "2.0", "3.0", "4.5"])):
        frame = pd.DataFrame({"a": [*ids, last], "x": range(5)}, index=[7, 7, 8, 9, 9])
        frame.to_parquet(tmp_path / "t.parquet", index=False)
        found = read_coded(open_table(tmp_path / "t.parquet"), [0], [1], header=True, piece=2)
        assert list(found.values[0]) == wanted
        assert found.numbers[1].tolist() == [0, 1, 2, 3, 4]
    pd.DataFrame({"a": [1, 2, 3], "x": ["1", "2", "bad"]}).to_parquet(tmp_path / "bad.parquet")
    with pytest.raises(InputError, match="row 3, column 'x': 'bad'"):
        read_coded(open_table(tmp_path / "bad.parquet"), [0], [1], header=True, piece=2)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("u,i,r\na,x,1\nb,y,2\nc,z,two\n", "line 4, column 'r': 'two'"),
        ("u,i,r\na,x,1\nb,y,2\nc,z,inf\n", "line 4, column 'r': 'inf'"),
        ("u,i,r\na,x,1\nb,y,2\nc,z,\n", "line 4, column 'r'"),
        ("u,i,r\na,x,1\nb,y,2\nc,z\n", "line 4: 2 fields instead of 3"),
        ("u,i,r\n", "no rows"),
    ],
)
def test_faults_in_later_pieces_are_named_by_their_line(
    tmp_path: Path, text: str, where: str
) -> None:
    table = written(tmp_path, text)
    with pytest.raises(InputError, match=where):
        read_coded(table, [0, 1], [2], header=True, piece=2)
