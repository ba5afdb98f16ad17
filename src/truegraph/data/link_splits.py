"""Leak-free splits of a graph's links into training, validation and test links.

Validation and test have as many non-links as links. Every pair has its lower node first and occurs
in one place only, so all sets are disjoint in both directions; a non-link is linked in none of
them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from truegraph.data.adjacency import adjacency_from_edges, as_adjacency
from truegraph.errors import InputError

Pairs = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LinkSplit:
    """The links to train on, and pairs with and without a link to predict."""

    train: sparse.csr_array
    validation_links: Pairs
    validation_non_links: Pairs
    test_links: Pairs
    test_non_links: Pairs

    @property
    def hidden(self) -> Pairs:
        """All validation and test pairs, without saying which are links."""
        pairs = np.concatenate(
            [
                self.validation_links,
                self.validation_non_links,
                self.test_links,
                self.test_non_links,
            ]
        )
        return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]


def split_links(
    graph: object,
    *,
    validation: float = 0.05,
    test: float = 0.10,
    connected: bool = False,
    random_state: int | np.random.Generator | None = None,
) -> LinkSplit:
    """Hide some links of a graph, and draw as many pairs without a link."""
    adjacency = as_adjacency(graph)
    links = links_of(adjacency)
    shares = {"validation": validation, "test": test}
    for name, share in shares.items():
        if not 0.0 <= share < 1.0:
            raise InputError(f"{name}={share} must be a share of the links, from 0 to below 1.")
    if validation + test >= 1.0:
        raise InputError(
            f"validation={validation} and test={test} leave no links to train on; lower one."
        )
    counts = [_count(len(links), share, name) for name, share in shares.items()]
    rng = np.random.default_rng(random_state)
    hidden = _drawn_links(adjacency, links, sum(counts), connected, rng)
    non_links = sample_non_links(adjacency, sum(counts), rng)
    is_train = np.ones(len(links), dtype=bool)
    is_train[hidden] = False
    kept = links[is_train]
    first = counts[0]
    return LinkSplit(
        adjacency_from_edges(kept[:, 0], kept[:, 1], None, adjacency.shape[0]),
        links[hidden[:first]],
        non_links[:first],
        links[hidden[first:]],
        non_links[first:],
    )


def links_of(adjacency: sparse.csr_array) -> Pairs:
    """Return the links (i, j), i < j, of a canonical adjacency matrix, ordered, (n_links, 2)."""
    upper = sparse.csr_array(sparse.triu(adjacency, k=1))
    upper.sort_indices()
    rows = np.repeat(np.arange(upper.shape[0]), np.diff(upper.indptr))
    return np.column_stack([rows, upper.indices]).astype(np.int64)


def _count(links: int, share: float, name: str) -> int:
    count = int(np.floor(links * share + 1e-9))
    if share > 0.0 and count == 0:
        raise InputError(
            f"{name}={share} of {links} links is less than one; raise it, or give a graph with "
            f"{int(np.ceil(1.0 / share))} links or more."
        )
    return count


def _drawn_links(
    adjacency: sparse.csr_array,
    links: Pairs,
    count: int,
    connected: bool,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Return which links are hidden, in random order."""
    allowed = np.arange(len(links))
    if connected:
        allowed = np.flatnonzero(~_in_spanning_forest(adjacency, links, rng))
        if len(allowed) < count:
            raise InputError(
                f"connected=True: only {len(allowed)} of {len(links)} links can be hidden while "
                f"all nodes stay reachable, but {count} are wanted; lower validation and test, or "
                "use connected=False."
            )
    return rng.permutation(allowed)[:count]


def _in_spanning_forest(
    adjacency: sparse.csr_array, links: Pairs, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Return which links belong to a random forest that keeps all nodes as reachable as before."""
    from scipy.sparse import csgraph

    costs = sparse.csr_array(
        (rng.permutation(len(links)) + 1.0, (links[:, 0], links[:, 1])), shape=adjacency.shape
    )
    forest = sparse.coo_array(csgraph.minimum_spanning_tree(costs))
    low, high = np.minimum(forest.row, forest.col), np.maximum(forest.row, forest.col)
    return np.isin(pair_numbers(links), pair_numbers(np.column_stack([low, high])))


def sample_non_links(
    adjacency: sparse.csr_array, count: int, random_state: int | np.random.Generator | None = None
) -> Pairs:
    """Draw different pairs without a link, all equally likely."""
    nodes = adjacency.shape[0]
    taken = np.sort(pair_numbers(links_of(adjacency)))
    available = nodes * (nodes - 1) // 2 - len(taken)
    if available < count:
        raise InputError(
            f"the graph has {available} pairs without a link among {nodes} nodes, but {count} are "
            "wanted; hide fewer links, or give a sparser or larger graph."
        )
    rng = np.random.default_rng(random_state)
    ranks = rng.choice(available, size=count, replace=False)
    # Link k has taken[k] - k unlinked pairs before it; skip the links before each rank.
    before = taken - np.arange(len(taken))
    return numbered_pairs(ranks + np.searchsorted(before, ranks, side="right"))


def pair_numbers(pairs: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the number j (j - 1) / 2 + i of each pair (i, j), i < j: 0, 1, 2, ... without gaps."""
    low, high = pairs[:, 0].astype(np.int64), pairs[:, 1].astype(np.int64)
    return high * (high - 1) // 2 + low


def numbered_pairs(numbers: NDArray[np.integer]) -> Pairs:
    """Return the pairs (i, j), i < j, with the given numbers; see `pair_numbers`."""
    numbers = numbers.astype(np.int64)
    high = ((1.0 + np.sqrt(1.0 + 8.0 * numbers)) / 2.0).astype(np.int64)
    high -= high * (high - 1) // 2 > numbers  # the root is rounded
    high += high * (high + 1) // 2 <= numbers
    return np.column_stack([numbers - high * (high - 1) // 2, high])
