"""Parts of the page of recommendations: reasons, probabilities, the learned graph of the items."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from truegraph.recommend.names import BAYESIAN, NETWORKS
from truegraph.report.page import Part, facts, first_rows

if TYPE_CHECKING:
    from truegraph.learning.learned import LearnedGraph
    from truegraph.recommend.estimator import Recommender

_ROWS = 20
_NEIGHBOURS = 5
_REASONS = 3


def recommended_parts(recommender: Recommender, found: pd.DataFrame) -> Iterator[Part]:
    """Yield the parts of a page about what `recommend` of a fitted recommender returned."""
    yield first_rows("First recommendations", "Check whether they make sense.", found)
    model, graph = recommender.choice_.model, recommender.learned_graph_
    has_reasons = model not in (*NETWORKS, *BAYESIAN) and not found["popular"].all()
    if has_reasons and model != "popularity":
        yield _reasons(recommender, found)
    if found["probability"].notna().any():
        yield _probabilities(found.dropna(subset="probability"))
    if has_reasons and graph is not None:  # of items, not of users and items
        certificate = graph.certificate
        about = {
            "items": graph.n_nodes,
            "edges": graph.n_edges,
            "mean degree": float(certificate.degree),
            "relative duality gap": f"{certificate.relative_gap:.1e}",
            "optimal among": certificate.scope,
        }
        yield facts("The learned graph of the items", about)
        yield _neighbours(recommender, graph)


def _reasons(recommender: Recommender, found: pd.DataFrame) -> Part:
    rows = []
    data = recommender.interactions_
    taken = np.bincount(data.items, minlength=data.n_items)[data.item_numbers(found["item"])]
    took = np.bincount(data.users, minlength=data.n_users)[data.user_numbers(found["user"])]
    has_reason = (taken > 0) & (took > 0)  # what is new is placed by its features
    told = found[has_reason & (found["rank"] == 1)].head(_ROWS)
    columns = (told[name].tolist() for name in ("user", "item", "score", "probability"))
    for user, item, score, chance in zip(*columns, strict=True):
        because = recommender.explain(user, item).head(_REASONS)
        because = because[because["contribution"] > 0.0]
        names = [
            f"{reason} ({part / score:.0%})" if score > 0.0 else str(reason)
            for reason, part in zip(because["item"], because["contribution"], strict=True)
        ]
        rows.append((user, item, chance, ", ".join(names)))
    return first_rows(
        "Because they took",
        "The first recommendation of the first users, and the items of their history that carry "
        "most of its score, with their share of it. The rest comes from the other items, some "
        "of which may count against it; explain(user, item) lists all.",
        pd.DataFrame(rows, columns=["user", "gets", "probability", "because of"]),
    )


def _probabilities(found: pd.DataFrame) -> Part:
    by_rank = found.groupby("rank")["probability"].agg(["mean", "min", "max"])
    return first_rows(
        "How probable the recommendations are",
        "The probability that an item is among the held-out interactions of its user, by its place "
        "in the list: calibrated on the interactions that were held out for choices.",
        by_rank.set_axis(["mean", "lowest", "highest"], axis=1).reset_index(),
    )


def _neighbours(recommender: Recommender, graph: LearnedGraph) -> Part:
    data = recommender.interactions_
    taken = np.bincount(data.items, minlength=data.n_items)
    has_edges = np.diff(graph.adjacency.indptr) > 0
    order = np.lexsort((np.arange(graph.n_nodes), -taken[: graph.n_nodes]))
    rows = []
    for number in order[has_edges[order]][:_ROWS]:
        item = data.item_ids[number]
        near = recommender.similar_items(item, _NEIGHBOURS)
        near = near[near["similarity"] > 0.0]
        names = ", ".join(str(name) for name in near["item"])
        rows.append((item, int(taken[number]), names))
    return first_rows(
        "The most popular items and their neighbours",
        "In the learned graph, the strongest edges first. Check whether they belong together.",
        pd.DataFrame(rows, columns=["item", "taken by", "nearest items"]),
    )
