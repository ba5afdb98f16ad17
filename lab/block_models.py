"""Contextual block models: made-up nodes whose graph and features both tell of their class.

They are stand-ins in which it is known what tells: the share of edges within classes, and how far
the classes lie apart in the features.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from truegraph.data.adjacency import adjacency_from_edges
from truegraph.data.containers import NodeDataset


def contextual_blocks(
    name: str,
    *,
    alike: float,
    signal: float,
    n_nodes: int = 2000,
    classes: int = 5,
    degree: float = 10.0,
    dimension: int = 50,
    seed: int = 0,
) -> NodeDataset:
    """Return nodes of classes of equal size with random edges and normal features.

    Parameters
    ----------
    name : str
    alike : float
        Share of the edges that join nodes of one class; 1 / classes if the graph tells nothing.
    signal : float
        Distance of a class's mean from the origin, in standard deviations of one feature.
    n_nodes, classes : int
    degree : float
        Mean number of edges of a node, before repeated ones are dropped.
    dimension : int
        Number of features.
    seed : int
    """
    generator = np.random.default_rng(seed)
    labels = generator.permutation(np.arange(n_nodes) % classes)
    members = [np.flatnonzero(labels == label) for label in range(classes)]
    count = round(n_nodes * degree / 2)
    first = generator.integers(n_nodes, size=count)
    shift = generator.integers(1, classes, size=count) * (generator.random(count) >= alike)
    wanted = (labels[first] + shift) % classes
    second = np.array([generator.choice(members[label]) for label in wanted])
    apart = first != second
    means = generator.normal(size=(classes, dimension))
    means *= signal / np.linalg.norm(means, axis=1, keepdims=True)
    features = means[labels] + generator.normal(size=(n_nodes, dimension))
    return NodeDataset(
        name=name,
        labels=labels.astype(np.int64),
        features=features.astype(np.float32),
        graph=adjacency_from_edges(first[apart], second[apart], None, n_nodes),
        source="made",
        notes=("made up: a contextual block model",),
    )


# Neighbours are mostly alike, mostly differ, or are anyone.
BLOCK_MODELS: dict[str, Callable[[], NodeDataset]] = {
    "blocks-alike": partial(contextual_blocks, "blocks-alike", alike=0.5, signal=2.0),
    "blocks-apart": partial(contextual_blocks, "blocks-apart", alike=0.02, signal=2.0),
    "blocks-unrelated": partial(contextual_blocks, "blocks-unrelated", alike=0.2, signal=4.0),
}
