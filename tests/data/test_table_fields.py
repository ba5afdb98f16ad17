"""Fields of text tables: separators and headers."""

from __future__ import annotations

import pytest

from truegraph.data.table_fields import delimiter_of, has_header


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        (["id", "x", "y"], True),
        (["x", "y"], True),
        (["a", "0.5", "1"], False),
        (["0.5", "1"], False),
        (["0", "1"], False),
        (["0", "1", "2"], True),
        (["", "0", "1"], True),
        (["node", "0", "1"], True),
        (["x"], True),
        (["1.5"], False),
    ],
)
def test_what_counts_as_a_header(first: list[str], expected: bool) -> None:
    assert has_header(first) is expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [("0,5;0,25", ";"), ("a,b;c,d,e", ","), ("1.234,5\t2,0", "\t"), ("a,b,c", ","), ("a;b", ";")],
)
def test_commas_of_numbers_separate_no_fields(line: str, expected: str) -> None:
    assert delimiter_of(line) == expected
