"""Tables: what is read, and that every fault is told with file, line and column."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from truegraph.data.tables import CsvTable, ParquetTable, open_table
from truegraph.errors import InputError


def table(tmp_path: Path, content: str, name: str = "t.csv") -> CsvTable:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    opened = open_table(path)
    assert isinstance(opened, CsvTable)
    return opened


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_delimiters_and_line_ends(tmp_path: Path, delimiter: str, end: str) -> None:
    lines = [["id", "x", "y"], ["a", "1", "2.5"], ["b", "-3e2", "4"]]
    opened = table(tmp_path, end.join(delimiter.join(line) for line in lines))
    frame = opened.columns([0], [1, 2], header=True)
    assert frame[0].tolist() == ["a", "b"]
    assert frame[[1, 2]].to_numpy().tolist() == [[1, 2.5], [-300, 4]]


def test_byte_order_mark_blank_lines_quotes_and_spaces(tmp_path: Path) -> None:
    opened = table(tmp_path, '\ufeff\nid, x\n\n"a,1", 2\n\n"say ""b""", 3\n')
    assert opened.first == ["id", "x"]
    frame = opened.columns([0], [1], header=True)
    assert frame[0].tolist() == ["a,1", 'say "b"']
    assert frame[1].tolist() == [2, 3]
    assert opened.place(1, header=True) == "line 6"


def test_ids_that_look_like_missing_values_stay(tmp_path: Path) -> None:
    frame = table(tmp_path, "id,x\nNA,1\nnull,2\n007,3\n").columns([0], [1], header=True)
    assert frame[0].tolist() == ["NA", "null", "007"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("id,x,y\na,1,2\nb,3\n", r"t\.csv, line 3: 2 fields instead of 3"),
        ("id,x,y\na,1,2,9\nb,3,4\n", r"t\.csv, line 2: 4 fields instead of 3"),
        ('id,x,y\n"a",1,2\n\nb,3\n', r"t\.csv, line 4: 2 fields instead of 3"),
        ("id,x,y\na,1,2\n\nb,3,four\n", r"t\.csv, line 4, column 'y': 'four' is not a finite"),
        ("id,x,y\na,,2\n", r"t\.csv, line 2, column 'x': the value is missing"),
        ("id,x,y\na,1,2\nb,nan,4\n", r"t\.csv, line 3, column 'x': 'nan' is not a finite"),
        ("id,x,y\na,1,2\nb,3,inf\n", r"t\.csv, line 3, column 'y': 'inf' is not a finite"),
        ("id,x,y\n", r"t\.csv: the table has no rows"),
    ],
)
def test_faults_are_told_with_their_place(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        table(tmp_path, content).columns([0], [1, 2], header=True)


def test_faults_without_a_header_name_the_column_by_number(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"t\.csv, line 2, column 2: 'x' is not a finite number"):
        table(tmp_path, "1,2\n3,x\n").columns([], [0, 1], header=False)


def test_files_that_are_no_tables(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        open_table(tmp_path / "nothing.csv")
    with pytest.raises(InputError, match="the file is empty"):
        table(tmp_path, "")
    with pytest.raises(InputError, match="the file is empty"):
        table(tmp_path, "\n\n\n")
    with pytest.raises(InputError, match=r"ending '\.xlsx' is not that of a table"):
        open_table(tmp_path / "t.xlsx")
    np.savez(tmp_path / "t.npz", x=np.random.default_rng(0).normal(size=50))
    (tmp_path / "t.npz").rename(tmp_path / "binary.csv")
    with pytest.raises(InputError, match=r"binary\.csv: not a text table"):
        open_table(tmp_path / "binary.csv")
    (tmp_path / "late.csv").write_bytes(b"id,x\n" + b"a,1\n" * 9000 + b"\xff\xfe,2\n")
    with pytest.raises(InputError, match=r"late\.csv: not a text table"):
        open_table(tmp_path / "late.csv").columns([0], [1], header=True)


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    frame = pd.DataFrame({"id": [7, 8], "x": [1, 2], "y": [0.5, 1.5], "flag": [True, False]})
    frame.to_parquet(path)
    opened = open_table(path)
    assert isinstance(opened, ParquetTable)
    assert opened.first == ["id", "x", "y", "flag"]
    read = opened.columns([0], [1, 2, 3], header=True)
    assert read[0].tolist() == ["7", "8"]
    assert read[[1, 2, 3]].to_numpy().tolist() == [[1, 0.5, 1], [2, 1.5, 0]]
    frame.set_index("id").to_parquet(path)
    assert open_table(path).first == ["id", "x", "y", "flag"]


@pytest.mark.parametrize(
    "described", [b"{}", b"[]", b'{"columns": 3}', b"not JSON", b'{"columns": [], "x": 1}']
)
def test_parquet_whose_description_is_damaged(tmp_path: Path, described: bytes) -> None:
    path = tmp_path / "t.parquet"
    frame = pa.Table.from_pandas(pd.DataFrame({"id": ["a", "b"]}))
    pq.write_table(frame.replace_schema_metadata({b"pandas": described}), path)
    with pytest.raises(InputError, match=r"t\.parquet: not a readable Parquet file"):
        ParquetTable(path)


def test_parquet_faults(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    path.write_bytes(b"PAR1 but not really")
    with pytest.raises(InputError, match=r"t\.parquet: not a readable Parquet file"):
        open_table(path)
    pd.DataFrame({"id": ["a", "b"], "x": [1.0, np.nan]}).to_parquet(path)
    with pytest.raises(InputError, match=r"t\.parquet, row 2, column 'x': 'nan' is not a finite"):
        open_table(path).columns([0], [1], header=True)
    pd.DataFrame({"id": ["a", "b"], "x": ["1", "two"]}).to_parquet(path)
    with pytest.raises(InputError, match=r"t\.parquet, row 2, column 'x': 'two' is not a finite"):
        open_table(path).columns([0], [1], header=True)
    pd.DataFrame({"id": pd.Series([], dtype=str), "x": []}).to_parquet(path)
    with pytest.raises(InputError, match="the table has no rows"):
        open_table(path).columns([0], [1], header=True)


def test_parquet_ids_with_gaps(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pd.DataFrame({"id": [1.0, np.nan], "label": ["a", None]}).to_parquet(path)
    read = open_table(path).columns([0, 1], [], header=True)
    assert read[0].tolist() == ["1", ""]
    assert read[1].tolist() == ["a", ""]
