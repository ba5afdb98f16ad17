"""Tables as CSV files, and for spreadsheets, which take some cells for formulas."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from truegraph.data.storage import atomic_write

if TYPE_CHECKING:
    import pandas as pd

_STARTS = ("=", "+", "-", "@", "\t", "\r")


def write_csv(table: pd.DataFrame, path: str | os.PathLike[str], *, escape: bool = False) -> None:
    """Write a table without its index as CSV, atomically.

    Parameters
    ----------
    table : DataFrame
    path : path-like
    escape : bool, default=False
        Whether to write texts so that spreadsheets do not run them; see `escape_formulas`.
    """
    with atomic_write(path) as temporary:
        (escape_formulas(table) if escape else table).to_csv(temporary, index=False)


def escape_formulas(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose texts no spreadsheet runs: an apostrophe before =, +, -, @ and tabs.

    Numbers, and texts that are numbers, stay as they are.

    Parameters
    ----------
    table : DataFrame

    Returns
    -------
    escaped : DataFrame
        A copy; its column names are escaped, too.

    Examples
    --------
    >>> import pandas as pd
    >>> escape_formulas(pd.DataFrame({"item": ["=1+1", "tea", "-3"]}))["item"].tolist()
    ["'=1+1", 'tea', '-3']
    """
    escaped = table.copy()
    for column in escaped.columns:
        if escaped[column].dtype.kind not in "biufM":
            escaped[column] = [_escaped(value) for value in escaped[column]]
    return escaped.rename(columns=_escaped)


def _escaped(value: Any) -> Any:
    if not isinstance(value, str) or not value.startswith(_STARTS):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value
