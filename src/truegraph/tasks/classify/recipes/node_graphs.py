"""From nodes to their most probable graph: the steps that all Bayesian classifiers share.

`embed_nodes` gives the embedding whose distances are D1, `combined_distance` adds D2, the
disagreement of predicted labels, and `map_graph` learns the graph from the sum.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph import gate
from truegraph.errors import InputError
from truegraph.learning.learned import LearnedGraph
from truegraph.learning.one_call import learn_graph
from truegraph.learning.search.distances import (
    Distance,
    EmbeddingDistance,
    LabelDisagreement,
    SumDistance,
)
from truegraph.nn.autoencoders.svd_embedding import embed_svd
from truegraph.nn.autoencoders.vgae import embed_vgae
from truegraph.runtime.locking import file_lock
from truegraph.suggestions import suggestion
from truegraph.tasks.base import Run
from truegraph.tasks.classify.problem import Problem

USUAL_DEGREE = 100.0
_LONGEST = 100.0  # root mean square length of the rows that an auto-encoder is trained on
EMBEDDINGS: dict[str, list[str]] = {
    "vgae": ["epochs", "hidden", "dimension", "normalize_features", "pair_parts"],
    "svd": ["dimension"],
}


@dataclass(frozen=True, eq=False)
class GraphOptions:
    """Options of the graph that a Bayesian classifier learns.

    Parameters
    ----------
    degree : float, optional
        Average number of edges per node of the learned graph. Default: 100, but not more than
        half the mean class size, since more edges could not stay within classes.
    candidate_ratio : float
        Candidate neighbours per wanted edge.
    embedding : "vgae", "svd" or array of shape (N, d)
    embedding_options : mapping
        Options of `truegraph.nn.autoencoders.vgae.embed_vgae` (epochs, hidden, dimension,
        normalize_features, pair_parts) or of
        `truegraph.nn.autoencoders.svd_embedding.embed_svd` (dimension).
    embedding_seed : int, optional
        Seed of the VGAE, for all trials; default: each trial's own seed. "svd" needs none.
    scope, solver, tol
        As in `truegraph.GraphLearner`.
    """

    degree: float | None = None
    candidate_ratio: float = 3.0
    embedding: Any = "vgae"
    embedding_options: Mapping[str, Any] = field(default_factory=dict)
    embedding_seed: int | None = None
    scope: str = "candidates"
    solver: str = "newton"
    tol: float = 1e-6

    def __post_init__(self) -> None:
        if not isinstance(self.embedding, str):
            return
        if self.embedding not in EMBEDDINGS:
            raise InputError(
                f"embedding={self.embedding!r} must be 'vgae', 'svd' or an array of shape (N, d)."
            )
        known = EMBEDDINGS[self.embedding]
        for name in self.embedding_options:
            if name not in known:
                raise InputError(
                    f"unknown entry {name!r} of embedding_options.{suggestion(name, known)}"
                )

    def _check_choices(self, choices: Mapping[str, tuple[str, ...]]) -> None:
        """Raise an InputError unless the named options have one of their values."""
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise InputError(
                    f"{name}={getattr(self, name)!r} must be one of {', '.join(allowed)}."
                )


def embed_nodes(problem: Problem, options: GraphOptions, run: Run) -> list[NDArray[Any]]:
    """Return each trial's embedding, shape (N, d); equal seeds share one."""
    nodes = problem.inputs.n_nodes
    if not isinstance(options.embedding, str):
        given = gate.table("embedding", options.embedding, shape=(nodes, None))
        return [given] * problem.trials
    # The SVD is the same for every seed but for rounding.
    shared = 0 if options.embedding == "svd" else options.embedding_seed
    seeds = problem.seeds if shared is None else [shared] * problem.trials
    with run.stage("embedding"):
        found = {seed: _embedding(problem, seed, options, run) for seed in dict.fromkeys(seeds)}
    return [found[seed] for seed in seeds]


def _embedding(problem: Problem, seed: int, options: GraphOptions, run: Run) -> NDArray[Any]:
    """Compute an embedding or read it; of processes that need the same one, one computes it."""
    inputs = problem.inputs
    if options.embedding == "svd":
        return embed_svd(inputs.raw, inputs.graph, random_state=seed, **options.embedding_options)
    alone: AbstractContextManager[None] = nullcontext()
    if run.cache is not None:
        alone = file_lock(Path(run.cache) / f"embedding-{inputs.n_nodes}-{seed}.lock")
    with alone:
        return embed_vgae(
            _bounded(inputs.raw),
            inputs.graph,
            random_state=seed,
            device=run.device,
            progress=run.progress,
            cache=run.cache,
            **options.embedding_options,
        )


def _bounded(features: csr_array) -> csr_array:
    """Return features (N, F) whose rows are not longer than training bears, on average.

    Pixels from 0 to 255, for instance, let the first step of the auto-encoder overflow.
    """
    length = float(np.sqrt(features.multiply(features).sum() / max(features.shape[0], 1)))
    return features if length <= _LONGEST else csr_array(features * (_LONGEST / length))


def combined_distance(
    embedding: NDArray[Any] | EmbeddingDistance, labels: NDArray[Any], graph: csr_array
) -> Distance:
    """Return D = D1 + delta D2, with the paper's delta.

    Parameters
    ----------
    embedding : ndarray of shape (N, d), or its EmbeddingDistance
    labels : ndarray of shape (N,) or (N, C)
        Predicted classes or probabilities.
    graph : csr_array of shape (N, N)
        The observed graph.
    """
    first = embedding if isinstance(embedding, Distance) else EmbeddingDistance(embedding)
    return SumDistance(first, LabelDisagreement(labels, graph))


def embedding_distances(embeddings: list[NDArray[Any]]) -> list[EmbeddingDistance]:
    """Return D1 of each trial; trials of one embedding share it, and the search for its maximum."""
    made = {id(embedding): EmbeddingDistance(embedding) for embedding in embeddings}
    return [made[id(embedding)] for embedding in embeddings]


def map_graph(
    distance: Distance, degree: float, options: GraphOptions, first_theta: float | None = None
) -> LearnedGraph:
    """Return the most probable graph given the distances."""
    return learn_graph(
        distance,
        degree,
        candidate_ratio=options.candidate_ratio,
        scope=options.scope,
        solver=options.solver,
        tol=options.tol,
        first_theta=first_theta,
        random_state=0,
    )


def wanted_degree(problem: Problem, options: GraphOptions) -> float:
    """Return the edges per node to ask for: what was wanted, as far as there are nodes."""
    nodes = problem.inputs.n_nodes
    if options.degree is not None:
        return min(options.degree, nodes - 1.0)
    return max(1.0, min(USUAL_DEGREE, nodes // (2 * problem.classes)))


def noted_degree(problem: Problem, options: GraphOptions, run: Run) -> float:
    """Return `wanted_degree`, with a note if it is not what was asked for."""
    degree = wanted_degree(problem, options)
    usual = USUAL_DEGREE if options.degree is None else options.degree
    if degree != usual:
        run.note(
            f"learned graphs: {degree:g} edges per node are asked for, not {usual:g}, because "
            f"there are only {problem.inputs.n_nodes} nodes"
        )
    return degree
