"""Learning the most probable graph: from data to a certified graph.

>>> import numpy as np
>>> from truegraph import learn_graph
>>> points = np.random.default_rng(0).normal(size=(100, 5))
>>> graph = learn_graph(points, degree=8)
>>> graph.certificate.converged
True

The search for candidate pairs costs what a nearest-neighbour search costs; the solve is linear in
the candidate pairs. Nothing of size nodes x nodes is ever held.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from truegraph import gate
from truegraph.data.columns.vectorising import is_table, vectorised
from truegraph.data.identifiers import row_names
from truegraph.data.input_advice import warn_about_points
from truegraph.errors import ConvergenceWarning, InputError, warn
from truegraph.learning import inputs
from truegraph.learning.automatic import plain_options
from truegraph.learning.bipartite import both_sides
from truegraph.learning.graph_advice import warn_about_graph
from truegraph.learning.learned import LearnedGraph
from truegraph.learning.pipeline import Run
from truegraph.learning.search.distances import Distance, distance_of
from truegraph.learning.search.masks import check_masks, masked_candidates
from truegraph.learning.search.points import same_points, stacked
from truegraph.progress import console_progress
from truegraph.runtime.threads import thread_limit

if TYPE_CHECKING:
    from truegraph.data.columns.plan import ColumnPlan

_FEW_NODES = 2000  # waking threads costs more than they save


@dataclass(eq=False, repr=False)
class GraphLearner(TransformerMixin, BaseEstimator):
    """Learn the most probable graph of the paper's non-parametric model.

    Parameters
    ----------
    degree : float or "auto", optional
        Wanted average number of edges per node, met within 1 % where ties allow. "auto", the
        default unless theta or alpha and beta are given, is 8, or less if there are not so many
        pairs, with local_scaling=7 and connected=True: the best graph for spreading labels on sets
        that no table of results shows. `certificate_.wanted_degree` says what it was.
    theta : float, optional
        Sparsity parameter of the one-parameter form (alpha = 1, beta = 1/2), instead of degree.
    alpha, beta : float, optional
        The paper's parameters (its equation 4), instead of degree or theta.
    metric : {"sqeuclidean", "cosine", "precomputed"}, default="sqeuclidean"
        With "precomputed", X is a symmetric sparse matrix whose stored entries, zeros included,
        are the candidate pairs and their distances.
    candidate_ratio : float, default=3
        Candidate neighbours per wanted edge.
    candidates : {"auto", "exact", "hnsw", "ivf"}, default="auto"
        Engine of the neighbour search; "auto" is exact up to 20,000 nodes, then "ivf".
    scope : {"candidates", "global"}, default="candidates"
        "global" lengthens the candidate lists until the graph is proved to be optimal among all
        pairs; needs exact search.
    solver : {"newton", "primal-dual"}, default="newton"
        "primal-dual" is the paper's own algorithm.
    tol : float, default=1e-6
        Relative duality gap to reach.
    max_iter : int, optional
        Iterations per solve; default 500 for "newton" and 1000 for "primal-dual". "newton" also
        stops after 20 times as many passes over the candidate pairs. A solve that stops early
        gives a graph that is feasible, with ``certificate_.converged`` False and a warning.
    first_theta : float, optional
        Where the search for the wanted degree begins, unless it is far off. The theta of a graph
        that was learned before from similar data saves time.
    mutual : bool, default=False
        Whether candidates must be in the lists of both nodes, which keeps hubs down; a node that
        no other lists back keeps its nearest.
    local_scaling : int, None or "auto", default="auto"
        Divide distances by those to the neighbour of this rank at both ends (7 is usual), so
        that dense and sparse regions count alike. None: distances as they are. "auto" is 7 if the
        degree is "auto" and scope is "candidates", else None.
    min_degree : int, default=1
        Smallest number of edges of a node; the best pairs are added where the optimum has fewer.
    connected : bool or "auto", default="auto"
        Whether to join the components of the graph, by their best pairs. "auto": if the degree is
        "auto", X holds points, and no pairs are forbidden.
    plan : ColumnPlan, optional
        How the columns of a DataFrame become numbers; default ``ColumnPlan()``. A fitted plan is
        applied as it is.
    random_state : int, RandomState instance or None, default=None
        Seeds approximate search and the sample on which recall is measured.
    n_jobs : int, optional
        Threads; -1 means all cores. Default: all that numba was given. Never changes the result.
    progress : bool, default=False
        Whether to draw progress bars on standard error.

    Attributes
    ----------
    graph_ : LearnedGraph
    adjacency_ : csr_array of shape (n_nodes, n_nodes)
    certificate_ : Certificate
    n_features_in_ : int
    plan_ : ColumnPlan or None
        The fitted plan of a DataFrame.
    n_iter_ : int
        Solver iterations, over all solves that the density search needed.

    References
    ----------
    Pal et al., "Non-Parametric Graph Learning for Bayesian Graph Neural Networks", UAI 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from truegraph import GraphLearner
    >>> points = np.random.default_rng(0).normal(size=(60, 3))
    >>> GraphLearner(degree=6).fit_transform(points).shape
    (60, 60)
    """

    degree: float | str | None = None
    _: KW_ONLY
    theta: float | None = None
    alpha: float | None = None
    beta: float | None = None
    metric: str = "sqeuclidean"
    candidate_ratio: float = 3.0
    candidates: str = "auto"
    scope: str = "candidates"
    solver: str = "newton"
    tol: float = 1e-6
    max_iter: int | None = None
    first_theta: float | None = None
    mutual: bool = False
    local_scaling: int | str | None = "auto"
    min_degree: int = 1
    connected: bool | str = "auto"
    plan: ColumnPlan | None = None
    random_state: Any = None
    n_jobs: int | None = None
    progress: bool = False

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        fixed_pairs: Any = None,
        forbidden_pairs: Any = None,
    ) -> GraphLearner:
        """Learn the graph of X.

        Parameters
        ----------
        X : ndarray, DataFrame or sparse matrix of shape (n_nodes, n_features), or Distance
            Points; distances when metric="precomputed"; or a distance object. Mixed columns of a
            DataFrame are vectorised; its id column or index becomes the names of the graph's
            nodes. Arrays and matrices are taken as they are.
        y : ignored
        fixed_pairs, forbidden_pairs : sparse matrix of shape (n_nodes, n_nodes), optional
            Pairs that are always, or never, candidates for an edge.
        """
        settings = inputs.check_settings(self.get_params(deep=False), forbidden_pairs is None)
        self.plan_: ColumnPlan | None = None
        if isinstance(X, Distance):
            self._points = None
            data: Distance | csr_array = X
        else:
            data = self._check_input(X)
        masks = check_masks(fixed_pairs, forbidden_pairs, _size(data))
        self._learn(settings, data, None, *masks, names=self._names(X))
        if self._points is not None:
            warn_about_graph(self.graph_.adjacency, "degree")
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> csr_array:
        """Learn the graph of X and return its adjacency matrix (n_nodes, n_nodes)."""
        return self.fit(X, y, **fit_params).adjacency_

    def transform(self, X: Any) -> csr_array:
        """Return the learned adjacency matrix for the data of `fit`, as pipelines ask for it.

        A graph belongs to its nodes as a whole: other data need a fit of their own.
        """
        check_is_fitted(self)
        points = self._validated(X, reset=False)
        gate.check_finite("X", points)
        if not same_points(points, self._points):
            raise InputError(
                f"X is not the data of fit; a graph of other nodes (shape {points.shape}) must be "
                "learned anew: use fit_transform."
            )
        return self.adjacency_

    def update(self, X: Any) -> GraphLearner:
        """Add points to the learned graph without learning it again from scratch.

        Only the new points are searched for neighbours, theta stays, and the solver goes on from
        the old solution. The certificate of the new `graph_` holds for all candidate pairs, the
        old ones and those of the new points; it does not hold for pairs of old points that were
        no candidates before. `certificate_.recall` says how complete the candidates still are, on
        a sample of old and new nodes, `certificate_.degree` how far the density has moved.

        Parameters
        ----------
        X : ndarray, DataFrame or sparse matrix of shape (n_new, n_features)
            The index of a DataFrame names the new nodes, if the others have names.
        """
        check_is_fitted(self)
        settings = inputs.check_settings(self.get_params(deep=False))
        self._check_growth()
        points = self._validated(X, reset=False, at_least=1)
        inputs.check_points("X", points)
        together, names = stacked(self._points, points), self._grown_names(X)
        with self._running(settings, together.shape[0]) as run:
            graph = run.on_growth(self.graph_, distance_of(together, self.metric))
        self._keep(graph, names)
        self._points = together
        return self

    def _names(self, X: Any) -> list[Hashable] | None:
        """Return the names of the nodes by the column plan or the index of a table."""
        named = None if self.plan_ is None else self.plan_.ids(X)
        return row_names(X) if named is None else named

    def _grown_names(self, X: Any) -> list[Hashable] | None:
        """Return the names of old and new nodes together; None if there are none."""
        if self.graph_.names is None:
            return None
        added = self._names(X)
        if added is None:
            raise InputError("the nodes have names, but X has none; give X an index of names.")
        return [*self.graph_.names, *added]

    def _check_growth(self) -> None:
        """Raise where adding points would mean learning again."""
        if self._points is None or self.metric == "precomputed":
            raise InputError("update needs a graph learned from points; with distances, use fit.")
        if self.mutual:
            raise InputError(
                "update cannot keep mutual=True, since new points change the neighbours of the old "
                "ones; use fit."
            )
        if self.solver != "newton":
            raise InputError(f"update needs solver='newton', not {self.solver!r}; use fit.")

    def _check_input(self, X: Any) -> Distance | csr_array:
        """Return the distance of the points in X, or the candidates given in X."""
        self._points = points = self._validated(X, reset=True)
        if self.metric == "precomputed":
            return inputs.check_precomputed(points)
        inputs.check_points("X", points)
        if self.plan_ is None:
            warn_about_points(points, self.metric)
        return distance_of(points, self.metric)

    def _validated(self, X: Any, reset: bool, at_least: int = 2) -> Any:
        if self.metric != "precomputed" and is_table(X):
            return self._vectorised(X, reset)
        if isinstance(X, LearnedGraph):
            raise InputError(
                "X is a LearnedGraph, which has been learned already; pass the points it was "
                "learned from, or edge_distances() of it with metric='precomputed'."
            )
        given = gate.sparse_matrix("X", X, finite=False) if issparse(X) else X
        if not issparse(X):
            gate.real_numbers("X", X)
        try:
            return validate_data(
                self,
                given,
                reset=reset,
                accept_sparse="csr",
                dtype=[np.float64, np.float32],
                ensure_all_finite=False,
                ensure_min_samples=at_least,
            )
        except ValueError as error:
            raise InputError(f"X cannot be used: {error}") from error

    def _vectorised(self, X: Any, reset: bool) -> Any:
        """Return the points of a table; at the fit, make the plan."""
        try:
            validate_data(self, X, reset=reset, skip_check_array=True)
        except ValueError as error:
            raise InputError(f"X cannot be used: {error}") from error
        if not reset:
            return vectorised(X, self.plan_)[0]
        points, self.plan_ = vectorised(X, self.plan)
        return points

    def _learn(
        self,
        settings: inputs.Settings,
        data: Distance | csr_array,
        n_users: int | None,
        fixed: csr_array | None = None,
        forbidden: csr_array | None = None,
        names: Sequence[Hashable] | None = None,
    ) -> None:
        """Learn from a distance, or on given candidates, and keep the result."""
        with self._running(settings, _size(data)) as run:
            if isinstance(data, Distance):
                graph = run.on_distance(data, n_users, fixed, forbidden)
            else:
                graph = run.on_given(masked_candidates(data, fixed, forbidden), n_users)
        self._keep(graph, names)

    @contextmanager
    def _running(self, settings: inputs.Settings, n_nodes: int) -> Iterator[Run]:
        """Yield the stages of learning, with the threads and the seed asked for."""
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        threads = 1 if n_nodes <= _FEW_NODES else self.n_jobs
        with thread_limit(threads), console_progress(self.progress) as progress:
            yield Run(settings, np.random.default_rng(seed), progress)

    def _keep(self, graph: LearnedGraph, names: Sequence[Hashable] | None) -> None:
        self.graph_ = replace(graph.named(names), plan=self.plan_)
        self.adjacency_ = self.graph_.adjacency
        self.certificate_ = self.graph_.certificate
        self.n_iter_ = max(1, self.certificate_.iterations)
        if not self.certificate_.converged:
            warn(self.certificate_.shortfall(), ConvergenceWarning)

    def fit_bipartite(self, users: Any, items: Any = None) -> GraphLearner:
        """Learn the graph between users and items, see `learn_bipartite_graph`."""
        settings = inputs.check_settings(plain_options(self.get_params(deep=False)))
        self.plan_ = None
        if self.metric == "precomputed":
            if items is not None:
                raise InputError(
                    "items must be None with metric='precomputed': users already holds the "
                    "distances between users and items."
                )
            table = gate.table("users", users, finite=False)
            self._learn(settings, inputs.check_rectangular(table, "users"), table.shape[0])
            return self
        both = both_sides(users, items, self.plan)
        self.plan_ = both.plan
        distance = distance_of(both.points, self.metric)
        self._learn(settings, distance, both.n_users, names=both.names)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags


def _size(data: Distance | csr_array) -> int:
    return data.n_nodes if isinstance(data, Distance) else int(data.shape[0])
