"""Do all lines of a text table have the same number of fields? Counted in blocks, not by line."""

from __future__ import annotations

from pathlib import Path

import numpy as np

BLOCK = 1 << 24  # bytes


def is_plainly_even(path: Path, delimiter: str, fields: int, above: int) -> bool:
    """Return whether every line has `fields` fields, and no quote that could hide a delimiter.

    Parameters
    ----------
    path : Path
    delimiter : str
        One character; spaces, of which several are one delimiter, are not counted.
    fields : int
    above : int
        Lines that are left out.

    Returns
    -------
    is_even : bool
        False if it is not certain: empty lines, quotes and spaces need a closer look.
    """
    if delimiter == " ":
        return False
    rest = b""
    with path.open("rb") as stream:
        for _ in range(above):
            stream.readline()
        while block := stream.read(BLOCK):
            if b'"' in block:
                return False
            block = rest + block
            end = block.rfind(b"\n") + 1
            rest = block[end:]
            if end and not _is_even(block[:end], delimiter, fields):
                return False
    return not rest or _is_even(rest + b"\n", delimiter, fields)


def _is_even(lines: bytes, delimiter: str, fields: int) -> bool:
    """Return whether every line, each with its end, has so many fields."""
    letters = np.frombuffer(lines, dtype=np.uint8)
    ends = np.flatnonzero(letters == ord("\n"))
    before = np.searchsorted(np.flatnonzero(letters == ord(delimiter)), ends)
    return bool((np.diff(before, prepend=0) == fields - 1).all())
