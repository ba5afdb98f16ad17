"""Base class of the link predictors: fitting, probabilities, uncertainty, suggestions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from truegraph.data.columns.plan import ColumnPlan
from truegraph.data.columns.vectorising import take_features
from truegraph.data.storage import PathLike
from truegraph.errors import AnswerWarning, InputError, warn
from truegraph.extras import import_extra
from truegraph.learning.graph_advice import graph_advice
from truegraph.learning.learned import LearnedGraph
from truegraph.learning.search.distances import EmbeddingDistance
from truegraph.progress import console_progress
from truegraph.seeds import seed_from
from truegraph.tasks.base import Run, TakesSparse
from truegraph.tasks.links.calibration import Calibration, fit_calibration
from truegraph.tasks.links.completed_graph import Filling
from truegraph.tasks.links.problem import LinkProblem, check_pairs, open_link_problem
from truegraph.tasks.links.scorers import LinkScorer, suggester_of
from truegraph.tasks.links.suggesting.explanations import explain
from truegraph.tasks.links.suggesting.search import RankedPairs
from truegraph.tasks.links.suggesting.shares import check_false_share, check_missing
from truegraph.tasks.links.suggesting.suggestions import Suggester
from truegraph.tasks.links.vectors import LinkVectors
from truegraph.wording import counted

if TYPE_CHECKING:
    import pandas as pd

    from truegraph.tasks.links.refined.new_nodes import NewNodes
    from truegraph.tasks.links.training import LinkModel

_FEW_HELD_OUT = 50  # fewer held-out links calibrate only roughly


@dataclass(eq=False, repr=False, kw_only=True)
class LinkParameters:
    """Parameters that all link predictors have, see `LinkPredictor`."""

    options: Any = None
    mask_hidden: bool | None = None
    held_out: float = 0.05
    prior: Any = "balanced"
    missing: float = 0.1
    samples: int = 20
    plan: ColumnPlan | None = None
    random_state: Any = None
    device: str = "cpu"
    cache: PathLike | None = None
    progress: bool = False


class LinkEstimator(LinkParameters, TakesSparse, BaseEstimator):
    """Base class of the link predictors; subclasses say how to train."""

    model: str

    learned_graph_: LearnedGraph | None
    points_: NDArray[Any] | None
    combined_graph_: csr_array
    filling_: Filling | None
    embedding_: NDArray[np.float32] | None
    calibration_: Calibration
    _scorer: LinkScorer
    _suggester: Suggester | None = None
    _new_nodes: NewNodes | None = None

    @abstractmethod
    def _train(self, model: LinkModel, problem: LinkProblem, seed: int, run: Run) -> LinkVectors:
        """Train, and set the attributes of the learned graph."""

    def fit(self, A: Any, X: Any = None, *, validation: Any = None, pairs: Any = None) -> Self:
        """Learn from the links that are known.

        Parameters
        ----------
        A : sparse matrix, NumPy array, NetworkX graph, PyG data or edge table
            The graph; direction and weights of links do not count.
        X : DataFrame, array-like or sparse matrix of shape (N, F), optional
            Mixed columns of a DataFrame are vectorised by `plan`; arrays are taken as they are.
            None: each node is its own feature, or on more than 20,000 nodes its degree is.
        validation : pair of array-like of int, shapes (n, 2) and (m, 2), optional
            Links and non-links that are not in A, to choose an epoch (Graphite) and to calibrate
            probabilities. None: a share `held_out` of the links of A is set aside for this, with
            as many random pairs without a link, and is not trained on.
        pairs : array-like of int, shape (p, 2), optional
            Pairs that will be asked about, if that is known beforehand. Used by DGLFRM, whose
            authors leave them out of its loss, and with ``unobserved="pairs"``.

        Returns
        -------
        self
        """
        seed = seed_from(self.random_state)
        _check_prior(self.prior)
        check_missing(self.missing)
        X, self.plan_ = take_features(X, self.plan)
        with console_progress(self.progress) as progress:
            run = Run(self.device, self.cache, progress)
            self._fit(A, X, validation, pairs, seed, run)
        self._suggester, self.seed_ = None, seed
        self.seconds_, self.notes_ = run.seconds, tuple(run.notes)
        graph = self.learned_graph_
        # "refined" takes only a scale of distances from its graph.
        advice = [] if graph is None or self.filling_ is None else graph_advice(graph.adjacency)
        for message in [*run.alarms, *advice]:
            warn(message, AnswerWarning)
        return self

    def _fit(self, A: Any, X: Any, validation: Any, pairs: Any, seed: int, run: Run) -> None:
        """Train an auto-encoder, and calibrate it on held-out pairs."""
        import_extra("torch")
        from truegraph.tasks.links.training import fitting_settings, link_model

        chosen = link_model(self.model, self.options, self.mask_hidden)
        problem = open_link_problem(A, X, validation, pairs, self.held_out, seed)
        _tell(problem, run)
        vectors = self._train(fitting_settings(chosen, problem, run), problem, seed, run)
        self.embedding_ = vectors.embedding
        self._keep(vectors, problem)
        self._calibrate(problem, run)

    def _keep(self, scorer: LinkScorer, problem: LinkProblem) -> None:
        """Keep what predictions and suggestions need."""
        self._scorer, self._known, self._hidden = scorer, problem.known, problem.links
        self._features = problem.features if problem.features_from == "given" else None
        self.n_nodes_ = problem.n_nodes

    def _calibrate(self, problem: LinkProblem, run: Run) -> None:
        links, non_links = (self._scorer.logits(p) for p in (problem.links, problem.non_links))
        self.calibration_ = fit_calibration(links, non_links)
        self._sparse_prior = len(problem.links) / problem.n_unlinked
        if len(problem.links) < _FEW_HELD_OUT:
            run.note(
                f"probabilities are calibrated on only {counted(len(problem.links), 'link')}; take "
                "their order, not their size, at face value"
            )
        if self.calibration_.slope == 0.0:
            run.alarm(
                "scores do not tell held-out links from other pairs: do not trust them. Give more "
                "links, or features that have to do with them"
            )

    def decision_function(self, pairs: Any) -> NDArray[np.float64]:
        """Return the score that the model gives to pairs (n, 2), not calibrated, (n,)."""
        wanted = self._checked(pairs)
        return self._scorer.logits(wanted)

    def predict_proba(self, pairs: Any, *, prior: Any = None) -> NDArray[np.float64]:
        """Return the calibrated probability that pairs are linked.

        Parameters
        ----------
        pairs : array-like of int, shape (n, 2)
            Pairs of nodes, in either direction.
        prior : float, "balanced" or "sparse", optional
            Share of links among pairs like these, instead of the one given at construction.

        Returns
        -------
        probabilities : ndarray of float64, shape (n,)
        """
        return self._probabilities(self.decision_function(pairs), prior)

    def uncertainty(self, pairs: Any, *, prior: Any = None) -> NDArray[np.float64]:
        """Return the standard deviation of a pair's probability, (n,).

        Over posterior draws of an auto-encoder; of "refined" the standard error of its
        regression; NaN for models that have neither ("gae", "graphite-ae" and heuristics).

        Parameters
        ----------
        pairs : array-like of int, shape (n, 2)
        prior : float, "balanced" or "sparse", optional
            As in `predict_proba`.
        """
        wanted = self._checked(pairs)
        drawn = self._scorer.drawn_logits(wanted)
        if len(drawn):
            return self._probabilities(drawn, prior).std(axis=0)
        logits, errors = self._scorer.logits(wanted), self._scorer.errors(wanted)
        both = [self._probabilities(logits + sign * errors, prior) for sign in (1.0, -1.0)]
        return 0.5 * (both[0] - both[1])

    def suggest(
        self, k: int = 100, *, missing: float | None = None, false_share: float | None = None
    ) -> pd.DataFrame:
        """Return the most probable links among pairs that are not linked.

        Not all pairs are looked at: `searched_` says which were. A probability is the share of
        such suggestions that are right, counted by hiding links; a suggestion can be wrong by
        that count and still be a link that nobody has observed.

        Parameters
        ----------
        k : int, default=100
        missing : float, optional
            Share of the true links that the graph lacks, instead of the one given at
            construction. Probabilities grow with it; the order does not depend on it.
        false_share : float, optional
            Share of the suggestions that may be false: the longest list of up to k is returned
            whose share is bounded by it, perhaps an empty one. The bound is counted by hiding
            links and holds for links that are missing as if taken away at random, in the number
            that `missing` says.

        Returns
        -------
        table : DataFrame
            Best first; fewer than k rows if there are fewer pairs. Columns source and target
            (node numbers), probability, uncertainty (its standard error), and why:
            common_neighbours (how many), through (a list of up to three of them),
            shared_features (a list of up to three columns of X) and slack (of the learned graph,
            NaN without one).
        """
        ranked = self._suggestions().search.best(positive(k))
        if false_share is not None:
            ranked = self._few_false(ranked, missing, check_false_share(false_share))
        return self._table(ranked, missing)

    def _few_false(self, ranked: RankedPairs, missing: float | None, allowed: float) -> RankedPairs:
        """Return the longest beginning of a list in which the share of false ones is bounded."""
        share = check_missing(self.missing if missing is None else missing)
        bounds = self._suggestions().chances.false_shares(ranked, share)
        kept = int(np.max(np.flatnonzero(bounds <= allowed), initial=-1)) + 1
        if not kept and len(bounds):
            warn(
                f"no list of suggestions has a share of false ones bounded by {allowed:g}: the "
                f"lowest bound is {bounds.min():.2f}, if the graph lacks {share:g} of its links. "
                "Allow a larger share, or give missing= if it lacks more.",
                AnswerWarning,
            )
        return RankedPairs(ranked.pairs[:kept], ranked.scores[:kept])

    def suggest_for(self, node: int, k: int = 10, *, missing: float | None = None) -> pd.DataFrame:
        """Return the most probable new partners of one node.

        Parameters
        ----------
        node : int
        k : int, default=10
        missing : float, optional
            As in `suggest`.

        Returns
        -------
        table : DataFrame
            As in `suggest`, with the node as source.
        """
        check_is_fitted(self, "n_nodes_")
        nodes = self.n_nodes_
        if not isinstance(node, int | np.integer) or not 0 <= node < nodes:
            raise InputError(f"node={node!r} must be a node number from 0 to {nodes - 1}.")
        return self._table(self._suggestions().search.best_of(int(node), positive(k)), missing)

    def _suggestions(self) -> Suggester:
        """Return the search for suggestions, prepared when it is first needed."""
        check_is_fitted(self, "n_nodes_")
        if self._suggester is None:
            self._suggester = suggester_of(self._scorer, self._known, self._hidden)
        return self._suggester

    @property
    def searched_(self) -> str:
        """Which pairs `suggest` looks at."""
        return self._suggestions().searched

    def _table(self, ranked: RankedPairs, missing: float | None) -> pd.DataFrame:
        import pandas as pd

        share = check_missing(self.missing if missing is None else missing)
        chance, error = self._suggestions().chances.of(ranked, share)
        columns = {
            "source": ranked.pairs[:, 0],
            "target": ranked.pairs[:, 1],
            "probability": chance,
            "uncertainty": error,
        }
        reasons = explain(ranked.pairs, self._known, self._features, self._slack_score())
        return pd.DataFrame(columns | reasons)

    def _slack_score(self) -> Callable[[NDArray[np.int64]], NDArray[np.float64]] | None:
        """Return the slack in the learned graph as a function of pairs; None without a graph."""
        if self.learned_graph_ is None or self.points_ is None:
            return None
        graph, distance = self.learned_graph_, EmbeddingDistance(self.points_)
        return lambda pairs: graph.slack(pairs, distance)

    def _checked(self, pairs: Any) -> NDArray[np.int64]:
        check_is_fitted(self, "n_nodes_")
        return check_pairs(pairs, self.n_nodes_, "pairs")

    def _probabilities(self, logits: NDArray[np.float64], prior: Any) -> NDArray[np.float64]:
        return self.calibration_.probabilities(logits, self._share(prior))

    @property
    def prior_(self) -> float:
        """Share of links among the pairs that probabilities are for."""
        check_is_fitted(self, "n_nodes_")
        return self._share(None)

    def _share(self, prior: Any) -> float:
        chosen = self.prior if prior is None else prior
        _check_prior(chosen)
        return float({"balanced": 0.5, "sparse": self._sparse_prior}.get(chosen, chosen))

    def save(self, folder: PathLike) -> None:
        """Write the fitted predictor to a folder: JSON and npz, no pickle."""
        from truegraph.tasks.links.saving import save_predictor

        check_is_fitted(self, "n_nodes_")
        save_predictor(self, folder)

    @classmethod
    def load(cls, folder: PathLike) -> Self:
        """Read a predictor that `save` wrote; it predicts the same, bit for bit."""
        from truegraph.tasks.links.saving import load_predictor

        return load_predictor(cls, folder)


def _check_prior(prior: Any) -> None:
    is_number = isinstance(prior, int | float | np.number) and 0.0 < prior < 1.0
    if not is_number and prior not in ("balanced", "sparse"):
        raise InputError(
            f"prior={prior!r} must be a share of links between 0 and 1, 'balanced' or 'sparse'."
        )


def positive(k: Any) -> int:
    """Return how many pairs are asked for, if that can be."""
    if not isinstance(k, int | np.integer) or k < 1:
        raise InputError(f"k={k!r} must be a whole number of at least 1.")
    return int(k)


def _tell(problem: LinkProblem, run: Run) -> None:
    for note in problem.notes:
        run.note(note)
