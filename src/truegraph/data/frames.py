"""Tables of any library (pandas, polars, PyArrow, DuckDB) as pandas tables."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd

from truegraph.errors import InputError
from truegraph.extras import install_command


def is_frame(value: Any) -> bool:
    """Return whether a value is a table with named columns, of whichever library, lazy or not."""
    if isinstance(value, pd.DataFrame):
        return True
    from narwhals import DataFrame, LazyFrame, dependencies

    return (
        isinstance(value, DataFrame | LazyFrame)
        or dependencies.is_into_dataframe(value)
        or dependencies.is_polars_lazyframe(value)
        or ("duckdb" in sys.modules and isinstance(value, sys.modules["duckdb"].DuckDBPyRelation))
    )


def as_pandas(table: Any) -> pd.DataFrame:
    """Return a table as a pandas table whose column names are unique strings."""
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
    for name in names:
        kind = frame[name].dtype
        if isinstance(kind, pd.ArrowDtype):
            plain = frame[name].array.__arrow_array__().to_pandas()
            frame[name] = plain.set_axis(frame.index)
        if isinstance(kind, np.dtype) and not kind.isnative:  # big-endian, as scientific files are
            frame[name] = frame[name].astype(kind.newbyteorder("="))
    return frame


def _converted(table: Any) -> pd.DataFrame:
    import narwhals

    try:
        native = narwhals.from_native(table, pass_through=False)
        if isinstance(native, narwhals.LazyFrame):
            native = native.collect()
        return native.to_pandas()
    except ModuleNotFoundError as error:
        raise ImportError(
            f"tables of polars need pyarrow; install it with: {install_command('parquet')}"
        ) from error


def _name(column: Any) -> str:
    if isinstance(column, tuple):
        return " ".join(str(part) for part in column if str(part))
    return str(column)
