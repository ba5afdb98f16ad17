"""Tables are written as they are read."""

from __future__ import annotations

from truegraph.report.tables import Entry, Table, markdown, plain

ROWS = [["model", "x"], ["gcn", Entry("70.0 ± 1.0", bold=True, note="paper 69.0")], ["a|b\nc", ""]]


def test_markdown() -> None:
    assert markdown(ROWS).splitlines() == [
        "| model  | x                           |",
        "|--------|-----------------------------|",
        "| gcn    | **70.0 ± 1.0** (paper 69.0) |",
        r"| a\|b c |                             |",
    ]


def test_plain() -> None:
    assert plain(ROWS[:2]) == "model  x\ngcn    70.0 ± 1.0* (paper 69.0)\n"


def test_a_column_of_words_is_known_from_one_of_figures() -> None:
    rows = [["m", "scope", "edges", "p"], ["a", "global", "1,200", "2e-06"], ["b", "", "−3 %", ""]]
    table = Table("", "", rows)
    assert [table.is_text(column) for column in range(4)] == [True, True, False, False]
    assert table.cells()[0][2] == Entry("1,200")
