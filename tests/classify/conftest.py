"""A small planted graph, and options that make every method quick."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph.data import NodeSplit, random_split

QUICK: dict[str, dict[str, Any]] = {
    "gcn": {"epochs": 30},
    "gat": {"epochs": 20},
    "bgcn": {
        "degree": 8,
        "samples": 5,
        "settings": {"epochs": 30},
        "base_settings": {"epochs": 30},
        "embedding_options": {"epochs": 20},
    },
    "refined": {
        "degree": 8,
        "samples": 4,
        "settings": {"epochs": 30, "coverage": 0.95},
        "embedding_options": {"epochs": 20},
    },
    "fast": {"degree": 8, "samples": 4, "settings": {"epochs": 30}},
    "bgcn-parametric": {
        "settings": {"epochs": 20},
        "sampled_epochs": 10,
        "samples": 4,
        "refresh_every": 5,
        "start_iterations": 20,
        "fit_iterations": 10,
    },
}


class Planted(NamedTuple):
    """Three communities of 40 nodes whose features hint at the community, with three splits."""

    features: csr_array
    graph: csr_array
    labels: np.ndarray
    splits: list[NodeSplit]


@pytest.fixture(scope="session")
def planted() -> Planted:
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.repeat(np.arange(3), 40))
    same = labels[:, None] == labels[None, :]
    links = np.triu(rng.random(same.shape) < np.where(same, 0.12, 0.01), 1)
    chance = 0.1 + 0.3 * (labels[:, None] == np.arange(18)[None, :] % 3)
    features = csr_array((rng.random((120, 18)) < chance).astype(float))
    splits = [
        random_split(labels, 4, test_size=60, validation_size=20, random_state=seed)
        for seed in range(3)
    ]
    return Planted(features, csr_array((links | links.T).astype(float)), labels, splits)


@pytest.fixture(scope="session")
def quick() -> dict[str, dict[str, Any]]:
    return QUICK
