"""Graphs between users and items: edges only across."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from truegraph import gate
from truegraph.data.vectorising import is_table, vectorised_together
from truegraph.errors import InputError
from truegraph.learning import inputs
from truegraph.learning.core import generator, learn
from truegraph.learning.learned import LearnedGraph
from truegraph.learning.learner import GraphLearner
from truegraph.learning.search.distances import distance_of
from truegraph.learning.search.points import stacked
from truegraph.learning.settings import check_settings
from truegraph.progress import console_progress

if TYPE_CHECKING:
    from truegraph.data.column_plan import ColumnPlan


def learn_bipartite_graph(
    users: Any,
    items: Any = None,
    degree: float | str = "auto",
    *,
    graph_model: str = "paper",
    **parameters: Any,
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
    degree : float or "auto", default="auto"
        Wanted average number of edges per user and item; "auto" is 8, or less if there are not so
        many pairs.
    graph_model : {"paper", "scaled"}, default="paper"
        As of `GraphLearner`. Components are not joined, unless the option connected asks for it.
    **parameters
        The other parameters of `GraphLearner`.

    Returns
    -------
    graph : LearnedGraph
        Nodes 0 .. n_users - 1 are users, the others items; see `LearnedGraph.biadjacency`.
    """
    learner = GraphLearner(degree, graph_model=graph_model, **parameters)
    settings = check_settings(learner.get_params(deep=False), may_join=False)
    data, n_users, plan, names = _both_sides(users, items, learner)
    with console_progress(learner.progress) as progress:
        rng = generator(learner.random_state)
        graph = learn(data, settings, n_users=n_users, rng=rng, progress=progress)
    return graph.planned(plan).named(names)


def _both_sides(
    users: Any, items: Any, learner: GraphLearner
) -> tuple[Any, int, ColumnPlan | None, list[Hashable] | None]:
    """Return the distance or candidates between users and items, and the number of users.

    Also the fitted plan of two tables, and the ids in them, if all are distinct.
    """
    if learner.metric == "precomputed":
        if items is not None:
            raise InputError(
                "items must be None with metric='precomputed': users already holds the "
                "distances between users and items."
            )
        table = gate.table("users", users, finite=False)
        return inputs.check_rectangular(table, "users"), int(table.shape[0]), None, None
    if items is None:
        raise InputError("items is None; give a table of shape (n_items, n_features).")
    plan, names = None, None
    if is_table(users) or is_table(items):
        users, items, plan, names = vectorised_together(users, items, learner.plan)
    sides = [gate.table("users", users, finite=False), gate.table("items", items, finite=False)]
    for name, side in zip(("users", "items"), sides, strict=True):
        inputs.check_points(name, side)
    if sides[0].shape[1] != sides[1].shape[1]:
        raise InputError(
            f"users has {sides[0].shape[1]} features and items has {sides[1].shape[1]}; "
            "both must have the same."
        )
    distance = distance_of(stacked(*sides), learner.metric)
    return distance, int(sides[0].shape[0]), plan, names
