"""Suggestions of the refined predictor: its scores weighed anew, for the pairs worth suggesting.

Weights that tell links from random pairs are not the best for telling links from other pairs at
two steps. So links are hidden, candidates are found and scored on the rest, and it is learned which
of them are hidden links, see `order`. How many are at each score is counted, and from this share
follows that of suggestions that are right, see `shares`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.data.graphs.link_splits import Pairs, links_of
from truegraph.tasks.links.refined.columns import PairColumns
from truegraph.tasks.links.refined.folds import without_links
from truegraph.tasks.links.refined.model import RefinedModel, columns_on, in_blocks
from truegraph.tasks.links.refined.order import Order, fit_order
from truegraph.tasks.links.refined.regression import Regression, fit_regression
from truegraph.tasks.links.suggesting.candidates import Candidates, candidates_of
from truegraph.tasks.links.suggesting.shares import ScoreShares, count_shares
from truegraph.tasks.links.suggesting.suggestions import (
    CandidateSearch,
    CountedChances,
    Suggester,
    is_among,
)

_ENOUGH_HIDDEN = 2000  # links hidden in all rounds together
_MOST_ROUNDS = 5
_FEWEST_HITS = 20  # hidden links among the candidates that a regression is fitted to
_MOST_ROWS = 300_000  # candidates that it is fitted to


@dataclass(frozen=True, eq=False)
class Trial:
    """Candidates of one round of hiding links, with their scores.

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


def hiding_trials(model: RefinedModel) -> Iterator[Trial]:
    """Hide links of a model's graph at random, several times on small graphs; yield each trial."""
    graph, settings, seed = model.columns.graph, model.settings, model.seed
    links = links_of(graph)
    count = max(1, round(settings.hidden * len(links)))
    rounds = int(np.clip(-(-_ENOUGH_HIDDEN // count), 1, _MOST_ROUNDS))
    rng = np.random.default_rng([seed, 1])  # another stream than that of the folds
    for _ in range(rounds):
        is_hidden = np.zeros(len(links), dtype=bool)
        is_hidden[rng.permutation(len(links))[:count]] = True
        columns = columns_on(without_links(graph, links, is_hidden), model.features, settings, seed)
        yield trial_on(columns, links[is_hidden], count / len(links), _MOST_ROWS // rounds, rng)


def trial_on(
    columns: PairColumns,
    hidden_links: Pairs,
    hidden: float,
    most_rows: int,
    rng: np.random.Generator,
) -> Trial:
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
    return Trial(columns.of(pairs[rows]), is_right[rows], weight, hidden)


def candidates_on(columns: PairColumns, known: csr_array) -> Candidates:
    """Return the pairs worth scoring on the graph of some columns."""
    near = None if columns.scale is None else columns.scale.near
    return candidates_of(columns.graph, known, near)


def judged(trials: list[Trial], usual: Regression) -> tuple[Order, ScoreShares]:
    """Learn which candidates are hidden links, and count how many are at each score.

    With too few hidden links among the candidates the order of the `usual` regression is kept.
    """
    columns = np.concatenate([trial.columns for trial in trials])
    is_right = np.concatenate([trial.is_right for trial in trials])
    weight = np.concatenate([trial.weight for trial in trials])
    hidden = trials[0].hidden
    if len(columns) == 0:
        nothing = ScoreShares(np.zeros(1), np.full(1, 0.5), np.full(1, 0.5), hidden)
        return Order(usual), nothing
    is_enough = _FEWEST_HITS <= is_right.sum() < len(is_right)
    first = fit_regression(columns, is_right, weight=weight) if is_enough else usual
    order, scores = fit_order(first, columns, is_right, weight)
    return order, count_shares(scores, is_right, hidden, weight, len(trials))


def refined_suggester(model: RefinedModel, known: csr_array, held_out: Pairs) -> Suggester:
    """Find out which candidates are right, and score all of them.

    Parameters
    ----------
    model : RefinedModel
    known : csr_array, shape (N, N)
        Links that are not suggested.
    held_out : ndarray of int64, shape (h, 2)
        Links of `known` that the model was not fitted to. If there are any, they are the hidden
        links to be found; otherwise links of the model's graph are hidden.
    """
    columns = model.columns
    if len(held_out):
        rng = np.random.default_rng(model.seed)
        share = len(held_out) / (known.nnz // 2)
        trials = [trial_on(columns, held_out, share, _MOST_ROWS, rng)]
    else:
        trials = list(hiding_trials(model))
    order, shares = judged(trials, model.regression)
    candidates = candidates_on(columns, known)
    search = CandidateSearch(candidates, in_blocks(columns, order.scores, candidates.pairs))
    return Suggester(search, CountedChances(shares, model.drawn_logits), candidates.searched)
