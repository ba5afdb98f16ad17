"""The paper's contribution: learning the most probable graph, certified. No torch here.

The names are loaded on first use: the compiled loops take a second to import, the checks of what
users pass in (`truegraph.learning.inputs`) do not need them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from truegraph.learning.distances import (
        CosineDistance,
        Distance,
        EmbeddingDistance,
        LabelDisagreement,
        SumDistance,
    )
    from truegraph.learning.learned import Certificate, LearnedGraph
    from truegraph.learning.learner import GraphLearner, learn_bipartite_graph, learn_graph
    from truegraph.learning.posterior import GraphPosterior
    from truegraph.learning.samples import GraphSamples

__all__ = [
    "Certificate",
    "CosineDistance",
    "Distance",
    "EmbeddingDistance",
    "GraphLearner",
    "GraphPosterior",
    "GraphSamples",
    "LabelDisagreement",
    "LearnedGraph",
    "SumDistance",
    "learn_bipartite_graph",
    "learn_graph",
]

_MODULES = {
    "Certificate": "learned",
    "CosineDistance": "distances",
    "Distance": "distances",
    "EmbeddingDistance": "distances",
    "GraphLearner": "learner",
    "GraphPosterior": "posterior",
    "GraphSamples": "samples",
    "LabelDisagreement": "distances",
    "LearnedGraph": "learned",
    "SumDistance": "distances",
    "learn_bipartite_graph": "learner",
    "learn_graph": "learner",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'truegraph.learning' has no attribute {name!r}")
    return getattr(import_module(f"truegraph.learning.{_MODULES[name]}"), name)
