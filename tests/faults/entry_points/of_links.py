"""Entry points of the link predictors."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from faulty_values import DENSE, FREE, GRAPH, POINTS, Faulty, graph, listed, pairs, points
from scipy import sparse


@cache
def _links(bayesian: bool = False) -> Any:
    import truegraph

    kind = truegraph.BayesianLinkPredictor if bayesian else truegraph.LinkPredictor
    return kind("gae", options={"epochs": 3}, random_state=0).fit(GRAPH)


@cache
def _refined() -> Any:
    import truegraph

    return truegraph.LinkPredictor(options={"scale": "off"}, random_state=0).fit(GRAPH, POINTS)


def entries() -> dict[str, tuple[Callable[[Any], Any], Faulty]]:
    """Return how to call each entry point with one value, and the faulty values."""
    import truegraph

    found: dict[str, tuple[Callable[[Any], Any], Faulty]] = {}
    kinds = (truegraph.LinkPredictor, truegraph.BayesianLinkPredictor)
    for kind in kinds:
        make = lambda kind=kind, **given: kind(  # noqa: E731
            "gae", options={"epochs": 2}, random_state=0, **given
        )
        name = kind.__name__
        fit = f"{name}.fit"
        found |= {
            f"{fit}:A": (lambda v, make=make: make().fit(v), graph()),
            f"{fit}:X": (lambda v, make=make: make().fit(GRAPH, v), points(sized=True)),
            f"{fit}:pairs": (lambda v, make=make: make().fit(GRAPH, pairs=v), pairs()),
            f"{fit}:validation": (
                lambda v, make=make: make().fit(GRAPH, validation=(v, FREE[2:])),
                pairs(FREE[:2]),
            ),
        }
        for method in ("decision_function", "predict_proba", "uncertainty", "slack"):
            if hasattr(kind, method):
                is_bayesian = kind is kinds[1]
                found[f"{name}.{method}:pairs"] = (
                    lambda v, b=is_bayesian, method=method: getattr(_links(b), method)(v),
                    pairs(),
                )
    few = POINTS[:4]
    found |= {
        "LinkPredictor.predict_new:X": (
            lambda v: _refined().predict_new(v, [[0, 5]]),
            points(few, sparse.csr_array(few)),
        ),
        "LinkPredictor.predict_new:pairs": (lambda v: _refined().predict_new(few, v), pairs()),
        "LinkPredictor.suggest_new:X": (
            lambda v: _refined().suggest_new(v),
            points(few, sparse.csr_array(few)),
        ),
    }
    found["BayesianLinkPredictor:embedding"] = (
        lambda v: truegraph.BayesianLinkPredictor(
            "gae", options={"epochs": 2}, embedding=v, random_state=0
        ).fit(GRAPH),
        listed(POINTS, DENSE, sized=True),
    )
    return found
