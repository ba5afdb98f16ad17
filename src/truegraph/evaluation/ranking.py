"""How good ranked lists of items are: recall, NDCG, hit rate, MRR, MAP and coverage.

Everything is computed from each user's list of best items, of all items but the masked ones (full
ranking, nothing sampled). Two forms of NDCG stand side by side:

``ndcg``
    the usual one: the ideal list has the user's min(k, number of held-out items) first places full.
``ndcg_ngcf``
    that of NGCF's code, which the paper's figures follow: the ideal list is the model's own list
    of 100 items put into the best order, so held-out items that it missed do not count against it.
    Never below ``ndcg``.

Users without held-out items are left out, and counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from truegraph import gate
from truegraph.errors import InputError

Floats = NDArray[np.float64]
NGCF_DEPTH = 100


@dataclass(frozen=True, eq=False)
class RankingScores:
    """Metrics of ranked lists, user by user.

    Attributes
    ----------
    users : ndarray of int64, shape (n_scored,)
        The users with held-out items.
    per_user : dict of str to ndarray of float64, shape (n_scored,)
        Under names such as "recall@20", "ndcg@20", "ndcg_ngcf@20", "hit@20", "mrr@20", "map@20".
    coverage : dict of str to float
        Share of all items that appear in the lists of all users, such as "coverage@20".
    skipped : int
        Users without held-out items.
    mask : tuple of str
        Which interactions were excluded as candidates, as stated by the caller.
    """

    users: NDArray[np.int64]
    per_user: dict[str, Floats]
    coverage: dict[str, float]
    skipped: int
    mask: tuple[str, ...]

    def means(self) -> dict[str, float]:
        """Return every metric averaged over the users, and the coverage."""
        return {
            name: float(values.mean()) for name, values in self.per_user.items()
        } | self.coverage


def score_rankings(
    top_items: ArrayLike,
    held_out: csr_array,
    ks: Sequence[int] = (10, 20),
    *,
    mask: Sequence[str] = ("train",),
) -> RankingScores:
    """Score the lists of best items against held-out interactions.

    Parameters
    ----------
    top_items : array-like of int, shape (n_users, depth)
        Each user's best items, best first; -1 where a list has ended. For `ndcg_ngcf` in the form
        of NGCF's code the depth is 100.
    held_out : csr_array of shape (n_users, n_items)
        Interactions to be found: the stored entries.
    ks : sequence of int, default=(10, 20)
        Lengths at which the lists are cut.
    mask : sequence of str, default=("train",)
        Which interactions were excluded as candidates; kept for the record.

    Returns
    -------
    scores : RankingScores

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> scores = score_rankings([[2, 0]], csr_array([[1, 1, 0]]), ks=[2])
    >>> scores.means()["recall@2"]
    0.5
    """
    lists = np.asarray(top_items)
    held = csr_array(gate.table("held_out", held_out))
    _check(lists, held, ks)
    counts = np.diff(held.indptr)
    users = np.flatnonzero(counts)
    hits = list_hits(lists[users], csr_array(held[users]))
    per_user: dict[str, Floats] = {}
    for k in ks:
        per_user |= {f"{name}@{k}": values for name, values in _at(k, hits, counts[users]).items()}
    shown = {f"coverage@{k}": len(_items(lists[:, :k])) / held.shape[1] for k in ks}
    return RankingScores(users, per_user, shown, int(len(counts) - len(users)), tuple(mask))


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
    """Return 1.0 where a listed item is held out for the user of that row.

    Parameters
    ----------
    lists : ndarray of int, shape (n, depth)
        -1 where a list has ended.
    held : csr_array of shape (n, n_items)

    Returns
    -------
    hits : ndarray of float64, shape (n, depth)
    """
    width = held.shape[1] + 1  # one more, for the -1 of lists that have ended
    rows = np.repeat(np.arange(held.shape[0]), np.diff(held.indptr))
    wanted = rows * width + held.indices
    own = np.arange(len(lists), dtype=np.int64)[:, None] * width
    found = own + np.where(lists < 0, width - 1, lists)
    return np.isin(found, wanted).astype(np.float64)


def _items(lists: NDArray) -> NDArray:
    shown = np.unique(lists)
    return shown[shown >= 0]


def _at(k: int, hits: Floats, counts: NDArray) -> dict[str, Floats]:
    """Return the metrics of lists cut at k, for users with `counts` held-out items."""
    cut = hits[:, :k]
    discount = 1.0 / np.log2(np.arange(2, hits.shape[1] + 2))
    gain = cut @ discount[:k]
    found = hits[:, :NGCF_DEPTH].sum(axis=1).astype(np.int64)
    number = cut.sum(axis=1)
    first = np.where(number > 0, cut.argmax(axis=1) + 1, np.inf)
    precision = np.cumsum(cut, axis=1) / np.arange(1, k + 1)
    possible = np.minimum(counts, k)
    return {
        "recall": number / counts,
        "ndcg": gain / _ideal(possible),
        "ndcg_ngcf": gain / np.maximum(_ideal(np.minimum(found, k)), discount[0] * (found == 0)),
        "hit": (number > 0).astype(np.float64),
        "mrr": 1.0 / first,
        "map": (precision * cut).sum(axis=1) / possible,
    }


def _ideal(full: NDArray[np.int64]) -> Floats:
    """Return the gain of lists whose first `full` places are hits."""
    most = int(full.max(initial=0))
    sums = np.concatenate([[0.0], np.cumsum(1.0 / np.log2(np.arange(2, most + 2)))])
    return sums[full]
