"""Candidates compared by their lists on held-out interactions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.evaluation.ranking import score_rankings
from truegraph.progress import Progress
from truegraph.recommend.models import HistoryModel
from truegraph.recommend.top_items import rank_items
from truegraph.saving import savable

LOOKED_AT = 20  # places of the lists that choices look at
_MOST_USERS = 10_000  # whose lists a choice looks at
_MOST_SCORES = 150_000_000  # that it computes: with many items it looks at fewer users
_FEWEST_USERS = 1_000

Options = dict[str, Any]


@savable
@dataclass(frozen=True, eq=False)
class Choice:
    """A model with nothing left open, and what it was chosen by.

    Attributes
    ----------
    model : str
    options : dict
    recall, ndcg : float
        On the held-out interactions, at 20; NaN if nothing was tried.
    tried : tuple of (model, options, recall, ndcg)
        Every candidate, in the order of the trials.
    """

    model: str
    options: Options
    recall: float = float("nan")
    ndcg: float = float("nan")
    tried: tuple[tuple[str, Options, float, float], ...] = ()

    _may_be_nan = ("recall", "ndcg")


class Search:
    """Candidates and how good their lists are for users with held-out interactions.

    Parameters
    ----------
    held_out, train : csr_array of shape (n_users, n_items)
        What is to be found, and the histories, which are no candidates. Of more than 10,000 users
        with held-out interactions a random 10,000 are looked at, and beyond 15,000 items as many
        as give 150 million scores, at least 1,000.
    seed : int
        Of that choice.
    progress : Progress, optional
    """

    def __init__(
        self,
        held_out: csr_array,
        train: csr_array,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> None:
        users = np.flatnonzero(np.diff(held_out.indptr))
        most = min(_MOST_USERS, max(_FEWEST_USERS, _MOST_SCORES // max(1, train.shape[1])))
        if len(users) > most:
            users = np.sort(np.random.default_rng(seed).choice(users, most, replace=False))
        self.users, self.n_users = users, int(train.shape[0])
        self.histories, self._held = csr_array(train[users]), csr_array(held_out[users])
        self.tried: list[tuple[str, Options, float, float]] = []
        self._progress = progress or Progress()

    def values(self, model: HistoryModel) -> NDArray[np.float64]:
        """Return recall@20 and NDCG@20 (2, n_users) of a model for every user looked at."""
        top, _ = rank_items(
            lambda rows: model.scores(self.histories[rows]),
            np.arange(self.histories.shape[0]),
            self.histories,
            LOOKED_AT,
        )
        found = score_rankings(top, self._held, (LOOKED_AT,))
        return np.array([found[f"{name}@{LOOKED_AT}"] for name in ("recall", "ndcg")])

    def measure(self, model: HistoryModel) -> tuple[float, float]:
        """Return recall@20 and NDCG@20 of a fitted model on the held-out interactions."""
        recall, ndcg = self.values(model).mean(axis=1)
        return float(recall), float(ndcg)

    def record(self, model: HistoryModel) -> tuple[float, float]:
        """Measure a candidate and remember it."""
        recall, ndcg = self.measure(model)
        self.tried.append((model.name, model.options, recall, ndcg))
        self._progress.update(len(self.tried), None, f"recall {recall:.4f}")
        return recall, ndcg

    def known(self, options: Mapping[str, Any], name: str | None = None) -> Any:
        """Return recall and NDCG of options that were tried before, or None."""
        for model, tried, recall, ndcg in self.tried:
            if tried == options and name in (None, model):
                return recall, ndcg
        return None

    def choice(self, name: str, options: Options) -> Choice:
        """Return options as the choice, with the figures they had."""
        recall, ndcg = self.known(options, name)
        return Choice(name, options, recall, ndcg, tuple(self.tried))


def choose_options(
    kind: type[HistoryModel], options: Options, train: csr_array, search: Search | None, seed: int
) -> Options:
    """Return options with what was left open chosen by recall@20, one after the other.

    Parameters
    ----------
    kind : type of HistoryModel
    options : dict
        As `HistoryModel.checked` returns it.
    train : csr_array of shape (n_users, n_items)
    search : Search or None
        None: nothing is held out, and the usual values are taken.
    seed : int
    """
    chosen = kind.usual(options)
    if search is not None:
        for name in (name for name in kind.TRIED if options[name] is None):
            wanted = [chosen | {name: value} for value in kind.TRIED[name]]
            chosen = _best(kind, wanted, train, search, seed)
    return chosen


def _best(
    kind: type[HistoryModel], wanted: Iterable[Options], train: csr_array, search: Search, seed: int
) -> Options:
    """Return the options with the best recall, the first of equal ones."""
    best, highest = None, -np.inf
    for options in wanted:
        found = search.known(options, kind.name)
        found = found or search.record(kind.fit(options, train, seed=seed))
        if found[0] > highest:
            best, highest = options, found[0]
    assert best is not None
    return best
