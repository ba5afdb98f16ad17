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

from collections.abc import Mapping
from copy import copy
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from truegraph import gate, saving
from truegraph.data.identifiers import row_names
from truegraph.data.storage import PathLike
from truegraph.data.vectorising import is_table, new_points, take_features
from truegraph.errors import AnswerWarning, InputError, warn
from truegraph.extras import import_extra
from truegraph.fit_log import FitLog
from truegraph.learning.learned import LearnedGraph
from truegraph.learning.learner import graph_advice
from truegraph.learning.search.distances import EmbeddingDistance
from truegraph.links.columns import node_features
from truegraph.links.heuristics import Heuristic
from truegraph.links.names import AUTO, BAYESIAN, HEURISTICS, MODELS
from truegraph.links.pair_model import NewNodes, PairModel, auto_options, fit_pair_model
from truegraph.links.problem import (
    check_count,
    check_pairs,
    check_prior,
    check_share,
    features_or_nodes,
    is_directed,
    named_graph,
    numbered,
    open_link_problem,
    pairs_to_mask,
    unlinked_pairs,
)
from truegraph.links.regression import LinkCalibration, fit_calibration
from truegraph.links.suggestions import Ranked, Suggester, explain, shared_features
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
_FALSE = "the share of the suggestions that may be false"
_PRIORS = {"balanced": 0.5}


@saving.savable
class LinkPredictor(BaseEstimator):
    """Link prediction: a regression on scores of pairs, the paper's auto-encoders, or a heuristic.

    Auto-encoders follow Kipf and Welling, 2016; their Bayesian versions are Algorithm 2 of Pal et
    al., UAI 2020. The page "Options of the models" has their options.

    Parameters
    ----------
    model : str, default="auto"
        "auto": walks between two nodes, similarity of their features and their distance by local
        standards, weighed by a regression that is cross-fitted on the links. Auto-encoders: "gae",
        "vgae", "graphite-ae", "graphite-vae", "dglfrm"; with a b in front, as in "bvgae", trained
        again on the observed links and the most probable graph given their first embedding.
        Heuristics: "common-neighbours", "adamic-adar", "resource-allocation", and, of walks of at
        most four steps, "personalised-pagerank" and "katz".
    options : mapping, optional
        Of "auto": ``scale`` (of distances: "neighbours", the mean distance to nearest neighbours;
        "slack", that of a graph learned for every fold; "off"; "auto" is "neighbours" with
        features and "off" without), ``rank`` (128; dimensions of reduced features, or of vectors
        taken from the graph), ``folds`` (5), ``hidden`` (0.1; share of the links that is hidden to
        find out which suggestions are right). Of auto-encoders: their authors', such as
        ``epochs``; ``held_out`` (0.05; share of the links set aside to calibrate probabilities and
        to choose an epoch; also of heuristics), ``draws`` (20; from the posterior, for the
        uncertainty). Of Bayesian versions also: ``degree`` (edges per node of the learned graph;
        None: that of the training graph, at least 2), ``target`` (what the decoder reconstructs:
        "combined" or "observed"), ``unobserved`` (what learned weights may fill: "non-edges", or
        "pairs", those given to `fit`, which must not be reported as ordinary link prediction),
        ``embedding`` (points (N, d) instead of the model's own).
    prior : float, "balanced" or "sparse", default="balanced"
        Share of links among the pairs that probabilities are for. "balanced": half of them.
        "sparse": as many links are missing among all unlinked pairs as were held out.
    missing : float, default=0.1
        Share of the true links that the graph lacks: an assumption, on which the probabilities of
        suggestions depend, but not their order.
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
        What was trained on: of Bayesian versions links with weight 1, and learned weights below.
    n_nodes_ : int
    node_names_ : tuple, or None
        Names of the nodes, from the graph or the index of X: suggestions name them, and pairs may.
    notes_ : tuple of str
        What was chosen for the user.
    seconds_ : dict of str to float
        Seconds per stage of the fit.

    References
    ----------
    Pal et al., "Non-Parametric Graph Learning for Bayesian Graph Neural Networks", UAI 2020.
    """

    _unsaved = ("_suggester", "_new_nodes")

    def __init__(
        self,
        model: str = AUTO,
        *,
        options: Mapping[str, Any] | None = None,
        prior: Any = "balanced",
        missing: float = 0.1,
        plan: ColumnPlan | None = None,
        random_state: Any = None,
        device: str = "cpu",
        cache: PathLike | None = None,
        progress: bool = False,
    ) -> None:
        self.model = model
        self.options = options
        self.prior = prior
        self.missing = missing
        self.plan = plan
        self.random_state = random_state
        self.device = device
        self.cache = cache
        self.progress = progress

    def fit(self, graph: Any, X: Any = None, *, validation: Any = None, pairs: Any = None) -> Self:
        """Learn from the links that are known.

        Parameters
        ----------
        graph : sparse matrix, NumPy array, NetworkX or igraph graph, PyG data or edge table
            Directions of links do not count; weights count for "auto" alone.
        X : DataFrame, array-like or sparse matrix of shape (N, F), optional
            A DataFrame is vectorised by `plan`, and matched with the graph by name if its index
            names the nodes; arrays are taken as they are. None: "auto" takes vectors from the
            graph; for auto-encoders each node is its own feature, or from 20,000 nodes its degree.
        validation : pair of array-like, shapes (n, 2) and (m, 2), optional
            Links and non-links that are not in the graph, to choose an epoch (Graphite), to
            calibrate and to count which suggestions are right. None: auto-encoders and heuristics
            hold a share of the links out for this, with as many random pairs without a link.
        pairs : array-like, shape (p, 2), optional
            Pairs that will be asked about: DGLFRM leaves them out of its loss.

        Returns
        -------
        self
        """
        if self.model not in MODELS:
            raise InputError(f"unknown model {self.model!r}.{suggestion(self.model, MODELS)}")
        self.seed_ = seed_from(self.random_state)
        check_prior(self.prior, _PRIORS | {"sparse": 0.5})
        check_share("missing", self.missing, _MISSING)
        rows = row_names(X) if X is not None and is_table(X) else None
        points, self.plan_ = take_features(X, self.plan)
        links, self.node_names_ = named_graph(graph, rows, points)
        self.learned_graph_: LearnedGraph | None = None
        self.points_: Any = None
        if self.node_names_ is not None and isinstance(validation, tuple | list):
            validation = [numbered(part, self.node_names_, "validation") for part in validation]
        with console_progress(self.progress) as progress:
            log = FitLog(progress)
            if is_directed(graph):
                log.note("directions of links are not used: every link counts both ways")
            if self.model == AUTO:
                self._fit_auto(links, points, validation, log)
            elif self.model in HEURISTICS:
                self._fit_heuristic(links, points, validation, log)
            else:
                self._fit_autoencoder(links, points, validation, pairs, log)
        self._suggester: Suggester | None = None
        self._new_nodes: NewNodes | None = None
        self.seconds_, self.notes_ = log.seconds, tuple(log.notes)
        advice: list[str] = []
        if self.model in BAYESIAN and self.learned_graph_ is not None:
            advice = graph_advice(self.learned_graph_.adjacency)
        for message in [*log.alarms, *advice]:
            warn(message, AnswerWarning)
        return self

    def _fit_auto(self, links: csr_array, X: Any, validation: Any, log: FitLog) -> None:
        """Weigh scores of pairs by a regression; `PairModel.suggester` later counts its shares."""
        options, seed = auto_options(self.options, X is not None), self.seed_
        problem = open_link_problem(links, X, validation, seed, log)
        X, known, graph, (hidden, _) = problem
        with log.stage(AUTO):
            features = None if X is None else node_features(X, options["rank"], seed)
            model = fit_pair_model(graph, known, features, options, seed)
        log.note(model.describe())
        self._keep(model, known, hidden, X, graph)
        if model.columns.scale is not None:
            self.learned_graph_ = model.columns.scale.graph
            self.points_ = model.columns.scale.points
        self.calibration_ = LinkCalibration(1.0, 0.0)
        missing = self.missing / (1.0 - self.missing) * (graph.nnz // 2)
        self._sparse_prior = missing / unlinked_pairs(graph)

    def _fit_heuristic(self, links: csr_array, X: Any, validation: Any, log: FitLog) -> None:
        """Calibrate a heuristic on held-out links, then give it these too."""
        share = checked_options(_HELD_OUT, self.options)["held_out"]
        problem = open_link_problem(links, X, validation, self.seed_, log, held_out=share)
        X, known, graph, held_out = problem
        self._calibrate(Heuristic(self.model, graph), held_out, graph, log)
        whole = known if validation is None else graph
        self._keep(Heuristic(self.model, whole), known, held_out[0], X, whole)

    def _fit_autoencoder(
        self, links: csr_array, X: Any, validation: Any, pairs: Any, log: FitLog
    ) -> None:
        """Train an auto-encoder, by Algorithm 2 if it is Bayesian, and calibrate it."""
        import_extra("torch")
        from truegraph.paper.algorithm2 import CHOICES, algorithm2
        from truegraph.paper.autoencoders import LinkTask, network_options

        is_bayesian = self.model in BAYESIAN
        name, more = self.model[1:] if is_bayesian else self.model, CHOICES if is_bayesian else {}
        options, seed = network_options(name, self.options, _HELD_OUT | more), self.seed_
        problem = open_link_problem(links, X, validation, seed, log, held_out=options.held_out)
        X, known, graph, held_out = problem
        nodes, asked = graph.shape[0], None
        if pairs is not None:
            asked = check_pairs(numbered(pairs, self.node_names_, "pairs"), nodes, "pairs")
        masked = np.concatenate([*held_out, *([] if asked is None else [asked])])
        task = LinkTask(
            name,
            options,
            features_or_nodes(X, graph, log),
            X is not None,
            graph,
            held_out,
            pairs_to_mask(np.sort(masked, axis=1), nodes),
            seed,
            self.device,
        )
        combined = graph
        if is_bayesian:
            found = algorithm2(task, log, asked=asked, cache=self.cache)
            trained, self.points_, self.learned_graph_, combined = found
        else:
            trained = task.base_model(log, self.cache)
        model = LinkVectors(*trained)
        self._keep(model, known, held_out[0], X, combined)
        self._calibrate(model, held_out, graph, log)

    def _keep(
        self, model: Any, known: csr_array, hidden: Any, features: Any, graph: csr_array
    ) -> None:
        """Keep what predictions and suggestions need."""
        self._model, self._known, self._hidden = model, known, hidden
        self._features, self.combined_graph_ = features, graph
        self.n_nodes_ = int(known.shape[0])

    def _calibrate(self, model: Any, held_out: Any, graph: csr_array, log: FitLog) -> None:
        links = held_out[0]
        self.calibration_ = fit_calibration(*(model.logits(pairs) for pairs in held_out))
        self._sparse_prior = len(links) / unlinked_pairs(graph)
        if len(links) < _FEW_HELD_OUT:
            log.note(
                f"probabilities are calibrated on only {counted(len(links), 'link')}; take "
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

    def _checked(self, pairs: Any) -> NDArray[np.int64]:
        check_is_fitted(self, "n_nodes_")
        return check_pairs(numbered(pairs, self.node_names_, "pairs"), self.n_nodes_, "pairs")

    def _probabilities(self, logits: NDArray[np.float64], prior: Any) -> NDArray[np.float64]:
        return self.calibration_.probabilities(logits, self._share(prior))

    def _share(self, prior: Any) -> float:
        named = _PRIORS | {"sparse": self._sparse_prior}
        return check_prior(self.prior if prior is None else prior, named)

    # --- suggestions ------------------------------------------------------------------------------

    def suggest(
        self, k: int = 100, *, missing: float | None = None, false_share: float | None = None
    ) -> pd.DataFrame:
        """Return the most probable links among pairs that are not linked.

        Not all pairs are looked at: `searched_` says which were. A probability is the share of
        such suggestions that are right, counted by hiding links.

        Parameters
        ----------
        k : int, default=100
        missing : float, optional
            Instead of the share given at construction.
        false_share : float, optional
            Share of the suggestions that may be false: the longest list of up to k is returned
            whose share is bounded by it, perhaps an empty one. The bound holds for links that are
            missing as if taken away at random, in the number that `missing` says.

        Returns
        -------
        table : DataFrame
            Best first; fewer than k rows if there are fewer pairs. Columns source and target
            (names or numbers of nodes), probability, uncertainty (its standard error), and why:
            common_neighbours (how many), through (up to three of them), shared_features (up to
            three columns of X) and, where a graph was learned, slack (see the method).
        """
        ranked = self._suggestions().search.best(check_count(k))
        if false_share is not None:
            allowed = check_share("false_share", false_share, _FALSE)
            ranked = self._few_false(ranked, missing, allowed)
        return self._table(ranked, missing)

    def suggest_for(self, node: Any, k: int = 10, *, missing: float | None = None) -> pd.DataFrame:
        """Return the most probable new partners of one node.

        Parameters
        ----------
        node : int, or the name of a node
        k : int, default=10
        missing : float, optional
            As in `suggest`.

        Returns
        -------
        table : DataFrame
            As in `suggest`, with the node as source.
        """
        check_is_fitted(self, "n_nodes_")
        number = node
        if self.node_names_ is not None:
            ((number,),) = numbered([[node]], self.node_names_, "node")
        nodes = self.n_nodes_
        if not isinstance(number, int | np.integer) or not 0 <= number < nodes:
            raise InputError(f"node={node!r} must be a node number from 0 to {nodes - 1}.")
        ranked = self._suggestions().search.best_of(int(number), check_count(k))
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

    def _few_false(self, ranked: Ranked, missing: float | None, allowed: float) -> Ranked:
        """Return the longest beginning of a list in which the share of false ones is bounded."""
        (pairs, scores), share = ranked, self._missing_share(missing)
        bounds = self._suggestions().shares.false_shares(scores, share)
        kept = int(np.max(np.flatnonzero(bounds <= allowed), initial=-1)) + 1
        if not kept and len(bounds):
            warn(
                f"no list of suggestions has a share of false ones bounded by {allowed:g}: the "
                f"lowest bound is {bounds.min():.2f}, if the graph lacks {share:g} of its links. "
                "Allow a larger share, or give missing= if it lacks more.",
                AnswerWarning,
            )
        return pairs[:kept], scores[:kept]

    def _missing_share(self, missing: float | None) -> float:
        return check_share("missing", self.missing if missing is None else missing, _MISSING)

    def _table(self, ranked: Ranked, missing: float | None) -> pd.DataFrame:
        import pandas as pd

        pairs = ranked[0]
        chance, error = self._suggestions().chances(ranked, self._missing_share(missing))
        reasons = explain(pairs, self._known, self._features)
        if self.node_names_ is not None:
            names = self.node_names_
            reasons["through"] = [[names[node] for node in row] for row in reasons["through"]]
        columns = {
            "source": self._named(pairs[:, 0]),
            "target": self._named(pairs[:, 1]),
            "probability": chance,
            "uncertainty": error,
            **reasons,
        }
        if self.learned_graph_ is not None:
            points = EmbeddingDistance(self.points_)
            columns["slack"] = self.learned_graph_.slack(pairs, points)
        return pd.DataFrame(columns)

    def _named(self, nodes: NDArray[np.int64]) -> Any:
        """Return the names of nodes, if they have some, as a column of a table."""
        if self.node_names_ is None:
            return nodes
        import pandas as pd

        return pd.Index(self.node_names_, tupleize_cols=False).take(nodes)

    # --- new nodes --------------------------------------------------------------------------------

    def predict_new(self, X: Any, pairs: Any, *, prior: Any = None) -> NDArray[np.float64]:
        """Return the probability of links between new nodes and fitted ones.

        "auto" predicts them from features, as learned on fitted nodes that lose all their links.

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
        if self.node_names_ is not None:
            ends = numbered([[node] for _, node in pairs], self.node_names_, "pairs")
            pairs = [(row, node) for (row, _), (node,) in zip(pairs, ends, strict=True)]
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
        pairs, scores = known.best(features, check_count(k))
        share, error = known.shares.counted(scores)
        return pd.DataFrame(
            {
                "row": pairs[:, 0],
                "target": self._named(pairs[:, 1]),
                "probability": share,
                "uncertainty": error,
                "shared_features": shared_features(pairs, features, self._features),
            }
        )

    def _known_of_new_nodes(self, X: Any) -> tuple[NewNodes, csr_array]:
        """Return what was learned of new nodes, when it is first needed, and their features."""
        check_is_fitted(self, "n_nodes_")
        if not isinstance(self._model, PairModel):
            raise InputError(f"model={self.model!r} knows fitted nodes only; use 'auto'.")
        if self._new_nodes is None:
            self._new_nodes = NewNodes(self._model)
        assert self._features is not None
        shape = (None, self._features.shape[1])
        return self._new_nodes, csr_array(gate.table("X", new_points(X, self.plan_), shape=shape))

    # --- on disk ----------------------------------------------------------------------------------

    def save(self, folder: PathLike) -> None:
        """Write the fitted predictor to a folder: JSON and npz, no pickle."""
        check_is_fitted(self, "n_nodes_")
        plain = copy(self)
        plain.random_state = self.seed_
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
        if not isinstance(self._model, PairModel | LinkVectors | Heuristic):
            raise InputError(f"its model has type {type(self._model).__name__}")
        if not isinstance(self.calibration_, LinkCalibration):
            raise InputError(f"its calibration has type {type(self.calibration_).__name__}")
        learned = None if self.learned_graph_ is None else self.learned_graph_.multipliers
        for found in (learned, self.node_names_, self.embedding_):
            if found is not None and len(found) != nodes:
                raise InputError(f"a part of it has {len(found)} nodes instead of {nodes}")

    def _after_load(self) -> None:
        self._suggester = self._new_nodes = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
