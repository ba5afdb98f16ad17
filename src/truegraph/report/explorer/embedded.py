"""The explorer within a report page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from truegraph.learning import LearnedGraph
from truegraph.report.explorer.content import ALL_EDGES, ALL_NODES
from truegraph.report.explorer.page import explore, page_script
from truegraph.report.page import Embedded, Notes, script_hash


def explorer_part(
    graph: LearnedGraph, heading: str = "The graph, to walk through", **known: Any
) -> Iterator[Embedded | Notes]:
    """Yield the explorer of a graph, or for a large one how to open it.

    Parameters
    ----------
    graph : LearnedGraph
    heading : str
    **known
        Labels, names, features, predictions and observed, as `LearnedGraph.explore` takes them.
    """
    if graph.n_nodes > ALL_NODES or graph.n_edges > ALL_EDGES:
        yield Notes(
            heading,
            [
                f"With more than {ALL_NODES:,} nodes or {ALL_EDGES:,} edges the explorer has a "
                "page of its own: save the graph as .npz, then: truegraph explore graph.npz"
            ],
        )
        return
    caption = (
        "Search a name or click a node to see its neighbours, how sure each edge is, and what both "
        "ends share; every neighbour is a link to walk on."
    )
    yield Embedded(heading, caption, explore(graph, **known).html, script_hash(page_script()))
