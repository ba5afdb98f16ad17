"""Entry points of the pictures, and of the scores of ranked lists that the documentation shows."""

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
    NUMBERS,
    STRUCTURE,
    VALUES,
    Faulty,
    graph,
    listed,
    only,
)

_FIGURES = np.array([1.0, 2.0, 5.0])
_GAPS = only(DENSE, "NaN", "nothing")  # NaN stands for no figure
_RIGHT = np.array([True, False, True, True])


def entries() -> dict[str, tuple[Callable[[Any], Any], Faulty]]:
    """Return how to call each entry point with one value, and the faulty values."""
    from truegraph.evaluation import ranking
    from truegraph.report import plots

    def drawn(name: str, labels: Any = _FIGURES, **parts: Any) -> Any:
        values = {"means": _FIGURES, "errors": _FIGURES, "paper": _FIGURES} | parts
        return getattr(plots, name)(labels, **{key: {"gcn": one} for key, one in values.items()})

    def compared(name: str, **parts: Any) -> Any:
        values = {"first": _RIGHT, "second": ~_RIGHT, "high_degree": _RIGHT} | parts
        return getattr(plots, name)(**{key: [one] for key, one in values.items()})

    lists = np.tile(np.arange(5), (MATRIX.shape[0], 1))
    outside = {name: fault for name, fault in NUMBERS.items() if name != "negative"}  # -1: ended
    found: dict[str, tuple[Callable[[Any], Any], Faulty]] = {
        "plots.adjacency:matrix": (plots.adjacency, graph(sized=False)),
        "plots.adjacency:labels": (
            lambda v: plots.adjacency(GRAPH, v),
            listed(LABELS, CLASSES, sized=True),
        ),
        "plots.side_by_side:observed": (lambda v: plots.side_by_side(v, GRAPH), graph()),
        "plots.side_by_side:learned": (lambda v: plots.side_by_side(GRAPH, v), graph()),
        "plots.side_by_side:labels": (
            lambda v: plots.side_by_side(GRAPH, GRAPH, v),
            listed(LABELS, CLASSES, sized=True),
        ),
        "plots.accuracy_by_labels:labels": (
            lambda v: drawn("accuracy_by_labels", v),
            listed(_FIGURES, DENSE, sized=True),
        ),
        "plots.paired_differences:differences": (
            lambda v: plots.paired_differences({"a - b": v}),
            listed(_FIGURES, DENSE),
        ),
        "ranking.score_rankings:top_items": (
            lambda v: ranking.score_rankings(v, MATRIX, ks=[2]),
            listed(lists, outside, sized=True),
        ),
        "ranking.score_rankings:held_out": (
            lambda v: ranking.score_rankings(lists, v, ks=[2]),
            [(MATRIX, STRUCTURE | VALUES), (MATRIX.toarray(), only(DENSE, "a number"))],
        ),
    }
    for part in ("means", "errors", "paper"):
        found[f"plots.accuracy_by_labels:{part}"] = (
            lambda v, part=part: drawn("accuracy_by_labels", **{part: v}),
            listed(_FIGURES, _GAPS, sized=True),
        )
    for name in ("correction_counts", "correction_boxplots"):
        for part in ("first", "second", "high_degree"):
            found[f"plots.{name}:{part}"] = (
                lambda v, name=name, part=part: compared(name, **{part: v}),
                listed(_RIGHT.astype(int), CLASSES | {"two": lambda a: a + 1}, sized=True),
            )
    return found
