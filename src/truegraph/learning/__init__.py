"""The paper's contribution: learning the most probable graph, certified. No torch here."""

from truegraph.learning.distances import (
    CosineDistance,
    Distance,
    EmbeddingDistance,
    LabelDisagreement,
    SumDistance,
)
from truegraph.learning.learned import Certificate, LearnedGraph
from truegraph.learning.learner import GraphLearner, learn_bipartite_graph, learn_graph

__all__ = [
    "Certificate",
    "CosineDistance",
    "Distance",
    "EmbeddingDistance",
    "GraphLearner",
    "LabelDisagreement",
    "LearnedGraph",
    "SumDistance",
    "learn_bipartite_graph",
    "learn_graph",
]
