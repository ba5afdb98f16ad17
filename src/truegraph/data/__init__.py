"""What comes in: data sets, readers for users' files, leak-free splits, safe storage."""

from truegraph.data.containers import NodeDataset, NodeSplit
from truegraph.data.datasets import DatasetInfo, fetch_dataset, list_datasets, load_dataset
from truegraph.data.graphs import as_adjacency, to_networkx, to_pandas, to_pyg
from truegraph.data.planetoid import read_planetoid
from truegraph.data.splits import fixed_split, random_split

__all__ = [
    "DatasetInfo",
    "NodeDataset",
    "NodeSplit",
    "as_adjacency",
    "fetch_dataset",
    "fixed_split",
    "list_datasets",
    "load_dataset",
    "random_split",
    "read_planetoid",
    "to_networkx",
    "to_pandas",
    "to_pyg",
]
