"""Links of new nodes, of which only features are known.

What such links look like is learned from fitted nodes. Some of them lose all their links, and a
regression learns which of these can be told from what is left: features, and the graph of the
others. How many suggestions at each score are right is counted on other nodes that lose theirs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack
from threadpoolctl import threadpool_limits

from truegraph.data.link_splits import Pairs, links_of
from truegraph.errors import InputError
from truegraph.links.columns import PairColumns, pair_columns
from truegraph.links.folds import without_links
from truegraph.links.pair_model import PairModel
from truegraph.links.problem import pair_values
from truegraph.links.regression import Regression, fit_regression
from truegraph.links.search import RankedPairs, top_pairs
from truegraph.links.shares import ScoreShares, count_shares
from truegraph.links.similarities import NodeFeatures, unit_rows

_SHARE = 0.1  # of the nodes that lose their links, once to learn from and once to count on
_FEWEST_NODES, _MOST_NODES = 100, 2000  # of these, but no more than a quarter of all
_NON_LINKS = 2  # per link, as in the folds
_NEAR = 200  # partners that each kind of similarity proposes; lab/choose/link_new_nodes.py
_CELLS = 1 << 23  # similarities held at a time, 32 MB


@dataclass(frozen=True, eq=False)
class NewNodes:
    """Scores of pairs of a new node and a fitted one.

    Attributes
    ----------
    columns : PairColumns
        On the training graph, without a local scale, which knows fitted nodes only.
    features : NodeFeatures
        Of the fitted nodes.
    regression : Regression
        From scores to the log odds of a link among as many links as other pairs.
    shares : ScoreShares
        Which share of the suggestions is right, by log odds.
    """

    columns: PairColumns
    features: NodeFeatures
    regression: Regression
    shares: ScoreShares

    def logits(self, features: csr_array, pairs: Pairs) -> NDArray[np.float64]:
        """Return the log odds of links.

        Parameters
        ----------
        features : csr_array, shape (m, F)
            Of the new nodes.
        pairs : ndarray of int64, shape (n, 2)
            Number of a new node, number of a fitted one.

        Returns
        -------
        logits : ndarray of float64, shape (n,)
        """
        joined = joined_columns(self.columns, self.features, features)
        # New nodes come after the fitted ones.
        shifted = np.column_stack([pairs[:, 0] + len(self.columns.first), pairs[:, 1]])
        return joined.weighed(shifted, self.regression.logits)

    def best(self, features: csr_array, k: int) -> RankedPairs:
        """Return the best k partners of every new node (m, F), best first for each.

        Looked at are the fitted nodes whose features, as they are or smoothed over the graph, are
        most similar.
        """
        rows = self.features.reduced_of(self.features.rows_of(features))
        pairs = _near_pairs(self.columns, rows, np.arange(len(self.columns.first)))
        scores = self.logits(features, pairs)
        found = [
            top_pairs(RankedPairs(pairs[own], scores[own]), k)
            for own in np.split(np.arange(len(pairs)), np.flatnonzero(np.diff(pairs[:, 0])) + 1)
        ]
        return RankedPairs(*(np.concatenate(part) for part in zip(*found, strict=True)))


def fit_new_nodes(model: PairModel) -> NewNodes:
    """Learn what links of new nodes look like, on the graph of a fitted model."""
    if model.features is None:
        raise InputError(
            "the predictor was fitted without features, so nothing is known of new nodes; "
            "fit it with X."
        )
    rng = np.random.default_rng([model.seed, 4])
    chosen = _chosen(model.columns.graph, rng)
    regression = _learned(*_cold(model, chosen[0]), rng)
    shares = _counted(*_cold(model, chosen[1]), regression)
    plain = replace(model.columns, scale=None)
    return NewNodes(plain, model.features, regression, shares)


def _chosen(graph: csr_array, rng: np.random.Generator) -> list[NDArray[np.int64]]:
    """Return two sets of linked nodes."""
    linked = rng.permutation(np.flatnonzero(np.diff(graph.indptr)))
    size = int(np.clip(round(_SHARE * len(linked)), _FEWEST_NODES, _MOST_NODES))
    size = max(1, min(size, len(linked) // 4))
    return [np.sort(linked[:size]), np.sort(linked[size : 2 * size])]


def _cold(
    model: PairModel, chosen: NDArray[np.int64]
) -> tuple[PairColumns, csr_array, NDArray[np.int64]]:
    """Return scores on the graph without any link of some nodes, the graph, and these nodes."""
    graph = model.columns.graph
    links = links_of(graph)
    is_cold = np.zeros(graph.shape[0], dtype=bool)
    is_cold[chosen] = True
    rest = without_links(graph, links, is_cold[links[:, 0]] | is_cold[links[:, 1]])
    options = model.options | {"scale": "off"}
    return pair_columns(rest, model.features, options, model.seed), graph, chosen


def _learned(
    columns: PairColumns, graph: csr_array, cold: NDArray[np.int64], rng: np.random.Generator
) -> Regression:
    """Fit which pairs of a node without links and another one are links of the graph."""
    others = np.setdiff1d(np.arange(graph.shape[0]), cold)
    rows = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    links = np.column_stack([rows, graph.indices]).astype(np.int64)
    links = links[np.isin(links[:, 0], cold) & ~np.isin(links[:, 1], cold)]
    drawn = np.column_stack(
        [rng.choice(ends, 2 * _NON_LINKS * len(links)) for ends in (cold, others)]
    )
    non_links = drawn[pair_values(graph, drawn) == 0.0][: _NON_LINKS * len(links)]
    if len(links) == 0 or len(non_links) == 0:
        raise InputError(
            "the graph is too small to learn the links of new nodes from; give more nodes."
        )
    is_link = np.repeat([True, False], [len(links), len(non_links)])
    return fit_regression(columns.of(np.concatenate([links, non_links])), is_link)


def _counted(
    columns: PairColumns, graph: csr_array, cold: NDArray[np.int64], regression: Regression
) -> ScoreShares:
    """Count which share of the suggestions for nodes without links are links of the graph."""
    others = np.setdiff1d(np.arange(graph.shape[0]), cold)
    pairs = _near_pairs(columns, columns.first[cold], others)
    pairs[:, 0] = cold[pairs[:, 0]]
    scores = columns.weighed(pairs, regression.logits)
    return count_shares(scores, pair_values(graph, pairs) != 0.0, 1.0)


def _near_pairs(
    columns: PairColumns, rows: NDArray[np.float32], fitted: NDArray[np.int64]
) -> Pairs:
    """Return pairs of a row (m, d) and a fitted node with similar vectors, ordered, (n, 2)."""
    wanted = unit_rows(rows)
    count = min(_NEAR, len(fitted))
    block = max(1, _CELLS // max(len(fitted), 1))
    found = []
    with threadpool_limits(1):  # sums of several threads would come in another order
        for kind in columns.smoothed[:3]:
            there = kind[fitted].T
            for begin in range(0, len(wanted), block):
                alike = wanted[begin : begin + block] @ there
                best = np.argpartition(-alike, count - 1, axis=1)[:, :count]
                numbers = np.repeat(np.arange(begin, begin + len(best)), count)
                found.append(np.column_stack([numbers, fitted[best.ravel()]]))
    return np.unique(np.concatenate(found), axis=0)


def joined_columns(columns: PairColumns, fitted: NodeFeatures, features: csr_array) -> PairColumns:
    """Return the scores of a graph (N, N) to which nodes without links (m, F) are added."""
    graph, known = columns.graph, columns.rows
    assert known is not None
    rows = fitted.rows_of(features)
    reduced = fitted.reduced_of(rows)
    ends = np.concatenate([graph.indptr, np.full(len(reduced), graph.nnz)])
    size = len(ends) - 1
    return PairColumns(
        csr_array((graph.data, graph.indices, ends), shape=(size, size)),
        np.vstack([columns.first, reduced]),
        csr_array(vstack([known, rows], format="csr")),
        # Smoothing leaves a node without links as it is.
        tuple(np.vstack([part, unit_rows(reduced)]) for part in columns.smoothed),
    )
