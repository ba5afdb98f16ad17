"""Fields of text tables: what separates them, which are numbers, whether they are a header."""

from __future__ import annotations

import re

ID_HEADERS = {"", "id", "node", "node_id", "name", "index"}
COMMA_NUMBER = r"[+-]?(?:\d+|\d{1,3}(?:\.\d{3})+)(?:,\d+)?"  # 1.234,5

_DELIMITERS = ",;\t"


def delimiter_of(line: str) -> str:
    """Return what separates the fields of a line; the commas of "0,5;0,25" are in its numbers."""
    for delimiter in _DELIMITERS[1:]:
        fields = line.strip("\r\n").split(delimiter)
        with_comma = [field.strip() for field in fields if "," in field]
        if len(fields) > 1 and all(re.fullmatch(COMMA_NUMBER, field) for field in with_comma):
            return delimiter
    return max(_DELIMITERS, key=line.count)


def has_header(first: list[str]) -> bool:
    """Return whether the first line of a table of numbers is a header.

    It is one if a field after the first is not a number, or if the first field is a usual name for
    a column of ids.
    """
    if len(first) == 1:
        return not is_number(first[0])
    if not all(is_number(field) for field in first[1:]):
        return True
    # pandas numbers unnamed columns; three or more such numbers in a row are no point.
    counted = len(first) > 2 and first == [str(i) for i in range(len(first))]
    return counted or first[0].strip().lower() in ID_HEADERS


def is_number(field: str) -> bool:
    """Return whether a field reads as a number."""
    try:
        float(field)
    except ValueError:
        return False
    return True
