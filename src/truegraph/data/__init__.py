"""What comes in: data sets, readers for users' files, leak-free splits, safe storage.

The readers for users' files need pandas and are loaded on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from truegraph.data.containers import NodeDataset, NodeSplit
from truegraph.data.datasets import (
    DatasetInfo,
    dataset_info,
    fetch_dataset,
    list_datasets,
    load_dataset,
)
from truegraph.data.graphs import as_adjacency, to_networkx, to_pandas, to_pyg
from truegraph.data.interaction_sets import (
    InteractionInfo,
    interaction_info,
    list_interaction_sets,
    load_interactions,
)
from truegraph.data.interaction_splits import InteractionSplit, split_by_time, split_randomly
from truegraph.data.interactions import Interactions
from truegraph.data.planetoid import read_planetoid
from truegraph.data.splits import fixed_split, random_split

if TYPE_CHECKING:
    from truegraph.data.interaction_files import read_interactions, read_user_lists
    from truegraph.data.node_files import read_edges, read_features, read_labels, read_node_data
    from truegraph.data.points import read_points

__all__ = [
    "DatasetInfo",
    "InteractionInfo",
    "InteractionSplit",
    "Interactions",
    "NodeDataset",
    "NodeSplit",
    "as_adjacency",
    "dataset_info",
    "fetch_dataset",
    "fixed_split",
    "interaction_info",
    "list_datasets",
    "list_interaction_sets",
    "load_dataset",
    "load_interactions",
    "random_split",
    "read_edges",
    "read_features",
    "read_interactions",
    "read_labels",
    "read_node_data",
    "read_planetoid",
    "read_points",
    "read_user_lists",
    "split_by_time",
    "split_randomly",
    "to_networkx",
    "to_pandas",
    "to_pyg",
]

_WITH_PANDAS = {
    "read_edges": "truegraph.data.node_files",
    "read_features": "truegraph.data.node_files",
    "read_interactions": "truegraph.data.interaction_files",
    "read_user_lists": "truegraph.data.interaction_files",
    "read_labels": "truegraph.data.node_files",
    "read_node_data": "truegraph.data.node_files",
    "read_points": "truegraph.data.points",
}


def __getattr__(name: str) -> Any:
    if name not in _WITH_PANDAS:
        raise AttributeError(f"module 'truegraph.data' has no attribute {name!r}")
    return getattr(import_module(_WITH_PANDAS[name]), name)
