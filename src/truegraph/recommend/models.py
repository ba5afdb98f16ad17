"""What the closed-form recommenders have in common.

They score a user from their history alone and are not trained on triples: one calculation gives
their weights. A new user is scored like any other. What a caller leaves open is chosen on held-out
interactions, one candidate in memory at a time; see `truegraph.recommend.choosing`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from threadpoolctl import ThreadpoolController

from truegraph.errors import InputError
from truegraph.options import checked_options

Floats = NDArray[np.float32]
Parts = tuple[NDArray[np.float64], NDArray[np.float64]]


class HistoryModel(ABC):
    """Scores items by a user's history.

    Attributes
    ----------
    name : str
    DEFAULTS : dict
        Every option and its usual value.
    TRIED : dict
        The options that are chosen on held-out interactions unless they are given, and the values
        that are tried.
    CHOICES : dict
        All values of the options that are names.
    options : dict
        With nothing left open.
    """

    name: ClassVar[str]
    DEFAULTS: ClassVar[dict[str, Any]] = {}
    TRIED: ClassVar[dict[str, tuple[Any, ...]]] = {}
    CHOICES: ClassVar[dict[str, tuple[Any, ...]]] = {}

    options: dict[str, Any]

    @classmethod
    def checked(cls, given: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return all options, None where one is to be chosen; raise for impossible ones."""
        own = given
        if isinstance(given, Mapping):
            own = {k: v for k, v in given.items() if not (v is None and k in cls.TRIED)}
        options = checked_options(cls.DEFAULTS, own)
        for name, known in cls.CHOICES.items():
            if options[name] not in known:
                raise InputError(f"{name}={options[name]!r} must be one of {known}.")
        if not options.get("penalty", 1.0) > 0.0:
            raise InputError(f"penalty={options['penalty']!r} must be above 0.")
        return options | {name: None for name in cls.TRIED if name not in (own or {})}

    @classmethod
    def usual(cls, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return options with the usual values of what is left open."""
        open_ones = {n: cls.DEFAULTS[n] for n in cls.TRIED if options[n] is None}
        return {**options, **open_ones}

    @classmethod
    @abstractmethod
    def fit(
        cls, options: dict[str, Any], matrix: csr_array, *, seed: int = 0, features: Any = None
    ) -> Self:
        """Fit the recommender to interactions (n_users, n_items), with nothing left open.

        Parameters
        ----------
        options : dict
        matrix : csr_array of shape (n_users, n_items)
        seed : int
        features : Features, optional
            Of the items; most models do not use them.
        """

    @property
    @abstractmethod
    def n_items(self) -> int:
        """Number of items."""

    @abstractmethod
    def scores(self, history: csr_array, users: NDArray[np.int64] | None = None) -> Floats:
        """Return scores (m, n_items) of users with these histories (m, n_items).

        Parameters
        ----------
        history : csr_array of shape (m, n_items)
        users : ndarray of int64, shape (m,), optional
            Their numbers, if they are those of the fit; networks know vectors of them.
        """

    @abstractmethod
    def contributions(self, history: NDArray[np.int64], item: int) -> Parts:
        """Return what each item of a history adds to an item's score.

        Returns
        -------
        direct, graph : ndarray of float64, shape (len(history),)
            By the item itself, and by its neighbours in a graph; together they sum to the score.
        """

    @abstractmethod
    def similarity(self, item: int) -> Floats:
        """Return how similar every item is to one, (n_items,)."""

    def user_similarity(self, user: int) -> Floats:
        """Raise: only networks have vectors of users."""
        raise InputError(f"model={self.name!r} has no similar users; use a network.")


class LinearModel(HistoryModel):
    """Scores are history @ weights.

    Parameters
    ----------
    options : dict
    weights : csr_array or ndarray of float32, shape (n_items, n_items)
    """

    def __init__(self, options: dict[str, Any], weights: Any) -> None:
        self.options, self.weights = options, weights

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(self.weights.shape[0])

    def scores(self, history: csr_array, users: NDArray[np.int64] | None = None) -> Floats:
        """Return history @ weights."""
        return as_dense(history @ self.weights)

    def contributions(self, history: NDArray[np.int64], item: int) -> Parts:
        """Return the weights between the history and the item; there is no graph."""
        direct = as_dense(self.weights[history][:, [item]]).astype(np.float64).ravel()
        return direct, np.zeros(len(history))

    def similarity(self, item: int) -> Floats:
        """Return the item's row of the weights."""
        return as_dense(self.weights[[item]]).ravel()

    def _check_saved(self) -> None:
        if self.weights.ndim != 2 or self.weights.shape[0] != self.weights.shape[1]:
            raise InputError(f"the weights of {self.name} have shape {self.weights.shape}.")


def as_dense(matrix: Any) -> Floats:
    """Return a product of matrices as a dense array of float32."""
    dense = matrix.toarray() if hasattr(matrix, "toarray") else matrix
    return np.ascontiguousarray(dense, dtype=np.float32)


def product(left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    """Return left @ right, of one thread: sums of several would come in another order."""
    with _libraries().limit(limits=1):
        return left @ right


def cosines(vectors: Floats, place: int) -> Floats:
    """Return the cosines of vectors (n, d) with one of them, (n,)."""
    lengths = np.linalg.norm(vectors, axis=1)
    safe = np.where(lengths > 0.0, lengths, 1.0)
    found: Floats = (vectors @ vectors[place] / (safe * safe[place])).astype(np.float32)
    return found


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()  # looks through all loaded libraries, so only once
