"""What every fitted model of links offers, and how its suggestions are found and judged."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.data.graphs.link_splits import Pairs, links_of
from truegraph.errors import InputError
from truegraph.tasks.links.heuristics import HeuristicScorer
from truegraph.tasks.links.refined.folds import without_links
from truegraph.tasks.links.refined.model import RefinedModel
from truegraph.tasks.links.refined.suggesting import refined_suggester
from truegraph.tasks.links.suggesting.candidates import candidates_of
from truegraph.tasks.links.suggesting.search import LinkSearch
from truegraph.tasks.links.suggesting.suggestions import (
    CandidateSearch,
    CountedChances,
    Suggester,
    counted_shares,
    is_among,
)
from truegraph.tasks.links.vectors import LinkVectors


class LinkScorer(Protocol):
    """A fitted model: scores of pairs, and how sure it is of them."""

    def logits(self, pairs: Pairs) -> NDArray[np.float64]:
        """Return the score of each pair (n, 2), (n,)."""
        ...

    def drawn_logits(self, pairs: Pairs) -> NDArray[np.float64]:
        """Return the score of each pair in each of S draws, (S, n); S may be 0."""
        ...

    def errors(self, pairs: Pairs) -> NDArray[np.float64]:
        """Return the standard error of each score, (n,); NaN if it is not known."""
        ...


def suggester_of(scorer: LinkScorer, known: csr_array, hidden: Pairs) -> Suggester:
    """Prepare the suggestions of a fitted model.

    Parameters
    ----------
    scorer : LinkScorer
    known : csr_array, shape (N, N)
        All links, none of which is suggested.
    hidden : ndarray of int64, shape (h, 2)
        Those that the model was not trained on.
    """
    if isinstance(scorer, LinkVectors):
        return _by_vectors(scorer, known, hidden)
    if isinstance(scorer, HeuristicScorer):
        return _by_heuristic(scorer, known, hidden)
    if isinstance(scorer, RefinedModel):
        return refined_suggester(scorer, known, hidden)
    raise InputError(f"a {type(scorer).__name__} suggests no links; use another model.")


def _by_vectors(vectors: LinkVectors, known: csr_array, hidden: Pairs) -> Suggester:
    """Search all pairs by inner products; count hits on the links that were held out."""
    nodes, n_links = known.shape[0], known.nnz // 2
    blind = LinkSearch(vectors.vectors, _without(known, hidden))
    shares = counted_shares(blind, hidden, n_links, nodes)
    search = LinkSearch(vectors.vectors, known)
    pairs = nodes * (nodes - 1) // 2 - n_links
    how = "searched exactly" if search.is_exact else "searched by approximate neighbours"
    searched = f"all {pairs:,} pairs without a link, {how}"
    return Suggester(search, CountedChances(shares, vectors.drawn_logits), searched)


def _by_heuristic(scorer: HeuristicScorer, known: csr_array, hidden: Pairs) -> Suggester:
    """Score candidates on all links that the model may see; count hits without the hidden ones."""
    rest = _without(known, hidden)
    blind = HeuristicScorer(scorer.name, rest)
    found = candidates_of(rest, rest)
    counted = CandidateSearch(found, blind.logits(found.pairs))
    shares = counted_shares(counted, hidden, known.nnz // 2, known.shape[0])
    candidates = candidates_of(scorer.graph, known)
    search = CandidateSearch(candidates, scorer.logits(candidates.pairs))
    return Suggester(search, CountedChances(shares, scorer.drawn_logits), candidates.searched)


def _without(known: csr_array, hidden: Pairs) -> csr_array:
    """Return a graph without some of its links."""
    links = links_of(known)
    return without_links(known, links, is_among(links, hidden, known.shape[0]))
