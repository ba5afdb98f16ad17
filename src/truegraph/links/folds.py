"""Links cut into folds, each with the graph without it and with fair pairs that have no link."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, triu

from truegraph.data.link_splits import Pairs, links_of, sample_non_links
from truegraph.errors import InputError
from truegraph.links.candidates import bipartite_sides, crosses

_NON_LINKS = 2  # per link; weights even them out, more of them say a little more
_FEWEST_NON_LINKS = 5  # each of five folds has one
_MOST_LINKS = 100_000  # that are scored; there are only a few weights to be found
_DRAWS = 8  # rounds of drawing pairs across sides: each finds half or more of what is wanted


def folds_of(
    graph: csr_array, known: csr_array, folds: int, seed: int
) -> Iterator[tuple[csr_array, Pairs, Pairs]]:
    """Yield for each fold the graph without it, links of the fold, and pairs without a link.

    In a large graph a few folds have enough links, and the others are not yielded. Of a fold with
    more than enough some links are yielded only, but none of the others is in the graph either.
    """
    rng = np.random.default_rng(seed)
    links = links_of(graph)
    fold = rng.permutation(np.arange(len(links)) % folds)
    wanted = min(_MOST_LINKS, len(links))
    for number in range(folds):
        own = rng.permutation(np.flatnonzero(fold == number))[:wanted]
        non_links = fair_non_links(graph, known, _NON_LINKS * len(own), rng)
        yield without_links(graph, links, fold == number), links[np.sort(own)], non_links
        wanted -= len(own)
        if wanted == 0:
            return


def without_links(graph: csr_array, links: Pairs, hidden: NDArray[np.bool_]) -> csr_array:
    """Return a weighted graph without some of its links.

    Parameters
    ----------
    graph : csr_array, shape (N, N)
    links : ndarray of int64, shape (n, 2)
        All its links, as `links_of` orders them.
    hidden : ndarray of bool, shape (n,)
        Which of them to leave out.
    """
    weights = csr_array(triu(graph, k=1)).data[~hidden]
    upper = coo_array((weights, tuple(links[~hidden].T)), shape=graph.shape)
    found = csr_array(upper + upper.T)
    found.sort_indices()
    return found


def fair_non_links(
    graph: csr_array, known: csr_array, count: int, rng: np.random.Generator
) -> Pairs:
    """Draw pairs without a link that could have one: in a bipartite graph across its sides."""
    nodes = known.shape[0]
    available = int(nodes * (nodes - 1) // 2 - known.nnz // 2)
    if available < _FEWEST_NON_LINKS:
        raise InputError(
            f"the graph has {available} pairs without a link among {nodes} nodes, too few "
            f"to learn from; give a sparser graph, with at least {_FEWEST_NON_LINKS} of them."
        )
    count = min(count, available)
    sides = bipartite_sides(graph)
    if sides is None:
        return sample_non_links(known, count, rng)
    found = np.zeros((0, 2), dtype=np.int64)
    for _ in range(_DRAWS):
        drawn = sample_non_links(known, count, rng)
        found = np.unique(np.concatenate([found, drawn[crosses(sides, drawn)]]), axis=0)
        if len(found) >= count:
            return rng.permutation(found)[:count]
    return found if len(found) else sample_non_links(known, count, rng)
