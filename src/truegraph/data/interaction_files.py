"""Readers for users' interactions: tables, RecBole's atomic files, user lists and matrices.

==============  ====================================================================================
.csv .parquet   a header; columns with the user's and the item's id, perhaps rating and time
.inter          RecBole's atomic file: tab-separated, header fields ``name:type``
.txt            a table as above, or one line ``user item item ...`` per user (NGCF, LightGCN)
.npz            the array ``interactions`` (user, item[, rating, time]), or SciPy's CSR matrix
==============  ====================================================================================

Ids in text files are strings, those in user lists and npz files whole numbers.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from truegraph.data.interactions import Interactions, columns_of, unread_notes
from truegraph.data.storage import PathLike, existing_file, read_npz
from truegraph.data.tables import Table, open_table
from truegraph.errors import InputError


def read_interactions(
    path: PathLike,
    *,
    user: str | None = None,
    item: str | None = None,
    rating: str | None = None,
    time: str | None = None,
) -> Interactions:
    """Read the interactions in a file; its ending says what kind of file it is.

    Parameters
    ----------
    path : path-like
    user, item : str, optional
        Names of a table's columns with the ids; by default one of the usual names, such as
        user_id, customer, item_id, article, sku or product.
    rating, time : str, optional
        Names of a table's columns with ratings and with times or dates. By default ratings are not
        read, and times are where a column is called time, timestamp, datetime or date.

    Returns
    -------
    interactions : Interactions
    """
    file = existing_file(path)
    if file.suffix.lower() == ".npz":
        found = _from_npz(file)
    elif file.suffix.lower() == ".txt" and _is_user_lists(file):
        found = read_user_lists(file)
    else:
        columns = {"user": user, "item": item, "rating": rating, "time": time}
        found = _from_table(file, columns)
    return replace(found, name=file.stem)


def _from_table(file: Path, wanted: dict[str, str | None]) -> Interactions:
    table = open_table(file, lambda table: True)
    names = [field.split(":")[0].strip() for field in table.names]
    try:
        chosen = columns_of(names, wanted)
    except InputError as error:
        raise InputError(f"{file}: {error}") from error
    place = {role: names.index(name) for role, name in chosen.items()}
    if "time" in place and wanted["time"] is None:
        try:
            table.columns([], [], [place["time"]])
        except InputError:  # called a time, but is none
            del place["time"], chosen["time"]
    table.check_named_once(place.values())
    ends = [place["user"], place["item"]]
    ratings, moments = ([place[role]] if role in place else [] for role in ("rating", "time"))
    frame = table.columns(ends, ratings, moments)
    for column, what in zip(ends, ("user", "item"), strict=True):
        blank = (frame[column] == "").to_numpy()
        if blank.any():
            problem = f"the {what}'s id is missing; give one, or remove the row."
            raise table.error(int(blank.argmax()), column, problem)
    (users, user_ids), (items, item_ids) = (
        pd.factorize(frame[column], sort=True) for column in ends
    )
    rating, time = (
        frame[place[role]].to_numpy() if role in place else None for role in ("rating", "time")
    )
    found = Interactions.from_numbers(
        users.astype(np.int64),
        items.astype(np.int64),
        tuple(user_ids.tolist()),
        tuple(item_ids.tolist()),
        rating,
        time,
    )
    notes = unread_notes(names, chosen, lambda name: _cells(table, names.index(name)))
    return replace(found, notes=(*found.notes, *notes))


def _cells(table: Table, column: int) -> pd.Series:
    return table.columns([column], [])[column]


def _is_user_lists(file: Path) -> bool:
    with file.open("rb") as stream:
        fields = stream.readline().split()
    return bool(fields) and all(field.isdigit() for field in fields)


def read_user_lists(path: PathLike) -> Interactions:
    """Read one line ``user item item ...`` per user, whole numbers separated by spaces.

    This is the format of NGCF's and LightGCN's data. A user may have several lines.
    """
    users: list[int] = []
    items: list[int] = []
    with existing_file(path).open("rb") as stream:
        for number, line in enumerate(stream, start=1):
            try:
                user, *own = [int(field) for field in line.decode("utf-8").split()] or [0]
            except ValueError as error:  # UnicodeDecodeError is one, too
                raise InputError(
                    f"{path}, line {number}: must be whole numbers, first the user, then the "
                    f"items: {error}."
                ) from error
            users += [user] * len(own)
            items += own
    if not items:
        raise InputError(f"{path}: no line names a user and an item.")
    return Interactions.from_arrays(users, items, name=Path(path).stem)


def _from_npz(file: Path) -> Interactions:
    arrays = read_npz(file)
    if "interactions" in arrays:
        return from_interaction_array(arrays["interactions"], str(file))
    missing = {"data", "indices", "indptr", "shape"} - set(arrays)
    if missing:
        raise InputError(
            f"{file} holds neither the array 'interactions' nor a CSR matrix of scipy.sparse "
            f"({sorted(missing)} missing; found {sorted(arrays)})."
        )
    parts = (arrays["data"], arrays["indices"], arrays["indptr"])
    try:
        rows, columns = (int(size) for size in arrays["shape"])
        matrix = sparse.csr_array(parts, shape=(rows, columns))
        matrix.check_format(full_check=True)
    except (ValueError, TypeError) as error:
        raise InputError(f"{file}: the sparse matrix is damaged: {error}.") from error
    return Interactions.from_matrix(matrix)


def from_interaction_array(array: NDArray[Any], where: str) -> Interactions:
    """Take rows (user, item), (user, item, rating) or (user, item, rating, time)."""
    if array.ndim != 2 or array.shape[1] not in (2, 3, 4) or array.dtype.kind not in "iuf":
        raise InputError(
            f"{where}: interactions has shape {array.shape} and type {array.dtype}; it must be "
            "numbers in 2 to 4 columns: user, item, rating, time."
        )
    ids = _whole_ids(array[:, :2], where)
    rating = array[:, 2] if array.shape[1] > 2 else None
    time = array[:, 3] if array.shape[1] > 3 else None
    return Interactions.from_arrays(ids[:, 0], ids[:, 1], rating, time)


def _whole_ids(ids: NDArray[Any], where: str) -> NDArray[np.int64]:
    """Return ids as int64; what is no whole number, or would become another one, is refused."""
    if ids.dtype.kind == "f":
        bad = ~(np.isfinite(ids) & (ids == np.floor(ids)) & (np.abs(ids) <= 2.0**53))
    else:
        bad = ids > np.iinfo(np.int64).max
    if bad.any():
        row, column = (int(place[0]) for place in np.nonzero(bad))
        raise InputError(
            f"{where}: row {row} of interactions has the {('user', 'item')[column]} "
            f"{ids[row, column]}, which is not a whole number of up to 64 bits; number the ids."
        )
    return ids.astype(np.int64)
