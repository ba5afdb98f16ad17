"""Entry points of the containers and conversions of data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from faulty_values import (
    CLASSES,
    DENSE,
    GRAPH,
    LABELS,
    MATRIX,
    NODES,
    NUMBERS,
    POINTS,
    STRUCTURE,
    VALUES,
    Faulty,
    graph,
    listed,
    points,
    points_only,
    weights,
)


def entries() -> dict[str, tuple[Callable[[Any], Any], Faulty]]:
    """Return how to call each entry point with one value, and the faulty values."""
    from truegraph import data
    from truegraph.data import Interactions, NodeDataset
    from truegraph.data.nodes import perturbation

    users, items = np.array([0, 1, 1]), np.array([0, 0, 1])
    ids = (("a", "b"), ("x", "y"))
    ratings = np.array([1.0, 2.0, 3.0])
    nodes = np.array([0, 1, 5])
    dataset = NodeDataset("d", LABELS, POINTS.astype(np.float32), GRAPH)
    return {
        "as_adjacency:graph": (data.as_adjacency, graph()),
        "to_networkx:adjacency": (data.to_networkx, points_only(GRAPH)),
        "to_pandas:adjacency": (data.to_pandas, points_only(GRAPH)),
        "to_pyg:adjacency": (data.to_pyg, points_only(GRAPH)),
        "to_pyg:features": (lambda v: data.to_pyg(GRAPH, v), points(sized=True)),
        "to_pyg:labels": (
            lambda v: data.to_pyg(GRAPH, None, v),
            listed(LABELS, CLASSES, sized=True),
        ),
        "merge_edges:sources": (
            lambda v: data.merge_edges(v, nodes, None, NODES),
            listed(nodes[::-1].copy(), NUMBERS, sized=True),
        ),
        "merge_edges:targets": (
            lambda v: data.merge_edges(nodes, v, None, NODES),
            listed(nodes[::-1].copy(), NUMBERS, sized=True),
        ),
        "merge_edges:weights": (
            lambda v: data.merge_edges(nodes, nodes[::-1], v, NODES),
            listed(ratings, DENSE | {"negative": lambda a: -a}, sized=True),
        ),
        "random_split:labels": (
            lambda v: data.random_split(v, 2, test_size=2, validation_size=2),
            listed(LABELS, CLASSES),
        ),
        "perturb_graph:graph": (lambda v: perturbation.perturb_graph(v, added=0.1), graph()),
        "dice_graph:graph": (lambda v: perturbation.dice_graph(v, LABELS, 0.2), graph()),
        "dice_graph:labels": (
            lambda v: perturbation.dice_graph(GRAPH, v, 0.2),
            listed(LABELS, CLASSES, sized=True),
        ),
        "noisy_features:features": (lambda v: perturbation.noisy_features(v, nodes), points()),
        "noisy_features:nodes": (
            lambda v: perturbation.noisy_features(POINTS, v),
            listed(nodes, NUMBERS),
        ),
        "foreign_edges:graph": (lambda v: perturbation.foreign_edges(v, nodes), graph()),
        "foreign_edges:nodes": (
            lambda v: perturbation.foreign_edges(GRAPH, v),
            listed(nodes, NUMBERS),
        ),
        "NodeDataset:labels": (
            lambda v: NodeDataset("d", v, POINTS, GRAPH),
            listed(LABELS, CLASSES, sized=True),
        ),
        "NodeDataset:features": (lambda v: NodeDataset("d", LABELS, v), points(sized=True)),
        "NodeDataset:graph": (lambda v: NodeDataset("d", LABELS, None, v), weights()),
        "NodeDataset:component_nodes": (
            lambda v: NodeDataset("d", LABELS, component_nodes=v),
            listed(nodes, NUMBERS),
        ),
        "NodeDataset.restrict:nodes": (dataset.restrict, listed(nodes, NUMBERS)),
        "Interactions:users": (
            lambda v: Interactions(v, items, *ids),
            listed(users, NUMBERS, sized=True),
        ),
        "Interactions:items": (
            lambda v: Interactions(users, v, *ids),
            listed(items, NUMBERS, sized=True),
        ),
        "Interactions:ratings": (
            lambda v: Interactions(users, items, *ids, ratings=v),
            listed(ratings, DENSE, sized=True),
        ),
        "Interactions:times": (
            lambda v: Interactions(users, items, *ids, times=v),
            listed(ratings, DENSE, sized=True),
        ),
        "Interactions.from_numbers:users": (
            lambda v: Interactions.from_numbers(v, items, *ids),
            listed(users, NUMBERS, sized=True),
        ),
        "Interactions.from_numbers:items": (
            lambda v: Interactions.from_numbers(users, v, *ids),
            listed(items, NUMBERS, sized=True),
        ),
        "Interactions.from_numbers:ratings": (
            lambda v: Interactions.from_numbers(users, items, *ids, ratings=v),
            listed(ratings, DENSE, sized=True),
        ),
        "Interactions.from_numbers:times": (
            lambda v: Interactions.from_numbers(users, items, *ids, times=v),
            listed(ratings, DENSE, sized=True),
        ),
        "Interactions.from_arrays:ratings": (
            lambda v: Interactions.from_arrays(users, items, v),
            listed(ratings, DENSE, sized=True),
        ),
        "Interactions.from_arrays:times": (
            lambda v: Interactions.from_arrays(users, items, None, v),
            listed(ratings, DENSE, sized=True),
        ),
        "Interactions.from_matrix:matrix": (
            Interactions.from_matrix,
            [(MATRIX, STRUCTURE | VALUES), (MATRIX.toarray(), DENSE)],
        ),
    }
