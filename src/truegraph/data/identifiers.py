"""Ids of any hashable kind, and their numbers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truegraph.errors import InputError


def number_ids(
    ids: Iterable[Hashable], name: str
) -> tuple[NDArray[np.int64], tuple[Hashable, ...]]:
    """Give ids numbers, in ascending order if they can be sorted, else as they first appear."""
    if isinstance(ids, np.ndarray) and ids.ndim != 1:
        raise InputError(f"{name} has shape {ids.shape}; give a list of ids.")
    if isinstance(ids, np.ndarray) and ids.dtype.kind in "iuU":  # as below, but much faster
        different, numbers = np.unique(ids, return_inverse=True)
        _check_present(different.tolist(), name, lambda value: ids.tolist().index(value))
        return numbers.astype(np.int64), tuple(different.tolist())
    plain = [_plain(value) for value in ids]
    try:
        unique = dict.fromkeys(plain)
    except TypeError as error:
        raise InputError(f"{name} must be hashable ids: {error}.") from error
    _check_present(unique, name, plain.index)
    number = {value: place for place, value in enumerate(_ordered(unique))}
    return np.array([number[value] for value in plain], dtype=np.int64), tuple(number)


def _check_present(values: Iterable[Any], name: str, place_of: Callable[[Any], int]) -> None:
    for value in values:
        if value is None or value == "" or value != value:  # NaN is not equal to itself
            raise InputError(
                f"{name}: entry {place_of(value)} is {value!r}, a missing id; remove the row."
            )


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _ordered(values: Iterable[Any]) -> list[Any]:
    try:
        return sorted(values)
    except TypeError:
        return list(values)


def check_names(names: Iterable[Hashable], count: int) -> tuple[Hashable, ...]:
    """Return the names of `count` nodes, all distinct; NumPy's scalars become Python's."""
    plain = tuple(_plain(name) for name in names)
    if len(plain) != count:
        raise InputError(f"{len(plain)} names are given for {count} nodes; give one per node.")
    number_of: dict[Hashable, int] = {}
    for place, name in enumerate(plain):
        before = number_of.setdefault(name, place)
        if before != place:
            raise InputError(
                f"nodes {before} and {place} have the same name {name!r}; give distinct names."
            )
    return plain


def row_names(X: Any) -> list[Hashable] | None:
    """Return the index of a DataFrame as names of nodes; None if it only counts the rows."""
    if getattr(getattr(X, "schema", None), "pandas_metadata", None):  # PyArrow, made of pandas
        X = X.to_pandas()
    index = getattr(X, "index", None)
    if index is None or not hasattr(X, "columns"):
        return None
    names = list(index)
    if names == list(range(len(names))):
        return None
    if not index.is_unique:
        twice = index[index.duplicated()][0]
        raise InputError(
            f"the index of X holds {twice!r} more than once, but names its rows; use "
            "X.reset_index(drop=True), or an index of distinct names."
        )
    plain = (str, int, float, tuple, np.generic)
    return [name if isinstance(name, plain) else str(name) for name in names]


def unknown_id(value: Any, known: Collection[Hashable], what: str) -> InputError:
    """Return the error for an unknown id, with a hint at what ids look like."""
    near = next(_same_text(value, known), None)
    if near is not None:
        hint = f"Did you mean {near!r}, of type {type(near).__name__}?"
    elif known:
        hint = f"There are {len(known)}, for example {next(iter(known))!r}."
    else:
        hint = "There are none."
    return InputError(f"{what} {value!r} is not known. {hint}")


def _same_text(value: Any, known: Collection[Hashable]) -> Iterator[Hashable]:
    """Give known ids that read like the value but are of another kind."""
    for kind in (str, int):
        try:
            if kind(value) in known:
                yield kind(value)
        except (TypeError, ValueError):
            continue
