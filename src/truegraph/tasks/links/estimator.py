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

from dataclasses import KW_ONLY, dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from truegraph import gate
from truegraph.data.columns.vectorising import new_points
from truegraph.errors import InputError
from truegraph.learning.search.distances import EmbeddingDistance
from truegraph.nn.autoencoders.embedding_cache import write_embedding
from truegraph.nn.options import options_from
from truegraph.suggestions import suggestion
from truegraph.tasks.base import Run
from truegraph.tasks.links.base import LinkEstimator, positive
from truegraph.tasks.links.calibration import Calibration
from truegraph.tasks.links.heuristics import HEURISTICS, HeuristicScorer
from truegraph.tasks.links.names import AUTO_ENCODERS, REFINED
from truegraph.tasks.links.problem import LinkProblem, open_link_problem
from truegraph.tasks.links.refined.model import (
    RefinedModel,
    RefinedSettings,
    fit_refined,
    prepared_features,
)
from truegraph.tasks.links.refined.new_nodes import NewNodes, fit_new_nodes
from truegraph.tasks.links.suggesting.explanations import shared_features
from truegraph.tasks.links.vectors import LinkVectors

if TYPE_CHECKING:
    import pandas as pd

    from truegraph.tasks.links.training import LinkModel


@dataclass(eq=False, repr=False)
class LinkPredictor(LinkEstimator):
    """Link prediction: refined scores of pairs, a graph auto-encoder, or a heuristic.

    Parameters
    ----------
    model : str, default="refined"
        "refined": walks between two nodes, similarity of their features and the slack of a
        learned graph, weighed by a regression that is cross-fitted on the links. An auto-encoder:
        "gae", "vgae", "graphite-ae", "graphite-vae" or "dglfrm". A heuristic:
        "common-neighbours", "adamic-adar", "resource-allocation", "personalised-pagerank" or
        "katz" (the last two count walks of at most four steps).
    options : mapping or the model's own settings, optional
        Of "refined", for example ``{"scale": "off"}``, see `RefinedSettings`; of an auto-encoder,
        for example ``{"epochs": 100}``, by default those of the model's authors.
    mask_hidden : bool, optional
        Whether held-out pairs, and those given to `fit` as `pairs`, are left out of the loss;
        otherwise they are trained as pairs without a link. Default: as the model's authors do,
        which is True for "dglfrm" alone.
    held_out : float, default=0.05
        Share of the links that auto-encoders and heuristics do not see, to calibrate
        probabilities and to choose an epoch; not used if `fit` is given validation pairs.
    prior : float, "balanced" or "sparse", default="balanced"
        Share of links among the pairs that probabilities are for. "balanced": half of them, as
        among evaluation pairs. "sparse": as many links are missing among all unlinked pairs as
        were held out.
    missing : float, default=0.1
        Share of the true links that the graph lacks, on which the probabilities of suggestions
        depend. The graph itself does not tell; the order of suggestions does not depend on it.
    samples : int, default=20
        Posterior draws for the uncertainty, of auto-encoders.
    plan : ColumnPlan, optional
        How the columns of a DataFrame become numbers; default ``ColumnPlan()``.
    random_state : int, RandomState instance or None, default=None
    device : str, default="cpu"
        A torch device, e.g. "cuda".
    cache : path-like, optional
        Folder of embeddings of base models, which their Bayesian versions need again.
    progress : bool, default=False
        Whether to draw progress bars on standard error.

    Attributes
    ----------
    embedding_ : ndarray of float32, shape (N, d), or None
        Posterior mean of the embedding; of "refined" the smoothed features; None for heuristics.
    calibration_ : Calibration
        Map from scores to log odds.
    learned_graph_ : LearnedGraph or None
        Of "refined", if its scale is the slack of a learned graph.
    combined_graph_ : csr_array of shape (N, N)
        The graph that was trained on.
    searched_ : str
        Which pairs `suggest` looks at.
    notes_ : tuple of str
        What was chosen for the user.
    seconds_ : dict of str to float
    """

    model: str = "refined"

    def _fit(self, A: Any, X: Any, validation: Any, pairs: Any, seed: int, run: Run) -> None:
        self._new_nodes = None
        if self.model == REFINED:
            self._fit_refined(A, X, validation, seed, run)
        elif self.model in HEURISTICS:
            self._fit_heuristic(A, X, validation, seed, run)
        elif self.model in AUTO_ENCODERS:
            super()._fit(A, X, validation, pairs, seed, run)
        else:
            known = (REFINED, *AUTO_ENCODERS, *HEURISTICS)
            raise InputError(f"unknown model {self.model!r}.{suggestion(self.model, known)}")

    def _fit_refined(self, A: Any, X: Any, validation: Any, seed: int, run: Run) -> None:
        settings = options_from(self.options, RefinedSettings)
        problem = open_link_problem(A, X, validation, None, None, seed, weighted=True)
        given = problem.features if problem.features_from == "given" else None
        with run.stage("features"):
            features = prepared_features(given, settings.rank, seed)
        with run.stage(REFINED):
            model = fit_refined(problem.graph, problem.known, features, settings, seed)
        run.note(model.describe())
        self._keep(model, problem)
        self.embedding_, self.combined_graph_ = model.embedding, problem.graph
        scale = model.columns.scale
        self.learned_graph_ = None if scale is None else scale.graph
        self.points_ = None if scale is None else scale.points
        self.filling_, self.calibration_ = None, Calibration(1.0, 0.0)
        missing = self.missing / (1.0 - self.missing) * (problem.graph.nnz // 2)
        self._sparse_prior = missing / problem.n_unlinked

    def _fit_heuristic(self, A: Any, X: Any, validation: Any, seed: int, run: Run) -> None:
        if self.options is not None:
            raise InputError(f"options={self.options!r}: {self.model} has none; remove them.")
        problem = open_link_problem(A, X, validation, None, self.held_out, seed)
        self._keep(HeuristicScorer(self.model, problem.graph), problem)
        self._calibrate(problem, run)
        # What was held out to calibrate need not be left out any more.
        self.combined_graph_ = problem.known if validation is None else problem.graph
        self._scorer = HeuristicScorer(self.model, self.combined_graph_)
        self.embedding_, self.learned_graph_, self.points_, self.filling_ = None, None, None, None

    def predict_new(self, X: Any, pairs: Any, *, prior: Any = None) -> NDArray[np.float64]:
        """Return the probability of links between new nodes and fitted ones.

        Of new nodes only features are known; "refined" predicts their links, if it was fitted with
        features, by a regression that is learned on fitted nodes that lose all their links.

        Parameters
        ----------
        X : DataFrame, array-like or sparse matrix of shape (m, F)
            Features of the new nodes, the same columns as in `fit`.
        pairs : array-like of int, shape (n, 2)
            Row of X, number of a fitted node.
        prior : float, "balanced" or "sparse", optional
            As in `predict_proba`.

        Returns
        -------
        probabilities : ndarray of float64, shape (n,)
        """
        known, features = self._known_of_new_nodes(X)
        wanted = gate.pairs("pairs", pairs, max(features.shape[0], self.n_nodes_))
        gate.indices("rows of pairs", wanted[:, 0], features.shape[0])
        gate.indices("nodes of pairs", wanted[:, 1], self.n_nodes_)
        return self._probabilities(known.logits(features, wanted), prior)

    def suggest_new(self, X: Any, k: int = 10) -> pd.DataFrame:
        """Return the most probable partners of new nodes among the fitted ones.

        Looked at are the fitted nodes with the most similar features, 200 each by the features as
        they are, smoothed once over the graph, and twice.

        Parameters
        ----------
        X : DataFrame, array-like or sparse matrix of shape (m, F)
            As in `predict_new`.
        k : int, default=10
            Partners of each new node.

        Returns
        -------
        table : DataFrame
            Row by row, the best first. Columns row (of X), target (a fitted node), probability (of
            such suggestions for fitted nodes that lost all their links, the share that was right),
            uncertainty (its standard error) and shared_features (up to three, the rarest first).
        """
        import pandas as pd

        known, features = self._known_of_new_nodes(X)
        ranked = known.best(features, positive(k))
        return pd.DataFrame(
            {
                "row": ranked.pairs[:, 0],
                "target": ranked.pairs[:, 1],
                "probability": known.shares.counted(ranked.scores),
                "uncertainty": known.shares.counted_errors(ranked.scores),
                "shared_features": shared_features(ranked.pairs, features, self._features),
            }
        )

    def _known_of_new_nodes(self, X: Any) -> tuple[NewNodes, csr_array]:
        """Return what was learned of new nodes, when it is first needed, and their features."""
        check_is_fitted(self, "n_nodes_")
        if not isinstance(self._scorer, RefinedModel):
            raise InputError(f"model={self.model!r} knows fitted nodes only; use 'refined'.")
        if self._new_nodes is None:
            self._new_nodes = fit_new_nodes(self._scorer)
        assert self._features is not None
        shape = (None, self._features.shape[1])
        return self._new_nodes, csr_array(gate.table("X", new_points(X, self.plan_), shape=shape))

    def _train(self, model: LinkModel, problem: LinkProblem, seed: int, run: Run) -> LinkVectors:
        from truegraph.tasks.links.training import cached_file, train_links

        with run.stage(model.kind.name):
            found = train_links(model, problem, seed, run, samples=self.samples)
        file = cached_file(model, problem, seed, run)
        if file is not None and not file.exists():
            write_embedding(file, found.embedding)
        self.learned_graph_, self.points_, self.filling_ = None, None, None
        self.combined_graph_ = problem.graph
        return found


@dataclass(eq=False, repr=False)
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
        What the decoder should reconstruct: the combined graph, or the observed one alone.
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
    options, mask_hidden, held_out, prior, missing, samples, plan, random_state, device, cache, \
progress
        As in `LinkPredictor`.

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
        As in `LinkPredictor`.

    References
    ----------
    Pal et al., "Non-Parametric Graph Learning for Bayesian Graph Neural Networks", UAI 2020.
    """

    model: str = "vgae"
    _: KW_ONLY
    degree: float | None = None
    target: str = "combined"
    unobserved: str = "non-edges"
    weight_scale: str = "largest"
    candidate_ratio: float = 5.0
    embedding: Any = None
    scope: str = "candidates"
    solver: str = "newton"
    tol: float = 1e-6

    def _train(self, model: LinkModel, problem: LinkProblem, seed: int, run: Run) -> LinkVectors:
        from truegraph.tasks.links.algorithm2 import BayesianChoices, train_bayesian

        own = {choice.name: getattr(self, choice.name) for choice in fields(BayesianChoices)}
        choices = BayesianChoices(**own)
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
