"""What to say about an unknown name."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def suggestion(name: object, known: Iterable[str]) -> str:
    """Return the end of a message: the nearest known name, if one is near, and all of them.

    >>> suggestion("coral", ["cora", "citeseer"])
    " Did you mean 'cora'? Choose from: cora, citeseer."
    >>> suggestion("x", ["cora", "citeseer"])
    ' Choose from: cora, citeseer.'
    """
    names = list(known)
    near = get_close_matches(str(name).lower(), names, 1, cutoff=0.5)
    guess = f" Did you mean {near[0]!r}?" if near else ""
    return f"{guess} Choose from: {', '.join(names)}."
