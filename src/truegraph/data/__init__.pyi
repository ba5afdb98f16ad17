from .adjacency import as_adjacency, to_networkx, to_pandas, to_pyg
from .column_plan import ColumnPlan
from .containers import NodeDataset, NodeSplit
from .datasets import (
    dataset_info,
    fetch_dataset,
    list_datasets,
    load_dataset,
)
from .edge_files import merge_edges, read_edges
from .feature_files import NodeFeatures, read_features
from .interaction_files import read_interactions, read_user_lists
from .interaction_sets import (
    interaction_info,
    list_interaction_sets,
    load_interactions,
    load_own_split,
)
from .interactions import Interactions, InteractionSplit, split_by_time, split_randomly
from .node_files import read_labels, read_node_data
from .node_splits import fixed_split, random_split
from .planetoid import read_planetoid
from .registry import DatasetInfo

__all__ = [
    "ColumnPlan",
    "DatasetInfo",
    "InteractionSplit",
    "Interactions",
    "NodeDataset",
    "NodeFeatures",
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
    "load_own_split",
    "merge_edges",
    "random_split",
    "read_edges",
    "read_features",
    "read_interactions",
    "read_labels",
    "read_node_data",
    "read_planetoid",
    "read_user_lists",
    "split_by_time",
    "split_randomly",
    "to_networkx",
    "to_pandas",
    "to_pyg",
]
