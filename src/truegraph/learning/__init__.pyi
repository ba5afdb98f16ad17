from .bipartite import learn_bipartite_graph
from .learned import Certificate, LearnedGraph
from .learner import GraphLearner, learn_graph
from .posterior.graph_posterior import GraphPosterior
from .posterior.samples import GraphSamples
from .search.distances import (
    CosineDistance,
    Distance,
    EmbeddingDistance,
    LabelDisagreement,
    SumDistance,
)

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
