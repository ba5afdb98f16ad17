"""What a link predictor may see: a graph without the links that are held out, and features.

Held-out links serve to choose an epoch and to calibrate probabilities; the training graph, and so
everything that is trained on it, does not have them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array

from truegraph import gate
from truegraph.data.graphs.adjacency import adjacency_from_edges, as_adjacency
from truegraph.data.graphs.link_splits import Pairs, split_links
from truegraph.errors import InputError
from truegraph.tasks.classify.inputs import LARGEST_IDENTITY, check_features, degrees
from truegraph.wording import counted

_FEWEST_LINKS = 5
_NO_PAIRS = np.zeros((0, 2), dtype=np.int64)
_ENOUGH_HELD_OUT = 10  # so many links are held out even if they are a larger share


@dataclass(frozen=True, eq=False)
class LinkProblem:
    """A training graph with features, and pairs to judge by.

    Attributes
    ----------
    features : csr_array of float64, shape (N, F)
    features_from : {"given", "identity", "degree"}
    known : csr_array of float64, shape (N, N)
        All links that the user gave, 0/1.
    graph : csr_array of float64, shape (N, N)
        The links to train on.
    links, non_links : ndarray of int64, shape (n, 2)
        Held-out pairs with and without a link.
    asked : ndarray of int64, shape (m, 2), or None
        Pairs that will be asked about, as far as that is known beforehand.
    notes : tuple of str
        What was chosen for the user.
    """

    features: csr_array
    features_from: str
    known: csr_array
    graph: csr_array
    links: Pairs
    non_links: Pairs
    asked: Pairs | None
    notes: tuple[str, ...]

    @property
    def n_nodes(self) -> int:
        """Number of nodes N."""
        return int(self.graph.shape[0])

    @property
    def mean_degree(self) -> float:
        """Mean number of training links per node."""
        return float(self.graph.nnz / self.n_nodes)

    @property
    def n_unlinked(self) -> int:
        """Number of pairs without a training link."""
        return self.n_nodes * (self.n_nodes - 1) // 2 - self.graph.nnz // 2

    def hidden_pairs(self) -> csr_array:
        """Return the held-out and the asked pairs, each in one direction, as a mask (N, N)."""
        parts = [self.links, self.non_links]
        if self.asked is not None:
            parts.append(self.asked)
        pairs = np.sort(np.concatenate(parts), axis=1)
        return pairs_to_mask(pairs, self.n_nodes)


def open_link_problem(
    graph: Any,
    features: Any,
    validation: Any,
    asked: Any,
    held_out: float | None,
    seed: int,
    *,
    weighted: bool = False,
) -> LinkProblem:
    """Check what the user gave, and hold links out if no validation pairs are given.

    Parameters
    ----------
    graph : anything that `truegraph.data.as_adjacency` understands
    features : array-like or sparse matrix of shape (N, F), or None
        None: each node is its own feature, or on large graphs its degree is.
    validation : pair of array-like of int, each of shape (n, 2), or None
        Links and non-links to judge by, none of them in `graph`.
    asked : array-like of int, shape (m, 2), or None
    held_out : float or None
        Share of the links to hold out without `validation`; None: none.
    seed : int
        Of the draw.
    weighted : bool, default=False
        Whether the weights of links count; only without `held_out`.
    """
    known = as_adjacency(graph)
    notes = []
    if not weighted and known.nnz and not (known.data == 1.0).all():
        notes.append("weights of links are not used: every link counts the same")
        known = csr_array((np.ones(known.nnz), known.indices, known.indptr), shape=known.shape)
    _check_size(known)
    rows, features_from = _features(features, known)
    if features_from != "given" and not weighted:
        notes.append(f"no features given: {features_from} features are used")
    if validation is None and held_out is None:
        trained, links, non_links = known, _NO_PAIRS, _NO_PAIRS
    elif validation is None:
        assert held_out is not None
        split = split_links(known, validation=_share(known, held_out), test=0.0, random_state=seed)
        trained, links, non_links = split.train, split.validation_links, split.validation_non_links
        notes.append(
            f"{counted(len(links), 'link')} and as many unlinked pairs are held out of training, "
            "to calibrate probabilities"
        )
    else:
        links, non_links = _validation(validation, known)
        trained = known
        known = with_links(known, links)
    wanted = None if asked is None else check_pairs(asked, known.shape[0], "pairs")
    return LinkProblem(rows, features_from, known, trained, links, non_links, wanted, tuple(notes))


def _check_size(known: csr_array) -> None:
    if known.nnz // 2 < _FEWEST_LINKS:
        raise InputError(
            f"the graph has {known.nnz // 2} links among {known.shape[0]} nodes, too few to learn "
            f"from; give at least {_FEWEST_LINKS}."
        )


def _features(features: Any, known: csr_array) -> tuple[csr_array, str]:
    nodes = known.shape[0]
    if features is not None:
        return check_features(features, nodes, "X"), "given"
    if nodes <= LARGEST_IDENTITY:
        return csr_array(eye_array(nodes, format="csr")), "identity"
    return degrees(known), "degree"


def _share(known: csr_array, held_out: float) -> float:
    if not 0.0 < held_out < 0.5:
        raise InputError(f"held_out={held_out} must be a share of the links from 0 to 0.5.")
    links = known.nnz // 2
    fewest = min(_ENOUGH_HELD_OUT, links // _FEWEST_LINKS)
    return max(held_out, fewest / links)


def _validation(validation: Any, known: csr_array) -> tuple[Pairs, Pairs]:
    try:
        given_links, given_non_links = validation
    except (TypeError, ValueError) as error:
        raise InputError(
            "validation must be two lists of pairs, links and non-links, of shape (n, 2) each."
        ) from error
    nodes = known.shape[0]
    links = check_pairs(given_links, nodes, "links of validation")
    non_links = check_pairs(given_non_links, nodes, "non-links of validation")
    for name, pairs in (("links", links), ("non-links", non_links)):
        if len(pairs) == 0:
            raise InputError(f"validation has no {name}; give at least one.")
        seen = pair_values(known, pairs) != 0.0
        if seen.any():
            first = tuple(int(node) for node in pairs[seen.argmax()])
            raise InputError(
                f"the {name} of validation hold {first}, which is a link of the graph to train on; "
                "take it out of one of them."
            )
    return links, non_links


def check_pairs(pairs: Any, n_nodes: int, name: str) -> Pairs:
    """Return pairs of different nodes as an array (n, 2) of int64."""
    array = gate.pairs(name, pairs, n_nodes)
    same = array[:, 0] == array[:, 1]
    if same.any():
        raise InputError(
            f"{name} pairs node {array[same][0, 0]} with itself; give two different nodes."
        )
    return array


def pairs_to_mask(pairs: Pairs, n_nodes: int) -> csr_array:
    """Return 1 for every pair, in the direction given, (N, N)."""
    mask = csr_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n_nodes, n_nodes))
    mask.sum_duplicates()
    mask.data[:] = 1.0
    return mask


def with_links(graph: csr_array, pairs: Pairs) -> csr_array:
    """Return a graph of 0/1 with more links."""
    rows = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    sources = np.concatenate([rows, pairs[:, 0]])
    targets = np.concatenate([graph.indices, pairs[:, 1]])
    return adjacency_from_edges(sources, targets, None, graph.shape[0])


def pair_values(matrix: csr_array, pairs: Pairs) -> NDArray[np.float64]:
    """Return the entries of a symmetric matrix at some pairs, (n,)."""
    if len(pairs) == 0:
        return np.zeros(0)
    return np.asarray(matrix[pairs[:, 0], pairs[:, 1]], dtype=np.float64).ravel()
