"""The tables that a recommender answers with: ids in place of numbers."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.data.interactions import pair_matrix
from truegraph.recommend.top_items import rank_items


def named(ids: Sequence[Hashable], numbers: NDArray[np.integer]) -> list[Hashable]:
    """Return the ids of numbers."""
    return [ids[number] for number in numbers]


def stored(
    matrix: csr_array, rows: NDArray[np.int64], columns: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return whether each pair is stored."""
    width = matrix.shape[1]
    owners = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    known = np.sort(owners * width + matrix.indices)
    wanted = rows * width + columns
    place = np.minimum(np.searchsorted(known, wanted), max(len(known) - 1, 0))
    return known[place] == wanted if len(known) else np.zeros(len(wanted), dtype=bool)


def explanation(
    ids: Sequence[Hashable],
    history: NDArray[np.int64],
    direct: NDArray[np.float64],
    graph: NDArray[np.float64],
) -> pd.DataFrame:
    """Return what each item of a history adds to a score, the largest contribution first."""
    order = np.argsort(-(direct + graph), kind="stable")
    return pd.DataFrame(
        {
            "item": named(ids, history[order]),
            "contribution": (direct + graph)[order],
            "direct": direct[order],
            "graph": graph[order],
        }
    )


def most_similar(
    what: str, ids: Sequence[Hashable], similarity: NDArray[np.float32], place: int, k: int
) -> pd.DataFrame:
    """Return the best of a row of similarities but the place itself: rank, `what`, similarity."""
    own = pair_matrix(np.zeros(1, dtype=np.int64), np.array([place]), (1, len(similarity)))
    found, values = rank_items(lambda _: similarity[None], np.zeros(1, dtype=np.int64), own, k)
    kept = np.flatnonzero(found[0] >= 0)
    names = named(ids, found[0, kept])
    return pd.DataFrame({"rank": kept + 1, what: names, "similarity": values[0, kept]})
