"""Tables of any library (pandas, polars, PyArrow) as pandas tables."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from truegraph.errors import InputError


def is_frame(value: Any) -> bool:
    """Return whether a value is a table with named columns, of whichever library."""
    if "pandas" in sys.modules and isinstance(value, pd.DataFrame):
        return True
    import narwhals

    return bool(narwhals.dependencies.is_into_dataframe(value))


def as_pandas(table: Any) -> pd.DataFrame:
    """Return a table as a pandas table whose column names are unique strings.

    Parameters
    ----------
    table : DataFrame of pandas or polars, or Table of PyArrow

    Raises
    ------
    InputError
        If it is not such a table, or two columns have the same name.
    """
    if isinstance(table, pd.DataFrame):
        frame = table.copy(deep=False)
    elif is_frame(table):
        frame = _converted(table)
    else:
        raise InputError(
            f"a table has type {type(table).__name__}; give a DataFrame of pandas or polars."
        )
    names = [_name(column) for column in frame.columns]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"two columns are called {twice!r}; rename one of them.")
    frame.columns = pd.Index(names)
    return frame


def _converted(table: Any) -> pd.DataFrame:
    import narwhals

    try:
        return narwhals.from_native(table, eager_only=True).to_pandas()
    except ModuleNotFoundError as error:
        raise ImportError(
            "tables of polars need pyarrow; install it with: pip install 'truegraph[parquet]'"
        ) from error


def _name(column: Any) -> str:
    if isinstance(column, tuple):
        return " ".join(str(part) for part in column if str(part))
    return str(column)


def row_names(frame: pd.DataFrame) -> NDArray[np.str_] | None:
    """Return the index as text, or None if it only counts the rows."""
    if isinstance(frame.index, pd.RangeIndex) and frame.index.name is None:
        return None
    return np.asarray([str(name) for name in frame.index], dtype=str)
