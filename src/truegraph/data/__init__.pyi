from .columns.plan import ColumnPlan
from .graphs.adjacency import as_adjacency, to_networkx, to_pandas, to_pyg
from .graphs.edge_files import merge_edges, read_edges
from .interactions.interaction_files import read_interactions, read_user_lists
from .interactions.interaction_sets import (
    InteractionInfo,
    interaction_info,
    list_interaction_sets,
    load_interactions,
    load_own_split,
)
from .interactions.interaction_splits import InteractionSplit, split_by_time, split_randomly
from .interactions.interactions import Interactions
from .nodes.containers import NodeDataset, NodeSplit
from .nodes.datasets import (
    DatasetInfo,
    dataset_info,
    fetch_dataset,
    list_datasets,
    load_dataset,
)
from .nodes.feature_files import NodeFeatures, read_features
from .nodes.node_files import read_labels, read_node_data
from .nodes.node_splits import fixed_split, random_split
from .nodes.planetoid import read_planetoid
from .nodes.point_files import read_points

__all__ = [
    "ColumnPlan",
    "DatasetInfo",
    "InteractionInfo",
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
    "read_points",
    "read_user_lists",
    "split_by_time",
    "split_randomly",
    "to_networkx",
    "to_pandas",
    "to_pyg",
]
