"""What a fitted link predictor does: probabilities, uncertainty, suggestions."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from truegraph.data.storage import PathLike
from truegraph.errors import InputError
from truegraph.learning.learned import LearnedGraph
from truegraph.progress import console_progress
from truegraph.tasks.classify.methods import Run
from truegraph.tasks.links.calibration import Calibration, fit_calibration
from truegraph.tasks.links.completed_graph import Filling
from truegraph.tasks.links.problem import LinkProblem, check_pairs, open_link_problem, seed_from
from truegraph.tasks.links.search import LinkSearch, RankedPairs
from truegraph.tasks.links.training import (
    LinkModel,
    LinkVectors,
    fitting_settings,
    link_model,
)

if TYPE_CHECKING:
    import pandas as pd

_FEW_HELD_OUT = 50  # fewer held-out links calibrate only roughly


class LinkEstimator(BaseEstimator):
    """What both estimators share; subclasses say how to train."""

    model: str
    options: Any
    mask_hidden: bool | None
    held_out: float
    prior: Any
    samples: int
    random_state: Any
    device: str
    cache: PathLike | None
    progress: bool

    learned_graph_: LearnedGraph | None
    points_: NDArray[Any] | None
    combined_graph_: csr_array
    filling_: Filling | None
    _prepared: LinkSearch | None = None

    @abstractmethod
    def _train(self, model: LinkModel, problem: LinkProblem, seed: int, run: Run) -> LinkVectors:
        """Train, and set the attributes of the learned graph."""

    def fit(self, A: Any, X: Any = None, *, validation: Any = None, pairs: Any = None) -> Self:
        """Learn from the links that are known.

        Parameters
        ----------
        A : sparse matrix, NumPy array, NetworkX graph, PyG data or edge table
            The graph; direction and weights of links do not count.
        X : array-like or sparse matrix of shape (N, F), optional
            Features as they are. None: each node is its own feature, or on more than 20,000 nodes
            its degree is.
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
        chosen = link_model(self.model, self.options, self.mask_hidden)
        _check_prior(self.prior)
        problem = open_link_problem(A, X, validation, pairs, self.held_out, seed)
        with console_progress(self.progress) as progress:
            run = Run(self.device, self.cache, progress)
            for note in problem.notes:
                run.note(note)
            chosen = fitting_settings(chosen, problem, run)
            self._vectors = self._train(chosen, problem, seed, run)
        self._calibrate(problem, run)
        self._prepared = None
        self.embedding_ = self._vectors.embedding
        self._known, self.seed_ = problem.known, seed
        self.seconds_, self.notes_ = run.seconds, tuple(run.notes)
        return self

    def _calibrate(self, problem: LinkProblem, run: Run) -> None:
        links = self._vectors.logits(problem.links)
        self.calibration_: Calibration = fit_calibration(
            links, self._vectors.logits(problem.non_links)
        )
        nodes = problem.n_nodes
        unlinked = nodes * (nodes - 1) // 2 - problem.graph.nnz // 2
        self._sparse_prior = len(problem.links) / unlinked
        if len(problem.links) < _FEW_HELD_OUT:
            run.note(
                f"probabilities are calibrated on only {len(problem.links)} links; take their "
                "order, not their size, at face value"
            )
        if self.calibration_.slope == 0.0:
            run.note("scores do not tell held-out links from other pairs: do not trust them")

    def decision_function(self, pairs: Any) -> NDArray[np.float64]:
        """Return the logit that the decoder gives to pairs (n, 2), not calibrated, (n,)."""
        wanted = self._checked(pairs)
        return self._vectors.logits(wanted)

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
        """Return the standard deviation of a pair's probability over posterior draws, (n,).

        NaN for models without a posterior ("gae" and "graphite-ae").

        Parameters
        ----------
        pairs : array-like of int, shape (n, 2)
        prior : float, "balanced" or "sparse", optional
            As in `predict_proba`.
        """
        wanted = self._checked(pairs)
        if len(self._vectors.draws) == 0:
            return np.full(len(wanted), np.nan)
        return self._probabilities(self._vectors.drawn_logits(wanted), prior).std(axis=0)

    def suggest(self, k: int = 100, *, prior: Any = None) -> pd.DataFrame:
        """Return the most probable pairs among all that are not linked.

        They are found by nearest-neighbour search; no more than a few candidates per node are
        scored.

        Parameters
        ----------
        k : int, default=100
        prior : float, "balanced" or "sparse", optional
            As in `predict_proba`.

        Returns
        -------
        table : DataFrame
            Columns source, target (node numbers), probability and uncertainty, best first; fewer
            than k rows if there are fewer pairs.
        """
        check_is_fitted(self, "embedding_")
        return self._table(self._search().best(_positive(k)), prior)

    def suggest_for(self, node: int, k: int = 10, *, prior: Any = None) -> pd.DataFrame:
        """Return the most probable new partners of one node.

        Parameters
        ----------
        node : int
        k : int, default=10
        prior : float, "balanced" or "sparse", optional
            As in `predict_proba`.

        Returns
        -------
        table : DataFrame
            As of `suggest`, with the node as source.
        """
        check_is_fitted(self, "embedding_")
        nodes = len(self.embedding_)
        if not isinstance(node, int | np.integer) or not 0 <= node < nodes:
            raise InputError(f"node is {node!r}. Give a node number from 0 to {nodes - 1}.")
        return self._table(self._search().best_of(int(node), _positive(k)), prior)

    def _search(self) -> LinkSearch:
        if self._prepared is None:
            self._prepared = LinkSearch(self._vectors.vectors, self._known)
        return self._prepared

    def _table(self, ranked: RankedPairs, prior: Any) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame(
            {
                "source": ranked.pairs[:, 0],
                "target": ranked.pairs[:, 1],
                "probability": self.predict_proba(ranked.pairs, prior=prior),
                "uncertainty": self.uncertainty(ranked.pairs, prior=prior),
            }
        )

    def _checked(self, pairs: Any) -> NDArray[np.int64]:
        check_is_fitted(self, "embedding_")
        return check_pairs(pairs, len(self.embedding_), "pairs")

    def _probabilities(self, logits: NDArray[np.float64], prior: Any) -> NDArray[np.float64]:
        return self.calibration_.probabilities(logits, self._share(prior))

    @property
    def prior_(self) -> float:
        """Share of links among the pairs that probabilities are for."""
        check_is_fitted(self, "embedding_")
        return self._share(None)

    def _share(self, prior: Any) -> float:
        chosen = self.prior if prior is None else prior
        _check_prior(chosen)
        return float({"balanced": 0.5, "sparse": self._sparse_prior}.get(chosen, chosen))

    def save(self, folder: PathLike) -> None:
        """Write the fitted predictor to a folder: JSON and npz, no pickle."""
        from truegraph.tasks.links.saving import save_predictor

        check_is_fitted(self, "embedding_")
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
            f"prior is {prior!r}. Give a share of links between 0 and 1, 'balanced' or 'sparse'."
        )


def _positive(k: Any) -> int:
    if not isinstance(k, int | np.integer) or k < 1:
        raise InputError(f"k is {k!r}. Ask for at least one pair.")
    return int(k)
