"""The data of a cell: a named data set, or the user's own files. A process reads each once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

from truegraph.data import (
    Interactions,
    NodeDataset,
    load_dataset,
    load_interactions,
    read_interactions,
    read_node_data,
)
from truegraph.data.nodes.registry import INTERACTION_SETS, REGISTRY
from truegraph.errors import DataError, InputError
from truegraph.experiments.checks import FILE_KEYS
from truegraph.experiments.tasks.base import Cell, Context, Described
from truegraph.suggestions import suggestion

NODE_FILES = ("edges", "features", "labels")
LINK_FILES = ("edges", "features")
INTERACTION_FILES = (
    *("interactions", "user", "item", "rating", "time"),
    *("min_rating", "min_per_user", "min_per_item"),
)

Given = tuple[tuple[str, Any], ...]


Data = TypeVar("Data", bound=Described)


def open_nodes(cell: Cell) -> NodeDataset:
    """Return the nodes that a cell is about."""
    if not cell.files and cell.dataset not in REGISTRY:
        raise InputError(
            f"no data set is called {cell.dataset!r}.{suggestion(cell.dataset, REGISTRY)}"
        )
    component = cast(Literal["full", "largest"], cell.conditions["component"])
    return _nodes(cell.dataset, component, _given(cell.files), os.environ.get("TRUEGRAPH_DATA"))


def open_interactions(cell: Cell) -> Interactions:
    """Return the interactions that a cell is about."""
    if not cell.files and cell.dataset not in INTERACTION_SETS:
        known = suggestion(cell.dataset, INTERACTION_SETS)
        raise InputError(f"no set of interactions is called {cell.dataset!r}.{known}")
    return _interactions(cell.dataset, _given(cell.files), os.environ.get("TRUEGRAPH_DATA"))


def same_data(data: Data, cell: Cell, context: Context) -> Data:
    """Return the data if they are those that the run was started with."""
    if data.fingerprint != context.fingerprint:
        raise DataError(
            f"data set {cell.dataset!r} differs from the one that the run was started with; "
            "give all workers the same data."
        )
    return data


def _given(files: Mapping[str, Any]) -> Given:
    """Return files and options in an order, with the time of each file's last change."""
    stamps = [
        ("changed", Path(value).stat().st_mtime_ns)
        for name, value in files.items()
        if name in FILE_KEYS and Path(value).exists()
    ]
    return (*sorted(files.items()), *stamps)


@lru_cache(maxsize=4)
def _nodes(
    name: str, component: Literal["full", "largest"], given: Given, home: str | None
) -> NodeDataset:
    if not given:
        return load_dataset(name, component=component)
    files = dict(given)
    dataset = read_node_data(files.get("edges"), files.get("features"), files.get("labels"))
    return dataset.largest_component() if component == "largest" else dataset


@lru_cache(maxsize=4)
def _interactions(name: str, given: Given, home: str | None) -> Interactions:
    if not given:
        return load_interactions(name)
    files = dict(given)
    return read_own_interactions(
        files["interactions"],
        {column: files.get(column) for column in ("user", "item", "rating", "time")},
        min_rating=files.get("min_rating"),
        min_per_user=files.get("min_per_user", 1),
        min_per_item=files.get("min_per_item", 1),
    )


def read_own_interactions(
    path: str | Path,
    columns: Mapping[str, str | None],
    *,
    min_rating: float | None = None,
    min_per_user: int = 1,
    min_per_item: int = 1,
) -> Interactions:
    """Read a file of interactions and drop what lies below the thresholds.

    Parameters
    ----------
    path : path-like
    columns : mapping of str to str or None
        Names of the columns "user", "item", "rating" and "time".
    min_rating : float, optional
        Lowest rating that counts as an interaction.
    min_per_user, min_per_item : int
        Fewest interactions of a user, and then of an item, that is kept.
    """
    data = read_interactions(path, **columns)
    if min_rating is not None:
        data = data.with_min_rating(min_rating)
    data = data.with_min_counts(min_per_user, min_per_item)
    if len(data) == 0:
        raise InputError(f"{path}: no interactions are left; lower the thresholds.")
    return data
