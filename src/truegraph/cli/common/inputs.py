"""What INPUT of ``truegraph learn`` means: a file of points or of distances."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truegraph.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from truegraph.data import ColumnPlan

FILE_ENDINGS = (".npy", ".npz", ".csv", ".tsv", ".txt", ".parquet", ".pq")


def check_source(source: str) -> None:
    """Raise an InputError unless `source` is a kind of file that can be read."""
    if Path(source).suffix.lower() in FILE_ENDINGS:
        return
    from truegraph.data.nodes.registry import REGISTRY

    if source.lower() in REGISTRY:
        name = source.lower()
        raise InputError(
            f"learn takes your own files, not the data set {name!r}; write it to files first: "
            f"truegraph data export {name} --out {name}, then: truegraph learn "
            f"{name}/features.csv"
        )
    raise InputError(f"INPUT {source!r} cannot be read; give a .npy, .npz, .csv or .parquet file.")


@dataclass(frozen=True)
class Points:
    """Points to learn a graph from.

    Attributes
    ----------
    name : str
        Path of the file.
    matrix : ndarray or csr_array, shape (n_nodes, n_features)
    node_names : ndarray of str, shape (n_nodes,), or None
    plan : ColumnPlan or None
        What became of the columns of a table.
    notes : tuple of str
        What was recognised.
    """

    name: str
    matrix: Any
    node_names: NDArray[Any] | None = None
    plan: ColumnPlan | None = None
    notes: tuple[str, ...] = ()

    def columns(self, metric: str) -> Any:
        """Return the points, of a table with the names of their columns; None for distances."""
        if metric == "precomputed":
            return None
        if self.plan is None:
            return self.matrix
        import pandas as pd

        return pd.DataFrame(self.matrix, columns=self.plan.get_feature_names_out())


def is_array(path: str) -> bool:
    """Return whether a file holds an array, by its ending, and not a table."""
    return Path(path).suffix.lower() in (".npy", ".npz")


def read_input(path: str, plan: ColumnPlan | None = None, *, is_distance: bool = False) -> Points:
    """Read the points, or the distances, of a file."""
    if is_array(path):
        from truegraph.data.nodes.point_files import read_array

        return Points(path, *read_array(path))
    from truegraph.data.nodes.feature_files import read_distances, read_features

    if is_distance:
        return Points(path, *read_distances(path))
    features = read_features(path, plan)
    return Points(path, features.matrix(), features.names, features.plan, features.notes)
