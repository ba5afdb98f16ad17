"""A trial that counts a data set: what the two tables of the paper's supplement say of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lab.nodes import load
from truegraph.data import Interactions, NodeDataset, load_interactions, split_randomly
from truegraph.data.registry import INTERACTION_SETS


def open_data(job: Mapping[str, Any]) -> NodeDataset | Interactions:
    """Return the data set of a job."""
    if job["dataset"] in INTERACTION_SETS:
        return load_interactions(job["dataset"])
    return load(job["dataset"], job["conditions"]["component"])


def run(data: NodeDataset | Interactions, job: Mapping[str, Any]) -> dict[str, Any]:
    """Count; density is the share of the possible pairs that are there."""
    found: Mapping[str, Any] = data.statistics()
    if isinstance(data, NodeDataset):
        counts = {name: found[name] for name in ("classes", "features", "nodes", "edges")}
        pairs = data.n_nodes * (data.n_nodes - 1) / 2
        counts["density"] = None if counts["edges"] is None else counts["edges"] / pairs
        return {"metrics": counts}
    entry = INTERACTION_SETS[job["dataset"]]
    return {
        "metrics": {
            "user_threshold": entry.min_per_user,
            "item_threshold": entry.min_per_item,
            "users": found["users"],
            "items": found["items"],
            "edges": found["interactions"],
            "training_edges": split_randomly(data, random_state=0).train.nnz,
            "density": found["density"],
        }
    }
