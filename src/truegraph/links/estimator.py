"""Predict the missing links of a graph.

>>> import numpy as np
>>> from truegraph import LinkPredictor
>>> group = np.arange(60) % 3
>>> rng = np.random.default_rng(0)
>>> A = np.triu(rng.random((60, 60)) < np.where(group[:, None] == group, 0.3, 0.02), 1)
>>> predictor = LinkPredictor(random_state=0).fit(A.astype(float))
>>> predictor.predict_proba([(0, 3), (0, 4)]).shape
(2,)
>>> len(predictor.suggest(k=5))
5
"""

from __future__ import annotations

from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from truegraph import gate, saving
from truegraph.data.storage import PathLike
from truegraph.data.vectorising import new_points, take_features
from truegraph.errors import AnswerWarning, InputError, warn
from truegraph.extras import import_extra
from truegraph.fit_log import FitLog
from truegraph.learning.graph_advice import graph_advice
from truegraph.learning.learned import LearnedGraph
from truegraph.learning.search.distances import EmbeddingDistance
from truegraph.links.calibration import LinkCalibration, fit_calibration
from truegraph.links.columns import pair_columns
from truegraph.links.explanations import explain, shared_features
from truegraph.links.folds import folds_of
from truegraph.links.heuristics import Heuristic
from truegraph.links.names import AUTO, BAYESIAN, HEURISTICS, MODELS
from truegraph.links.new_nodes import NewNodes, fit_new_nodes
from truegraph.links.pair_model import PairModel, auto_options
from truegraph.links.problem import (
    LinkProblem,
    check_pairs,
    check_share,
    features_or_nodes,
    open_link_problem,
)
from truegraph.links.regression import fit_regression
from truegraph.links.search import RankedPairs
from truegraph.links.similarities import node_features
from truegraph.links.suggestions import Suggester
from truegraph.links.vectors import LinkVectors
from truegraph.options import checked_options
from truegraph.progress import console_progress
from truegraph.seeds import seed_from
from truegraph.suggestions import suggestion
from truegraph.wording import counted

if TYPE_CHECKING:
    import pandas as pd

    from truegraph.data.column_plan import ColumnPlan

#: Share of the links that auto-encoders and heuristics do not see: gae's own, of 85/5/10.
_HELD_OUT = {"held_out": 0.05}
_FEW_HELD_OUT = 50  # fewer held-out links calibrate only roughly
_MISSING = "the share of the true links that the graph lacks"
LinkModel = PairModel | LinkVectors | Heuristic
_FALSE = "the share of the suggestions that may be false"


@saving.savable
@dataclass(eq=False, repr=False)
class LinkPredictor(BaseEstimator):
    """Link prediction: a regression on scores of pairs, the paper's auto-encoders, or a heuristic.

    Parameters
    ----------
    model : str, default="auto"
        "auto": walks between two nodes, similarity of their features and their distance by local
        standards, weighed by a regression that is cross-fitted on the links. Auto-encoders: "gae",
        "vgae", "graphite-ae", "graphite-vae", "dglfrm"; with a b in front, as in "bvgae", their
        Bayesian versions: the auto-encoder embeds the nodes of the observed graph, the most
        probable graph given these embeddings fills in what was not observed, and the auto-encoder
        is trained again on both together. Heuristics: "common-neighbours", "adamic-adar",
        "resource-allocation", "personalised-pagerank", "katz" (the last two count walks of at most
        four steps).
    options : mapping, optional
        Of "auto": ``scale`` (the local scale of distances: "neighbours", the mean distance to
        nearest neighbours; "slack", that of a graph learned for every fold; "off"; "auto" is
        "neighbours" with features and "off" without), ``rank`` (128; dimensions of the reduced
        features, or of the vectors taken from a graph without features), ``folds`` (5),
        ``hidden`` (0.1; share of the links that is hidden to find out which suggestions are
        right).
        Of auto-encoders: those of the model's authors, such as ``epochs``, by default their
        values; ``held_out`` (0.05; share of the links set aside to calibrate probabilities and to
        choose an epoch, unless `fit` is given validation pairs), ``draws`` (20; from the
        posterior, for the uncertainty).
        Of Bayesian versions also: ``degree`` (edges per node of the learned graph; None: the mean
        degree of the training graph, at least 2), ``target`` (what the decoder reconstructs:
        "combined" or "observed"), ``unobserved`` (which entries learned weights may fill:
        "non-edges", or "pairs", those given to `fit`; the second is the paper's wording, but half
        of a test set's pairs are links, and nearly all learned edges among them are: do not report
        it as ordinary link prediction), ``embedding`` (points (N, d) whose distances count
        instead of the model's own embedding).
        Of heuristics: ``held_out``.
    prior : float, "balanced" or "sparse", default="balanced"
        Share of links among the pairs that probabilities are for. "balanced": half of them, as
        among evaluation pairs. "sparse": as many links are missing among all unlinked pairs as
        were held out.
    missing : float, default=0.1
        Share of the true links that the graph lacks, on which the probabilities of suggestions
        depend. The graph itself does not tell; the order of suggestions does not depend on it.
    plan : ColumnPlan, optional
        How the columns of a DataFrame become numbers; default ``ColumnPlan()``.
    random_state : int, RandomState instance or None, default=None
    device : str, default="cpu"
        A torch device, e.g. "cuda", for auto-encoders.
    cache : path-like, optional
        Folder of embeddings of base auto-encoders, which their Bayesian versions need again.
    progress : bool, default=False
        Whether to draw progress bars on standard error.

    Attributes
    ----------
    calibration_ : LinkCalibration
        Map from scores to log odds.
    learned_graph_ : LearnedGraph or None
        Of Bayesian versions, and of "auto" if its scale is the slack of a learned graph.
    points_ : ndarray of shape (N, d), or None
        The points that the learned graph, or the local scale, comes from.
    combined_graph_ : csr_array of shape (N, N)
        The graph that was trained on: of Bayesian versions the observed links with weight 1, and
        learned weights below.
    n_nodes_ : int
    notes_ : tuple of str
        What was chosen for the user.
    seconds_ : dict of str to float
        Seconds per stage of the fit.

    References
    ----------
    Pal et al., "Non-Parametric Graph Learning for Bayesian Graph Neural Networks", UAI 2020.
    """

    model: str = AUTO
    _: KW_ONLY
    options: Any = None
    prior: Any = "balanced"
    missing: float = 0.1
    plan: ColumnPlan | None = None
    random_state: Any = None
    device: str = "cpu"
    cache: PathLike | None = None
    progress: bool = False

    _unsaved = ("_suggester", "_new_nodes")

    def fit(self, graph: Any, X: Any = None, *, validation: Any = None, pairs: Any = None) -> Self:
        """Learn from the links that are known.

        Parameters
        ----------
        graph : sparse matrix, NumPy array, NetworkX graph, PyG data or edge table
            Directions of links do not count; weights count for "auto" alone.
        X : DataFrame, array-like or sparse matrix of shape (N, F), optional
            Mixed columns of a DataFrame are vectorised by `plan`; arrays are taken as they are.
            None: "auto" takes vectors from the graph; for auto-encoders each node is its own
            feature, or on more than 20,000 nodes its degree is.
        validation : pair of array-like of int, shapes (n, 2) and (m, 2), optional
            Links and non-links that are not in the graph, to choose an epoch (Graphite), to
            calibrate probabilities and to count which suggestions are right. None: auto-encoders
            and heuristics set a share of the links aside for this, with as many random pairs
            without a link, and do not train on them.
        pairs : array-like of int, shape (p, 2), optional
            Pairs that will be asked about, if that is known beforehand. Used by DGLFRM, whose
            authors leave them out of its loss, and with ``unobserved="pairs"``.

        Returns
        -------
        self
        """
        if self.model not in MODELS:
            raise InputError(f"unknown model {self.model!r}.{suggestion(self.model, MODELS)}")
        seed = seed_from(self.random_state)
        _check_prior(self.prior)
        check_share("missing", self.missing, _MISSING)
        X, self.plan_ = take_features(X, self.plan)
        self.learned_graph_: LearnedGraph | None = None
        self.points_: NDArray[Any] | None = None
        with console_progress(self.progress) as progress:
            log = FitLog(progress)
            if self.model == AUTO:
                self._fit_auto(graph, X, validation, seed, log)
            elif self.model in HEURISTICS:
                self._fit_heuristic(graph, X, validation, seed, log)
            else:
                self._fit_autoencoder(graph, X, validation, pairs, seed, log)
        self._suggester: Suggester | None = None
        self._new_nodes: NewNodes | None = None
        self.seed_, self.seconds_, self.notes_ = seed, log.seconds, tuple(log.notes)
        advice: list[str] = []
        if self.model in BAYESIAN and self.learned_graph_ is not None:
            advice = graph_advice(self.learned_graph_.adjacency)
        for message in [*log.alarms, *advice]:
            warn(message, AnswerWarning)
        return self

    def _fit_auto(self, graph: Any, X: Any, validation: Any, seed: int, log: FitLog) -> None:
        """Weigh scores of pairs by a regression; `PairModel.suggester` later counts its shares."""
        options = auto_options(self.options, X is not None)
        problem = open_link_problem(graph, X, validation, None, seed, log)
        features = None
        if problem.features is not None:
            with log.stage("features"):
                features = node_features(problem.features, options["rank"], seed)
        with log.stage(AUTO):
            # A link's scores on a graph that holds it say little about links that are missing: the
            # links of a fold, and random pairs, are scored on the graph without the fold.
            table, truth = [], []
            folds = folds_of(problem.graph, problem.known, options["folds"], seed)
            for rest, links, non_links in folds:
                columns = pair_columns(rest, features, options, seed)
                table.append(columns.of(np.concatenate([links, non_links])))
                truth.append(np.repeat([True, False], [len(links), len(non_links)]))
            is_link = np.concatenate(truth)
            if is_link.all():
                raise InputError(
                    "the graph has no pairs without a link to learn from; give one that is not "
                    "complete."
                )
            regression = fit_regression(np.concatenate(table), is_link)
            # New pairs are scored on the whole training graph.
            columns = pair_columns(problem.graph, features, options, seed)
            model = PairModel(columns, regression, features, options, seed)
        log.note(model.describe())
        self._keep(model, problem, problem.graph)
        if columns.scale is not None:
            self.learned_graph_, self.points_ = columns.scale.graph, columns.scale.points
        self.calibration_ = LinkCalibration(1.0, 0.0)
        missing = self.missing / (1.0 - self.missing) * (problem.graph.nnz // 2)
        self._sparse_prior = missing / problem.n_unlinked

    def _fit_heuristic(self, graph: Any, X: Any, validation: Any, seed: int, log: FitLog) -> None:
        """Calibrate a heuristic on held-out links, then give it these too."""
        share = checked_options(_HELD_OUT, self.options)["held_out"]
        problem = open_link_problem(graph, X, validation, None, seed, log, held_out=share)
        self._calibrate(Heuristic(self.model, problem.graph), problem, log)
        whole = problem.known if validation is None else problem.graph
        self._keep(Heuristic(self.model, whole), problem, whole)

    def _fit_autoencoder(
        self, graph: Any, X: Any, validation: Any, pairs: Any, seed: int, log: FitLog
    ) -> None:
        """Train an auto-encoder, by Algorithm 2 if it is Bayesian, and calibrate it."""
        import_extra("torch")
        from truegraph.paper.algorithm2 import CHOICES, algorithm2
        from truegraph.paper.autoencoders import LinkTask, network_options

        is_bayesian = self.model in BAYESIAN
        name, more = self.model[1:] if is_bayesian else self.model, CHOICES if is_bayesian else {}
        options = network_options(name, self.options, _HELD_OUT | more)
        share = options.held_out
        problem = open_link_problem(graph, X, validation, pairs, seed, log, held_out=share)
        task = LinkTask(
            name,
            options,
            features_or_nodes(problem, log),
            problem.features is not None,
            problem.graph,
            (problem.links, problem.non_links),
            problem.hidden_pairs(),
            seed,
            self.device,
        )
        combined = problem.graph
        if is_bayesian:
            found = algorithm2(task, log, asked=problem.asked, cache=self.cache)
            trained, self.points_, self.learned_graph_, combined = found
        else:
            trained = task.base_model(log, self.cache)
        model = LinkVectors(*trained)
        self._keep(model, problem, combined)
        self._calibrate(model, problem, log)

    def _keep(self, model: LinkModel, problem: LinkProblem, graph: csr_array) -> None:
        """Keep what predictions and suggestions need."""
        self._model, self._known, self._hidden = model, problem.known, problem.links
        self._features, self.combined_graph_ = problem.features, graph
        self.n_nodes_ = int(problem.graph.shape[0])

    def _calibrate(self, model: LinkModel, problem: LinkProblem, log: FitLog) -> None:
        links, non_links = (model.logits(p) for p in (problem.links, problem.non_links))
        self.calibration_ = fit_calibration(links, non_links)
        self._sparse_prior = len(problem.links) / problem.n_unlinked
        if len(problem.links) < _FEW_HELD_OUT:
            log.note(
                f"probabilities are calibrated on only {counted(len(problem.links), 'link')}; take "
                "their order, not their size, at face value"
            )
        if self.calibration_.slope == 0.0:
            log.alarm(
                "scores do not tell held-out links from other pairs: do not trust them. Give more "
                "links, or features that have to do with them"
            )

    # --- pairs ------------------------------------------------------------------------------------

    @property
    def embedding_(self) -> NDArray[np.float32] | None:
        """Vectors of the nodes, (N, d): of auto-encoders the posterior mean; None of heuristics."""
        check_is_fitted(self, "n_nodes_")
        return self._model.embedding

    def decision_function(self, pairs: Any) -> NDArray[np.float64]:
        """Return the score that the model gives to pairs (n, 2), not calibrated, (n,)."""
        wanted = self._checked(pairs)
        return self._model.logits(wanted)

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

        Of "auto" the standard error of its regression; of auto-encoders over posterior draws; NaN
        for models that have neither ("gae", "graphite-ae" and heuristics).

        Parameters
        ----------
        pairs : array-like of int, shape (n, 2)
        prior : float, "balanced" or "sparse", optional
            As in `predict_proba`.
        """
        wanted = self._checked(pairs)
        return self._model.spread(wanted, lambda logits: self._probabilities(logits, prior))

    def slack(self, pairs: Any) -> NDArray[np.float64]:
        """Return how far pairs are from having no edge in the learned graph, (n,).

        A score of links beside `decision_function`: the weight of a learned edge, and a negative
        number for other pairs, the smaller the farther they are from having one.

        Parameters
        ----------
        pairs : array-like of int, shape (n, 2)
        """
        wanted = self._checked(pairs)
        if self.learned_graph_ is None or self.points_ is None:
            raise InputError(
                f"model={self.model!r} learned no graph; use a Bayesian auto-encoder such as "
                "'bvgae', or 'auto' with options={'scale': 'slack'}."
            )
        return self.learned_graph_.slack(wanted, EmbeddingDistance(self.points_))

    @property
    def prior_(self) -> float:
        """Share of links among the pairs that probabilities are for."""
        check_is_fitted(self, "n_nodes_")
        return self._share(None)

    def _checked(self, pairs: Any) -> NDArray[np.int64]:
        check_is_fitted(self, "n_nodes_")
        return check_pairs(pairs, self.n_nodes_, "pairs")

    def _probabilities(self, logits: NDArray[np.float64], prior: Any) -> NDArray[np.float64]:
        return self.calibration_.probabilities(logits, self._share(prior))

    def _share(self, prior: Any) -> float:
        chosen = self.prior if prior is None else prior
        _check_prior(chosen)
        return float({"balanced": 0.5, "sparse": self._sparse_prior}.get(chosen, chosen))

    # --- suggestions ------------------------------------------------------------------------------

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
            shared_features (a list of up to three columns of X) and, where a graph was learned,
            slack (see the method).
        """
        ranked = self._suggestions().search.best(_checked_count(k))
        if false_share is not None:
            allowed = check_share("false_share", false_share, _FALSE)
            ranked = self._few_false(ranked, missing, allowed)
        return self._table(ranked, missing)

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
        ranked = self._suggestions().search.best_of(int(node), _checked_count(k))
        return self._table(ranked, missing)

    @property
    def searched_(self) -> str:
        """Which pairs `suggest` looks at."""
        return self._suggestions().searched

    def _suggestions(self) -> Suggester:
        """Return the search for suggestions, prepared when it is first needed."""
        check_is_fitted(self, "n_nodes_")
        if self._suggester is None:
            self._suggester = self._model.suggester(self._known, self._hidden)
        return self._suggester

    def _few_false(self, ranked: RankedPairs, missing: float | None, allowed: float) -> RankedPairs:
        """Return the longest beginning of a list in which the share of false ones is bounded."""
        share = self._missing_share(missing)
        bounds = self._suggestions().shares.false_shares(ranked.scores, share)
        kept = int(np.max(np.flatnonzero(bounds <= allowed), initial=-1)) + 1
        if not kept and len(bounds):
            warn(
                f"no list of suggestions has a share of false ones bounded by {allowed:g}: the "
                f"lowest bound is {bounds.min():.2f}, if the graph lacks {share:g} of its links. "
                "Allow a larger share, or give missing= if it lacks more.",
                AnswerWarning,
            )
        return RankedPairs(ranked.pairs[:kept], ranked.scores[:kept])

    def _missing_share(self, missing: float | None) -> float:
        return check_share("missing", self.missing if missing is None else missing, _MISSING)

    def _table(self, ranked: RankedPairs, missing: float | None) -> pd.DataFrame:
        import pandas as pd

        chance, error = self._suggestions().chances(ranked, self._missing_share(missing))
        columns = {
            "source": ranked.pairs[:, 0],
            "target": ranked.pairs[:, 1],
            "probability": chance,
            "uncertainty": error,
            **explain(ranked.pairs, self._known, self._features),
        }
        if self.learned_graph_ is not None:
            columns["slack"] = self.slack(ranked.pairs)
        return pd.DataFrame(columns)

    # --- new nodes --------------------------------------------------------------------------------

    def predict_new(self, X: Any, pairs: Any, *, prior: Any = None) -> NDArray[np.float64]:
        """Return the probability of links between new nodes and fitted ones.

        Of new nodes only features are known; "auto" predicts their links, if it was fitted with
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
        ranked = known.best(features, _checked_count(k))
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
        if not isinstance(self._model, PairModel):
            raise InputError(f"model={self.model!r} knows fitted nodes only; use 'auto'.")
        if self._new_nodes is None:
            self._new_nodes = fit_new_nodes(self._model)
        assert self._features is not None
        shape = (None, self._features.shape[1])
        return self._new_nodes, csr_array(gate.table("X", new_points(X, self.plan_), shape=shape))

    # --- on disk ----------------------------------------------------------------------------------

    def save(self, folder: PathLike) -> None:
        """Write the fitted predictor to a folder: JSON and npz, no pickle."""
        check_is_fitted(self, "n_nodes_")
        plain = copy(self)
        plain.random_state, plain.plan = self.seed_, None
        saving.save(plain, folder)

    @classmethod
    def load(cls, folder: PathLike) -> Self:
        """Read a predictor that `save` wrote; it predicts the same, bit for bit."""
        return saving.load(cls, folder)

    def _check_saved(self) -> None:
        nodes = self.n_nodes_
        for name in ("_known", "combined_graph_"):
            gate.sparse_matrix(name, getattr(self, name), shape=(nodes, nodes))
        if self._features is not None:
            gate.sparse_matrix("_features", self._features, shape=(nodes, None))
        gate.pairs("_hidden", self._hidden, nodes)
        if self.learned_graph_ is not None and self.learned_graph_.n_nodes != nodes:
            raise InputError(f"its learned graph has {self.learned_graph_.n_nodes} nodes")
        kinds: dict[str, Any] = {
            "_model": (PairModel, LinkVectors, Heuristic),
            "calibration_": LinkCalibration,
        }
        for name, kind in kinds.items():
            if not isinstance(getattr(self, name), kind):
                raise InputError(f"{name} has type {type(getattr(self, name)).__name__}")
        if self.embedding_ is not None and len(self.embedding_) != nodes:
            raise InputError(f"its embedding has {len(self.embedding_)} nodes")

    def _after_load(self) -> None:
        self._suggester = self._new_nodes = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _check_prior(prior: Any) -> None:
    is_number = isinstance(prior, int | float | np.number) and 0.0 < prior < 1.0
    if not is_number and prior not in ("balanced", "sparse"):
        raise InputError(
            f"prior={prior!r} must be a share of links between 0 and 1, 'balanced' or 'sparse'."
        )


def _checked_count(k: Any) -> int:
    if not isinstance(k, int | np.integer) or k < 1:
        raise InputError(f"k={k!r} must be a whole number of at least 1.")
    return int(k)
