"""Entry points of graphs in partitions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from faulty_values import DENSE, POINTS, Faulty


def _learned(*tables: Any) -> Any:
    from truegraph import distributed

    learn = distributed.learn_graph if len(tables) == 1 else distributed.learn_bipartite_graph
    return learn(*tables, degree=4, memory="1GB", random_state=0)


def entries() -> dict[str, tuple[Callable[[Any], Any], Faulty]]:
    """Return the calls and faulty values; arrays in memory, as files have tests of their own."""
    table: Faulty = [(POINTS, DENSE)]  # sparse ones are refused as such
    return {
        "distributed.learn_graph:X": (_learned, table),
        "distributed.learn_bipartite_graph:users": (lambda X: _learned(X, POINTS), table),
        "distributed.learn_bipartite_graph:items": (lambda X: _learned(POINTS, X), table),
    }
