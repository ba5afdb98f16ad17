"""The default model: scores of pairs, weighed by a regression that never saw a pair's own link.

Weights that tell links from random pairs are not the best for telling links from other pairs at
two steps. So for suggestions links are hidden, candidates are found and scored on the rest, and it
is learned which of them are hidden links, see `order`. How many are at each score is counted, and
from this share follows that of suggestions that are right, see `shares`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph import gate
from truegraph.data.link_splits import Pairs, links_of
from truegraph.errors import InputError
from truegraph.links.candidates import Candidates, candidates_of
from truegraph.links.columns import PairColumns, pair_columns, vectors_on
from truegraph.links.folds import without_links
from truegraph.links.local_scale import SCALES
from truegraph.links.order import Order, fit_order
from truegraph.links.problem import is_among
from truegraph.links.regression import Regression, fit_regression
from truegraph.links.shares import ScoreShares, count_shares, on_another_graph
from truegraph.links.similarities import NodeFeatures
from truegraph.links.suggestions import CandidateSearch, Probability, Suggester, nothing_counted
from truegraph.options import checked_options
from truegraph.saving import savable

#: Options of the default model, see `LinkPredictor`.
DEFAULTS: dict[str, Any] = {
    "scale": "auto",
    "rank": 128,  # lab/choose/link_rank.py
    "folds": 5,
    "hidden": 0.1,
}
_SCALES = {
    "slack": "with the slack of a learned graph",
    "neighbours": "with the distance of nearest neighbours",
    "off": "without a local scale",
}
_ENOUGH_HIDDEN = 2000  # links hidden in all rounds together: shares of 50 to two points
_MOST_ROUNDS = 5  # each costs what a fold does
_FEWEST_HITS = 20  # hidden links among the candidates that a regression is fitted to: one a column
_MOST_ROWS = 300_000  # candidates that it is fitted to, which take about 50 MB


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


@savable
@dataclass(frozen=True, eq=False)
class PairModel:
    """The fitted model.

    Attributes
    ----------
    columns : PairColumns
        Scores on the whole training graph.
    regression : Regression
        From scores to the log odds of a link among as many links as other pairs.
    features : NodeFeatures or None
    options : dict
        Those of `DEFAULTS`.
    seed : int
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
            f"pairs are scored by {by}, {_SCALES[self.options['scale']]}, weighed on "
            f"{self.options['folds']} folds"
        )

    def logits(self, pairs: Pairs) -> NDArray[np.float64]:
        """Return the log odds of each pair (n, 2), (n,)."""
        return self.columns.weighed(pairs, self.regression.logits)

    def spread(self, pairs: Pairs, probability: Probability) -> NDArray[np.float64]:
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
            rounds = [hiding_round(self.columns, hidden, share, _MOST_ROWS, rng)]
        else:
            rounds = list(hiding_rounds(self))
        order, shares, others = learned_order(rounds, self.regression)
        candidates = candidates_on(self.columns, known)
        scores = self.columns.weighed(candidates.pairs, order.scores)
        if not len(hidden) and len(rounds) == 1:
            # Not on small graphs: without a tenth of their links the order is worse too, and
            # what is at a rank would understate what is right.
            shares = on_another_graph(shares, *others, scores)
        return Suggester(CandidateSearch(candidates.pairs, scores), shares, candidates.searched)


@dataclass(frozen=True, eq=False)
class HidingRound:
    """Candidates on a graph some of whose links were hidden, with their scores.

    Attributes
    ----------
    columns : ndarray of float64, shape (n, columns)
    is_right : ndarray of bool, shape (n,)
        Whether a candidate is a hidden link.
    weight : ndarray of float64, shape (n,)
        How many candidates a row stands for.
    hidden : float
        Part of the links that was hidden.
    """

    columns: NDArray[np.float64]
    is_right: NDArray[np.bool_]
    weight: NDArray[np.float64]
    hidden: float


def hiding_rounds(model: PairModel) -> Iterator[HidingRound]:
    """Hide links of a model's graph at random, several times on small graphs."""
    graph, seed = model.columns.graph, model.seed
    links = links_of(graph)
    count = max(1, round(model.options["hidden"] * len(links)))
    rounds = int(np.clip(-(-_ENOUGH_HIDDEN // count), 1, _MOST_ROUNDS))
    rng = np.random.default_rng([seed, 1])  # another stream than that of the folds
    for _ in range(rounds):
        is_hidden = np.zeros(len(links), dtype=bool)
        is_hidden[rng.permutation(len(links))[:count]] = True
        rest = without_links(graph, links, is_hidden)
        columns = pair_columns(rest, model.features, model.options, seed)
        share = count / len(links)
        yield hiding_round(columns, links[is_hidden], share, _MOST_ROWS // rounds, rng)


def hiding_round(
    columns: PairColumns,
    hidden_links: Pairs,
    hidden: float,
    most_rows: int,
    rng: np.random.Generator,
) -> HidingRound:
    """Find candidates on a graph that lacks some links, and score them.

    Parameters
    ----------
    columns : PairColumns
        On that graph.
    hidden_links : ndarray of int64, shape (h, 2)
    hidden : float
        Part of all links that they are.
    most_rows : int
        Of more candidates all hidden links are kept, and a random part of the others.
    rng : Generator
    """
    pairs = candidates_on(columns, columns.graph).pairs
    is_right = is_among(pairs, hidden_links, columns.graph.shape[0])
    wrong = np.flatnonzero(~is_right)
    kept = np.sort(rng.permutation(wrong)[:most_rows])
    rows = np.concatenate([np.flatnonzero(is_right), kept])
    weight = np.where(is_right[rows], 1.0, len(wrong) / max(len(kept), 1))
    return HidingRound(columns.of(pairs[rows]), is_right[rows], weight, hidden)


def candidates_on(columns: PairColumns, known: csr_array) -> Candidates:
    """Return the pairs worth scoring on the graph of some columns."""
    near = None if columns.scale is None else columns.scale.near
    return candidates_of(columns.graph, known, near)


def learned_order(
    rounds: list[HidingRound], usual: Regression
) -> tuple[Order, ScoreShares, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Learn which candidates are hidden links, and count how many are at each score.

    With too few hidden links among the candidates the order of the `usual` regression is kept.

    Returns
    -------
    order : Order
    shares : ScoreShares
    others : tuple of two ndarray of float64, shape (n,)
        Scores of the candidates that are not hidden links, and how many each one stands for.
    """
    columns = np.concatenate([one.columns for one in rounds])
    is_right = np.concatenate([one.is_right for one in rounds])
    weight = np.concatenate([one.weight for one in rounds])
    hidden = rounds[0].hidden
    if len(columns) == 0:
        return Order(usual), nothing_counted(hidden), (weight, weight)
    is_enough = _FEWEST_HITS <= is_right.sum() < len(is_right)
    first = fit_regression(columns, is_right, weight=weight) if is_enough else usual
    order, scores = fit_order(first, columns, is_right, weight)
    shares = count_shares(scores, is_right, hidden, weight, len(rounds))
    return order, shares, (scores[~is_right], weight[~is_right])
