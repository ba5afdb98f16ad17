"""What a link predictor may see: checked input, links that are held out, and folds of links.

Held-out links serve to choose an epoch and to calibrate probabilities; the training graph, and so
everything that is trained on it, does not have them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csgraph, csr_array, eye_array, issparse, tril, triu

from truegraph import gate
from truegraph.data.adjacency import adjacency_from_edges, as_adjacency, graph_names
from truegraph.data.link_splits import Pairs, links_of, sample_non_links, split_links
from truegraph.errors import InputError
from truegraph.fit_log import FitLog
from truegraph.runtime.compiled import compiled
from truegraph.wording import counted

LARGEST_IDENTITY = 20_000  # nodes up to which each is its own feature: weights grow with them
_FEWEST_LINKS = 5  # each of five folds has one
_ENOUGH_HELD_OUT = 10  # so many links are held out even if they are a larger share
_NON_LINKS = 2  # per link of a fold; weights even them out, more of them say a little more
_FEWEST_NON_LINKS = 5  # each of five folds has one
_MOST_LINKS = 100_000  # of all folds that are scored; there are only a few weights to be found
_DRAWS = 8  # rounds of drawing pairs across sides: each finds half or more of what is wanted
_ENOUGH_CYCLES = 20  # a graph with so many cycles, all even, is bipartite on purpose

Names = tuple[Hashable, ...]


def named_graph(
    graph: Any, rows: Sequence[Hashable] | None, X: Any = None
) -> tuple[csr_array, Names | None]:
    """Return the links (N, N) in the order of the named rows of X, if it has any, and the names."""
    own = graph_names(graph)
    libraries = {kind.__module__.partition(".")[0] for kind in type(graph).__mro__}
    has_numbers = rows is not None and all(isinstance(name, int | np.integer) for name in rows)
    if own is None and has_numbers and "networkx" in libraries:
        own = list(range(len(graph)))
    elif own is None and has_numbers and "pandas" in libraries and "source" in graph.columns:
        own = sorted({*graph["source"].tolist(), *graph["target"].tolist()})
    is_counted = own is None or list(own) == list(range(1, len(own) + 1))
    if X is not None and rows is None and own is not None and not is_counted:
        raise InputError(
            f"the nodes of the graph have names such as {own[0]!r}, which do not say which row of "
            "X each is; give X as a table whose index has these names."
        )
    links = as_adjacency(graph, node_names=own)
    if rows is None or own is None:
        is_known = rows is not None and len(rows) == links.shape[0]
        names = rows if is_known else own
        return links, None if names is None else tuple(names)
    number = {name: place for place, name in enumerate(rows)}
    lost = next((name for name in own if name not in number), None)
    if lost is not None:
        raise InputError(
            f"node {lost!r} of the graph has no row in X, whose index names the nodes; add its "
            "row, or give X as an array in the order of the nodes."
        )
    place, entries = np.array([number[name] for name in own], dtype=np.int64), coo_array(links)
    ends = (place[entries.row], place[entries.col])
    found = csr_array((entries.data, ends), shape=(len(rows), len(rows)))
    found.sort_indices()
    return found, tuple(rows)


def numbered(pairs: Any, names: Names | None, what: str) -> Any:
    """Return pairs of names as pairs of node numbers; numbers stay where no name is a number."""
    if names is None:
        return pairs
    given = pairs.to_numpy(dtype=object) if hasattr(pairs, "to_numpy") else pairs
    number = {name: place for place, name in enumerate(names)}
    if not any(isinstance(name, int | float) for name in names):
        number |= {place: place for place in range(len(names))}
    try:
        return [[number[end] for end in pair] for pair in given]
    except (KeyError, TypeError) as error:
        raise InputError(f"{what}: {error} is not a node; give two nodes each.") from error


def open_link_problem(
    known: csr_array, X: Any, validation: Any, seed: int, log: FitLog, held_out: float | None = None
) -> tuple[csr_array | None, csr_array, csr_array, tuple[Pairs, Pairs]]:
    """Return features or None, all links (N, N), those to train on, and held-out pairs.

    A share of the links is held out if there is no validation, and weights of links do not count;
    without `held_out` they count.
    """
    nodes = known.shape[0]
    if held_out is not None and known.nnz and not (known.data == 1.0).all():
        log.note("weights of links are not used: every link counts the same")
        known = csr_array((np.ones(known.nnz), known.indices, known.indptr), shape=known.shape)
    if known.nnz // 2 < _FEWEST_LINKS:
        raise InputError(
            f"the graph has {counted(known.nnz // 2, 'link')} among {counted(nodes, 'node')}, too "
            f"few to learn from; give at least {_FEWEST_LINKS}."
        )
    if X is not None and (X.shape[0] != nodes or X.shape[1] == 0):
        raise InputError(
            f"X has shape {X.shape}, but there are {nodes} nodes; give one row of at least "
            "one feature per node."
        )
    rows = None if X is None else csr_array(X)
    if validation is not None:
        pairs = _validation(validation, known)
        return rows, with_links(known, pairs[0]), known, pairs
    if held_out is None:
        none = np.zeros((0, 2), dtype=np.int64)
        return rows, known, known, (none, none)
    if not 0.0 < held_out < 0.5:
        raise InputError(f"held_out={held_out} must be a share of the links from 0 to 0.5.")
    links = known.nnz // 2
    share = max(held_out, min(_ENOUGH_HELD_OUT, links // _FEWEST_LINKS) / links)
    split = split_links(known, validation=share, test=0.0, random_state=seed)
    log.note(
        f"{counted(len(split.validation_links), 'link')} and as many unlinked pairs are held out "
        "of training, to calibrate probabilities"
    )
    return rows, known, split.train, (split.validation_links, split.validation_non_links)


def is_directed(graph: Any) -> bool:
    """Whether some links have a direction; one triangle of a matrix stands for both."""
    if hasattr(graph, "is_directed"):
        return bool(graph.is_directed()) if callable(graph.is_directed) else False
    if not (issparse(graph) or isinstance(graph, np.ndarray)):
        return False
    links: Any = csr_array(gate.table("graph", graph, finite=False)).astype(bool)
    both = triu(links, k=1).nnz and tril(links, k=-1).nnz
    return bool(both) and (links != links.T).nnz > 0


def features_or_nodes(features: csr_array | None, graph: csr_array, log: FitLog) -> csr_array:
    """Return features (N, F); without any each node is its own, or on large graphs its degree.

    The constant beside log(1 + degree) keeps the degree visible after rows are normalised.
    """
    if features is not None:
        return features
    nodes = graph.shape[0]
    is_small = nodes <= LARGEST_IDENTITY
    log.note(f"no features given: {'identity' if is_small else 'degree'} features are used")
    if is_small:
        return csr_array(eye_array(nodes, format="csr"))
    degree = np.log1p(np.asarray(graph.sum(axis=1)).ravel())
    return csr_array(np.column_stack([degree, np.ones_like(degree)]))


def _validation(validation: Any, known: csr_array) -> tuple[Pairs, Pairs]:
    if not hasattr(validation, "__len__") or len(validation) != 2:
        raise InputError(
            "validation must be two lists of pairs, links and non-links, of shape (n, 2) each."
        )
    found = []
    for name, given in zip(("links", "non-links"), validation, strict=True):
        pairs = check_pairs(given, known.shape[0], f"{name} of validation")
        if len(pairs) == 0:
            raise InputError(f"validation has no {name}; give at least one.")
        seen = pair_values(known, pairs) != 0.0
        if seen.any():
            first = tuple(int(node) for node in pairs[seen.argmax()])
            raise InputError(
                f"the {name} of validation hold {first}, which is a link of the graph to train on; "
                "take it out of one of them."
            )
        found.append(pairs)
    return found[0], found[1]


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


def check_prior(prior: Any, named: Mapping[str, float]) -> float:
    """Return the share of links that a number, or a name of some shares, stands for."""
    if isinstance(prior, str) and prior in named:
        return float(named[prior])
    if not isinstance(prior, int | float | np.number) or not 0.0 < prior < 1.0:
        raise InputError(
            f"prior={prior!r} must be a share of links between 0 and 1, 'balanced' or 'sparse'."
        )
    return float(prior)


def check_count(k: Any) -> int:
    """Return a number of suggestions."""
    if not isinstance(k, int | np.integer) or k < 1:
        raise InputError(f"k={k!r} must be a whole number of at least 1.")
    return int(k)


def unlinked_pairs(graph: csr_array) -> int:
    """Return how many pairs have no link."""
    nodes = graph.shape[0]
    return int(nodes * (nodes - 1) // 2 - graph.nnz // 2)


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


def without_links(graph: csr_array, links: Pairs, hidden: NDArray[np.bool_]) -> csr_array:
    """Return a weighted graph without the hidden ones of its links (n, 2), as `links_of` orders."""
    weights = csr_array(triu(graph, k=1)).data[~hidden]
    upper = coo_array((weights, tuple(links[~hidden].T)), shape=graph.shape)
    found = csr_array(upper + upper.T)
    found.sort_indices()
    return found


def pair_values(matrix: csr_array, pairs: Pairs) -> NDArray[np.float64]:
    """Return the entries of a symmetric matrix at some pairs, (n,)."""
    if len(pairs) == 0:
        return np.zeros(0)
    return np.asarray(matrix[pairs[:, 0], pairs[:, 1]], dtype=np.float64).ravel()


def is_among(pairs: Pairs, links: Pairs, n_nodes: int) -> NDArray[np.bool_]:
    """Return which pairs (n, 2) are among some links, in either direction, (n,)."""
    wanted, given = np.sort(pairs, axis=1), np.sort(links, axis=1)
    return np.isin(wanted[:, 0] * n_nodes + wanted[:, 1], given[:, 0] * n_nodes + given[:, 1])


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


def fair_non_links(
    graph: csr_array, known: csr_array, count: int, rng: np.random.Generator
) -> Pairs:
    """Draw pairs without a link that could have one: in a bipartite graph across its sides."""
    available = unlinked_pairs(known)
    if available < _FEWEST_NON_LINKS:
        raise InputError(
            f"the graph has {available} pairs without a link among {known.shape[0]} nodes, too few "
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


def bipartite_sides(graph: csr_array) -> NDArray[np.int64] | None:
    """Return a number for each node's side of its component, (N,); None if there are no sides.

    Nodes 2 c and 2 c + 1 stand for the sides of component c. A graph counts as bipartite if all of
    its cycles are even and there are enough of them to rule out chance; a tree does not.
    """
    components, component = csgraph.connected_components(graph, directed=False)
    if graph.nnz // 2 - graph.shape[0] + components < _ENOUGH_CYCLES:
        return None
    colour = _two_colours(graph.indptr, graph.indices)
    rows = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    if (colour[rows] == colour[graph.indices]).any():
        return None
    return 2 * component.astype(np.int64) + colour


def crosses(sides: NDArray[np.int64], pairs: Pairs) -> NDArray[np.bool_]:
    """Return which pairs (n, 2) join the two sides of one component, (n,)."""
    return np.asarray(sides[pairs[:, 0]] ^ 1 == sides[pairs[:, 1]])


@compiled
def _two_colours(indptr: Any, indices: Any) -> Any:
    """Colour nodes 0 and 1 by their distance from the first node of their component."""
    nodes = indptr.size - 1
    colour = np.full(nodes, -1, np.int64)
    queue = np.empty(nodes, np.int64)
    for start in range(nodes):
        if colour[start] >= 0:
            continue
        colour[start], queue[0], first, last = 0, start, 0, 1
        while first < last:
            node = queue[first]
            first += 1
            for e in range(indptr[node], indptr[node + 1]):
                if colour[indices[e]] < 0:
                    colour[indices[e]] = 1 - colour[node]
                    queue[last] = indices[e]
                    last += 1
    return colour
