"""Features from mixed tables, long tables and sparse matrices with ids."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from truegraph.data import ColumnPlan, read_features
from truegraph.errors import InputError

MATRIX = sparse.csr_array(np.array([[0.0, 2.0], [3.0, 0.0], [0.0, 0.0]]))


def test_a_mixed_table(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_text("plan,age,user_id\nbasic,20,7\npro,,3\nbasic,40,5\n")
    features = read_features(path)
    assert features.names is not None
    assert features.names.tolist() == ["7", "3", "5"]
    assert features.matrix().shape == (3, 3)
    assert features.notes == (
        f"{path}: 1 number scaled, 1 category to 2 columns, user_id: used as the identifier "
        "(its name and its unique values), 1 missing value filled",
    )


def test_a_fitted_plan_is_applied_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_text("id,x\na,0\nb,10\nc,20\n")
    plan = read_features(path).plan
    path.write_text("id,x\nnew,10\n")
    assert read_features(path, plan).matrix().tolist() == [[0.0]]


def test_a_plan_is_not_changed_by_reading(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_text("id,x\na,0\nb,10\nc,20\n")
    plan = ColumnPlan()
    read_features(path, plan)
    assert not hasattr(plan, "encoders_")


@pytest.mark.parametrize("value", ["value", None])
def test_long_tables(tmp_path: Path, value: str | None) -> None:
    path = tmp_path / "f.csv"
    if value:
        path.write_text("node,feature,value\na,w2,2\nb,w1,3\na,w2,1\n")
    else:
        path.write_text("node_id,feature_id\na,w2\nb,w1\na,w2\n")
    features = read_features(path)
    assert features.names is not None
    assert features.names.tolist() == ["a", "b"]
    assert isinstance(features.matrix(), sparse.csr_array)
    assert features.matrix().toarray().tolist() == ([[3, 0], [0, 3]] if value else [[2, 0], [0, 1]])
    assert features.notes == (
        f"{path}: long table of 2 nodes and 2 features",
        f"{path}: 1 entry added to one listed before",
    )


def test_long_tables_with_a_fault(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("node,feature,value\na,w2,2\nb,w1,three\n")
    with pytest.raises(InputError, match=r"line 3, column 'value': 'three' is not a finite number"):
        read_features(tmp_path / "f.csv")


def test_sparse_matrices_with_ids(tmp_path: Path) -> None:
    path = tmp_path / "f.npz"
    parts = {key: getattr(MATRIX, key) for key in ("data", "indices", "indptr")}
    np.savez(path, format=b"csr", shape=MATRIX.shape, **parts, ids=np.array(["a", "b", "c"]))
    features = read_features(path)
    assert features.names is not None
    assert features.names.tolist() == ["a", "b", "c"]
    assert np.array_equal(features.matrix().toarray(), MATRIX.toarray())


def test_sparse_matrices_with_ids_beside_them(tmp_path: Path) -> None:
    path = tmp_path / "f.npz"
    sparse.save_npz(path, MATRIX)
    assert read_features(path).names is None
    (tmp_path / "f.ids.txt").write_text("a\nb c\nd\n")
    features = read_features(path)
    assert features.names is not None
    assert features.names.tolist() == ["a", "b c", "d"]
    (tmp_path / "f.ids.txt").write_text("a\nb\n")
    with pytest.raises(InputError, match="has 2 ids for 3 rows; give one per row"):
        read_features(path)
    (tmp_path / "f.ids.txt").write_text("a\nb\na")
    with pytest.raises(InputError, match="the id 'a' stands for two rows"):
        read_features(path)


def test_parquet(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [0.1, 0.7, 0.4]}, index=pd.Index(["a", "b", "c"], name="user"))
    frame.to_parquet(tmp_path / "f.parquet")
    features = read_features(tmp_path / "f.parquet", ColumnPlan("none"))
    assert features.names is not None
    assert features.names.tolist() == ["a", "b", "c"]
    assert features.matrix()[:, 0].tolist() == [0.1, 0.7, 0.4]


def test_an_id_that_is_there_twice_is_named(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("id,x\na,1\nb,2\na,3\n")
    with pytest.raises(InputError, match=r"line 4, column 'id': node 'a' is listed twice, first"):
        read_features(tmp_path / "f.csv")
