"""Warnings about a learned graph that is probably unsuitable, each with what to try."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from truegraph.errors import AnswerWarning, warn

_TIMES_THE_MEAN = 10.0  # degrees beyond this many times the mean make a hub
_FEWEST_EDGES_OF_A_HUB = 30
_MANY_COMPONENTS = 10
_NODES_PER_COMPONENT = 50  # fewer on average means that the graph has fallen apart


def warn_about_graph(adjacency: csr_array, density: str) -> None:
    """Warn of hubs and of a graph in many parts."""
    for message in graph_advice(adjacency, density):
        warn(message, AnswerWarning)


def graph_advice(adjacency: csr_array, density: str = "degree") -> list[str]:
    """Return advice about a learned graph, in full sentences."""
    from scipy.sparse import csgraph  # slow to import

    found = []
    degrees = np.diff(adjacency.indptr)
    largest, mean = int(degrees.max(initial=0)), float(degrees.mean()) if len(degrees) else 0.0
    if largest > max(_FEWEST_EDGES_OF_A_HUB, _TIMES_THE_MEAN * mean):
        found.append(
            f"node {int(degrees.argmax())} (from 0) has {largest:,} edges and nodes have "
            f"{mean:.1f} on average: it is a hub. Check its row for zeros or missing values, and "
            "scale the columns."
        )
    components = int(csgraph.connected_components(adjacency, directed=False)[0])
    if components > max(_MANY_COMPONENTS, len(degrees) / _NODES_PER_COMPONENT):
        found.append(
            f"the learned graph has {components:,} connected components; raise {density} (the mean "
            f"degree is {mean:.1f}), pass connected=True, or check X for duplicate rows."
        )
    return found
