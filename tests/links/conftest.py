"""Small graphs with a planted answer."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph.data.adjacency import adjacency_from_edges
from truegraph.data.link_splits import LinkSplit, split_links


class Planted(NamedTuple):
    """Three communities of 40 nodes whose features hint at the community."""

    features: csr_array
    graph: csr_array
    labels: np.ndarray


@pytest.fixture(scope="session")
def planted() -> Planted:
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.repeat(np.arange(3), 40))
    same = labels[:, None] == labels[None, :]
    links = np.triu(rng.random(same.shape) < np.where(same, 0.12, 0.01), 1)
    chance = 0.1 + 0.3 * (labels[:, None] == np.arange(18)[None, :] % 3)
    features = csr_array((rng.random((120, 18)) < chance).astype(float))
    return Planted(features, csr_array((links | links.T).astype(float)), labels)


@pytest.fixture(scope="session")
def split(planted: Planted) -> LinkSplit:
    return split_links(planted.graph, validation=0.1, test=0.2, random_state=0)


@pytest.fixture(scope="session")
def teams() -> csr_array:
    """People in teams of five, all of whose members are linked: missing links are plain to see."""
    rng = np.random.default_rng(0)
    pairs = []
    for _ in range(220):
        members = rng.choice(400, size=5, replace=False)
        pairs += [(a, b) for a in members for b in members if a < b]
    ends = np.array(pairs)
    return adjacency_from_edges(ends[:, 0], ends[:, 1], None, 400)
