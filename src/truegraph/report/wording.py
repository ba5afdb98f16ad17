"""Words around numbers."""

from __future__ import annotations


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun in the singular or the plural.

    >>> counted(1, "split"), counted(2000, "split"), counted(0, "class", "classes")
    ('1 split', '2,000 splits', '0 classes')
    """
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"
