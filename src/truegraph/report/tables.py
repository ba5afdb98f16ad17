"""Tables, and how they are written as Markdown and for a terminal."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_FIGURE = re.compile(r"[+−-]?[\d,]*\.?\d+(e[+-]?\d+)?( ?%)?( ± [\d.]+)?$")


@dataclass(frozen=True)
class Entry:
    """One entry of a table.

    Attributes
    ----------
    text : str
    value : float or None
        What the entry is sorted by; None for its text.
    bold : bool
    note : str
        A remark beside or below it.
    """

    text: str
    value: float | None = None
    bold: bool = False
    note: str = ""


Row = Sequence[str | Entry]


@dataclass(frozen=True)
class Table:
    """A table with its heading and caption.

    Attributes
    ----------
    heading, caption : str
    rows : sequence of sequences of str or Entry
        The headings of the columns first; the first column names the rows.
    alarm : bool
        Whether it reports something that went wrong.
    """

    heading: str
    caption: str
    rows: Sequence[Row]
    alarm: bool = False

    def cells(self) -> list[list[Entry]]:
        """Return the rows below the headings."""
        return [[_entry(item) for item in row] for row in self.rows[1:]]

    def is_text(self, column: int) -> bool:
        """Return whether a column holds anything but figures and empty entries."""
        texts = [row[column].text for row in self.cells()]
        return column == 0 or not all(text in ("", "-") or _FIGURE.match(text) for text in texts)


def markdown(rows: Sequence[Row]) -> str:
    """Lay out rows, the headings first, as a Markdown table with columns of equal width."""
    texts = [[_marked(_entry(item), "**", "**") for item in row] for row in rows]
    texts = [[" ".join(text.replace("|", r"\|").split()) for text in row] for row in texts]
    widths = _widths(texts)
    lines = ["| " + " | ".join(_padded(row, widths)) + " |" for row in texts]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([lines[0], rule, *lines[1:]]) + "\n"


def plain(rows: Sequence[Row], width: int | None = None) -> str:
    """Lay out rows, the headings first, in columns for a terminal; an asterisk marks the bold.

    Parameters
    ----------
    rows : sequence of sequences of str or Entry
    width : int, optional
        Characters in a line. A wider table is cut between its columns into tables that stand one
        below the other, each with the first column.
    """
    texts = [[" ".join(_marked(_entry(item), "", "*").split()) for item in row] for row in rows]
    widths = _widths(texts)
    return "\n".join(_lines(texts, widths, block) for block in _blocks(widths, width))


def _blocks(widths: Sequence[int], width: int | None) -> list[list[int]]:
    """Return the columns of each table that a table is cut into, the first one in all."""
    blocks = [[0]]
    for column in range(1, len(widths)):
        used = sum(widths[place] + 2 for place in blocks[-1])
        if width is not None and len(blocks[-1]) > 1 and used + widths[column] > width:
            blocks.append([0])
        blocks[-1].append(column)
    return blocks


def _lines(texts: Sequence[Sequence[str]], widths: Sequence[int], columns: Sequence[int]) -> str:
    chosen = [widths[column] for column in columns]
    lines = ["  ".join(_padded([row[c] for c in columns], chosen)).rstrip() for row in texts]
    return "\n".join(lines) + "\n"


def sentence(text: str) -> str:
    """Begin with a capital and leave the rest alone."""
    return text[:1].upper() + text[1:]


def _entry(item: str | Entry) -> Entry:
    return item if isinstance(item, Entry) else Entry(item)


def _marked(entry: Entry, before: str, after: str) -> str:
    text = f"{before}{entry.text}{after}" if entry.bold else entry.text
    return f"{text} ({entry.note})" if entry.note else text


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*rows, strict=True)]


def _padded(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
