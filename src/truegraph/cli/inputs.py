"""What INPUT of a command means: a file of points, or a named data set."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truegraph.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

FILE_ENDINGS = (".npy", ".npz", ".csv", ".tsv", ".txt", ".parquet", ".pq")


@dataclass(frozen=True)
class Points:
    """Points to learn a graph from, and what else is known of them.

    Attributes
    ----------
    name : str
        The data set, or the path of the file.
    description : str
        What the points are, for people.
    matrix : ndarray or csr_array, shape (n_nodes, n_features)
    node_names : ndarray of str, shape (n_nodes,), or None
    labels : ndarray of int, shape (n_nodes,), or None
        Classes, for the picture only.
    class_names : tuple of str, or None
    observed : csr_array, shape (n_nodes, n_nodes), or None
        The graph that came with the points, for the picture only.
    """

    name: str
    description: str
    matrix: Any
    node_names: NDArray[Any] | None = None
    labels: NDArray[Any] | None = None
    class_names: tuple[str, ...] | None = None
    observed: csr_array | None = None


def read_input(name: str) -> Points:
    """Read the points of a named data set, or those in a file."""
    if Path(name).suffix.lower() in FILE_ENDINGS:
        return _from_file(name)
    from truegraph.data import list_datasets

    known = [info.name for info in list_datasets()]
    if name.lower() in known:
        return _from_dataset(name)
    raise InputError(
        f"INPUT {name!r} is neither a file that can be read nor a data set. Give a .npy, .npz, "
        f".csv or .parquet file, or one of the data sets {', '.join(known)}."
    )


def _from_dataset(name: str) -> Points:
    from truegraph.data import load_dataset

    dataset = load_dataset(name)
    if dataset.features is None:
        raise InputError(
            f"data set {dataset.name!r} has no features to learn from. Choose another one."
        )
    return Points(
        name=dataset.name,
        description=f"features of data set {dataset.name}, as stored ({dataset.source})",
        matrix=dataset.features,
        node_names=dataset.node_names,
        labels=dataset.labels,
        class_names=dataset.class_names,
        observed=dataset.graph,
    )


def _from_file(path: str) -> Points:
    from truegraph.data import read_points

    with _status_on_terminal(f"reading {path}"):
        matrix, names = read_points(path)
    return Points(name=path, description=f"rows of {path}", matrix=matrix, node_names=names)


@contextmanager
def _status_on_terminal(message: str) -> Iterator[None]:
    """Show that something goes on, and wipe it away at the end, for an error may follow."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(message):
        yield
