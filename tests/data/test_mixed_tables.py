"""Whole tables from files: numbers as people write them, gaps, comments, headers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from truegraph.data.mixed_tables import read_mixed_table
from truegraph.errors import InputError


def columns(tmp_path: Path, content: str) -> dict[str, list[Any]]:
    path = tmp_path / "t.csv"
    path.write_text(content)
    return read_mixed_table(path).frame.to_dict("list")


def notes(tmp_path: Path, content: str) -> list[str]:
    path = tmp_path / "t.csv"
    path.write_text(content)
    return [note.partition(": ")[2] for note in read_mixed_table(path).notes]


def test_decimal_commas_are_decided_by_the_whole_file(tmp_path: Path) -> None:
    content = "id;income;rate;day\na;1.234;3,5;01.02.2024\nb;2.500;4;05.02.2024\nc;NA;;\n"
    found = columns(tmp_path, content)
    assert found["income"][:2] == [1234, 2500]
    assert found["rate"][:2] == [3.5, 4.0]
    assert found["day"][0] == "01.02.2024"
    assert notes(tmp_path, content) == [
        "fields are separated by semicolons",
        "decimal commas recognised in 'rate', 'income'",
    ]


def test_points_stay_points_without_a_comma_in_sight(tmp_path: Path) -> None:
    assert columns(tmp_path, "id;x\na;1.234\nb;2.5\n")["x"] == [1.234, 2.5]


def test_commas_between_thousands(tmp_path: Path) -> None:
    content = 'id,income,rate\na,"1,234",3.5\nb,"2,500,000",4\n'
    assert columns(tmp_path, content)["income"] == [1234, 2500000]
    assert notes(tmp_path, content) == ["commas between thousands recognised in 'income'"]


def test_both_ways_in_one_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        InputError,
        match=r"line 3, column 'y': '1\.25' has a decimal point, but column 'x' has decimal commas",
    ):
        columns(tmp_path, "id;x;y\na;3,5;2\nb;4,5;1.25\n")


def test_lists_in_cells_are_no_numbers(tmp_path: Path) -> None:
    assert columns(tmp_path, 'id,tags\na,"1,2"\nb,"red,3"\n')["tags"] == ["1,2", "red,3"]


def test_gaps(tmp_path: Path) -> None:
    found = columns(tmp_path, "id,x,colour\na,1,red\nb,,\nc,?,NA\nd,-,n/a\n")
    assert pd.isna(found["x"][1:]).all()
    assert pd.isna(found["colour"][1:]).all()


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
    assert list(columns(tmp_path, content)) == names


def test_an_id_that_begins_like_a_comment_stays(tmp_path: Path) -> None:
    assert columns(tmp_path, "id,x\na,1\n#b,2\n")["id"] == ["a", "#b"]


def test_text_as_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,x\n007,1\n8,2\n")
    assert read_mixed_table(tmp_path / "t.csv").text("id").tolist() == ["007", "8"]


def test_parquet_keeps_its_types(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [1.5, None], "day": pd.to_datetime(["2024-01-01", None])})
    frame.to_parquet(tmp_path / "t.parquet")
    read = read_mixed_table(tmp_path / "t.parquet").frame
    pd.testing.assert_frame_equal(read, frame)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("id,x,x\na,1,2\n", "two columns are called 'x'; rename one"),
        ("id,x\na,1,2\n", "line 2: 3 fields instead of 2"),
        ("id,x\n", "the table has no rows"),
        ("id,x\na,1\nb,-1e400\n", "line 3, column 'x': '-1e400' is too large for float64"),
        ("id;x\na;1,5\nb;" + "9" * 400 + ",5\n", "line 3, column 'x': '9+,5' is too large"),
    ],
)
def test_faults(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        columns(tmp_path, content)


def test_other_encodings_are_named(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes("id,town\na,Köln\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"not a text table .* save it as CSV in UTF-8"):
        read_mixed_table(tmp_path / "t.csv")
