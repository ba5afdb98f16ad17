"""Parts of the page for one's own recommendations: the item graph, reasons, probabilities."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from truegraph.report.page import Facts, Part
from truegraph.report.tables import Entry, Table

if TYPE_CHECKING:
    from truegraph.learning.learned import LearnedGraph
    from truegraph.tasks.recommend.estimator import BayesianRecommender, Recommender

_ROWS = 20
_NEIGHBOURS = 5
_REASONS = 3


def recommended_parts(
    recommender: Recommender | BayesianRecommender, table: pd.DataFrame
) -> Iterator[Part]:
    """Yield what can be said about recommendations beside the lists themselves.

    Parameters
    ----------
    recommender : Recommender or BayesianRecommender
        Fitted.
    table : DataFrame
        What its `recommend` returned.
    """
    choice = getattr(recommender, "choice_", None)
    if choice is not None and recommender.model != "popularity":
        yield _reasons(recommender, table)
    if table["probability"].notna().any():
        yield _probabilities(table)
    graph: LearnedGraph | None = getattr(recommender, "learned_graph_", None)
    if graph is not None and choice is not None:  # of items, not of users and items
        yield _graph_facts(graph)
        yield _neighbours(recommender, graph)


def _reasons(recommender: Recommender | BayesianRecommender, table: pd.DataFrame) -> Table:
    rows: list[list[str | Entry]] = [["user", "gets", "probability", "because of"]]
    told = table[~table["popular"] & (table["rank"] == 1)].head(_ROWS)
    columns = (told[name].tolist() for name in ("user", "item", "score", "probability"))
    for user, item, score, chance in zip(*columns, strict=True):
        because = recommender.explain(user, item).head(_REASONS)
        because = because[because["contribution"] > 0.0]
        names = [
            f"{reason} ({part / score:.0%})" if score > 0.0 else str(reason)
            for reason, part in zip(because["item"], because["contribution"], strict=True)
        ]
        rows.append([str(user), str(item), _share(chance), ", ".join(names)])
    return Table(
        "Because they took",
        "The first recommendation of the first users, and the items of their history that carry "
        "most of its score, with their share of it. What is left comes from the other items, some "
        "of which may count against it; explain(user, item) lists all.",
        rows,
    )


def _probabilities(table: pd.DataFrame) -> Table:
    rows: list[list[str | Entry]] = [["rank", "mean %", "lowest %", "highest %"]]
    known = table.dropna(subset="probability")
    for rank in sorted(known["rank"].unique().tolist()):
        chance = known.loc[known["rank"] == rank, "probability"]
        figures = (chance.mean(), chance.min(), chance.max())
        rows.append([Entry(str(rank), float(rank)), *(_share(value) for value in figures)])
    return Table(
        "How probable the recommendations are",
        "The probability that an item is among the held-out interactions of its user, by its place "
        "in the list: calibrated on the interactions that were held out for choices.",
        rows,
    )


def _graph_facts(graph: LearnedGraph) -> Facts:
    certificate = graph.certificate
    return Facts(
        "The learned graph of the items",
        [
            ("items", f"{graph.adjacency.shape[0]:,}"),
            ("edges", f"{graph.n_edges:,}"),
            ("mean degree", f"{certificate.degree:.2f}"),
            ("relative duality gap", f"{certificate.relative_gap:.1e}"),
            ("optimal among", certificate.scope),
        ],
    )


def _neighbours(recommender: Recommender | BayesianRecommender, graph: LearnedGraph) -> Table:
    data = recommender.interactions_
    taken = np.bincount(data.items, minlength=data.n_items)
    has_edges = np.diff(graph.adjacency.indptr) > 0
    order = np.lexsort((np.arange(data.n_items), -taken))
    rows: list[list[str | Entry]] = [["item", "taken by", "nearest items"]]
    for number in order[has_edges[order]][:_ROWS]:
        item = data.item_ids[number]
        near = recommender.similar_items(item, _NEIGHBOURS)
        near = near[near["similarity"] > 0.0]
        count = Entry(f"{taken[number]:,}", float(taken[number]))
        rows.append([str(item), count, ", ".join(str(name) for name in near["item"])])
    return Table(
        "The most popular items and their neighbours",
        "In the learned graph, the strongest edges first. Do they belong together?",
        rows,
    )


def _share(value: float) -> Entry:
    return Entry("-") if np.isnan(value) else Entry(f"{100 * value:.1f}", float(value))
