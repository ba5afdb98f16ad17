"""Base class of the recommenders that score a user from their history alone.

They are not trained on triples: one calculation gives their weights. A new user is scored like any
other. What a caller leaves open is chosen on validation interactions, one candidate in memory at a
time; the chosen settings can then be fitted to all interactions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.errors import InputError
from truegraph.evaluation.ranking import score_rankings
from truegraph.nn.top_items import rank_items
from truegraph.progress import Progress

Floats = NDArray[np.float32]
LOOKED_AT = 20  # places of the lists that choices look at
_MOST_USERS = 10_000  # whose lists a choice looks at
_MOST_SCORES = 150_000_000  # that it computes: with many items it looks at fewer users
_FEWEST_USERS = 1_000


@dataclass(frozen=True, eq=False)
class Choice:
    """Settings with nothing left open, and what they were chosen by.

    Attributes
    ----------
    settings : dataclass of the recommender
    recall, ndcg : float
        Of the chosen settings on the validation interactions, at 20; NaN if nothing was tried.
    tried : tuple of (settings, recall, ndcg)
        Every candidate, in the order of the trials.
    """

    settings: Any
    recall: float = float("nan")
    ndcg: float = float("nan")
    tried: tuple[tuple[Any, float, float], ...] = ()


class HistoryModel(ABC):
    """Scores items by a user's history.

    Subclasses give ``name``, ``settings_type``, ``usual`` (the value of every setting that may be
    left open) and ``candidates``, and implement :meth:`fit`, :meth:`scores`,
    :meth:`contributions`, :meth:`similarity`, :meth:`arrays` and :meth:`restored`.

    Parameters
    ----------
    settings : dataclass of the recommender
        With nothing left open.
    """

    name: ClassVar[str]
    settings_type: ClassVar[type[Any]]
    usual: ClassVar[dict[str, Any]] = {}
    candidates: ClassVar[dict[str, tuple[Any, ...]]] = {}

    def __init__(self, settings: Any) -> None:
        self.settings = settings

    @classmethod
    def choose(
        cls,
        settings: Any,
        train: csr_array,
        validation: csr_array | None,
        *,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> Choice:
        """Choose what the settings leave open (None), one setting after the other.

        Parameters
        ----------
        settings : dataclass of the recommender
        train : csr_array of shape (n_users, n_items)
        validation : csr_array of shape (n_users, n_items), or None
            None or empty: the usual values are taken.
        seed : int
        progress : Progress, optional
        """
        missing = [name for name in cls.candidates if getattr(settings, name) is None]
        chosen = replace(settings, **{name: cls.usual[name] for name in missing})
        if not missing or validation is None or validation.nnz == 0:
            return Choice(chosen)
        search = Search(validation, train, seed, progress)
        for name in missing:
            options = [replace(chosen, **{name: value}) for value in cls.candidates[name]]
            chosen = search.best(options, lambda option: cls.fit(option, train, seed=seed))
        return search.choice(chosen)

    @classmethod
    @abstractmethod
    def fit(cls, settings: Any, matrix: csr_array, *, seed: int = 0) -> Self:
        """Fit the recommender to interactions (n_users, n_items), with nothing left open."""

    @abstractmethod
    def scores(self, history: csr_array) -> Floats:
        """Return scores (m, n_items) of users with these histories (m, n_items)."""

    @abstractmethod
    def contributions(
        self, history: NDArray[np.int64], item: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return what each item of a history adds to an item's score.

        Returns
        -------
        direct, graph : ndarray of float64, shape (len(history),)
            By the item itself, and by its neighbours in a graph; together they sum to the score.
        """

    @abstractmethod
    def similarity(self, item: int) -> Floats:
        """Return how similar every item is to one, (n_items,)."""

    @abstractmethod
    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything but the settings, to be saved."""

    @classmethod
    @abstractmethod
    def restored(cls, settings: Any, arrays: dict[str, NDArray[Any]]) -> Self:
        """Return the recommender whose `arrays` these are."""


class Search:
    """Candidates compared by their lists for users with validation interactions.

    Parameters
    ----------
    validation, train : csr_array of shape (n_users, n_items)
        What is to be found, and the histories, which are no candidates. Of more than 10,000 users
        with validation interactions a random 10,000 are looked at, and beyond 15,000 items as many
        as give 150 million scores, at least 1,000.
    seed : int
        Of that choice.
    progress : Progress, optional
    """

    def __init__(
        self,
        validation: csr_array,
        train: csr_array,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> None:
        users = np.flatnonzero(np.diff(validation.indptr))
        most = min(_MOST_USERS, max(_FEWEST_USERS, _MOST_SCORES // max(1, train.shape[1])))
        if len(users) > most:
            users = np.sort(np.random.default_rng(seed).choice(users, most, replace=False))
        self.histories, self._held = csr_array(train[users]), csr_array(validation[users])
        self.tried: list[tuple[Any, float, float]] = []
        self._progress = progress or Progress()

    def measure(self, model: HistoryModel) -> tuple[float, float]:
        """Return recall@20 and NDCG@20 of a fitted recommender on the validation interactions."""
        top, _ = rank_items(
            lambda rows: model.scores(self.histories[rows]),
            np.arange(self.histories.shape[0]),
            self.histories,
            LOOKED_AT,
        )
        found = score_rankings(top, self._held, (LOOKED_AT,)).means()
        return found[f"recall@{LOOKED_AT}"], found[f"ndcg@{LOOKED_AT}"]

    def best(self, options: Iterable[Any], fit: Callable[[Any], HistoryModel]) -> Any:
        """Fit candidates one at a time; return the settings with the best recall, the first."""
        best, best_value = None, -np.inf
        for option in options:
            recall, _ = self.known(option) or self.record(fit(option))
            if recall > best_value:
                best, best_value = option, recall
        return best

    def known(self, option: Any) -> tuple[float, float] | None:
        """Return recall and NDCG of a candidate that was tried before, or None."""
        for settings, recall, ndcg in self.tried:
            if settings == option:
                return recall, ndcg
        return None

    def record(self, model: HistoryModel) -> tuple[float, float]:
        """Measure a candidate and remember it."""
        recall, ndcg = self.measure(model)
        self.tried.append((model.settings, recall, ndcg))
        self._progress.update(len(self.tried), None, f"recall {recall:.4f}")
        return recall, ndcg

    def choice(self, chosen: Any) -> Choice:
        """Return settings as the choice, with the figures they had."""
        recall, ndcg = next(pair for settings, *pair in self.tried if settings == chosen)
        return Choice(chosen, recall, ndcg, tuple(self.tried))


class LinearHistoryModel(HistoryModel):
    """Scores are history @ weights.

    Parameters
    ----------
    settings : dataclass of the recommender
    weights : csr_array or ndarray of float32, shape (n_items, n_items)
    """

    def __init__(self, settings: Any, weights: Any) -> None:
        super().__init__(settings)
        self.weights = weights

    def scores(self, history: csr_array) -> Floats:
        """Return history @ weights."""
        return as_dense(history @ self.weights)

    def contributions(
        self, history: NDArray[np.int64], item: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the weights between the history and the item; there is no graph."""
        direct = as_dense(self.weights[history][:, [item]]).astype(np.float64).ravel()
        return direct, np.zeros(len(history))

    def similarity(self, item: int) -> Floats:
        """Return the item's row of the weights."""
        return as_dense(self.weights[[item]]).ravel()

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the weights."""
        return packed(self.weights, "weights")

    @classmethod
    def restored(cls, settings: Any, arrays: dict[str, NDArray[Any]]) -> Self:
        """Return the recommender with these weights."""
        return cls(settings, unpacked(arrays, "weights"))


def as_dense(matrix: Any) -> Floats:
    """Return a product of matrices as a dense array of float32."""
    dense = matrix.toarray() if hasattr(matrix, "toarray") else matrix
    return np.ascontiguousarray(dense, dtype=np.float32)


def packed(matrix: Any, name: str) -> dict[str, NDArray[Any]]:
    """Return a dense or a CSR matrix as arrays that begin with a name."""
    from truegraph.data.storage import csr_to_arrays

    if isinstance(matrix, csr_array):
        return csr_to_arrays(matrix, name)
    return {name: np.asarray(matrix)}


def unpacked(arrays: dict[str, NDArray[Any]], name: str) -> Any:
    """Return what `packed` was given."""
    from truegraph.data.storage import csr_from_arrays

    return arrays[name] if name in arrays else csr_from_arrays(arrays, name)


def check_at_least(settings: Any, least: dict[str, float]) -> None:
    """Raise an InputError for settings below their least values; None is left open."""
    for name, bound in least.items():
        value = getattr(settings, name)
        if value is not None and not value >= bound:
            raise InputError(f"{name}={value!r} must be at least {bound:g}.")
