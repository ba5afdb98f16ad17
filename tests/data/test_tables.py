"""Tables in files: what is read, and that every fault is told with file, line and column."""

from __future__ import annotations

import gzip
import importlib.util
import io
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from truegraph.data.tables import (
    Table,
    delimiter_of,
    open_table,
    write_csv,
)
from truegraph.errors import InputError


def table(tmp_path: Path, content: str, name: str = "t.csv") -> Table:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    return open_table(path)


def frame(tmp_path: Path, content: str) -> dict[str, list[Any]]:
    return table(tmp_path, content).frame().to_dict("list")


@pytest.mark.parametrize("delimiter", [",", ";", "\t", " "])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_delimiters_and_line_ends(tmp_path: Path, delimiter: str, end: str) -> None:
    lines = [["id", "x", "y"], ["a", "1", "2.5"], ["b", "-3e2", "4"]]
    opened = table(tmp_path, end.join(delimiter.join(line) for line in lines))
    found = opened.columns([0], [1, 2])
    assert found[0].tolist() == ["a", "b"]
    assert found[[1, 2]].to_numpy().tolist() == [[1, 2.5], [-300, 4]]


@pytest.mark.parametrize(
    ("line", "delimiter"),
    [
        ("0,5;0,25", ";"),
        ("1.234,5\t2", "\t"),
        ("a,b;c,d", ","),
        ("a b c", " "),
        ("alone", ","),
        ("a;b", ";"),
    ],
)
def test_what_separates_fields(line: str, delimiter: str) -> None:
    assert delimiter_of(line) == delimiter


def test_byte_order_mark_blank_lines_quotes_and_spaces(tmp_path: Path) -> None:
    opened = table(tmp_path, '\ufeff\nid, x\n\n"a,1", 2\n\n"say ""b""", 3\n')
    assert opened.names == ["id", "x"]
    found = opened.columns([0], [1])
    assert found[0].tolist() == ["a,1", 'say "b"']
    assert found[1].tolist() == [2, 3]
    assert opened.place(1) == "line 6"


def test_compressed_and_from_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = b"id,x\na,1\nb,2\n"
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(content))
    assert open_table(tmp_path / "t.csv.gz").columns([0], [1])[1].tolist() == [1, 2]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    for _ in range(2):  # whoever asks again gets the same
        assert open_table("-").columns([0], [1])[0].tolist() == ["a", "b"]
    (tmp_path / "t.csv.gz").write_bytes(b"id,x\n")
    with pytest.raises(InputError, match=r"t\.csv\.gz: not a text table .*Not a gzipped file"):
        open_table(tmp_path / "t.csv.gz")


def test_ids_and_names_stay_as_they_are_written(tmp_path: Path) -> None:
    opened = table(tmp_path, "id,x\nNA,1\nnull,2\n007,3\n#b,4\n")
    assert opened.columns([0])[0].tolist() == ["NA", "null", "007", "#b"]


def test_moments_are_numbers_or_dates(tmp_path: Path) -> None:
    opened = table(tmp_path, "a,b,t,u\n1,2,1970-01-02,5\n2,3,1970-01-01 18:00,6\n")
    found = opened.columns([0], [], [2, 3])
    assert found[2].tolist() == [86400, 64800]
    assert found[3].tolist() == [5, 6]
    with pytest.raises(InputError, match="line 3, column 't': 'soon' is not a finite number or da"):
        table(tmp_path, "a,b,t\n1,2,7\n2,3,soon\n").columns([0], [], [2])


@pytest.mark.parametrize("size", [7, 1 << 24])
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
        ("1,2,3\n3,x,4\n", r"t\.csv, line 2, column 2: 'x' is not a finite number"),
    ],
)
def test_faults_are_told_with_their_place(
    tmp_path: Path, content: str, message: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("truegraph.data.tables._BLOCK", size)
    with pytest.raises(InputError, match=message):
        table(tmp_path, content).columns([0], [1, 2])


def test_files_that_are_no_tables(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        open_table(tmp_path / "nothing.csv")
    for content in ("", "\n\n\n"):
        with pytest.raises(InputError, match="the file is empty"):
            table(tmp_path, content)
    with pytest.raises(InputError, match=r"ending '\.docx' is not that of a table"):
        open_table(tmp_path / "t.docx")
    np.savez(tmp_path / "t.npz", x=np.random.default_rng(0).normal(size=50))
    (tmp_path / "t.npz").rename(tmp_path / "binary.csv")
    with pytest.raises(InputError, match=r"binary\.csv: not a text table"):
        open_table(tmp_path / "binary.csv")
    (tmp_path / "late.csv").write_bytes(b"id,x\n" + b"a,1\n" * 9000 + b"\xff\xfe,2\n")
    with pytest.raises(InputError, match=r"late\.csv: not a text table .* save it as CSV in UTF-8"):
        open_table(tmp_path / "late.csv").columns([0], [1])


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    given = pd.DataFrame({"id": [7, 8], "x": [1, 2], "y": [0.5, 1.5], "flag": [True, False]})
    given.to_parquet(path)
    read = open_table(path).columns([0], [1, 2, 3])
    assert read[0].tolist() == ["7", "8"]
    assert read[[1, 2, 3]].to_numpy().tolist() == [[1, 0.5, 1], [2, 1.5, 0]]
    pd.testing.assert_frame_equal(open_table(path).frame(), given)
    given.set_index("id").to_parquet(path)
    assert open_table(path).names == ["id", "x", "y", "flag"]
    pd.DataFrame({"id": [1.0, np.nan], "label": ["a", None]}).to_parquet(path)
    read = open_table(path).columns([0, 1])
    assert read[0].tolist() == ["1", ""]
    assert read[1].tolist() == ["a", ""]


@pytest.mark.parametrize(
    "described", [b"{}", b"[]", b'{"columns": 3}', b"not JSON", b'{"columns": [], "x": 1}']
)
def test_parquet_whose_description_is_damaged(tmp_path: Path, described: bytes) -> None:
    path = tmp_path / "t.parquet"
    given = pa.Table.from_pandas(pd.DataFrame({"id": ["a", "b"]}))
    pq.write_table(given.replace_schema_metadata({b"pandas": described}), path)
    with pytest.raises(InputError, match=r"t\.parquet: not a readable Parquet file"):
        open_table(path)


def test_parquet_faults(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    path.write_bytes(b"PAR1 but not really")
    with pytest.raises(InputError, match=r"t\.parquet: not a readable Parquet file"):
        open_table(path)
    for values, fault in (([1.0, np.nan], "nan"), (["1", "two"], "two")):
        pd.DataFrame({"id": ["a", "b"], "x": values}).to_parquet(path)
        with pytest.raises(InputError, match=rf"row 2, column 'x': '{fault}' is not a finite"):
            open_table(path).columns([0], [1])
    pd.DataFrame({"id": pd.Series([], dtype=str), "x": []}).to_parquet(path)
    with pytest.raises(InputError, match="the table has no rows"):
        open_table(path)


def test_excel(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    path.write_bytes(b"no zip")
    if importlib.util.find_spec("openpyxl") is None:
        with pytest.raises(ImportError, match=r"pip install '\.\[excel\]'"):
            open_table(path)
        return
    with pytest.raises(InputError, match="not a readable Excel file"):
        open_table(path)
    pd.DataFrame({"id": ["a", "b"], "x": [1, 2]}).to_excel(path, index=False)
    assert open_table(path).columns([0], [1])[1].tolist() == [1, 2]


def test_numbers_are_typed_and_codes_stay_text(tmp_path: Path) -> None:
    found = frame(tmp_path, "id,x,zip,day\n1,1.5,01234,2024-01-01\n2,,10115,NA\n")
    assert found["id"] == [1, 2]
    assert found["x"][0] == 1.5
    assert np.isnan(found["x"][1])
    assert found["zip"] == ["01234", "10115"]
    assert found["day"] == ["2024-01-01", "NA"]


def test_a_word_with_leading_zeros_is_no_number(tmp_path: Path) -> None:
    found = frame(tmp_path, "name,text\na,room 007\nb,x y\n")
    assert found["text"] == ["room 007", "x y"]


def test_where_a_column_has_decimal_commas_points_of_others_are_between_thousands(
    tmp_path: Path,
) -> None:
    found = frame(tmp_path, "id;income;rate;x\na;1.234;3,5;1.25\nb;980;4;2\n")
    assert found["income"] == [1234, 980]
    assert found["rate"] == ["3,5", "4"]
    assert found["x"] == [1.25, 2]
    assert frame(tmp_path, "id;x\na;1.234\nb;2.5\n")["x"] == [1.234, 2.5]


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ("id,x\na,1\n", ["id", "x"]),
        ("a,1\nb,2\n", ["column 1", "column 2"]),
        ("a,red,3\nb,blue,4\n", ["column 1", "column 2", "column 3"]),
        ("id,2019,2020\na,1,2\n", ["id", "2019", "2020"]),
        ("# made by hand\n# id x\na 1\nb 2\n", ["id", "x"]),
        ("# made by hand\na\t1\nb\t2\n", ["column 1", "column 2"]),
    ],
)
def test_headers(tmp_path: Path, content: str, names: list[str]) -> None:
    assert list(frame(tmp_path, content)) == names


def test_names_that_a_spreadsheet_would_run(tmp_path: Path) -> None:
    names = ["=1+1", "+x", "-3", "@y", "\tz", "tea", "\n=1", "＝1"]
    write_csv(pd.DataFrame({"=n": names, "x": range(8)}), tmp_path / "t.csv", escape=True)
    written = pd.read_csv(tmp_path / "t.csv")
    assert written.columns.tolist() == ["'=n", "x"]
    expected = ["'=1+1", "'+x", "-3", "'@y", "'\tz", "tea", "'\n=1", "'＝1"]
    assert written["'=n"].tolist() == expected


def test_a_compressed_table_that_unpacks_to_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("truegraph.data.tables._SMALL", 1_000_000)
    for name, bomb in (("zeros", bytes(5_000_000)), ("lines", b"1,2\n" * 1_250_000)):
        (tmp_path / f"{name}.csv.gz").write_bytes(gzip.compress(bomb))
        with pytest.raises(InputError, match=rf"{name}\.csv\.gz: refused: it unpacks to more than"):
            open_table(tmp_path / f"{name}.csv.gz")


def test_a_name_that_is_not_utf_8_is_refused_in_words_that_can_be_printed(tmp_path: Path) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/t\xff.csv")
    Path(path).write_text("id,x\na,1\n")
    with pytest.raises(InputError, match="the name of the file is not UTF-8; rename it") as caught:
        open_table(path)
    assert str(caught.value).encode()
