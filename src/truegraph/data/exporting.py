"""Named data sets as files, in the form in which users' own files are read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse

from truegraph.data.containers import NodeDataset
from truegraph.data.interactions import Interactions
from truegraph.data.tables import write_csv


def export_nodes(dataset: NodeDataset, folder: Path) -> list[Path]:
    """Write features.csv, edges.csv and labels.csv, those that the data set has."""
    names = dataset.node_names
    if names is None:
        names = np.arange(dataset.n_nodes).astype(str)
    tables = {}
    if dataset.features is not None:
        tables["features.csv"] = _features(dataset.features, names)
    if dataset.graph is not None:
        pairs = sparse.triu(dataset.graph, k=1).tocoo()
        tables["edges.csv"] = pd.DataFrame({"source": names[pairs.row], "target": names[pairs.col]})
    known = dataset.labels >= 0
    if known.any():
        classes = dataset.class_names or tuple(map(str, range(dataset.n_classes)))
        labels = np.array(classes)[dataset.labels[known]]
        tables["labels.csv"] = pd.DataFrame({"node": names[known], "label": labels})
    return [_written(table, folder / file) for file, table in tables.items()]


def export_interactions(data: Interactions, folder: Path) -> list[Path]:
    """Write interactions.csv with the columns user and item."""
    users, items = np.array(data.user_ids), np.array(data.item_ids)
    table = pd.DataFrame({"user": users[data.users], "item": items[data.items]})
    return [_written(table, folder / "interactions.csv")]


def _features(features: object, names: np.ndarray) -> pd.DataFrame:
    dense = features.toarray() if sparse.issparse(features) else np.asarray(features)  # type: ignore[attr-defined]
    whole = dense.astype(np.int64)
    values = whole if np.array_equal(whole, dense) else dense  # shorter where it can be
    table = pd.DataFrame(values, columns=[f"x{column}" for column in range(dense.shape[1])])
    table.insert(0, "id", names)
    return table


def _written(table: pd.DataFrame, path: Path) -> Path:
    write_csv(table, path)
    return path
