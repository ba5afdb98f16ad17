"""Tables in pieces: the same columns and the same errors as a table that is read at once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from truegraph.data import tables
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


@pytest.mark.parametrize("block", [1, 2, 7, 1000])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_fields_are_counted_across_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int, end: str
) -> None:
    monkeypatch.setattr(tables, "_BLOCK", block)
    sound = ["u,i", "a,x", "bb,yy", "c,z"]
    path = tmp_path / "t.csv"
    path.write_bytes(end.join(sound).encode())  # no end of line at the end of the file
    assert len(CsvTable(path).columns([0, 1], [], header=True)) == 3
    path.write_bytes(end.join([*sound, "d,e,f", "g,h"]).encode())
    with pytest.raises(InputError, match="line 5: 3 fields instead of 2"):
        CsvTable(path).columns([0, 1], [], header=True)
