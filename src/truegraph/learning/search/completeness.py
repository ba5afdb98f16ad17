"""What an approximate search missed, measured on a sample: few neighbours of many, or many of few.

The mean recall hides nodes whose lists are bad, so a low quantile stands beside it. What matters in
the end is the objective: a pair that is no candidate but has (lam_i + lam_j) / 2 > theta z would
carry weight, and as a candidate it would lower the dual bound by that slack squared. Summed over
the missing pairs of a sample and scaled to all nodes, this estimates how far the optimum over the
true neighbours lies below the bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.learning.search.approximate import recalls
from truegraph.learning.search.candidates import NeighbourLists
from truegraph.learning.search.distances import Distance
from truegraph.learning.search.neighbours import RECALL_SAMPLE, ExactSearch
from truegraph.learning.search.sketch import true_neighbours

LOW_SHARE = 0.05  # of the sampled nodes have a recall below the low quantile


@dataclass(frozen=True)
class Completeness:
    """What a search missed on a sample of nodes."""

    low_recall: float
    missed: float


def low_quantile(shares: NDArray[np.float64]) -> float:
    """Return the recall below which one in twenty nodes lies."""
    return float(np.quantile(shares, LOW_SHARE, method="lower"))


def completeness(
    lists: NeighbourLists,
    distance: Distance,
    candidates: csr_array,
    multipliers: NDArray[np.float64],
    theta: float,
    scales: NDArray[np.float64] | None = None,
    known: tuple[NDArray[np.int64], NDArray[np.int32]] | None = None,
) -> Completeness:
    """Compare the lists of a sample of nodes with their true neighbours."""
    nodes = candidates.shape[0]
    if known is None:
        rng = np.random.default_rng(0)
        sample = np.sort(rng.choice(nodes, size=min(nodes, RECALL_SAMPLE), replace=False))
        k, queries = int(lists.lengths[sample].max()), distance.queries[sample]
        if lists.engine == "sketch":
            known = sample, true_neighbours(queries, distance.base, sample, k)
        else:
            known = sample, ExactSearch(distance.base).query(queries, sample, k)
    sample, truth = known
    k = truth.shape[1]
    shares = recalls(_table(lists, sample, k), truth)
    rows = np.repeat(sample, k)
    columns = truth.ravel().astype(np.int64)
    new = ~_stored(candidates, rows, columns)
    rows, columns = rows[new], columns[new]
    values = distance._between(rows, columns)
    if scales is not None:
        values = values / (scales[rows] * scales[columns])
    slack = 0.5 * (multipliers[rows] + multipliers[columns]) - theta * values
    # A pair may be missing from the list of either end: half of it is found from each.
    missed = 0.5 * float(np.sum(np.maximum(0.0, slack) ** 2)) * nodes / sample.size
    return Completeness(low_quantile(shares), missed)


def _table(lists: NeighbourLists, sample: NDArray[np.int64], k: int) -> NDArray[np.int32]:
    """Return the lists of some nodes as a table (sample, k), with -1 where there is nothing."""
    out = np.full((sample.size, k), -1, dtype=np.int32)
    for row, node in enumerate(sample):
        own = lists.ids[lists.start[node] : lists.start[node + 1]][:k]
        out[row, : own.size] = own
    return out


def _stored(candidates: csr_array, rows: NDArray[Any], columns: NDArray[Any]) -> NDArray[np.bool_]:
    """Return whether each pair is a candidate."""
    starts, ends = candidates.indptr[rows], candidates.indptr[rows + 1]
    found = [
        column in candidates.indices[first:last]
        for first, last, column in zip(starts, ends, columns, strict=True)
    ]
    return np.array(found, dtype=np.bool_)
