r"""The Bayesian auto-encoder: Algorithm 2 of the paper, one function per step.

1. `base_embedding`: train the auto-encoder on the observed graph -> E_q[z]
2. and the distances D_ij = |E_q[z_i] - E_q[z_j]|^2
3. `learned_graph`: the most probable graph given D
4. `combined_graph`: J, the observed links with learned weights where nothing was observed; train
   the auto-encoder on J, from the start and with the same seed

The paper leaves open which entries count as unobserved, how learned weights are scaled and what
the decoder should reconstruct; see `BayesianChoices`.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph import gate
from truegraph.errors import InputError
from truegraph.learning.learned import LearnedGraph
from truegraph.learning.one_call import learn_graph
from truegraph.learning.search.distances import EmbeddingDistance
from truegraph.tasks.base import Run
from truegraph.tasks.links.completed_graph import Filling, combined_graph
from truegraph.tasks.links.problem import LinkProblem
from truegraph.tasks.links.training import LinkModel, base_embedding, train_links
from truegraph.tasks.links.vectors import LinkVectors

TARGETS = ("combined", "observed")
_LEAST_DEGREE = 2.0  # every node has an edge, so a mean degree of 1 would take a perfect matching
_WARNING = (
    "unobserved='pairs' fills only the pairs that will be asked about. Half of a test set's pairs "
    "are links, and nearly all learned edges among them are: scores on these pairs must not be "
    "reported as ordinary link prediction. Use unobserved='non-edges' for that."
)


@dataclass(frozen=True, eq=False)
class BayesianChoices:
    """What a Bayesian version adds to its auto-encoder; see `BayesianLinkPredictor`."""

    degree: float | None = None
    target: str = "combined"
    unobserved: str = "non-edges"
    weight_scale: str = "largest"
    candidate_ratio: float = 5.0
    embedding: Any = None
    scope: str = "candidates"
    solver: str = "newton"
    tol: float = 1e-6


@dataclass(frozen=True, eq=False)
class BayesianLinks:
    """What Algorithm 2 found.

    Attributes
    ----------
    vectors : LinkVectors
        Of the second training.
    points : ndarray of shape (N, d)
        Whose distances the learned graph comes from.
    learned : LearnedGraph
    combined : csr_array of float64, shape (N, N)
    filling : Filling
    """

    vectors: LinkVectors
    points: NDArray[Any]
    learned: LearnedGraph
    combined: csr_array
    filling: Filling


def train_bayesian(
    model: LinkModel,
    choices: BayesianChoices,
    problem: LinkProblem,
    seed: int,
    run: Run,
    *,
    samples: int = 20,
) -> BayesianLinks:
    """Do Algorithm 2.

    Parameters
    ----------
    model : LinkModel
    choices : BayesianChoices
    problem : LinkProblem
    seed : int
        Of both trainings.
    run : Run
    samples : int
        Draws from the posterior to keep.
    """
    if choices.target not in TARGETS:
        raise InputError(f"target={choices.target!r} must be one of {', '.join(TARGETS)}.")
    if choices.unobserved == "pairs":
        warnings.warn(_WARNING, UserWarning, stacklevel=4)
    embedding = _embedding(model, choices, problem, seed, run)
    with run.stage("graph learning"):
        learned = learned_graph(embedding, choices, problem)
    combined, filling = combined_graph(
        problem.graph,
        learned.adjacency,
        unobserved=choices.unobserved,
        weight_scale=choices.weight_scale,
        pairs=problem.asked,
    )
    run.note(f"unobserved are {choices.unobserved}, the target is {choices.target}: {filling}")
    with run.stage(f"{model.kind.name} on the combined graph"):
        vectors = train_on_combined(model, choices, problem, combined, seed, run, samples)
    return BayesianLinks(vectors, embedding, learned, combined, filling)


def _embedding(
    model: LinkModel, choices: BayesianChoices, problem: LinkProblem, seed: int, run: Run
) -> NDArray[Any]:
    """Do step 1: return the points (N, d) whose distances count."""
    if choices.embedding is None:
        return base_embedding(model, problem, seed, run)
    given: NDArray[Any] = gate.table("embedding", choices.embedding, shape=(problem.n_nodes, None))
    return given


def learned_graph(
    embedding: NDArray[Any], choices: BayesianChoices, problem: LinkProblem
) -> LearnedGraph:
    """Do steps 2 and 3: return the most probable graph given squared Euclidean distances."""
    most = problem.n_nodes - 1.0
    usual = max(_LEAST_DEGREE, float(round(problem.mean_degree)))
    return learn_graph(
        EmbeddingDistance(embedding),
        min(most, usual if choices.degree is None else choices.degree),
        candidate_ratio=choices.candidate_ratio,
        scope=choices.scope,
        solver=choices.solver,
        tol=choices.tol,
        random_state=0,
    )


def train_on_combined(
    model: LinkModel,
    choices: BayesianChoices,
    problem: LinkProblem,
    combined: csr_array,
    seed: int,
    run: Run,
    samples: int,
) -> LinkVectors:
    """Do step 4: train on J, with J or the observed graph as the target."""
    target = combined if choices.target == "combined" else problem.graph
    return train_links(model, problem, seed, run, graph=combined, target=target, samples=samples)
