"""Each user's best items out of all: full ranking in blocks, equal scores by item number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph import gate
from truegraph.errors import InputError
from truegraph.runtime.compiled import compiled

_BLOCK_BYTES = 2**25
_LONGEST_LIST = 1000  # that may be asked for although there are fewer items

ScoreUsers = Callable[[NDArray[np.int64]], NDArray[np.float32]]


def rank_items(
    score_users: ScoreUsers,
    users: NDArray[np.int64],
    masked: csr_array,
    depth: int,
    allowed: NDArray[np.bool_] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the best items of users, best first.

    Memory is that of a block of users times all items.

    Parameters
    ----------
    score_users : callable(users) -> ndarray of float32, shape (len(users), n_items)
        May return memory of its own; it is not changed.
    users : ndarray of int64, shape (n,)
    masked : csr_array of shape (n, n_items)
        Items excluded as candidates, row by row: the stored entries.
    depth : int
        Length of the lists.
    allowed : ndarray of bool, shape (n_items,), optional
        Items that are candidates at all.

    Returns
    -------
    items : ndarray of int64, shape (n, depth)
        -1 where there are no more candidates.
    scores : ndarray of float32, shape (n, depth)
        -inf where there are no more candidates.
    """
    n_items = int(masked.shape[1])
    if masked.shape[0] != len(users):
        raise InputError(
            f"masked has {masked.shape[0]} rows for {len(users)} users; give one each."
        )
    depth = gate.whole_number("k", depth, at_least=1, at_most=max(n_items, _LONGEST_LIST))
    items = np.full((len(users), depth), -1, dtype=np.int64)
    scores = np.full((len(users), depth), -np.inf, dtype=np.float32)
    candidates = np.ones(n_items, dtype=np.bool_) if allowed is None else allowed
    step = max(1, _BLOCK_BYTES // (4 * max(1, n_items)))
    starts = masked.indptr.astype(np.int64)
    for first in range(0, len(users), step):
        part = slice(first, first + step)
        found = np.asarray(score_users(users[part]), dtype=np.float32)
        if found.shape[1] != n_items:
            raise InputError(f"the model scores {found.shape[1]} items, but there are {n_items}.")
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
