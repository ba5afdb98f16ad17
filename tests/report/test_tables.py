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


def test_a_wide_table_is_cut_between_columns() -> None:
    rows = [["model", "accuracy %", "NLL"], ["gcn", "66.1 ± 3.3", "1.149 ± 0.028"]]
    assert plain(rows).count("\n") == 2
    assert plain(rows, 80) == plain(rows)
    narrow = plain(rows, 24).splitlines()
    assert narrow == [
        "model  accuracy %",
        "gcn    66.1 ± 3.3",
        "",
        "model  NLL",
        "gcn    1.149 ± 0.028",
    ]
    assert plain(rows, 1).count("model") == 2  # a column is never cut, however narrow the terminal
