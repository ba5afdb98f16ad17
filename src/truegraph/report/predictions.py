"""Predictions as a table, one row per node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

    from truegraph.data import NodeDataset
    from truegraph.report.tables import Table


def prediction_table(
    dataset: NodeDataset,
    probabilities: NDArray[np.floating],
    predictive_entropy: NDArray[np.floating],
    mutual_information: NDArray[np.floating] | None,
) -> pd.DataFrame:
    """Return what is predicted for every node, and how sure that is.

    Parameters
    ----------
    dataset : NodeDataset
        Gives nodes and classes their names; numbers where there are none.
    probabilities : ndarray of float, shape (n_nodes, n_classes)
    predictive_entropy : ndarray of float, shape (n_nodes,)
    mutual_information : ndarray of float, shape (n_nodes,), or None
        None leaves the column empty: the model has no weight samples.

    Returns
    -------
    table : DataFrame
        The columns node, label, probability (of that label), predictive_entropy and
        mutual_information (both in nats).
    """
    import pandas as pd

    return pd.DataFrame(
        {
            "node": np.arange(dataset.n_nodes)
            if dataset.node_names is None
            else dataset.node_names,
            "label": class_labels(dataset, probabilities.argmax(axis=1)),
            "probability": _rounded(probabilities.max(axis=1)),
            "predictive_entropy": _rounded(predictive_entropy),
            "mutual_information": np.nan
            if mutual_information is None
            else _rounded(mutual_information),
        }
    )


def set_columns(dataset: NodeDataset, members: NDArray[np.bool_]) -> dict[str, Any]:
    """Return the columns of prediction sets: set, the names with semicolons between, and set_size.

    Parameters
    ----------
    dataset : NodeDataset
    members : ndarray of bool, shape (n_nodes, n_classes)
    """
    names = class_labels(dataset, np.arange(members.shape[1]))
    return {"set": ["; ".join(names[row]) for row in members], "set_size": members.sum(axis=1)}


def set_sizes(sizes: pd.Series, coverage: float) -> Table:
    """Return a table of the page: how many sets have how many classes."""
    from truegraph.report.tables import Table

    counts = sizes.value_counts().sort_index()
    rows = [[str(size), f"{n:,}", f"{n / len(sizes):.1%}"] for size, n in counts.items()]
    return Table(
        "Sets of classes",
        f"Each node without a label has a set of classes; {coverage:.0%} of the sets should hold "
        "the true one. Nodes with one class in their set are settled at this level; the sets "
        f"have {sizes.mean():.2f} classes on average.",
        [["classes in the set", "nodes", "share"], *rows],
    )


def class_labels(dataset: NodeDataset, numbers: NDArray[np.integer]) -> NDArray[Any]:
    """Return the names of classes given by number; "" for -1, numbers if they have no names."""
    count = dataset.n_classes
    names = range(count) if dataset.class_names is None else dataset.class_names
    return np.array([*map(str, names), ""])[numbers]


def _rounded(values: NDArray[np.floating]) -> NDArray[np.float64]:
    # float32 holds some seven digits; more would only lengthen the file
    return values.astype(np.float64).round(6)
