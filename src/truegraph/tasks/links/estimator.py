"""Predict the missing links of a graph.

>>> import numpy as np
>>> from truegraph import BayesianLinkPredictor
>>> group = np.arange(60) % 3
>>> rng = np.random.default_rng(0)
>>> A = np.triu(rng.random((60, 60)) < np.where(group[:, None] == group, 0.3, 0.02), 1)
>>> predictor = BayesianLinkPredictor(options={"epochs": 50}, random_state=0).fit(A.astype(float))
>>> predictor.predict_proba([(0, 3), (0, 4)]).shape
(2,)
>>> len(predictor.suggest(k=5))
5
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from truegraph.data.storage import PathLike
from truegraph.learning.search.distances import EmbeddingDistance
from truegraph.nn.autoencoders.embedding_cache import write_embedding
from truegraph.tasks.classify.methods import Run
from truegraph.tasks.links.algorithm2 import BayesianChoices, train_bayesian
from truegraph.tasks.links.fitted import LinkEstimator
from truegraph.tasks.links.problem import LinkProblem
from truegraph.tasks.links.training import (
    LinkModel,
    LinkVectors,
    cached_file,
    train_links,
)


class LinkPredictor(LinkEstimator):
    """Link prediction with a graph auto-encoder.

    Parameters
    ----------
    model : {"gae", "vgae", "graphite-ae", "graphite-vae", "dglfrm"}, default="vgae"
    options : mapping or the model's own settings, optional
        For example ``{"epochs": 100}``; by default those of the model's authors.
    mask_hidden : bool, optional
        Whether held-out pairs, and those given to `fit` as `pairs`, are left out of the loss;
        otherwise they are trained as pairs without a link. Default: as the model's authors do,
        which is True for "dglfrm" alone.
    held_out : float, default=0.05
        Share of the links that is not trained on, to calibrate probabilities and to choose an
        epoch; not used if `fit` is given validation pairs.
    prior : float, "balanced" or "sparse", default="balanced"
        Share of links among the pairs that probabilities are for. "balanced": half of them, as
        among evaluation pairs. "sparse": as many links are missing among all unlinked pairs as
        were held out.
    samples : int, default=20
        Posterior draws for the uncertainty.
    random_state : int, RandomState instance or None, default=None
    device : str, default="cpu"
        Anything that torch knows.
    cache : path-like, optional
        Folder of embeddings of base models, which their Bayesian versions need again.
    progress : bool, default=False
        Whether to draw progress bars on standard error.

    Attributes
    ----------
    embedding_ : ndarray of float32, shape (N, d)
        Posterior mean of the embedding.
    calibration_ : Calibration
        Map from logits to log odds.
    learned_graph_ : None
    combined_graph_ : csr_array of shape (N, N)
        The graph that was trained on.
    notes_ : tuple of str
        What was chosen for the user.
    seconds_ : dict of str to float
    """

    def __init__(
        self,
        model: str = "vgae",
        *,
        options: Any = None,
        mask_hidden: bool | None = None,
        held_out: float = 0.05,
        prior: Any = "balanced",
        samples: int = 20,
        random_state: Any = None,
        device: str = "cpu",
        cache: PathLike | None = None,
        progress: bool = False,
    ) -> None:
        self.model = model
        self.options = options
        self.mask_hidden = mask_hidden
        self.held_out = held_out
        self.prior = prior
        self.samples = samples
        self.random_state = random_state
        self.device = device
        self.cache = cache
        self.progress = progress

    def _train(self, model: LinkModel, problem: LinkProblem, seed: int, run: Run) -> LinkVectors:
        with run.stage(model.kind.name):
            found = train_links(model, problem, seed, run, samples=self.samples)
        file = cached_file(model, problem, seed, run)
        if file is not None and not file.exists():
            write_embedding(file, found.embedding)
        self.learned_graph_, self.points_, self.filling_ = None, None, None
        self.combined_graph_ = problem.graph
        return found


class BayesianLinkPredictor(LinkEstimator):
    """Link prediction on the most probable graph: the paper's Algorithm 2.

    An auto-encoder embeds the nodes of the observed graph; the most probable graph given the
    distances of the embeddings fills in what was not observed; the auto-encoder is trained again,
    from the start, on both together.

    Parameters
    ----------
    model : {"gae", "vgae", "graphite-ae", "graphite-vae", "dglfrm"}, default="vgae"
        The auto-encoder, of both trainings.
    degree : float, optional
        Average number of edges per node of the learned graph. Default: the mean degree of the
        graph that is trained on, rounded, at least 2.
    target : {"combined", "observed"}, default="combined"
        What the decoder is to give back: the combined graph, or the observed one alone.
    unobserved : {"non-edges", "pairs"}, default="non-edges"
        Which entries learned weights may fill: all pairs without a link, or only those given to
        `fit` as `pairs`. The second is the paper's wording, but half of a test set's pairs are
        links, and the learned graph's edges among them nearly all are: do not report it as
        ordinary link prediction.
    weight_scale : {"largest", "binary", "raw"}, default="largest"
        Learned weights are divided by the largest one, set to 1, or kept but limited to 1.
    candidate_ratio : float, default=5
        Candidate neighbours per wanted edge of the learned graph.
    embedding : array of shape (N, d), optional
        Distances come from these points, not from the model's own embedding.
    scope, solver, tol
        Of the graph learner, see `GraphLearner`.
    options, mask_hidden, held_out, prior, samples, random_state, device, cache, progress
        As of `LinkPredictor`.

    Attributes
    ----------
    embedding_ : ndarray of float32, shape (N, d)
        Posterior mean of the second training.
    learned_graph_ : LearnedGraph
    points_ : ndarray of shape (N, d)
        The points whose distances the learned graph comes from: the base model's embedding, or
        the one that was given.
    combined_graph_ : csr_array of shape (N, N)
        The observed links with weight 1, and learned weights below.
    filling_ : Filling
        How much the learned graph adds.
    calibration_, notes_, seconds_
        As of `LinkPredictor`.

    References
    ----------
    Pal et al., "Non-Parametric Graph Learning for Bayesian Graph Neural Networks", UAI 2020.
    """

    def __init__(
        self,
        model: str = "vgae",
        *,
        degree: float | None = None,
        target: str = "combined",
        unobserved: str = "non-edges",
        weight_scale: str = "largest",
        candidate_ratio: float = 5.0,
        embedding: Any = None,
        scope: str = "candidates",
        solver: str = "newton",
        tol: float = 1e-6,
        options: Any = None,
        mask_hidden: bool | None = None,
        held_out: float = 0.05,
        prior: Any = "balanced",
        samples: int = 20,
        random_state: Any = None,
        device: str = "cpu",
        cache: PathLike | None = None,
        progress: bool = False,
    ) -> None:
        self.model = model
        self.degree = degree
        self.target = target
        self.unobserved = unobserved
        self.weight_scale = weight_scale
        self.candidate_ratio = candidate_ratio
        self.embedding = embedding
        self.scope = scope
        self.solver = solver
        self.tol = tol
        self.options = options
        self.mask_hidden = mask_hidden
        self.held_out = held_out
        self.prior = prior
        self.samples = samples
        self.random_state = random_state
        self.device = device
        self.cache = cache
        self.progress = progress

    def _train(self, model: LinkModel, problem: LinkProblem, seed: int, run: Run) -> LinkVectors:
        choices = BayesianChoices(
            degree=self.degree,
            target=self.target,
            unobserved=self.unobserved,
            weight_scale=self.weight_scale,
            candidate_ratio=self.candidate_ratio,
            embedding=self.embedding,
            scope=self.scope,
            solver=self.solver,
            tol=self.tol,
        )
        found = train_bayesian(model, choices, problem, seed, run, samples=self.samples)
        self.learned_graph_, self.filling_ = found.learned, found.filling
        self.combined_graph_, self.points_ = found.combined, found.points
        return found.vectors

    def slack(self, pairs: Any) -> NDArray[np.float64]:
        """Return how far pairs are from having no edge in the learned graph, (n,).

        A score of links beside `decision_function`: the weight of a learned edge, and a negative
        number for other pairs, the smaller the farther they are from having one.

        Parameters
        ----------
        pairs : array-like of int, shape (n, 2)
        """
        wanted = self._checked(pairs)
        assert self.learned_graph_ is not None
        assert self.points_ is not None
        return self.learned_graph_.slack(wanted, EmbeddingDistance(self.points_))
