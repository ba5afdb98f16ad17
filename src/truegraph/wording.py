"""Words around numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun in the singular or the plural.

    >>> counted(1, "split"), counted(2000, "split"), counted(0, "class", "classes")
    ('1 split', '2,000 splits', '0 classes')
    """
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def alike_once(notes: Sequence[str]) -> list[str]:
    """Collapse notes that differ only in their numbers into one, with a count of the others."""
    kinds: dict[str, list[str]] = {}
    for note in notes:
        kinds.setdefault(re.sub(r"\d[\d.,]*", "#", note), []).append(note)
    return [
        alike[0] + (f" (and {len(alike) - 1} more with other numbers)" if len(alike) > 1 else "")
        for alike in kinds.values()
    ]
