"""Algorithm 3 of the paper: the Bayesian recommender.

1. Train the base model on the observed interactions: vectors e_u and e_i.
2. Take the distances D_ui = 1 - cos(e_u, e_i).
3. Learn the most probable graph between users and items given D.
4. Take the pairs with the highest weights out of the pool of negatives.
5. Go on from the base model's weights with the pool that is left.

Steps 4 and 5 are done for every fraction of pairs, and the best on held-out interactions wins; the
smallest of equally good ones. All continuations begin with fresh moments of Adam and draw the same
random numbers: the fraction 0 is the base model, trained on with all negatives, which is the fair
comparison. Where no epoch is better than the base model, the base model is kept.

The graph never enters the propagation and the positives never change. A weight is not a function of
the distance alone: every user and every item must keep a degree above zero, which raises the
weights of those far from everything.

Pal et al., "Non-Parametric Graph Learning for Bayesian Graph Neural Networks", UAI 2020.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.errors import InputError
from truegraph.fit_log import FitLog
from truegraph.learning.core import learn
from truegraph.learning.inputs import check_number
from truegraph.learning.learned import LearnedGraph
from truegraph.learning.search.distances import CosineDistance
from truegraph.learning.settings import Settings
from truegraph.options import checked_options
from truegraph.paper.networks import network_class
from truegraph.paper.networks.ranking import RankingNetwork
from truegraph.paper.step import one_thread
from truegraph.paper.training_recommenders import History, NegativePool, train_base, train_ranking
from truegraph.progress import Progress

#: Options beside the network's own: the `fractions` of all user-item pairs that are tried; the mean
#: `degree` of the learned graph, None for that of the observed one; and the patience of the
#: continued trainings.
CHOICES: dict[str, Any] = {
    "fractions": (0.01, 0.02, 0.05, 0.1, 0.2),  # the paper's
    "degree": None,
    "continued_patience": 100,
}
_CONTINUED = 1  # stream of a seed
_ALL_PAIRS = 50_000_000  # up to here every pair is a candidate for an edge
_MOST_REMOVED = 50_000_000  # pairs in memory
_SPARE_CANDIDATES = 1.25  # candidates for each pair that may be removed
_SMALLEST_POOL = 0.01  # of the items: no user's negatives may become fewer
_SAMPLE = 200_000  # pairs on which the rank correlation is measured

Floats = NDArray[np.float64]
Ranked = tuple[NDArray[np.int64], NDArray[np.int64], Floats]


class Algorithm3(NamedTuple):
    """What Algorithm 3 found.

    The network with the best `fraction` and the history of its continued training; the epochs after
    which the base model was best; the learned graph, whose candidates are its edges only; the
    learned weight of each pair taken out of the negatives (U, I), zeros stored; the best recall@20
    with every fraction; and Spearman's correlation between the edges' weights and minus their
    distances.
    """

    network: RankingNetwork
    history: History
    base_epochs: int
    learned: LearnedGraph
    removed: csr_array
    fraction: float
    recalls: dict[float, float]
    rank_correlation: float


def algorithm3(
    name: str,
    train: csr_array,
    held_out: csr_array | None,
    options: Mapping[str, Any],
    choices: Mapping[str, Any],
    *,
    seed: int = 0,
    device: str = "cpu",
    epochs: int | None = None,
    log: FitLog | None = None,
) -> Algorithm3:
    """Train the Bayesian version of a base model on interactions (U, I).

    Fraction and epochs are chosen by the held-out interactions (U, I). With None the base model is
    trained for the epochs of its `options`, and the first of the fractions in `choices` for
    `epochs`.
    """
    log = FitLog() if log is None else log
    fractions = sorted(set(choices["fractions"]))
    # 1. The base model.
    common: dict[str, Any] = {"seed": seed, "device": device, "progress": log.progress}
    with log.stage(name):
        base, first = train_base(name, train, held_out, options=options, **common)
        with one_thread(), torch.no_grad():
            vectors = base().cpu().numpy().astype(np.float64)
    # 2 and 3. The most probable graph given the distances.
    with log.stage("graph learning"):
        learned = bipartite_graph(vectors, train, fractions[-1], choices["degree"])
        ranked, correlation = ranked_pairs(learned, train.shape[0])
    # 4. The likely positives leave the pool of negatives.
    removed = [removed_pairs(ranked, train, fraction) for fraction in fractions]

    # 5. Go on from the base model's weights.
    def go_on(place: int) -> tuple[RankingNetwork, History]:
        own = vars(base.options) | ({} if epochs is None else {"epochs": epochs})
        network = type(base).restored(train, own, base.state_dict(), device)
        return network, train_ranking(
            network,
            held_out,
            NegativePool(train, removed[place]),
            seed=[seed, _CONTINUED],
            patience=choices["continued_patience"],
            may_keep_start=True,
            progress=log.progress if place == 0 else Progress(),
        )

    workers = min(len(removed), os.cpu_count() or 1)
    with log.stage(f"b{name}"), one_thread(), ThreadPoolExecutor(workers) as pool:
        trained = list(pool.map(go_on, range(len(removed)))) if epochs != 0 else [(base, first)]
    recalls = [history["best_recall"] for _, history in trained]
    best = 0 if held_out is None else int(np.argmax(recalls))
    return Algorithm3(
        *trained[best],
        first["best_epoch"] + 1,
        _edges_only(learned),
        removed[best],
        fractions[best],
        dict(zip(fractions, recalls, strict=False)),
        correlation,
    )


def bipartite_graph(
    vectors: Floats, train: csr_array, largest: float, degree: float | None = None
) -> LearnedGraph:
    """Learn the graph between users and items of vectors (U + I, d), users first.

    Up to 50 million pairs all are candidates; beyond, those nearest to each user and each item, as
    many as the `largest` fraction of the pairs needs.
    """
    n_users, n_items = train.shape
    pairs, nodes = n_users * n_items, n_users + n_items
    if largest * pairs > _MOST_REMOVED:
        raise InputError(
            f"fractions up to {largest:g} of {n_users} x {n_items} pairs are {largest * pairs:.2g} "
            f"pairs, but at most {_MOST_REMOVED:.0e} can be removed; use smaller fractions."
        )
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = vectors / np.where(lengths > 0.0, lengths, 1.0)
    wanted = min(2.0 * train.nnz / nodes if degree is None else degree, 2.0 * pairs / nodes)
    if pairs > _ALL_PAIRS:
        ratio = _SPARE_CANDIDATES * max(1.0, largest * n_items / wanted)
        settings = Settings(degree=wanted, candidate_ratio=ratio)
        return learn(CosineDistance(unit), settings, n_users=n_users)
    users, items = torch.from_numpy(unit).split([n_users, n_items])
    with one_thread():
        distances = (1.0 - users @ items.T).clamp_(0.0, 2.0).numpy()
    return learn(_all_pairs(distances), Settings(degree=wanted), n_users=n_users)


def _all_pairs(distances: Floats) -> csr_array:
    """Return distances (U, I) as candidates (U + I, U + I) in both directions, zeros stored."""
    n_users, n_items = distances.shape
    items, users = np.arange(n_items, dtype=np.int32), np.arange(n_users, dtype=np.int32)
    starts = [np.arange(0, distances.size, n_items), np.arange(0, distances.size + 1, n_users)]
    parts = (
        np.concatenate([distances.ravel(), distances.T.ravel()]),
        np.concatenate([np.tile(items + n_users, n_users), np.tile(users, n_items)]),
        np.concatenate([starts[0], distances.size + starts[1]]).astype(np.int32),
    )
    return csr_array(parts, shape=(n_users + n_items, n_users + n_items))


def ranked_pairs(graph: LearnedGraph, n_users: int) -> tuple[Ranked, float]:
    """Return users, items and weights of the candidate pairs, and the rank correlation.

    The pairs come by weight, distance and number; those without an edge have weight zero.
    """
    distances = csr_array(graph.candidates[:n_users, n_users:])
    n_items = np.int64(distances.shape[1])
    users = np.repeat(np.arange(n_users), np.diff(distances.indptr))
    items = distances.indices.astype(np.int64)
    edges, weights = graph.biadjacency.tocoo(), np.zeros(len(users))
    weights[np.searchsorted(users * n_items + items, edges.row * n_items + edges.col)] = edges.data
    order = np.lexsort((distances.data, -weights))  # stable: equal pairs stay by number
    correlation = _rank_correlation(weights, distances.data)
    return (users[order], items[order], weights[order]), correlation


def _rank_correlation(weights: Floats, distances: Floats) -> float:
    from scipy.stats import spearmanr

    edges = np.flatnonzero(weights > 0.0)
    edges = edges[:: max(1, len(edges) // _SAMPLE)]
    if len(edges) < 3 or np.ptp(distances[edges]) == 0.0 or np.ptp(weights[edges]) == 0.0:
        return float("nan")
    return float(spearmanr(weights[edges], -distances[edges]).statistic)


def removed_pairs(ranked: Ranked, train: csr_array, fraction: float) -> csr_array:
    """Return the weights (U, I) of the pairs that a fraction takes out of the pool of negatives.

    Training pairs among them were no negatives. So many of a user's pairs stay that no pool falls
    below 1 % of the items.
    """
    n_users, n_items = train.shape
    seen = np.diff(train.indptr)
    known = np.repeat(np.arange(n_users), seen) * np.int64(n_items) + train.indices
    users, items, weights = (part[: round(fraction * n_users * n_items)] for part in ranked)
    new = ~np.isin(users * n_items + items, known)
    users, items, weights = users[new], items[new], weights[new]
    least = max(1, int(np.ceil(_SMALLEST_POOL * n_items)))
    most = np.maximum(n_items - seen - least, 0)  # pairs of each user that may go
    order = np.argsort(users, kind="stable")
    counts = np.bincount(users, minlength=n_users)
    place = np.empty(len(users), dtype=np.int64)
    place[order] = np.arange(len(users)) - np.repeat(np.cumsum(counts) - counts, counts)
    kept = place < most[users]
    return csr_array((weights[kept], (users[kept], items[kept])), shape=train.shape)


def _edges_only(graph: LearnedGraph) -> LearnedGraph:
    """Forget the distances of pairs without an edge, which are most of the memory."""
    parts = graph.adjacency, graph.certificate, graph.multipliers, graph.edge_distances()
    return LearnedGraph.trusted(*parts, graph.n_users)


def checked_choices(
    name: str, given: Mapping[str, Any] | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the options of a base model and those of `CHOICES`, checked, from both together."""
    network = network_class(name).DEFAULTS
    found = checked_options({**network, **CHOICES}, given)
    fractions = found["fractions"]
    listed = [] if isinstance(fractions, str) or not np.iterable(fractions) else list(fractions)
    if not listed or not all(isinstance(f, int | float) and 0.0 <= f <= 1.0 for f in listed):
        raise InputError(f"fractions={fractions!r} must be one or more numbers between 0 and 1.")
    if found["degree"] is not None:
        check_number("degree", found["degree"], above=0.0)
    choices = {key: found[key] for key in CHOICES} | {"fractions": tuple(listed)}
    return {key: found[key] for key in network}, choices
