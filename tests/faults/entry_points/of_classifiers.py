"""Entry points of the node classifiers."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from faulty_values import (
    DENSE,
    GRAPH,
    LABELS,
    NODES,
    NUMBERS,
    POINTS,
    STRUCTURE,
    VALUES,
    Faulty,
    graph,
    listed,
    points,
)
from scipy import sparse


@cache
def _classifier() -> Any:
    import truegraph

    made: Any = truegraph.NodeClassifier("gcn", options={"epochs": 5}, random_state=0)
    return made.fit(POINTS, LABELS, graph=GRAPH)


_ASIDE = np.arange(NODES // 2, NODES)  # nodes whose labels are set aside


@cache
def _half_labelled() -> Any:
    import truegraph

    labels = LABELS.copy()
    labels[_ASIDE] = -1
    made: Any = truegraph.NodeClassifier("gcn", options={"epochs": 5}, random_state=0)
    return made.fit(POINTS, labels, graph=GRAPH)


def _of_trust(name: str) -> dict[str, tuple[Callable[[Any], Any], Faulty]]:
    """Return the entry points of sets and calibration."""
    pair = (_ASIDE, LABELS[_ASIDE])
    faults = {
        "one list": lambda v: v[0],
        "a row too few": lambda v: (v[0], v[1][:-1]),
        "beyond the end": lambda v: (v[0] + NODES, v[1]),
        "unknown label": lambda v: (v[0], v[1] + 7),
    }

    def ask(**given: Any) -> Any:
        return _half_labelled().predict_set(**{"calibration": pair, **given})

    edges = np.array([[0, NODES], [1, NODES + 1]])
    return {
        f"{name}.calibrate:nodes": (
            lambda v: _half_labelled().calibrate(v, pair[1]),
            listed(_ASIDE, NUMBERS, sized=True),
        ),
        f"{name}.calibrate:labels": (
            lambda v: _half_labelled().calibrate(_ASIDE, v),
            listed(pair[1], NUMBERS, sized=True),
        ),
        f"{name}.predict_set:calibration": (lambda v: ask(calibration=v), [(pair, faults)]),
        f"{name}.predict_set:nodes": (lambda v: ask(nodes=v), listed(np.array([0, 2]), NUMBERS)),
        f"{name}.predict_set:X": (
            lambda v: ask(X=v),
            [(sparse.csr_array(POINTS[:2]), STRUCTURE | VALUES), (POINTS[:2], DENSE)],
        ),
        f"{name}.predict_set:edges": (
            lambda v: ask(X=POINTS[:2], edges=v),
            listed(edges, NUMBERS),
        ),
    }


def entries() -> dict[str, tuple[Callable[[Any], Any], Faulty]]:
    """Return how to call each entry point with one value, and the faulty values."""
    import truegraph

    found: dict[str, tuple[Callable[[Any], Any], Faulty]] = {}
    few = {"options": {"epochs": 2}, "random_state": 0}
    classifiers: dict[str, Callable[..., Any]] = {
        "NodeClassifier": lambda: truegraph.NodeClassifier("gcn", **few),
        "BayesianNodeClassifier": lambda **given: truegraph.BayesianNodeClassifier(
            degree=4, recipe="fast", random_state=0, options=given
        ),
    }
    for name, make in classifiers.items():
        found |= _of_trust(name)
        found |= {
            f"{name}.fit:X": (
                lambda v, make=make: make().fit(v, LABELS, graph=GRAPH),
                points(sized=True),
            ),
            f"{name}.fit:graph": (
                lambda v, make=make: make().fit(POINTS, LABELS, graph=v),
                graph(),
            ),
            f"{name}.fit:y": (
                lambda v, make=make: make().fit(POINTS, v, graph=GRAPH),
                listed(LABELS, {"three dimensions": NUMBERS["three dimensions"]}, sized=True),
            ),
            f"{name}.fit:validation": (
                lambda v, make=make: make().fit(POINTS, LABELS, graph=GRAPH, validation=v),
                listed(np.array([2, 3]), NUMBERS),
            ),
        }
        for method in ("predict", "predict_proba"):
            ask = lambda method=method: getattr(_classifier(), method)  # noqa: E731
            edges = np.array([[0, NODES], [1, NODES + 1]])
            found |= {
                f"{name}.{method}:nodes": (
                    lambda v, ask=ask: ask()(v),
                    listed(np.array([0, 2]), NUMBERS),
                ),
                f"{name}.{method}:X": (
                    lambda v, ask=ask: ask()(X=v),
                    [(sparse.csr_array(POINTS[:2]), STRUCTURE | VALUES), (POINTS[:2], DENSE)],
                ),
                f"{name}.{method}:edges": (
                    lambda v, ask=ask: ask()(X=POINTS[:2], edges=v),
                    listed(edges, NUMBERS),
                ),
            }
    found["BayesianNodeClassifier:options"] = (
        lambda v: classifiers["BayesianNodeClassifier"](embedding=v).fit(
            POINTS, LABELS, graph=GRAPH
        ),
        listed(POINTS, {k: f for k, f in DENSE.items() if k != "a number"}, sized=True),
    )
    found["BayesianNodeClassifier:class_prior"] = (
        lambda v: truegraph.BayesianNodeClassifier(class_prior=v, random_state=0).fit(
            POINTS, LABELS, graph=GRAPH
        ),
        listed(np.full(2, 0.5), DENSE | {"negative": lambda a: -a}, sized=True),
    )
    spreading = truegraph.GraphLabelSpreading
    found |= {
        "GraphLabelSpreading:graph": (lambda v: spreading(v).fit(LABELS), graph()),
        "GraphLabelSpreading.fit:y": (
            lambda v: spreading(GRAPH).fit(v),
            listed(LABELS, {"three dimensions": NUMBERS["three dimensions"]}, sized=True),
        ),
        "GraphLabelSpreading.predict:nodes": (
            lambda v: spreading(GRAPH).fit(LABELS).predict(v),
            listed(np.array([0, 2]), NUMBERS),
        ),
        "GraphLabelSpreading.predict_proba:nodes": (
            lambda v: spreading(GRAPH).fit(LABELS).predict_proba(v),
            listed(np.array([0, 2]), NUMBERS),
        ),
    }
    return found
