"""Entry points of graph learning: points, distances, masks and learned graphs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from faulty_values import (
    CLASSES,
    DENSE,
    GRAPH,
    LABELS,
    NODES,
    NUMBERS,
    PAIRS,
    POINTS,
    PROBABILITIES,
    SPARSE_POINTS,
    Faulty,
    graph,
    listed,
    pairs,
    points,
    weights,
    weights_as_mask,
)
from scipy import sparse


@cache
def learned() -> Any:
    """Return a small learned graph."""
    import truegraph

    return truegraph.learn_graph(POINTS, degree=4)


def _made(**parts: Any) -> Any:
    import dataclasses

    return dataclasses.replace(learned(), **parts).posterior()


def _width(table: Any) -> int:
    return int(np.shape(table)[1]) if np.ndim(table) > 1 or sparse.issparse(table) else 3


def _distances() -> dict[str, Any]:
    from truegraph import learning

    embedding = learning.EmbeddingDistance(POINTS)
    return {
        "CosineDistance": learning.CosineDistance(POINTS),
        "EmbeddingDistance": embedding,
        "LabelDisagreement": learning.LabelDisagreement(LABELS, GRAPH),
        "SumDistance": learning.SumDistance(embedding, embedding, 1.0),
    }


def entries() -> dict[str, tuple[Callable[[Any], Any], Faulty]]:
    """Return how to call each entry point with one value, and the faulty values."""
    import truegraph
    from truegraph import learning, testing

    learn, learner = truegraph.learn_graph, truegraph.GraphLearner
    distances = GRAPH  # edges as candidate pairs at distance 1
    found: dict[str, tuple[Callable[[Any], Any], Faulty]] = {
        "learn_graph:X": (lambda v: learn(v, degree=3), points()),
        "learn_graph:fixed_pairs": (lambda v: learn(POINTS, 3, fixed_pairs=v), weights_as_mask()),
        "learn_graph:forbidden_pairs": (
            lambda v: learn(POINTS, 3, forbidden_pairs=v),
            weights_as_mask(),
        ),
        "learn_graph:X precomputed": (
            lambda v: learn(v, theta=1.0, metric="precomputed"),
            weights(distances, sized=False),
        ),
        "learn_graph:X cosine": (lambda v: learn(v, degree=3, metric="cosine"), points()),
        "learn_bipartite_graph:users": (
            lambda v: truegraph.learn_bipartite_graph(v, np.ones((4, _width(v))), degree=2),
            points(POINTS[:8], SPARSE_POINTS[:8]),
        ),
        "learn_bipartite_graph:items": (
            lambda v: truegraph.learn_bipartite_graph(np.ones((4, _width(v))), v, degree=2),
            points(POINTS[:8], SPARSE_POINTS[:8]),
        ),
        "GraphLearner.fit_bipartite:users": (
            lambda v: learner(degree=2).fit_bipartite(v, np.ones((4, _width(v)))),
            points(POINTS[:8], SPARSE_POINTS[:8]),
        ),
        "GraphLearner.fit_bipartite:items": (
            lambda v: learner(degree=2).fit_bipartite(np.ones((4, _width(v))), v),
            points(POINTS[:8], SPARSE_POINTS[:8]),
        ),
        "GraphLearner.update:X": (
            lambda v: (
                learner(degree=3).fit(POINTS if not sparse.issparse(v) else SPARSE_POINTS).update(v)
            ),
            points(),
        ),
        "GraphLearner.fit:X": (lambda v: learner(degree=3).fit(v), points()),
        "GraphLearner.fit:fixed_pairs": (
            lambda v: learner(degree=3).fit(POINTS, fixed_pairs=v),
            weights_as_mask(),
        ),
        "GraphLearner.fit:forbidden_pairs": (
            lambda v: learner(degree=3).fit(POINTS, forbidden_pairs=v),
            weights_as_mask(),
        ),
        "GraphLearner.fit_transform:X": (lambda v: learner(degree=3).fit_transform(v), points()),
        "GraphLearner.transform:X": (
            lambda v: (
                learner(degree=3)
                .fit(POINTS if not sparse.issparse(v) else SPARSE_POINTS)
                .transform(v)
            ),
            points(sized=True),
        ),
        "LearnedGraph.explore:features": (
            lambda v: learned().explore(features=v),
            points(sized=True),
        ),
        "LearnedGraph.explore:predictions": (
            lambda v: learned().explore(predictions=v),
            listed(PROBABILITIES, DENSE, sized=True),
        ),
        "LearnedGraph.explore:observed": (lambda v: learned().explore(observed=v), graph()),
        "LearnedGraph:adjacency": (lambda v: _made(adjacency=v), weights()),
        "LearnedGraph:candidates": (lambda v: _made(candidates=v), weights()),
        "LearnedGraph:multipliers": (
            lambda v: _made(multipliers=v),
            listed(np.ones(NODES), DENSE | {"negative": lambda a: -a}, sized=True),
        ),
        "LearnedGraph.slack:pairs": (
            lambda v: learned().slack(v, learning.EmbeddingDistance(POINTS)),
            pairs(),
        ),
        "LearnedGraph.slack:distances": (
            lambda v: learned().slack(PAIRS, v),
            listed(np.ones(len(PAIRS)), DENSE, sized=True),
        ),
        "LearnedGraph.to_pyg:features": (lambda v: learned().to_pyg(v), points(sized=True)),
        "LearnedGraph.to_pyg:labels": (
            lambda v: learned().to_pyg(POINTS, v),
            listed(LABELS, CLASSES, sized=True),
        ),
        "LabelDisagreement:labels": (
            lambda v: learning.LabelDisagreement(v, GRAPH),
            listed(PROBABILITIES, DENSE, sized=True),
        ),
        "LabelDisagreement:graph": (lambda v: learning.LabelDisagreement(LABELS, v), graph()),
        "LabelDisagreement.from_shares:shares": (
            learning.LabelDisagreement.from_shares,
            listed(PROBABILITIES, DENSE),
        ),
        "CosineDistance:points": (learning.CosineDistance, points()),
        "EmbeddingDistance:points": (learning.EmbeddingDistance, points()),
        "primal_objective:adjacency": (
            lambda v: testing.primal_objective(v, GRAPH, 1.0),
            weights(),
        ),
        "primal_objective:distances": (
            lambda v: testing.primal_objective(GRAPH, v, 1.0),
            weights(),
        ),
        "dual_bound:multipliers": (
            lambda v: testing.dual_bound(v, GRAPH, 1.0),
            listed(np.ones(NODES), DENSE, sized=True),
        ),
        "dual_bound:distances": (
            lambda v: testing.dual_bound(np.ones(NODES), v, 1.0),
            weights(),
        ),
    }
    ends = np.array([0, 4, 7])
    for name, distance in _distances().items():
        found |= {
            f"{name}.pair_values:rows": (
                lambda v, d=distance: d.pair_values(v, ends),
                listed(ends, NUMBERS, sized=True),
            ),
            f"{name}.pair_values:columns": (
                lambda v, d=distance: d.pair_values(ends, v),
                listed(ends, NUMBERS, sized=True),
            ),
            f"{name}.values_from:others": (
                lambda v, d=distance: d.values_from(0, v),
                listed(ends, NUMBERS),
            ),
            f"{name}.permuted:order": (
                lambda v, d=distance: d.permuted(v),
                listed(np.arange(NODES), NUMBERS),
            ),
        }
    return found
