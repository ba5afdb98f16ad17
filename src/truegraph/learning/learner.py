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

import math
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse, vstack
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from truegraph.errors import ConvergenceWarning, InputError
from truegraph.learning import inputs, primal_dual, solver
from truegraph.learning.candidates import (
    NeighbourLists,
    bipartite_lists,
    candidate_graph,
    choose_engine,
    farthest_listed,
    lengthened,
    nearest_lists,
    require_candidates,
)
from truegraph.learning.density import match_degree, mean_degree
from truegraph.learning.distances import CosineDistance, Distance, EmbeddingDistance
from truegraph.learning.learned import Certificate, LearnedGraph
from truegraph.learning.threads import thread_limit
from truegraph.progress import Progress, console_progress

_SOLVERS = {"newton": solver.solve, "primal-dual": primal_dual.solve}
_FIRST_DEGREE = 10.0  # expected to begin with when theta, not the degree, is given


class GraphLearner(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Learn the most probable graph of the paper's non-parametric model.

    Parameters
    ----------
    degree : float, optional
        Wanted average number of edges per node, met within 1 % where ties allow. Default 10
        when neither theta nor alpha and beta are given.
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
        Iterations per solve; default 500 for "newton" and 1000 for "primal-dual".
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

    def __init__(
        self,
        degree: float | None = None,
        *,
        theta: float | None = None,
        alpha: float | None = None,
        beta: float | None = None,
        metric: str = "sqeuclidean",
        candidate_ratio: float = 3.0,
        candidates: str = "auto",
        scope: str = "candidates",
        solver: str = "newton",
        tol: float = 1e-6,
        max_iter: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: bool = False,
    ) -> None:
        self.degree = degree
        self.theta = theta
        self.alpha = alpha
        self.beta = beta
        self.metric = metric
        self.candidate_ratio = candidate_ratio
        self.candidates = candidates
        self.scope = scope
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress

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
        X : ndarray or sparse matrix of shape (n_nodes, n_features), or Distance
            Points; distances when metric="precomputed"; or a distance object.
        y : ignored
        fixed_pairs, forbidden_pairs : sparse matrix of shape (n_nodes, n_nodes), optional
            Pairs that are always, or never, candidates for an edge.
        """
        settings = inputs.check_settings(self.get_params())
        if isinstance(X, Distance):
            distance, given = X, None
        else:
            distance, given = self._check_input(X)
        nodes = given.shape[0] if given is not None else distance.n_nodes  # type: ignore[union-attr]
        self._learn(
            settings,
            distance,
            given,
            fixed=inputs.check_mask("fixed_pairs", fixed_pairs, nodes),
            forbidden=inputs.check_mask("forbidden_pairs", forbidden_pairs, nodes),
        )
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> csr_array:
        """Learn the graph of X and return its adjacency matrix (n_nodes, n_nodes)."""
        return self.fit(X, y, **fit_params).adjacency_

    def _check_input(self, X: Any) -> tuple[Distance | None, csr_array | None]:
        """Return the distance of the points, or the candidates given in X."""
        points = validate_data(
            self,
            X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
            ensure_min_samples=2,
        )
        if self.metric == "precomputed":
            return None, inputs.check_precomputed(points)
        inputs.check_points("X", points)
        return _distance(points, self.metric), None

    def _learn(
        self,
        settings: inputs.Settings,
        distance: Distance | None,
        given: csr_array | None,
        *,
        n_users: int | None = None,
        fixed: csr_array | None = None,
        forbidden: csr_array | None = None,
    ) -> None:
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        with thread_limit(self.n_jobs), console_progress(self.progress) as progress:
            run = _Run(settings, np.random.default_rng(seed), progress)
            if given is not None:
                if fixed is not None or forbidden is not None:
                    given = _masked(given, fixed, forbidden)
                self.graph_ = run.on_given(given, n_users)
            else:
                assert distance is not None
                self.graph_ = run.on_distance(distance, n_users, fixed, forbidden)
        self.adjacency_ = self.graph_.adjacency
        self.certificate_ = self.graph_.certificate
        if not self.certificate_.converged:
            warnings.warn(_not_converged(self.certificate_), ConvergenceWarning, stacklevel=3)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags


def learn_graph(
    X: Any,
    degree: float | None = None,
    *,
    fixed_pairs: Any = None,
    forbidden_pairs: Any = None,
    **options: Any,
) -> LearnedGraph:
    """Learn the most probable graph of X.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_nodes, n_features), or Distance
    degree : float, optional
        Wanted average number of edges per node; default 10.
    fixed_pairs, forbidden_pairs : sparse matrix of shape (n_nodes, n_nodes), optional
        Pairs that are always, or never, candidates for an edge.
    **options
        As the parameters of `GraphLearner`.

    Examples
    --------
    >>> import numpy as np
    >>> from truegraph import learn_graph
    >>> learn_graph(np.arange(6.0)[:, None], degree=2).n_nodes
    6
    """
    learner = GraphLearner(degree=degree, **options)
    return learner.fit(X, fixed_pairs=fixed_pairs, forbidden_pairs=forbidden_pairs).graph_


def learn_bipartite_graph(
    users: Any, items: Any = None, degree: float | None = None, **options: Any
) -> LearnedGraph:
    """Learn the most probable graph between users and items: edges only across.

    Every user and every item keeps a positive degree.

    Parameters
    ----------
    users : ndarray or sparse matrix of shape (n_users, n_features)
        With metric="precomputed": distances (n_users, n_items), of which the stored entries,
        zeros included, are the candidate pairs; items is then left out.
    items : ndarray or sparse matrix of shape (n_items, n_features)
    degree : float, optional
        Wanted average number of edges per user and item; default 10.
    **options
        As the parameters of `GraphLearner`.

    Returns
    -------
    graph : LearnedGraph
        Nodes 0 .. n_users - 1 are users, the others items; see `LearnedGraph.biadjacency`.
    """
    learner = GraphLearner(degree=degree, **options)
    settings = inputs.check_settings(learner.get_params())
    if learner.metric == "precomputed":
        if items is not None:
            raise InputError(
                "items must be None with metric='precomputed': users already holds the "
                "distances between users and items"
            )
        matrix = users if issparse(users) else np.asarray(users)
        given = inputs.check_rectangular(matrix, "users")
        learner._learn(settings, None, given, n_users=matrix.shape[0])
    else:
        points = _stacked(users, items)
        distance = _distance(points, learner.metric)
        learner._learn(settings, distance, None, n_users=int(users.shape[0]))
    return learner.graph_


def _stacked(users: Any, items: Any) -> Any:
    """Check users and items and put them into one table, users first."""
    if items is None:
        raise InputError("items is None; give a table of shape (n_items, n_features)")
    tables = []
    for name, table in (("users", users), ("items", items)):
        table = csr_array(table) if issparse(table) else np.asarray(table, dtype=np.float64)
        inputs.check_points(name, table)
        tables.append(table)
    if tables[0].shape[1] != tables[1].shape[1]:
        raise InputError(
            f"users has {tables[0].shape[1]} features and items has {tables[1].shape[1]}; "
            "both must have the same"
        )
    if any(issparse(table) for table in tables):
        return csr_array(vstack([csr_array(table) for table in tables]))
    return np.vstack(tables)


def _distance(points: ArrayLike | csr_array, metric: str) -> Distance:
    return CosineDistance(points) if metric == "cosine" else EmbeddingDistance(points)


def _masked(
    given: csr_array, fixed: csr_array | None, forbidden: csr_array | None
) -> csr_array:
    """Drop forbidden pairs from given candidates; fixed pairs must have a distance already."""
    rows = np.repeat(np.arange(given.shape[0]), np.diff(given.indptr))
    keys = rows * given.shape[0] + given.indices

    def members(mask: csr_array) -> NDArray[np.int64]:
        pairs = mask.tocoo()
        return pairs.row.astype(np.int64) * given.shape[0] + pairs.col

    if fixed is not None and not np.isin(members(fixed), keys).all():
        raise InputError(
            "fixed_pairs names a pair without a stored distance; with metric='precomputed' "
            "store its distance in X"
        )
    if forbidden is None:
        return given
    keep = ~np.isin(keys, members(forbidden))
    if fixed is not None:
        keep |= np.isin(keys, members(fixed))
    return csr_array((given.data[keep], (rows[keep], given.indices[keep])), shape=given.shape)


def _not_converged(certificate: Certificate) -> str:
    return (
        f"the {certificate.solver} solver stopped after {certificate.iterations} iterations at a "
        f"relative gap of {certificate.relative_gap:.1e}, above tol={certificate.tolerance:g}; "
        "the graph is feasible but not certified to tol. Raise max_iter or tol"
        + ("" if certificate.solver == "newton" else ", or use solver='newton'")
    )


class _Run:
    """One run of the learner: its settings, its clock and its listener."""

    def __init__(
        self, settings: inputs.Settings, rng: np.random.Generator, progress: Progress
    ) -> None:
        self.settings = settings
        self.rng = rng
        self.progress = progress
        self.seconds = {"search": 0.0, "candidates": 0.0, "solve": 0.0}
        self._began = time.perf_counter()

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        self.progress.stage(name)
        began = time.perf_counter()
        yield
        self.seconds[name] += time.perf_counter() - began

    def on_given(self, candidates: csr_array, n_users: int | None) -> LearnedGraph:
        """Learn on candidate pairs that the user gave."""
        require_candidates(candidates)
        nodes = candidates.shape[0]
        others = nodes - 1 if n_users is None else None
        is_complete = others is not None and candidates.nnz == nodes * others
        if n_users is not None:
            is_complete = candidates.nnz == 2 * n_users * (nodes - n_users)
        if self.settings.scope == "global" and not is_complete:
            raise InputError(
                "scope='global' needs the distances of all pairs, but X stores only "
                f"{candidates.nnz // 2}; use scope='candidates', or give points"
            )
        available = candidates.nnz / nodes
        inputs.check_degree(self.settings.degree, available, "the stored pairs")
        theta, solution = self._solve(candidates, None)
        scope = "global" if is_complete else "candidates"
        return self._result(candidates, theta, solution, scope, "given", 1.0, n_users)

    def on_distance(
        self,
        distance: Distance,
        n_users: int | None,
        fixed: csr_array | None,
        forbidden: csr_array | None,
    ) -> LearnedGraph:
        """Search candidate pairs, solve, and prove or lengthen the lists until proved."""
        inputs.check_two_nodes(distance.n_nodes)
        inputs.check_degree(
            self.settings.degree, _most_edges(distance.n_nodes, n_users), "that many nodes"
        )
        k = math.ceil(self.settings.candidate_ratio * (self.settings.degree or _FIRST_DEGREE))
        lists = self._search(distance, n_users, k)
        before: tuple[float, NDArray[np.float64]] | None = None
        while True:
            with self._stage("candidates"):
                candidates = candidate_graph(lists, distance, fixed, forbidden)
            theta, solution = self._solve(candidates, before)
            longer = self._too_few(solution, lists)
            if longer is not None:
                before = (theta, solution.multipliers)
                lists = self._search(distance, n_users, longer)
                continue
            scope, unproved = self._proof(lists, distance, theta, solution)
            if scope == "global" or self.settings.scope == "candidates":
                return self._result(
                    candidates, theta, solution, scope, lists.engine, lists.recall, n_users
                )
            before = (theta, solution.multipliers)
            with self._stage("search"):
                lists = lengthened(lists, distance, unproved, n_users)

    def _too_few(self, solution: solver.Solution, lists: NeighbourLists) -> int | None:
        """Return the list length that a given theta asks for, if it is more than there is.

        With a wanted degree the length is known beforehand; with theta the degree turns out.
        """
        if self.settings.theta is None or lists.complete.all():
            return None
        wanted = math.ceil(self.settings.candidate_ratio * mean_degree(solution))
        return wanted if wanted > lists.lengths.max() else None

    def _search(self, distance: Distance, n_users: int | None, k: int) -> NeighbourLists:
        engine = choose_engine(self.settings.engine, distance.n_nodes)
        if self.settings.scope == "global":
            engine = "exact"
        with self._stage("search"):
            if n_users is None:
                return nearest_lists(
                    distance, k, engine=engine, random_state=self.rng, progress=self.progress
                )
            return bipartite_lists(
                distance, n_users, k, engine=engine, random_state=self.rng, progress=self.progress
            )

    def _solve(
        self, candidates: csr_array, before: tuple[float, NDArray[np.float64]] | None
    ) -> tuple[float, solver.Solution]:
        """Solve for the given theta, or for the theta that meets the wanted degree."""

        def solve(
            theta: float, tol: float, start: NDArray[np.float64] | None
        ) -> solver.Solution:
            return _SOLVERS[self.settings.solver](
                candidates,
                theta,
                tol=tol,
                max_iter=self.settings.max_iter,
                start=start,
                on_step=self._on_step,
            )

        with self._stage("solve"):
            if self.settings.theta is not None:
                start = None if before is None else before[1]
                return self.settings.theta, solve(self.settings.theta, self.settings.tol, start)
            assert self.settings.degree is not None
            return match_degree(
                candidates, self.settings.degree, solve, tol=self.settings.tol, first=before
            )

    def _on_step(self, iteration: int, gap: float) -> None:
        self.progress.update(iteration, None, f"step {iteration}, gap {gap:.1e}")

    def _proof(
        self,
        lists: NeighbourLists,
        distance: Distance,
        theta: float,
        solution: solver.Solution,
    ) -> tuple[str, NDArray[np.bool_]]:
        """Test whether the solution is optimal among all pairs.

        A pair outside the exact lists of both its ends has theta z >= max(r_i, r_j), r being theta
        times the farthest listed distance. If lam_i <= r_i everywhere, its weight
        (lam_i + lam_j) / 2 - theta z is never positive.
        """
        if lists.engine != "exact":
            return "candidates", np.ones(distance.n_nodes, dtype=np.bool_)
        unproved = solution.multipliers > theta * farthest_listed(lists, distance)
        return ("candidates" if unproved.any() else "global"), unproved

    def _result(
        self,
        candidates: csr_array,
        theta: float,
        solution: solver.Solution,
        scope: str,
        engine: str,
        recall: float,
        n_users: int | None,
    ) -> LearnedGraph:
        weights = self.settings.scale * solution.weights
        adjacency = csr_array(
            (weights, candidates.indices.copy(), candidates.indptr.copy()), shape=candidates.shape
        )
        adjacency.eliminate_zeros()
        self.seconds["total"] = time.perf_counter() - self._began
        certificate = Certificate(
            relative_gap=solution.relative_gap,
            scope=scope,
            converged=solution.converged,
            tolerance=self.settings.tol,
            primal=solution.primal,
            dual=solution.dual,
            theta=theta,
            scale=self.settings.scale,
            degree=mean_degree(solution),
            wanted_degree=self.settings.degree,
            candidate_pairs=candidates.nnz // 2,
            search=engine,
            recall=recall,
            solver=self.settings.solver,
            iterations=solution.iterations,
            inner_iterations=solution.inner_iterations,
            smoothed=solution.smoothed,
            seconds=self.seconds,
        )
        return LearnedGraph(adjacency, certificate, solution.multipliers, candidates, n_users)


def _most_edges(n_nodes: int, n_users: int | None) -> float:
    """Largest possible mean degree."""
    if n_users is None:
        return float(n_nodes - 1)
    return 2.0 * n_users * (n_nodes - n_users) / n_nodes
