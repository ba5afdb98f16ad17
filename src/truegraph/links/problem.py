"""What a link predictor may see: a graph without the links that are held out, and features.

Held-out links serve to choose an epoch and to calibrate probabilities; the training graph, and so
everything that is trained on it, does not have them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array, issparse, tril, triu

from truegraph import gate
from truegraph.data.adjacency import adjacency_from_edges, as_adjacency
from truegraph.data.link_splits import Pairs, split_links
from truegraph.errors import InputError
from truegraph.fit_log import FitLog
from truegraph.wording import counted

LARGEST_IDENTITY = 20_000  # nodes up to which each is its own feature: weights grow with them
_FEWEST_LINKS = 5  # each of five folds has one
_ENOUGH_HELD_OUT = 10  # so many links are held out even if they are a larger share
_NO_PAIRS = np.zeros((0, 2), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class LinkProblem:
    """A training graph with features, and pairs to judge by.

    Attributes
    ----------
    features : csr_array of float64, shape (N, F), or None
        As they were given; None without.
    known : csr_array of float64, shape (N, N)
        All links that the user gave, those of validation too.
    graph : csr_array of float64, shape (N, N)
        The links to train on.
    links, non_links : ndarray of int64, shape (n, 2)
        Held-out pairs with and without a link.
    asked : ndarray of int64, shape (m, 2), or None
        Pairs that will be asked about, as far as that is known beforehand.
    """

    features: csr_array | None
    known: csr_array
    graph: csr_array
    links: Pairs
    non_links: Pairs
    asked: Pairs | None

    @property
    def n_unlinked(self) -> int:
        """Number of pairs without a training link."""
        nodes = self.graph.shape[0]
        return int(nodes * (nodes - 1) // 2 - self.graph.nnz // 2)

    def hidden_pairs(self) -> csr_array:
        """Return the held-out and the asked pairs, each in one direction, as a mask (N, N)."""
        parts = [self.links, self.non_links]
        if self.asked is not None:
            parts.append(self.asked)
        return pairs_to_mask(np.sort(np.concatenate(parts), axis=1), self.graph.shape[0])


def open_link_problem(
    graph: Any,
    features: Any,
    validation: Any,
    asked: Any,
    seed: int,
    log: FitLog,
    *,
    held_out: float | None = None,
) -> LinkProblem:
    """Check what the user gave, and hold links out if that is asked and no validation is given.

    Parameters
    ----------
    graph : anything that `truegraph.data.adjacency.as_adjacency` understands
    features : array-like or sparse matrix of shape (N, F), or None
    validation : pair of array-like of int, each of shape (n, 2), or None
        Links and non-links to judge by, none of them in `graph`.
    asked : array-like of int, shape (m, 2), or None
    seed : int
        Of the draw.
    log : FitLog
    held_out : float, optional
        Share of the links to hold out without `validation`. Default: none are held out, and
        weights of links count.
    """
    known = as_adjacency(graph)
    if held_out is not None and known.nnz and not (known.data == 1.0).all():
        log.note("weights of links are not used: every link counts the same")
        known = csr_array((np.ones(known.nnz), known.indices, known.indptr), shape=known.shape)
    if _is_directed(graph):
        log.note("directions of links are not used: every link counts both ways")
    if known.nnz // 2 < _FEWEST_LINKS:
        raise InputError(
            f"the graph has {known.nnz // 2} links among {known.shape[0]} nodes, too few to learn "
            f"from; give at least {_FEWEST_LINKS}."
        )
    rows = None if features is None else _checked_features(features, known.shape[0])
    trained, links, non_links = known, _NO_PAIRS, _NO_PAIRS
    if validation is not None:
        links, non_links = _validation(validation, known)
        known = with_links(known, links)
    elif held_out is not None:
        split = split_links(known, validation=_share(known, held_out), test=0.0, random_state=seed)
        trained, links, non_links = split.train, split.validation_links, split.validation_non_links
        log.note(
            f"{counted(len(links), 'link')} and as many unlinked pairs are held out of training, "
            "to calibrate probabilities"
        )
    wanted = None if asked is None else check_pairs(asked, known.shape[0], "pairs")
    return LinkProblem(rows, known, trained, links, non_links, wanted)


def _is_directed(graph: Any) -> bool:
    """Whether some links have a direction; one triangle of a matrix stands for both."""
    if hasattr(graph, "is_directed"):
        return bool(graph.is_directed()) if callable(graph.is_directed) else False
    if not (issparse(graph) or isinstance(graph, np.ndarray)):
        return False
    links: Any = csr_array(gate.table("graph", graph, finite=False)).astype(bool)
    both = triu(links, k=1).nnz and tril(links, k=-1).nnz
    return bool(both) and (links != links.T).nnz > 0


def _checked_features(features: Any, nodes: int) -> csr_array:
    rows = gate.table("X", features)
    if rows.shape[0] != nodes or rows.shape[1] == 0:
        raise InputError(
            f"X has shape {rows.shape}, but there are {nodes} nodes; give one row of at least one "
            "feature per node."
        )
    return csr_array(rows)


def features_or_nodes(problem: LinkProblem, log: FitLog) -> csr_array:
    """Return the features (N, F); without any each node is its own, or on large graphs its degree.

    The constant beside log(1 + degree) keeps the degree visible after rows are normalised.
    """
    if problem.features is not None:
        return problem.features
    nodes = problem.graph.shape[0]
    is_small = nodes <= LARGEST_IDENTITY
    log.note(f"no features given: {'identity' if is_small else 'degree'} features are used")
    if is_small:
        return csr_array(eye_array(nodes, format="csr"))
    degree = np.log1p(np.asarray(problem.graph.sum(axis=1)).ravel())
    return csr_array(np.column_stack([degree, np.ones_like(degree)]))


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


def check_share(name: str, share: object, what: str) -> float:
    """Return a share between 0 and 1; `what` says in a message what it is."""
    if not isinstance(share, int | float | np.number) or not 0.0 < share < 1.0:
        raise InputError(f"{name}={share!r} must be {what}, between 0 and 1.")
    return float(share)


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


def is_among(pairs: Pairs, links: Pairs, n_nodes: int) -> NDArray[np.bool_]:
    """Return which pairs (n, 2) are among some links, in either direction, (n,)."""
    wanted, given = np.sort(pairs, axis=1), np.sort(links, axis=1)
    return np.isin(wanted[:, 0] * n_nodes + wanted[:, 1], given[:, 0] * n_nodes + given[:, 1])
