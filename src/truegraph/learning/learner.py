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

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn import get_config
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from truegraph import gate
from truegraph.data.identifiers import row_names
from truegraph.data.input_advice import warn_about_points
from truegraph.data.vectorising import is_table, vectorised
from truegraph.errors import AnswerWarning, InputError, warn
from truegraph.learning import inputs
from truegraph.learning.core import generator, grow, learn
from truegraph.learning.learned import LearnedGraph
from truegraph.learning.search.distances import Distance, distance_of
from truegraph.learning.search.pairs import check_masks, masked_candidates
from truegraph.learning.search.points import same_points, stacked
from truegraph.learning.settings import Settings, check_settings
from truegraph.progress import console_progress

if TYPE_CHECKING:
    from truegraph.data.column_plan import ColumnPlan

_TIMES_THE_MEAN = 10.0  # degrees beyond this many times the mean make a hub
_FEWEST_EDGES_OF_A_HUB = 30
_MANY_COMPONENTS = 10
_NODES_PER_COMPONENT = 50  # fewer on average means that the graph has fallen apart


def warn_about_graph(adjacency: csr_array, density: str) -> None:
    """Warn of hubs and of a graph in many parts."""
    for message in graph_advice(adjacency, density):
        warn(message, AnswerWarning)


def graph_advice(adjacency: csr_array, density: str = "degree") -> list[str]:
    """Return advice about a learned graph, in full sentences."""
    from scipy.sparse import csgraph  # slow to import

    found = []
    degrees = np.diff(adjacency.indptr)
    largest, mean = int(degrees.max(initial=0)), float(degrees.mean()) if len(degrees) else 0.0
    if largest > max(_FEWEST_EDGES_OF_A_HUB, _TIMES_THE_MEAN * mean):
        found.append(
            f"node {int(degrees.argmax())} (from 0) has {largest:,} edges and nodes have "
            f"{mean:.1f} on average: it is a hub. Check its row for zeros or missing values, and "
            "scale the columns."
        )
    components = int(csgraph.connected_components(adjacency, directed=False)[0])
    if components > max(_MANY_COMPONENTS, len(degrees) / _NODES_PER_COMPONENT):
        found.append(
            f"the learned graph has {components:,} connected components; raise {density} (the mean "
            f"degree is {mean:.1f}), pass connected=True, or check X for duplicate rows."
        )
    return found


def learn_graph(
    X: Any,
    degree: float | str = "auto",
    *,
    metric: str = "sqeuclidean",
    graph_model: str = "scaled",
    candidates: str = "auto",
    scope: str = "candidates",
    fixed_pairs: Any = None,
    forbidden_pairs: Any = None,
    plan: ColumnPlan | None = None,
    options: Mapping[str, Any] | None = None,
    random_state: Any = None,
    progress: bool = False,
) -> LearnedGraph:
    """Learn the most probable graph of X.

    Parameters
    ----------
    X : ndarray, DataFrame or sparse matrix of shape (n_nodes, n_features), or Distance
        Mixed columns of a DataFrame are vectorised, see `ColumnPlan`; its id column or index
        becomes the names of the graph's nodes. Arrays and matrices are taken as they are.
    degree, metric, graph_model, candidates, scope, plan, options, random_state, progress
        As the parameters of `GraphLearner`.
    fixed_pairs, forbidden_pairs : sparse matrix of shape (n_nodes, n_nodes), optional
        Pairs that are always, or never, candidates for an edge.

    Examples
    --------
    >>> import numpy as np
    >>> from truegraph import learn_graph
    >>> learn_graph(np.arange(6.0)[:, None], degree=2).n_nodes
    6
    """
    learner = GraphLearner(
        degree,
        metric=metric,
        graph_model=graph_model,
        candidates=candidates,
        scope=scope,
        plan=plan,
        options=options,
        random_state=random_state,
        progress=progress,
    )
    return learner.fit(X, fixed_pairs=fixed_pairs, forbidden_pairs=forbidden_pairs).graph_


@dataclass(eq=False, repr=False)
class GraphLearner(TransformerMixin, BaseEstimator):
    """Learn the most probable graph of a non-parametric model (Pal et al., UAI 2020, equation 4).

    The problem is that of Kalofolias, AISTATS 2016; its dual is solved by Newton's method.

    Parameters
    ----------
    degree : float or "auto", default="auto"
        Wanted average number of edges per node, met within 1 % where ties allow. "auto" is 8, or
        less if there are not so many pairs. `certificate_.wanted_degree` says what it was.
    metric : {"sqeuclidean", "cosine", "precomputed"}, default="sqeuclidean"
        With "precomputed", X is a symmetric sparse matrix whose stored entries, zeros included,
        are the candidate pairs and their distances.
    graph_model : {"scaled", "paper"}, default="scaled"
        "scaled" divides distances by those to the 7th neighbour at both ends, so that dense and
        sparse regions count alike, and joins the components of points by their best pairs: the
        best graph for spreading labels on sets that no table of results shows. "paper" takes
        distances as they are and joins nothing.
    candidates : {"auto", "exact", "ivf", "sketch"}, default="auto"
        Engine of the neighbour search; "auto" is exact up to 20,000 nodes. Beyond, it is "ivf", a
        search in cells, or for 128 columns and more "sketch", a search in cells along the leading
        axes of the points, ranked by the points themselves.
    scope : {"candidates", "global"}, default="candidates"
        "global" lengthens the candidate lists until the graph is proved to be optimal among all
        pairs; needs exact search and graph_model="paper".
    plan : ColumnPlan, optional
        How the columns of a DataFrame become numbers; default ``ColumnPlan()``. A fitted plan is
        applied as it is.
    options : mapping, optional
        Rare options by name, see below.
    random_state : int, RandomState instance or None, default=None
        Seeds approximate search and the sample on which recall is measured.
    progress : bool, default=False
        Whether to draw progress bars on standard error.

    Attributes
    ----------
    graph_ : LearnedGraph
    adjacency_ : csr_array of shape (n_nodes, n_nodes)
    certificate_ : Certificate
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Names of the columns of a DataFrame.
    plan_ : ColumnPlan or None
        The fitted plan of a DataFrame.
    n_iter_ : int
        Solver iterations, over all solves that the density search needed.

    Notes
    -----
    The options, with their defaults:

    theta : float = None
        Sparsity parameter of the one-parameter form (alpha = 1, beta = 1/2), instead of degree.
    alpha, beta : float = None
        The paper's parameters (its equation 4), instead of degree or theta.
    candidate_ratio : float = 3
        Candidate neighbours per wanted edge.
    solver : {"newton", "primal-dual"} = "newton"
        "primal-dual" is the paper's own algorithm.
    tol : float = 1e-6
        Relative duality gap to reach.
    max_iter : int = None
        Iterations per solve; 500 for "newton" and 1000 for "primal-dual". "newton" also stops
        after 20 times as many passes over the candidate pairs. A solve that stops early gives a
        graph that is feasible, with ``certificate_.converged`` False and a warning.
    first_theta : float = None
        Where the search for the wanted degree begins, unless it is far off. The theta of a graph
        that was learned before from similar data saves time.
    mutual : bool = False
        Whether candidates must be in the lists of both nodes, which keeps hubs down; a node that
        no other lists back keeps its nearest.
    local_scaling : int, None or "auto" = "auto"
        Rank of the neighbour by whose distance distances are divided; None: distances as they are.
        "auto" is 7 if graph_model="scaled", else None.
    min_degree : int = 1
        Smallest number of edges of a node; the best pairs are added where the optimum has fewer.
    connected : bool or "auto" = "auto"
        Whether to join the components of the graph. "auto": if graph_model="scaled", X holds
        points, and no pairs are forbidden.
    n_jobs : int = None
        Threads; -1 means all cores. None: all that numba was given. Never changes the result.

    References
    ----------
    Pal et al., "Non-Parametric Graph Learning for Bayesian Graph Neural Networks", UAI 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from truegraph import GraphLearner
    >>> points = np.random.default_rng(0).normal(size=(60, 3))
    >>> GraphLearner(degree=6, options={"tol": 1e-8}).fit_transform(points).shape
    (60, 60)
    """

    degree: float | str = "auto"
    _: KW_ONLY
    metric: str = "sqeuclidean"
    graph_model: str = "scaled"
    candidates: str = "auto"
    scope: str = "candidates"
    plan: ColumnPlan | None = None
    options: Mapping[str, Any] | None = None
    random_state: Any = None
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
        settings = check_settings(self.get_params(deep=False), forbidden_pairs is None)
        self.plan_: ColumnPlan | None = None
        self._points: Any = None
        data = X if isinstance(X, Distance) else self._checked(X)
        fixed = forbidden = None
        if fixed_pairs is not None or forbidden_pairs is not None:
            fixed, forbidden = check_masks(fixed_pairs, forbidden_pairs, _size(data))
            if not isinstance(data, Distance):
                data = masked_candidates(data, fixed, forbidden)
        rng = generator(self.random_state)
        with console_progress(self.progress) as progress:
            graph = learn(
                data, settings, fixed=fixed, forbidden=forbidden, rng=rng, progress=progress
            )
        self._keep(graph, self._names(X))
        if self._points is not None:
            warn_about_graph(graph.adjacency, "degree")
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Learn the graph of X and return its adjacency matrix (n_nodes, n_nodes)."""
        return self._contained(self.fit(X, y, **fit_params).adjacency_)

    def transform(self, X: Any) -> Any:
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
        return self._contained(self.adjacency_)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the columns of the adjacency matrix: the nodes, as texts."""
        check_is_fitted(self)
        names = self.graph_.names
        if names is None:
            names = tuple(f"node{number}" for number in range(self.graph_.n_nodes))
        return np.array([str(name) for name in names], dtype=object)

    def _contained(self, adjacency: csr_array) -> Any:
        """Return the matrix in the container that `set_output` asks for."""
        own = getattr(self, "_sklearn_output_config", {}).get("transform")
        container = own or get_config()["transform_output"]
        if container == "default":
            return adjacency
        if container != "pandas":
            raise InputError(
                f"a table of {container} has no sparse columns for the graph; use "
                "set_output(transform='pandas'), or 'default' for a SciPy matrix."
            )
        import pandas as pd

        names, frames = self.get_feature_names_out(), cast(Any, pd.DataFrame)
        return frames.sparse.from_spmatrix(adjacency, index=names, columns=names)

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
        settings = check_settings(self.get_params(deep=False))
        self._check_growth(settings)
        points = self._validated(X, reset=False, at_least=1)
        inputs.check_points("X", points)
        together, names = stacked(self._points, points), self._grown_names(X)
        distance, rng = distance_of(together, self.metric), generator(self.random_state)
        with console_progress(self.progress) as progress:
            graph = grow(self.graph_, distance, settings, rng=rng, progress=progress)
        self._keep(graph, names)
        self._points = together
        return self

    def _names(self, X: Any) -> list[Hashable] | None:
        """Return the names of the nodes by the column plan or the index of a table."""
        if isinstance(X, np.ndarray) or not is_table(X):
            return None
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

    def _check_growth(self, settings: Settings) -> None:
        """Raise where adding points would mean learning again."""
        if self._points is None or self.metric == "precomputed":
            raise InputError("update needs a graph learned from points; with distances, use fit.")
        if settings.mutual:
            raise InputError(
                "update cannot keep mutual=True, since new points change the neighbours of the old "
                "ones; use fit."
            )
        if settings.solver != "newton":
            raise InputError(f"update needs solver='newton', not {settings.solver!r}; use fit.")

    def _checked(self, X: Any) -> Distance | csr_array:
        """Return the distance of the points in X, or the candidates given in X."""
        self._points = points = self._validated(X, reset=True)
        if self.metric == "precomputed":
            return inputs.check_precomputed(points)
        distance = distance_of(points, self.metric, "X")
        if self.plan_ is None:
            warn_about_points(points, self.metric)
        return distance

    def _validated(self, X: Any, reset: bool, at_least: int = 2) -> Any:
        if self.metric != "precomputed" and not isinstance(X, np.ndarray) and is_table(X):
            return self._vectorised(X, reset)
        if isinstance(X, LearnedGraph):
            raise InputError(
                "X is a LearnedGraph, which has been learned already; pass the points it was "
                "learned from, or edge_distances() of it with metric='precomputed'."
            )
        given = gate.plain("X", X)
        is_sparse = bool(issparse(given))
        given = (
            gate.sparse_matrix("X", given, finite=False)
            if is_sparse
            else gate.real_numbers("X", given)
        )
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

    def _keep(self, graph: LearnedGraph, names: Sequence[Hashable] | None) -> None:
        if self.plan_ is not None:
            graph = graph.planned(self.plan_)
        self.graph_ = graph if names is None else graph.named(names)
        self.adjacency_ = self.graph_.adjacency
        self.certificate_ = self.graph_.certificate
        self.n_iter_ = max(1, self.certificate_.iterations)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags


def _size(data: Distance | csr_array) -> int:
    return data.n_nodes if isinstance(data, Distance) else int(data.shape[0])
