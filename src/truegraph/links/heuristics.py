"""Link scores without training: shared neighbours and walks of two to four steps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph import gate
from truegraph.data.link_splits import Pairs, links_of
from truegraph.links.names import HEURISTICS
from truegraph.links.problem import is_among, without_links
from truegraph.links.suggestions import CandidateSearch, Probability, Suggester, counted_shares
from truegraph.links.walks import RESTART, candidates_of, raw_walks, walk_graph
from truegraph.saving import savable

_SHARED = HEURISTICS[:3]  # common neighbours, plain and weighed by their degrees
_KATZ = 0.005  # weight of a step: the middle one of Liben-Nowell and Kleinberg (2007)


def heuristic(name: str, graph: csr_array, pairs: Pairs) -> NDArray[np.float64]:
    """Return the scores (n,) of pairs (n, 2) in a graph (N, N) by a heuristic.

    Personalised PageRank restarts with probability 0.15. In an undirected graph d_i p_i(j) = d_j
    p_j(i), so walks from one end of each pair tell both. Katz weighs each step by 0.005.
    """
    raw = raw_walks(walk_graph(graph, normalised=name != "katz"), pairs)
    if name in _SHARED:
        return raw[:, _SHARED.index(name)]
    if name == "katz":
        return np.asarray(raw[:, 3:] @ _KATZ ** np.arange(2, 5))
    steps = (1.0 - RESTART) ** np.arange(2, 5)
    strength = np.asarray(graph.sum(axis=1)).ravel()
    strength[strength == 0.0] = 1.0  # without links there are no walks
    ratio = np.sqrt(strength[pairs[:, 0]] / strength[pairs[:, 1]])
    return np.asarray(RESTART * (raw[:, 3:] @ steps) * (ratio + 1.0 / ratio))


@savable
class Heuristic:
    """A heuristic of `HEURISTICS` on a graph (N, N), in the form of a fitted model."""

    embedding = None

    def __init__(self, name: str, graph: csr_array) -> None:
        self.name, self.graph = name, graph

    def logits(self, pairs: Pairs) -> NDArray[np.float64]:
        """Return the score of each pair (n, 2), (n,)."""
        return heuristic(self.name, self.graph, pairs)

    def spread(self, pairs: Pairs, probability: Probability) -> NDArray[np.float64]:
        """Return NaN for each pair, (n,): a heuristic does not say how sure it is."""
        return np.full(len(pairs), np.nan)

    def suggester(self, known: csr_array, hidden: Pairs) -> Suggester:
        """Score candidates on all links that it may see; count hits without the hidden ones."""
        nodes, links = known.shape[0], links_of(known)
        rest = without_links(known, links, is_among(links, hidden, nodes))
        pairs, _ = candidates_of(rest, rest)
        search = CandidateSearch(pairs, Heuristic(self.name, rest).logits(pairs))
        shares = counted_shares(search, hidden, len(links), nodes)
        pairs, searched = candidates_of(self.graph, known)
        return Suggester(CandidateSearch(pairs, self.logits(pairs)), shares, searched)

    def _check_saved(self) -> None:
        gate.sparse_matrix("graph", self.graph)
        if self.name not in HEURISTICS:
            raise ValueError(f"unknown heuristic {self.name!r}")
