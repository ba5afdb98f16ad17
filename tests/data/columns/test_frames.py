"""Tables of pandas, polars and PyArrow are the same table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest

from truegraph.data.columns.frames import as_pandas, is_frame, row_names
from truegraph.errors import InputError

FRAME = pd.DataFrame({"x": [1.0, None], "name": ["a", "b"]})


def test_libraries_agree() -> None:
    for table in (FRAME, polars.from_pandas(FRAME), pyarrow.Table.from_pandas(FRAME)):
        assert is_frame(table)
        assert as_pandas(table)["name"].tolist() == ["a", "b"]
        assert np.isnan(as_pandas(table)["x"].iloc[1])


def test_arrays_are_no_tables() -> None:
    assert not is_frame(np.eye(2))
    assert not is_frame([[1, 2]])
    with pytest.raises(InputError, match="a table has type ndarray"):
        as_pandas(np.eye(2))


def test_names_of_columns_become_unique_strings() -> None:
    assert as_pandas(pd.DataFrame(np.eye(2))).columns.tolist() == ["0", "1"]
    with pytest.raises(InputError, match="two columns are called '1'"):
        as_pandas(pd.DataFrame([[1, 2]], columns=pd.Index([1, "1"], dtype=object)))


def test_an_index_names_rows_unless_it_counts_them() -> None:
    assert row_names(FRAME) is None
    names = row_names(FRAME.set_index("name"))
    assert names is not None
    assert names.tolist() == ["a", "b"]
