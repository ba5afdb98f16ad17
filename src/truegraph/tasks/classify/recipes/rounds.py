"""Rounds of the refined recipe: the graph of a round, and how much each round counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.learning.learned import LearnedGraph
from truegraph.learning.search.distances import EmbeddingDistance
from truegraph.tasks.base import Run
from truegraph.tasks.classify.inputs import distance_graph
from truegraph.tasks.classify.problem import Problem
from truegraph.tasks.classify.recipes.ensemble import Prediction, mean_of
from truegraph.tasks.classify.recipes.node_graphs import combined_distance, map_graph
from truegraph.tasks.classify.recipes.refined_options import RefinedOptions, round_degree
from truegraph.tasks.classify.recipes.scaled_classifiers import Classified, confidence


def round_graphs(
    problem: Problem,
    distances: list[EmbeddingDistance],
    prediction: Prediction,
    before: list[LearnedGraph] | None,
    options: RefinedOptions,
    run: Run,
) -> tuple[list[LearnedGraph] | None, list[csr_array]]:
    """Return the learned graphs of a round, if any, and the graphs to train on.

    The search for theta begins where it ended for the graphs of the round before.
    """
    labels = round_labels(problem, prediction, options.label_distance)
    degree = round_degree(problem, options)
    learned: list[LearnedGraph] = []
    graphs: list[csr_array] = []
    with run.stage("graph learning"):
        for trial, (embedded, row) in enumerate(zip(distances, labels, strict=True)):
            distance = combined_distance(embedded, row, problem.inputs.graph)
            if options.graph == "learned":
                theta = None if before is None else before[trial].certificate.theta
                learned.append(_lean(map_graph(distance, degree, options, theta), run))
                graphs.append(learned[-1].adjacency)
            else:
                graphs.append(distance_graph(distance, round(degree)))
            run.progress.update(trial + 1, problem.trials)
    return learned or None, graphs


def _lean(graph: LearnedGraph, run: Run) -> LearnedGraph:
    """Drop the candidate pairs, which take several times the memory of the edges."""
    return (
        graph if run.keep_graphs else replace(graph, candidates=csr_array(graph.candidates.shape))
    )


def round_labels(
    problem: Problem, prediction: Prediction, label_distance: str
) -> NDArray[np.float64]:
    """Return class probabilities (T, N, C) for D2; training nodes have their own class."""
    chances = prediction.probabilities.astype(np.float64)
    pure = np.eye(problem.classes)
    if label_distance == "hard":
        chances = pure[chances.argmax(axis=2)]
    chances /= chances.sum(axis=2, keepdims=True)
    for row, labels, train in zip(chances, problem.labels, problem.train, strict=True):
        row[train] = pure[labels[train]]
    return chances


def step_shares(steps: list[Classified], options: RefinedOptions, run: Run) -> NDArray[np.float64]:
    """Return the shares (T, S) of each trial's steps in its prediction; they sum to one.

    Step 0 is the observed graph; it has what the rounds do not earn.
    """
    own = [confidence(step.prediction.probabilities) for step in steps]
    sure = np.array(own, dtype=np.float64).T
    if len(steps) == 1:
        return np.ones_like(sure)
    gains = sure[:, 1:] - sure[:, :1]
    if options.safeguard is None:
        earned = np.ones_like(gains)
    else:
        none, full = options.safeguard
        earned = np.clip((gains - none) / (full - none), 0.0, 1.0)
    averaged = earned.shape[1] if options.average == "rounds" else 1
    earned[:, :-averaged] = 0.0
    learned = earned.sum(axis=1) / averaged
    if np.any(learned < 1.0):
        share = f"{100 * learned.mean():.0f} %"
        text = (
            "learned graphs made predictions little or no more confident: their share of the "
            f"result is {share}"
        )
        if share == "0 %":
            run.alarm(f"{text}. Scale the features, or try another degree")
        else:
            run.note(text)
    return np.column_stack([1.0 - learned, earned / averaged])


def means(steps: list[Classified], shares: NDArray[np.float64]) -> list[Prediction]:
    """Return for each trial the mean over its steps by their shares (T, S), each (N, C)."""
    predictions = [step.prediction for step in steps]
    return [
        mean_of(
            (Prediction(p.probabilities[trial], p.expected_entropy[trial]) for p in predictions),
            own,
        )
        for trial, own in enumerate(shares)
    ]
