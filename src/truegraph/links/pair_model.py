"""The default model: scores of pairs, weighed by a regression that never saw a pair's own link.

Weights that tell links from random pairs are not the best for telling links from other pairs at
two steps. So for suggestions links are hidden, candidates are found and scored on the rest, and it
is learned which of them are hidden links. How many are at each score is counted, and from this
share follows that of suggestions that are right.

What links of new nodes look like, of which only features are known, is learned from fitted nodes:
some of them lose all their links, and a regression learns which of these can be told from what is
left. How many suggestions at each score are right is counted on other nodes that lose theirs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from truegraph import gate
from truegraph.data.link_splits import Pairs, links_of
from truegraph.errors import InputError
from truegraph.links.columns import (
    SCALES,
    NodeFeatures,
    PairColumns,
    pair_columns,
    unit_rows,
    vectors_on,
)
from truegraph.links.problem import folds_of, is_among, pair_values, without_links
from truegraph.links.regression import Columns, Regression, Scores, fit_order, fit_regression
from truegraph.links.suggestions import (
    CandidateSearch,
    Probability,
    Ranked,
    ScoreShares,
    Suggester,
    count_shares,
    top_pairs,
)
from truegraph.links.walks import candidates_of
from truegraph.options import checked_options
from truegraph.runtime.threads import one_blas_thread
from truegraph.saving import savable

#: Options of the default model, see `LinkPredictor`.
DEFAULTS: dict[str, Any] = {
    "scale": "auto",
    "rank": 128,  # lab/choose/link_rank.py
    "folds": 5,
    "hidden": 0.1,
}
_SCALE_WORDS = {
    "slack": "with the slack of a learned graph",
    "neighbours": "with the distance of nearest neighbours",
    "off": "without a local scale",
}
_ENOUGH_HIDDEN = 2000  # links hidden in all rounds together: shares of 50 to two points
_MOST_ROUNDS = 5  # each costs what a fold does
_FEWEST_HITS = 20  # hidden links among the candidates that a regression is fitted to: one a column
_MOST_ROWS = 300_000  # candidates that it is fitted to, which take about 50 MB
_COLD = 0.1  # of the nodes that lose their links, once to learn from and once to count on
_FEWEST_COLD, _MOST_COLD = 100, 2000  # of these, but no more than a quarter of all
_NON_LINKS = 2  # per link of a new node, as in the folds
_NEAR = 200  # partners that each kind of similarity proposes; lab/choose/link_new_nodes.py
_CELLS = 1 << 23  # similarities held at a time, 32 MB

#: Columns (n, c) of candidates, which are hidden links, and how many each stands for (n,).
Round = tuple[Columns, NDArray[np.bool_], Scores]


def auto_options(given: Any, has_features: bool) -> dict[str, Any]:
    """Return the options of the default model, checked, with the scale that "auto" stands for."""
    options = checked_options(DEFAULTS, given)
    if options["scale"] not in ("auto", *SCALES):
        raise InputError(f"scale={options['scale']!r} must be one of auto, {', '.join(SCALES)}.")
    if options["folds"] < 2:
        raise InputError(f"folds={options['folds']} must be at least 2.")
    if not 0.0 < options["hidden"] < 0.5:
        raise InputError(f"hidden={options['hidden']} must be a share of the links from 0 to 0.5.")
    if options["scale"] == "auto":
        options["scale"] = "neighbours" if has_features else "off"
    return options


def fit_pair_model(
    graph: csr_array, known: csr_array, features: Any, options: dict[str, Any], seed: int
) -> PairModel:
    """Weigh scores of pairs by a regression on folds of the links of a graph (N, N).

    A link's scores on a graph that holds it say little about links that are missing: the links of a
    fold, and random pairs, are scored on the graph without the fold. New pairs are scored on the
    whole graph.
    """
    table, truth = [], []
    for rest, links, non_links in folds_of(graph, known, options["folds"], seed):
        columns = pair_columns(rest, features, options, seed)
        table.append(columns.of(np.concatenate([links, non_links])))
        truth.append(np.repeat([True, False], [len(links), len(non_links)]))
    is_link = np.concatenate(truth)
    if is_link.all():
        raise InputError(
            "the graph has no pairs without a link to learn from; give one that is not complete."
        )
    regression = fit_regression(np.concatenate(table), is_link)
    columns = pair_columns(graph, features, options, seed)
    return PairModel(columns, regression, features, options, seed)


@savable
@dataclass(frozen=True, eq=False)
class PairModel:
    """Scores on the whole training graph, and a regression from them to the log odds of a link.

    Options are those of `DEFAULTS`.
    """

    columns: PairColumns
    regression: Regression
    features: NodeFeatures | None
    options: dict[str, Any]
    seed: int

    def _after_load(self) -> None:
        """Check what compiled loops rely on, and build again what the graph implies."""
        columns, features, scale = self.columns, self.features, self.columns.scale
        nodes, width = len(columns.first), columns.first.shape[1]
        gate.sparse_matrix("graph", columns.graph, shape=(nodes, nodes))
        if features is not None:
            gate.sparse_matrix("features", features.given, shape=(nodes, None))
            gate.array("rarity", features.rarity, features.given.shape[1:])
            gate.array("directions", features.directions, (len(features.rarity), width))
        if scale is not None:
            gate.array("points", scale.points, (nodes, None))
            gate.array("usual", scale.usual, (nodes,))
            gate.pairs("near", scale.near, nodes)
        _, columns.smoothed = vectors_on(columns.graph, columns.first, 0, self.seed)
        columns.rows = None if features is None else features.rows
        for part in (self.regression.centre, self.regression.spread, self.regression.weights):
            gate.array("regression", part, (len(columns.names),))

    @property
    def embedding(self) -> NDArray[np.float32]:
        """Vectors of the nodes: features or eigenvectors, smoothed once over the graph, (N, d)."""
        return self.columns.smoothed[1]

    def describe(self) -> str:
        """Return in words what pairs are scored by."""
        by = "walks and eigenvectors" if self.features is None else "features and walks"
        return (
            f"pairs are scored by {by}, {_SCALE_WORDS[self.options['scale']]}, weighed on "
            f"{self.options['folds']} folds"
        )

    def logits(self, pairs: Pairs) -> Scores:
        """Return the log odds of each pair (n, 2), (n,)."""
        return self.columns.weighed(pairs, self.regression.logits)

    def spread(self, pairs: Pairs, probability: Probability) -> Scores:
        """Return the standard error of each pair's probability, from that of its log odds, (n,)."""
        logits, errors = self.logits(pairs), self.columns.weighed(pairs, self.regression.errors)
        return 0.5 * (probability(logits + errors) - probability(logits - errors))

    def suggester(self, known: csr_array, hidden: Pairs) -> Suggester:
        """Learn which candidates are right, and score all of them.

        Hidden links, if there are any, are those to be found; otherwise links of the model's graph
        are hidden.
        """
        if len(hidden):
            rng = np.random.default_rng(self.seed)
            share = len(hidden) / (known.nnz // 2)
            rounds = [hiding_round(self.columns, hidden, _MOST_ROWS, rng)]
        else:
            share, rounds = hiding_rounds(self)
        columns, is_right, weight = (np.concatenate(part) for part in zip(*rounds, strict=True))
        order, scores = self.regression, np.zeros(len(columns))
        if len(columns):
            # With too few hidden links among the candidates the usual order is kept.
            if _FEWEST_HITS <= is_right.sum() < len(is_right):
                order = fit_regression(columns, is_right, weight=weight)
            order, scores = fit_order(order, columns, is_right, weight)
        shares = count_shares(scores, is_right, share, weight, len(rounds))
        pairs, searched = candidates_on(self.columns, known)
        found = self.columns.weighed(pairs, order.order)
        if not len(hidden) and len(rounds) == 1:
            # Not on small graphs: without a tenth of their links the order is worse too, and
            # what is at a rank would understate what is right.
            shares = shares.on_another_graph(scores[~is_right], weight[~is_right], found)
        return Suggester(CandidateSearch(pairs, found), shares, searched)


def hiding_rounds(model: PairModel) -> tuple[float, list[Round]]:
    """Hide a share of a model's links at random, several times on small graphs."""
    graph, seed = model.columns.graph, model.seed
    links = links_of(graph)
    count = max(1, round(model.options["hidden"] * len(links)))
    rounds = int(np.clip(-(-_ENOUGH_HIDDEN // count), 1, _MOST_ROUNDS))
    rng = np.random.default_rng([seed, 1])  # another stream than that of the folds
    found = []
    for _ in range(rounds):
        is_hidden = np.zeros(len(links), dtype=bool)
        is_hidden[rng.permutation(len(links))[:count]] = True
        rest = without_links(graph, links, is_hidden)
        columns = pair_columns(rest, model.features, model.options, seed)
        found.append(hiding_round(columns, links[is_hidden], _MOST_ROWS // rounds, rng))
    return count / len(links), found


def hiding_round(
    columns: PairColumns, hidden_links: Pairs, most_rows: int, rng: np.random.Generator
) -> Round:
    """Find candidates on a graph that lacks some links, and score them.

    Of too many candidates all hidden links are kept, and a random part of the others.
    """
    pairs, _ = candidates_on(columns, columns.graph)
    is_right = is_among(pairs, hidden_links, columns.graph.shape[0])
    wrong = np.flatnonzero(~is_right)
    kept = np.sort(rng.permutation(wrong)[:most_rows])
    rows = np.concatenate([np.flatnonzero(is_right), kept])
    weight = np.where(is_right[rows], 1.0, len(wrong) / max(len(kept), 1))
    return columns.of(pairs[rows]), is_right[rows], weight


def candidates_on(columns: PairColumns, known: csr_array) -> tuple[Pairs, str]:
    """Return the pairs worth scoring on the graph of some columns, and what they are."""
    near = None if columns.scale is None else columns.scale.near
    return candidates_of(columns.graph, known, near)


class NewNodes:
    """Scores of pairs of a new node and a fitted one, learned on the graph of a fitted model."""

    def __init__(self, model: PairModel) -> None:
        if model.features is None:
            raise InputError(
                "the predictor was fitted without features, so nothing is known of new nodes; "
                "fit it with X."
            )
        rng = np.random.default_rng([model.seed, 4])
        linked = rng.permutation(np.flatnonzero(np.diff(model.columns.graph.indptr)))
        size = int(np.clip(round(_COLD * len(linked)), _FEWEST_COLD, _MOST_COLD))
        size = max(1, min(size, len(linked) // 4))
        learned, counted = np.sort(linked[:size]), np.sort(linked[size : 2 * size])
        self._features = model.features
        # A local scale knows fitted nodes only.
        self._columns = replace(model.columns, scale=None)
        self._weights = _cold_regression(model, learned, rng)
        self.shares = _cold_shares(model, counted, self._weights)

    def logits(self, features: csr_array, pairs: Pairs) -> Scores:
        """Return the log odds (n,) of pairs (n, 2): a row of `features` (m, F), a fitted node."""
        joined = joined_columns(self._columns, self._features, features)
        # New nodes come after the fitted ones.
        shifted = np.column_stack([pairs[:, 0] + len(self._columns.first), pairs[:, 1]])
        return joined.weighed(shifted, self._weights.logits)

    def best(self, features: csr_array, k: int) -> Ranked:
        """Return the best k partners of every new node (m, F), best first for each.

        Looked at are the fitted nodes whose features, as they are or smoothed over the graph, are
        most similar.
        """
        rows = self._features.reduced_of(self._features.rows_of(features))
        pairs = _near_pairs(self._columns, rows, np.arange(len(self._columns.first)))
        scores = self.logits(features, pairs)
        ends = np.flatnonzero(np.diff(pairs[:, 0])) + 1
        parts = np.split(np.arange(len(pairs)), ends)
        found = [top_pairs(pairs[own], scores[own], k) for own in parts]
        ranked, their_scores = (np.concatenate(part) for part in zip(*found, strict=True))
        return ranked, their_scores


def _without_links_of(model: PairModel, cold: NDArray[np.int64]) -> PairColumns:
    """Return scores on the graph without any link of some nodes."""
    links = links_of(model.columns.graph)
    is_cold = np.isin(links, cold).any(axis=1)
    rest = without_links(model.columns.graph, links, np.asarray(is_cold))
    return pair_columns(rest, model.features, model.options | {"scale": "off"}, model.seed)


def _cold_regression(
    model: PairModel, cold: NDArray[np.int64], rng: np.random.Generator
) -> Regression:
    """Fit which pairs of a node without links and another one are links of the graph."""
    columns, graph = _without_links_of(model, cold), model.columns.graph
    others = np.setdiff1d(np.arange(graph.shape[0]), cold)
    rows = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    links = np.column_stack([rows, graph.indices]).astype(np.int64)
    links = links[np.isin(links[:, 0], cold) & ~np.isin(links[:, 1], cold)]
    drawn = np.column_stack(
        [rng.choice(ends, 2 * _NON_LINKS * len(links)) for ends in (cold, others)]
    )
    non_links = drawn[pair_values(graph, drawn) == 0.0][: _NON_LINKS * len(links)]
    if len(links) == 0 or len(non_links) == 0:
        raise InputError(
            "the graph is too small to learn the links of new nodes from; give more nodes."
        )
    is_link = np.repeat([True, False], [len(links), len(non_links)])
    return fit_regression(columns.of(np.concatenate([links, non_links])), is_link)


def _cold_shares(model: PairModel, cold: NDArray[np.int64], weights: Regression) -> ScoreShares:
    """Count which share of the suggestions for nodes without links are links of the graph."""
    columns, graph = _without_links_of(model, cold), model.columns.graph
    others = np.setdiff1d(np.arange(graph.shape[0]), cold)
    pairs = _near_pairs(columns, columns.first[cold], others)
    pairs[:, 0] = cold[pairs[:, 0]]
    scores = columns.weighed(pairs, weights.logits)
    return count_shares(scores, pair_values(graph, pairs) != 0.0, 1.0)


def _near_pairs(
    columns: PairColumns, rows: NDArray[np.float32], fitted: NDArray[np.int64]
) -> Pairs:
    """Return pairs of a row (m, d) and a fitted node with similar vectors, ordered, (n, 2)."""
    wanted = unit_rows(rows)
    count = min(_NEAR, len(fitted))
    block = max(1, _CELLS // max(len(fitted), 1))
    found = []
    with one_blas_thread():  # sums of several threads would come in another order
        for kind in columns.smoothed[:3]:
            there = kind[fitted].T
            for begin in range(0, len(wanted), block):
                alike = wanted[begin : begin + block] @ there
                best = np.argpartition(-alike, count - 1, axis=1)[:, :count]
                numbers = np.repeat(np.arange(begin, begin + len(best)), count)
                found.append(np.column_stack([numbers, fitted[best.ravel()]]))
    return np.unique(np.concatenate(found), axis=0)


def joined_columns(columns: PairColumns, fitted: NodeFeatures, features: csr_array) -> PairColumns:
    """Return the scores of a graph (N, N) to which nodes without links (m, F) are added."""
    graph, rows = columns.graph, fitted.rows_of(features)
    known: Any = columns.rows
    reduced = fitted.reduced_of(rows)
    ends = np.concatenate([graph.indptr, np.full(len(reduced), graph.nnz)])
    size = len(ends) - 1
    return PairColumns(
        csr_array((graph.data, graph.indices, ends), shape=(size, size)),
        np.vstack([columns.first, reduced]),
        csr_array(vstack([known, rows], format="csr")),
        # Smoothing leaves a node without links as it is.
        tuple(np.vstack([part, unit_rows(reduced)]) for part in columns.smoothed),
    )
