"""Readers for users' interactions: every kind of file, and errors that name the place."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, save_npz

from truegraph.data import read_interactions, read_user_lists
from truegraph.errors import InputError


def written(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.write_text(text)
    return file


def test_csv_with_named_columns(tmp_path: Path) -> None:
    file = written(tmp_path, "ratings.csv", "who,what,stars\n7,tea,4\n8,tea,2\n7,jam,5\n")
    data = read_interactions(file, user="who", item="what", rating="stars")
    assert data.user_ids == ("7", "8")
    assert data.item_ids == ("jam", "tea")
    assert data.name == "ratings"
    assert len(data.with_min_rating(4)) == 2


def test_usual_column_names_are_found(tmp_path: Path) -> None:
    for text in ("user_id,item_id\n1,2\n", "User,Item\n1,2\n", "uid;iid\n1;2\n"):
        assert len(read_interactions(written(tmp_path, "a.csv", text))) == 1


def test_parquet_gives_the_same(tmp_path: Path) -> None:
    frame = pd.DataFrame({"user": ["a", "b"], "item": ["x", "y"], "at": [2.0, 1.0]})
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_csv(tmp_path / "t.csv", index=False)
    parquet = read_interactions(tmp_path / "t.parquet", time="at")
    assert parquet.fingerprint == read_interactions(tmp_path / "t.csv", time="at").fingerprint
    assert parquet.user_ids == ("a", "b")
    assert parquet.item_ids == ("x", "y")
    assert parquet.times is not None
    assert parquet.times.tolist() == [2.0, 1.0]


def test_atomic_files_of_recbole(tmp_path: Path) -> None:
    text = (
        "user_id:token\titem_id:token\trating:float\ttimestamp:float\n1\t5\t4\t100\n2\t5\t3\t90\n"
    )
    data = read_interactions(written(tmp_path, "ml.inter", text), rating="rating", time="timestamp")
    assert data.ratings is not None
    assert data.ratings.tolist() == [4, 3]
    assert data.times is not None
    assert data.times.tolist() == [100, 90]


def test_user_lists(tmp_path: Path) -> None:
    file = written(tmp_path, "train.txt", "0 3 1\n2 3\n1\n")
    data = read_interactions(file)
    assert data.user_ids == (0, 2)
    assert data.item_ids == (1, 3)
    assert len(data) == 3
    with pytest.raises(InputError, match=r"line 2"):
        read_user_lists(written(tmp_path, "bad.txt", "0 3\n1 x\n"))


def test_npz_with_rows_or_with_a_matrix(tmp_path: Path) -> None:
    np.savez(tmp_path / "rows.npz", interactions=np.array([[1, 2, 5, 9], [3, 2, 1, 8]]))
    rows = read_interactions(tmp_path / "rows.npz")
    assert rows.user_ids == (1, 3)
    assert rows.times is not None
    save_npz(tmp_path / "matrix.npz", csr_array(np.eye(3)))
    assert len(read_interactions(tmp_path / "matrix.npz")) == 3
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    with pytest.raises(InputError, match=r"neither the array 'interactions' nor a CSR matrix"):
        read_interactions(tmp_path / "other.npz")


def test_errors_name_the_place(tmp_path: Path) -> None:
    file = written(tmp_path, "a.csv", "user,item,rating\n1,2,good\n")
    with pytest.raises(InputError, match=r"line 2, column 'rating': 'good' is not a finite number"):
        read_interactions(file, rating="rating")
    with pytest.raises(InputError, match=r"no column 'stars'.*--rating"):
        read_interactions(file, rating="stars")
    with pytest.raises(InputError, match=r"no column 'user'"):
        read_interactions(written(tmp_path, "b.csv", "a,b\n1,2\n"))
    with pytest.raises(InputError, match=r"line 3, column 'item': the item's id is missing"):
        read_interactions(written(tmp_path, "c.csv", "user,item\n1,2\n1,\n"))
    with pytest.raises(InputError, match=r"no such file"):
        read_interactions(tmp_path / "none.csv")


def test_a_rating_column_that_is_not_read_is_told(tmp_path: Path) -> None:
    file = tmp_path / "r.csv"
    file.write_text("user,item,Stars\nann,tea,1\nbob,jam,5\nann,jam,4\n")
    found = read_interactions(file)
    assert len(found) == 3
    assert "'Stars' was not read: every row counts as liked" in found.notes[0]
    file.with_name("n.csv").write_text("user,item,stars,day\nann,tea,1,2022-01-02\nbob,jam,-1,x\n")
    with pytest.raises(InputError, match="'stars' is below 0 in row 1"):
        read_interactions(file.with_name("n.csv"))
    assert read_interactions(file, rating="stars").notes == ()
