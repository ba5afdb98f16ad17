"""Masks of pairs that are always, or never, candidates."""

from __future__ import annotations

import numpy as np
import pytest
from lab.known_problems import paper_graph
from scipy.sparse import csr_array

POINTS = np.random.default_rng(0).normal(size=(40, 3))


@pytest.mark.parametrize("metric", ["sqeuclidean", "precomputed"])
def test_nodes_are_numbered_in_32_bits_whatever_the_masks_are(metric: str) -> None:
    pair = (np.ones(1), np.array([3], dtype=np.int64), np.repeat([0, 1], [5, 36]).astype(np.int64))
    mask = csr_array(pair, shape=(40, 40))
    X = ((POINTS[:, None] - POINTS) ** 2).sum(axis=2) if metric == "precomputed" else POINTS
    for masks in ({"fixed_pairs": mask}, {"forbidden_pairs": mask}):
        graph = paper_graph(X, degree=5, metric=metric, **masks)
        assert graph.adjacency.indices.dtype == graph.adjacency.indptr.dtype == np.int32
    assert graph.adjacency[4, 3] == 0.0
