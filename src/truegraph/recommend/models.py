"""What all recommenders have in common, and lists of the best items.

A model scores items by a user's history alone, so a new user is scored like any other. Closed forms
come from one calculation; see `truegraph.recommend.choosing` for what a caller leaves open.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph import gate
from truegraph.errors import InputError
from truegraph.options import checked_options
from truegraph.runtime.compiled import compiled
from truegraph.runtime.threads import one_blas_thread

Floats = NDArray[np.float32]
Options = dict[str, Any]
Parts = tuple[NDArray[np.float64], NDArray[np.float64]]
ScoreRows = Callable[[NDArray[np.int64]], Floats]

_BLOCK_BYTES = 2**25  # of scores in memory: 32 MB
_BLOCK_UNITS = 256  # items of a history whose scores are in memory
_LONGEST_LIST = 1000  # that may be asked for although there are fewer items


class HistoryModel:
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
    DEFAULTS: ClassVar[Options] = {}
    TRIED: ClassVar[dict[str, tuple[Any, ...]]] = {}
    CHOICES: ClassVar[dict[str, tuple[Any, ...]]] = {}
    _by_item: ClassVar[str] = "weights"  # an attribute with one row per item

    options: Options

    @classmethod
    def checked(cls, given: Mapping[str, Any] | None) -> Options:
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
    def usual(cls, options: Mapping[str, Any]) -> Options:
        """Return options with the usual values of what is left open."""
        open_ones = {n: cls.DEFAULTS[n] for n in cls.TRIED if options[n] is None}
        return {**options, **open_ones}

    @classmethod
    def fit(cls, options: Options, matrix: csr_array, seed: int = 0, features: Any = None) -> Self:
        """Fit to interactions (n_users, n_items), with nothing left open."""
        raise NotImplementedError

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(getattr(self, self._by_item).shape[0])

    def scores(self, history: csr_array, users: NDArray[np.int64] | None = None) -> Floats:
        """Return scores (m, n_items) of histories (m, n_items).

        `users` (m,) are the numbers of users of the fit; only networks make use of them.
        """
        raise NotImplementedError

    def contributions(self, history: NDArray[np.int64], item: int) -> Parts:
        """Return what each item of a history adds to a score: directly, and through a graph.

        Of a model that is linear in the history, the score that the item gives on its own.
        """
        blocks = np.array_split(history, 1 + len(history) // _BLOCK_UNITS)
        parts = [self.scores(_units(own, self.n_items))[:, item] for own in blocks]
        return np.concatenate(parts).astype(np.float64), np.zeros(len(history))

    def similarity(self, item: int) -> Floats:
        """Return how similar every item is to one: the scores of a history of it, (n_items,)."""
        return self.scores(_units(np.array([item]), self.n_items)).ravel()

    def user_similarity(self, user: int) -> Floats:
        """Raise: only networks have vectors of users."""
        raise InputError(f"model={self.name!r} has no similar users; use a network.")


class LinearModel(HistoryModel):
    """Scores are history @ weights, an array or csr_array (n_items, n_items) of float32."""

    def __init__(self, options: Options, weights: Any) -> None:
        self.options, self.weights = options, weights

    def scores(self, history: csr_array, users: NDArray[np.int64] | None = None) -> Floats:
        """Return history @ weights."""
        return as_dense(history @ self.weights)

    def _check_saved(self) -> None:
        if self.weights.ndim != 2 or self.weights.shape[0] != self.weights.shape[1]:
            raise InputError(f"the weights of {self.name} have shape {self.weights.shape}.")


# --- arithmetic -----------------------------------------------------------------------------------


def as_dense(matrix: Any) -> Floats:
    """Return a product of matrices as a dense array of float32."""
    dense = matrix.toarray() if hasattr(matrix, "toarray") else matrix
    return np.ascontiguousarray(dense, dtype=np.float32)


def product(left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    """Return left @ right, of one thread: sums of several would come in another order."""
    with one_blas_thread():
        return left @ right


def _units(items: NDArray[np.int64], n_items: int) -> csr_array:
    """Return histories of one item each."""
    parts = np.ones(len(items), dtype=np.float32), items, np.arange(len(items) + 1)
    return csr_array(parts, shape=(len(items), n_items))


def cosines(vectors: Floats, place: int) -> Floats:
    """Return the cosines of vectors (n, d) with one of them, (n,)."""
    lengths = np.linalg.norm(vectors, axis=1)
    safe = np.where(lengths > 0.0, lengths, 1.0)
    found: Floats = (vectors @ vectors[place] / (safe * safe[place])).astype(np.float32)
    return found


# --- lists ----------------------------------------------------------------------------------------


def list_length(k: Any, n_items: int) -> int:
    """Return the length of lists that was asked for, checked."""
    return gate.whole_number("k", k, at_least=1, at_most=max(n_items, _LONGEST_LIST))


def rank_items(
    scores_of: ScoreRows, masked: csr_array, depth: int, allowed: NDArray[np.bool_] | None = None
) -> tuple[NDArray[np.int64], Floats]:
    """Return the best items (n, depth) of rows, best first, and their scores; -1 and -inf after.

    Out of all items, in blocks of rows; of equal scores the first item comes first.

    Parameters
    ----------
    scores_of : callable(rows) -> ndarray of float32, shape (len(rows), n_items)
    masked : csr_array of shape (n, n_items)
        Items that are no candidates, row by row: the stored entries.
    depth : int
    allowed : ndarray of bool, shape (n_items,), optional
        Items that are candidates at all.
    """
    n_rows, n_items = masked.shape
    items = np.full((n_rows, depth), -1, dtype=np.int64)
    scores = np.full((n_rows, depth), -np.inf, dtype=np.float32)
    candidates = np.ones(n_items, dtype=np.bool_) if allowed is None else allowed
    step = max(1, _BLOCK_BYTES // (4 * max(1, n_items)))
    starts = masked.indptr.astype(np.int64)
    for first in range(0, n_rows, step):
        part = slice(first, min(first + step, n_rows))
        found = np.asarray(scores_of(np.arange(part.start, part.stop)), dtype=np.float32)
        gone, lists = (starts[first:], masked.indices), (items[part], scores[part])
        _best(found, candidates, gone, lists)
    return items, scores


@compiled
def _best(found: np.ndarray, candidates: np.ndarray, masked: Any, lists: Any) -> None:
    starts, gone = masked
    items, scores = lists
    open_items = np.empty(found.shape[1], np.bool_)
    depth = items.shape[1]
    for row in range(found.shape[0]):
        own, best, names = found[row], scores[row], items[row]
        open_items[:] = candidates
        for place in range(starts[row], starts[row + 1]):
            open_items[gone[place]] = False
        filled = 0
        for item in range(own.size):
            score = own[item]
            # A list that is full takes higher scores only: of equal ones the first item stays.
            if not open_items[item] or (filled == depth and not score > best[depth - 1]):
                continue
            place = filled if filled < depth else depth - 1
            while place > 0 and best[place - 1] < score:
                best[place], names[place] = best[place - 1], names[place - 1]
                place -= 1
            best[place], names[place] = score, item
            filled = min(filled + 1, depth)
