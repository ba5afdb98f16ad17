"""Metrics of ranked lists of items, by full ranking: nothing is sampled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from truegraph import gate
from truegraph.errors import InputError

Floats = NDArray[np.float64]


def ranking_metrics(
    top_items: ArrayLike, held_out: csr_array, ks: Sequence[int] = (10, 20)
) -> dict[str, float]:
    """Return every metric of ranked lists: means over the users, and coverage of the items.

    Parameters
    ----------
    top_items, held_out, ks
        As of `score_rankings`.

    Returns
    -------
    metrics : dict of str to float
        Those of `score_rankings`, and the share of all items that some list shows, such as
        "coverage@20".
    """
    found = score_rankings(top_items, held_out, ks)
    lists, n_items = np.asarray(top_items), held_out.shape[1]
    shown = {f"coverage@{k}": np.unique(lists[:, :k]) for k in ks}
    return {name: float(values.mean()) for name, values in found.items()} | {
        name: float((items >= 0).sum() / n_items) for name, items in shown.items()
    }


def score_rankings(
    top_items: ArrayLike, held_out: csr_array, ks: Sequence[int] = (10, 20)
) -> dict[str, Floats]:
    """Score each user's list of best items against held-out interactions.

    Parameters
    ----------
    top_items : array-like of int, shape (n_users, depth)
        Each user's best items, best first; -1 where a list has ended.
    held_out : csr_array of shape (n_users, n_items)
        Interactions to be found: the stored entries.
    ks : sequence of int, default=(10, 20)
        Lengths at which the lists are cut.

    Returns
    -------
    scores : dict of str to ndarray of float64, shape (n_scored,)
        Such as "recall@20", "ndcg@20", "hit@20", "mrr@20" and "map@20", of the users with held-out
        items.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> float(score_rankings([[2, 0]], csr_array([[1, 1, 0]]), ks=[2])["recall@2"][0])
    0.5
    """
    lists = np.asarray(top_items)
    held = csr_array(gate.table("held_out", held_out))
    _check(lists, held, ks)
    counts = np.diff(held.indptr)
    users = np.flatnonzero(counts)
    hits = list_hits(lists[users], csr_array(held[users]))
    return {
        f"{name}@{k}": values for k in ks for name, values in _at(k, hits, counts[users]).items()
    }


def _check(lists: NDArray, held: csr_array, ks: Sequence[int]) -> None:
    n_users, n_items = held.shape
    if lists.ndim != 2 or lists.shape[0] != n_users or lists.dtype.kind not in "iu":
        raise InputError(
            f"top_items has shape {lists.shape} and type {lists.dtype}, held_out {held.shape}; "
            "give one list of item numbers per user."
        )
    if lists.size and not -1 <= lists.min() <= lists.max() < n_items:
        raise InputError(f"top_items must be item numbers below {n_items}, or -1.")
    if not ks or min(ks) < 1 or max(ks) > max(lists.shape[1], 1):
        raise InputError(
            f"ks={tuple(ks)} must lie between 1 and the lists' {lists.shape[1]} places."
        )
    if held.nnz == 0:
        raise InputError("held_out has no interactions: there is nothing to find.")


def list_hits(lists: NDArray, held: csr_array) -> Floats:
    """Return 1.0 where an item of the lists (n, depth) is held out (n, n_items) in its row."""
    width = held.shape[1] + 1  # one more, for the -1 of lists that have ended
    rows = np.repeat(np.arange(held.shape[0]), np.diff(held.indptr))
    wanted = rows * width + held.indices
    own = np.arange(len(lists), dtype=np.int64)[:, None] * width
    found = own + np.where(lists < 0, width - 1, lists)
    return np.isin(found, wanted).astype(np.float64)


def _at(k: int, hits: Floats, counts: NDArray) -> dict[str, Floats]:
    """Return the metrics of lists cut at k, for users with `counts` held-out items."""
    cut = hits[:, :k]
    number = cut.sum(axis=1)
    first = np.where(number > 0, cut.argmax(axis=1) + 1, np.inf)
    precision = np.cumsum(cut, axis=1) / np.arange(1, k + 1)
    possible = np.minimum(counts, k)
    return {
        "recall": number / counts,
        "ndcg": discounted_gain(cut) / ideal_gain(possible),
        "hit": (number > 0).astype(np.float64),
        "mrr": 1.0 / first,
        "map": (precision * cut).sum(axis=1) / possible,
    }


def discounted_gain(hits: Floats) -> Floats:
    """Return the sum of 1 / log2(place + 1) over the hits (n, depth) of each list."""
    return np.asarray(hits @ (1.0 / np.log2(np.arange(2, hits.shape[1] + 2))))


def ideal_gain(full: NDArray[np.int64]) -> Floats:
    """Return the discounted gain of lists whose first `full` (n,) places are hits."""
    most = int(full.max(initial=0))
    return np.append(0.0, np.cumsum(1.0 / np.log2(np.arange(2, most + 2))))[full]
