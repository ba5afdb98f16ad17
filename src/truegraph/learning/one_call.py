"""Learning a graph in one call, with every option of `GraphLearner` by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from truegraph.learning.learned import LearnedGraph
from truegraph.learning.learner import GraphLearner

if TYPE_CHECKING:
    from truegraph.data.columns.plan import ColumnPlan


def learn_graph(
    X: Any,
    degree: float | str | None = None,
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
    first_theta: float | None = None,
    mutual: bool = False,
    local_scaling: int | str | None = "auto",
    min_degree: int = 1,
    connected: bool | str = "auto",
    fixed_pairs: Any = None,
    forbidden_pairs: Any = None,
    plan: ColumnPlan | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> LearnedGraph:
    """Learn the most probable graph of X.

    Parameters
    ----------
    X : ndarray, DataFrame or sparse matrix of shape (n_nodes, n_features), or Distance
        Mixed columns of a DataFrame are vectorised, see `ColumnPlan`; its id column or index
        becomes the names of the graph's nodes. Arrays and matrices are taken as they are.
    degree : float or "auto", optional
        Wanted average number of edges per node. Default: "auto", a graph in place of one of nearest
        neighbours (8 edges per node, distances scaled locally, components joined), see
        `GraphLearner`; a degree, theta, or alpha and beta give the plain model's graph.
    fixed_pairs, forbidden_pairs : sparse matrix of shape (n_nodes, n_nodes), optional
        Pairs that are always, or never, candidates for an edge.
    theta, alpha, beta, metric, candidate_ratio, candidates, scope, solver, tol, max_iter, \
first_theta, mutual, local_scaling, min_degree, connected, plan, random_state, n_jobs, progress
        As the parameters of `GraphLearner`.

    Examples
    --------
    >>> import numpy as np
    >>> from truegraph import learn_graph
    >>> learn_graph(np.arange(6.0)[:, None], degree=2).n_nodes
    6
    """
    options = dict(locals())  # the arguments, and nothing else as yet
    for name in ("X", "fixed_pairs", "forbidden_pairs"):
        del options[name]
    learner = GraphLearner(**options)
    return learner.fit(X, fixed_pairs=fixed_pairs, forbidden_pairs=forbidden_pairs).graph_


def learn_bipartite_graph(
    users: Any,
    items: Any = None,
    degree: float | str | None = None,
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
    first_theta: float | None = None,
    mutual: bool = False,
    local_scaling: int | str | None = "auto",
    min_degree: int = 1,
    connected: bool | str = "auto",
    plan: ColumnPlan | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> LearnedGraph:
    """Learn the most probable graph between users and items: edges only across.

    Every user and every item keeps a positive degree.

    Parameters
    ----------
    users : ndarray, DataFrame or sparse matrix of shape (n_users, n_features)
        Two tables are vectorised by one plan; besides their ids they need the same columns. With
        metric="precomputed": distances (n_users, n_items), of which the stored entries, zeros
        included, are the candidate pairs; items is then left out.
    items : ndarray, DataFrame or sparse matrix of shape (n_items, n_features)
    degree : float or "auto", optional
        Wanted average number of edges per user and item; default 10. What "auto" adds for points,
        local scaling and joining, it does not add here.
    theta, alpha, beta, metric, candidate_ratio, candidates, scope, solver, tol, max_iter, \
first_theta, mutual, local_scaling, min_degree, connected, plan, random_state, n_jobs, progress
        As the parameters of `GraphLearner`.

    Returns
    -------
    graph : LearnedGraph
        Nodes 0 .. n_users - 1 are users, the others items; see `LearnedGraph.biadjacency`.
    """
    options = dict(locals())
    del options["users"], options["items"]
    learner = GraphLearner(**options)
    return learner.fit_bipartite(users, items).graph_
