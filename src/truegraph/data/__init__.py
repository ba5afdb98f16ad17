"""What comes in: data sets, readers for users' files, leak-free splits, safe storage."""

from truegraph.data.containers import NodeDataset, NodeSplit
from truegraph.data.datasets import DatasetInfo, fetch_dataset, list_datasets, load_dataset
from truegraph.data.planetoid import read_planetoid

__all__ = [
    "DatasetInfo",
    "NodeDataset",
    "NodeSplit",
    "fetch_dataset",
    "list_datasets",
    "load_dataset",
    "read_planetoid",
]
