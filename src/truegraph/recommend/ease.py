"""EASE (Steck, WWW 2019) and graph-augmented EASE: ridge regression of items on items.

What users did not take is not all negative. Graph-augmented EASE learns a graph of the items:

1. `nearest_items`: the similarity K of items and each item's nearest ones. K is the mean of the
   cosines of the columns of X, and of the leading right singular vectors of D_U^-1/2 X D_I^-1/2
   times their singular values
2. `item_graph`: the most probable graph of the distances 1 - K      -> W = D^-1/2 W D^-1/2
3. soft positives: A = X M with M = I + c W
4. `dense_weights`: regress every item on the others, G = A' diag(w) A, users weighted by
   w_u ~ n_u^-a, ridge = penalty + diag G                             -> B; scores are X M B

The paper takes the strongest pairs of a learned graph out of the negatives of a network. Here the
graph's mass is added to the positives of a linear model. From 15,000 items on an item is regressed
on its nearest items only (`local_weights`), nothing has the size items x items, and

5. `low_pass`: what such regressions miss is added, half as strong; scores are X M B + X L R'. With
   V the leading right singular vectors of D_U^-1/2 X D_I^-1/2 it is D_I^-1/2 V V' D_I^0.7: the
   ideal filter of GF-CF (Shen et al., CIKM 2021) with more weight on items that many take.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, diags_array, eye_array

from truegraph.errors import InputError
from truegraph.learning.core import learn
from truegraph.learning.learned import LearnedGraph
from truegraph.learning.settings import Settings
from truegraph.recommend.features import Features
from truegraph.recommend.models import (
    Floats,
    HistoryModel,
    LinearModel,
    Options,
    Parts,
    as_dense,
    product,
    rank_items,
)
from truegraph.recommend.ridge import (
    MOST_ITEMS,
    dense_gram,
    dense_weights,
    local_weights,
    strongest_entries,
)
from truegraph.runtime.threads import one_blas_thread
from truegraph.saving import savable

GraphKind = Literal["map", "knn", "soft-knn"]
GRAPHS: tuple[GraphKind, ...] = ("map", "knn", "soft-knn")
CANDIDATE_RATIO = 3  # candidate neighbours per wanted edge, as of the learner
_SPARE = 16  # columns that the iteration carries beside the wanted ones, and how often it runs:
_ITERATIONS = 4  # singular values are then right to 1e-3, which a test checks
_NEIGHBOURS = 100  # that an item is regressed on when there are many; lab/choose/graph_ease.py
_DIAGONAL_SHARE = 1.0  # of diag G in the ridge; lab/choose/graph_ease.py
_SOFT_POSITIVES = 1  # per interaction, the strongest, that local regressions learn from
_POPULARITY = 0.7  # power of the counts, of GF-CF 0.5; lab/choose/low_pass.py
_SAMPLE = 512  # users whose scores set a scale: their mean is then right to some percent

#: Each item's most similar items, best first: numbers (n_items, depth), -1 where a list has ended,
#: for only items with a similarity above zero are listed; and the similarity (n_items, depth).
Nearest = tuple[NDArray[np.int64], NDArray[np.float32]]


@savable
class EASE(LinearModel):
    """EASE (Steck, WWW 2019): ridge regression of every item on the others, B = I - P diag(P)^-1.

    P is (X'X + ``penalty`` I)^-1.
    """

    name: ClassVar[str] = "ease"
    DEFAULTS: ClassVar[Options] = {"penalty": 200.0}
    TRIED: ClassVar[dict[str, tuple[Any, ...]]] = {
        "penalty": (20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)
    }

    @classmethod
    def fit(cls, options: Options, matrix: csr_array, seed: int = 0, features: Any = None) -> Self:
        """Solve for the item weights."""
        penalty, n_items = float(options["penalty"]), matrix.shape[1]
        if n_items <= MOST_ITEMS:
            return cls(options, dense_weights(dense_gram(matrix), np.full(n_items, penalty)))
        near, _ = nearest_items(matrix, _NEIGHBOURS, seed=seed)
        equal, columns = np.ones(matrix.shape[0]), csc_array(matrix.astype(np.float32))
        return cls(options, *local_weights(columns, equal, near, np.array([penalty]), 0.0))


@savable
class GraphEASE(HistoryModel):
    """Graph-augmented EASE: EASE (Steck, WWW 2019) with soft positives from a learned graph.

    ``degree``: mean number of edges per item of the graph; ``strength``: c, the weight of the soft
    positives; ``user_power``: a; ``penalty``: added to the diagonal; ``graph``: "map", the most
    probable graph, "knn" or "soft-knn", k-nearest-neighbour graphs with equal weights, or weights
    by how much nearer a neighbour is than the next one, or None, no soft positives; ``rank`` of the
    singular value decomposition behind the similarity of items; ``neighbours`` that each item is
    regressed on when there are more than ``dense_items``; ``low_pass``: how strong that part is
    beside regressions on the nearest items, and its ``low_pass_rank``; ``feature_weight``: of
    features of the items in their similarity, beside the interactions.

    Attributes
    ----------
    weights : ndarray or csr_array of float32, shape (n_items, n_items)
        B.
    operator : csr_array of float32, shape (n_items, n_items), or None
        D^-1/2 W D^-1/2; None without soft positives.
    learned : LearnedGraph or None
        The most probable graph with its certificate.
    left, right : ndarray of float32, shape (n_items, r), or None
        L and R of the low-pass part.
    """

    name: ClassVar[str] = "graph-ease"
    DEFAULTS: ClassVar[Options] = {  # lab/choose/graph_ease.py
        "degree": 20.0,
        "strength": 1.0,
        "user_power": 0.5,
        "penalty": 50.0,
        "graph": "map",
        "rank": 64,
        "neighbours": 100,
        "dense_items": MOST_ITEMS,
        "low_pass": 0.5,
        "low_pass_rank": 512,
        "feature_weight": 0.75,
    }
    TRIED: ClassVar[dict[str, tuple[Any, ...]]] = {
        "degree": (10.0, 20.0, 40.0),
        "strength": (0.5, 1.0),
        "user_power": (0.25, 0.5),
        "penalty": (20.0, 50.0, 120.0, 300.0),
        "feature_weight": (0.0, 0.5, 0.75, 1.0),
    }
    CHOICES: ClassVar[dict[str, tuple[Any, ...]]] = {"graph": (*GRAPHS, None)}
    _unsaved = ("_mixing",)

    def __init__(
        self,
        options: Options,
        weights: Any,
        operator: csr_array | None,
        learned: LearnedGraph | None,
    ) -> None:
        self.options, self.weights = options, weights
        self.operator, self.learned = operator, learned
        self.left: Floats | None = None
        self.right: Floats | None = None
        self._after_load()

    def _after_load(self) -> None:
        self._mixing = mixing_of(self.operator, self.options["strength"], self.n_items)

    @classmethod
    def checked(cls, given: Mapping[str, Any] | None) -> Options:
        """Return all options, None where one is to be chosen; raise for impossible ones."""
        options = super().checked(given)
        if options["degree"] is not None and options["degree"] < 1.0:
            raise InputError(f"degree={options['degree']!r} must be at least 1.")
        if options["dense_items"] > MOST_ITEMS:
            raise InputError(f"dense_items={options['dense_items']} must be at most {MOST_ITEMS}.")
        return options

    @classmethod
    def fit(cls, options: Options, matrix: csr_array, seed: int = 0, features: Any = None) -> Self:
        """Learn the graph and solve for the item weights."""
        fits = GraphEASEFits(matrix, options["degree"], seed, features)
        return next(iter(fits(options, (options["penalty"],))))  # type: ignore[return-value]

    def scores(self, history: csr_array, users: NDArray[np.int64] | None = None) -> Floats:
        """Return history M B, and the low-pass part if there is one."""
        regressed = as_dense(csr_array(history @ self._mixing) @ self.weights)
        if self.left is None or self.right is None:
            return regressed
        return regressed + product(as_dense(history @ self.left), self.right.T)

    def contributions(self, history: NDArray[np.int64], item: int) -> Parts:
        """Return the parts of a score that come from the items, and from others like them."""
        column = as_dense(self.weights[:, [item]]).astype(np.float64).ravel()
        whole = self._mixing[history].astype(np.float64) @ column
        if self.left is not None and self.right is not None:
            smooth = self.left[history].astype(np.float64) @ self.right[item].astype(np.float64)
            whole = whole + smooth
        return column[history], whole - column[history]

    def similarity(self, item: int) -> Floats:
        """Return the weights of the item's edges, D^-1/2 W D^-1/2; without a graph its row of B."""
        if self.operator is None or not self.options["strength"]:
            return as_dense(self.weights[[item]]).ravel()
        return as_dense(self.operator[[item]]).ravel()

    def _check_saved(self) -> None:
        shape, sides = (self.n_items, self.n_items), (self.left, self.right)
        is_square = self.weights.shape == shape
        is_square = is_square and (self.operator is None or self.operator.shape == shape)
        is_smooth = [
            side is not None and side.ndim == 2 and len(side) == shape[0] for side in sides
        ]
        if not is_square or any(is_smooth) != all(is_smooth):
            raise InputError(f"the weights of {self.name} have shape {self.weights.shape}.")


def mixing_of(operator: csr_array | None, strength: float, n_items: int) -> csr_array:
    """Return M = I + c W, csr_array of float32."""
    identity = csr_array(eye_array(n_items, dtype=np.float32, format="csr"))
    return identity if operator is None else csr_array(identity + np.float32(strength) * operator)


class GraphEASEFits:
    """Fits to one matrix; nearest items and graphs are kept between them.

    The lists of nearest items are long enough for graphs of degrees up to `most_edges`.
    """

    def __init__(
        self, matrix: csr_array, most_edges: float, seed: int = 0, features: Any = None
    ) -> None:
        self._matrix, self._seed, self._features = matrix, seed, features
        self._depth = int(np.ceil(CANDIDATE_RATIO * most_edges)) + 1
        self._nearest: dict[float, Nearest] = {}
        self._graphs: dict[Any, tuple[csr_array, LearnedGraph | None]] = {}
        self._low_pass: tuple[Floats, Floats] | None = None

    def __call__(self, options: Options, penalties: Sequence[float]) -> Iterator[GraphEASE]:
        """Yield the recommender for one penalty after the other."""
        n_items = self._matrix.shape[1]
        is_dense = n_items <= options["dense_items"]
        operator, learned = (None, None) if options["graph"] is None else self._graph(options)
        mixing = mixing_of(operator, options["strength"], n_items)
        counts = np.maximum(np.diff(self._matrix.indptr), 1).astype(np.float64)
        users = counts ** -options["user_power"]
        users /= users.mean()
        if is_dense:
            made = self._dense(penalties, users, None if operator is None else mixing)
        else:
            made = self._local(options, penalties, users, mixing)
        for penalty, weights in zip(penalties, made, strict=True):
            fitted = GraphEASE(options | {"penalty": penalty}, weights, operator, learned)
            if options["low_pass"] > 0.0 and not is_dense:
                fitted.left, fitted.right = self._smooth(fitted)
            yield fitted

    def _near(self, options: Options) -> Nearest:
        is_dense = self._matrix.shape[1] <= options["dense_items"]
        depth = self._depth if is_dense else max(self._depth, options["neighbours"])
        weight = 0.0 if self._features is None else float(options["feature_weight"])
        if weight not in self._nearest:
            own = (self._features, weight)
            found = nearest_items(self._matrix, depth, options["rank"], self._seed, *own)
            self._nearest[weight] = found
        return self._nearest[weight]

    def _graph(self, options: Options) -> tuple[csr_array, LearnedGraph | None]:
        key = (float(options["degree"]), float(options["feature_weight"]), options["graph"])
        if key not in self._graphs:
            self._graphs[key] = item_graph(self._near(options), key[0], options["graph"])
        return self._graphs[key]

    def _dense(
        self, penalties: Sequence[float], users: NDArray[np.float64], mixing: csr_array | None
    ) -> Iterator[Any]:
        for penalty in penalties:  # one matrix in memory at a time
            gram = dense_gram(self._matrix, users, mixing)
            ridge = penalty + _DIAGONAL_SHARE * np.diag(gram).astype(np.float64)
            yield dense_weights(gram, ridge)

    def _local(
        self,
        options: Options,
        penalties: Sequence[float],
        users: NDArray[np.float64],
        mixing: csr_array,
    ) -> Iterator[Any]:
        near = self._near(options)[0][:, : options["neighbours"]]
        rows = csr_array(self._matrix.astype(np.float32) @ mixing)
        kept = (1 + _SOFT_POSITIVES) * np.diff(self._matrix.indptr).astype(np.int64)
        columns = csc_array(strongest_entries(rows, kept))
        yield from local_weights(columns, users, near, np.array(penalties), _DIAGONAL_SHARE)

    def _smooth(self, fitted: GraphEASE) -> tuple[Floats, Floats]:
        """Return the low-pass part, as strong beside the regressions as the options say."""
        if self._low_pass is None:
            rank = fitted.options["low_pass_rank"]
            self._low_pass = low_pass(self._matrix, rank, self._seed)
        left, right = self._low_pass
        sample = spread_users(self._matrix)
        own = mean_length(product(as_dense(sample @ left), right.T))
        other = fitted.options["low_pass"] * mean_length(fitted.scores(sample))
        return left, right * np.float32(other / own if own > 0.0 else 0.0)


def low_pass(matrix: csr_array, rank: int, seed: int = 0) -> tuple[Floats, Floats]:
    """Return L and R (n_items, rank) of the smooth part of histories, h L R'."""
    vectors, _ = leading_item_vectors(matrix, rank, seed)
    counts = np.maximum(np.bincount(matrix.indices, minlength=matrix.shape[1]), 1.0)[:, None]
    left, right = vectors * counts**-0.5, vectors * counts**_POPULARITY
    return left.astype(np.float32), right.astype(np.float32)


def spread_users(matrix: csr_array) -> csr_array:
    """Return the histories of up to 512 users, evenly spread."""
    n_users = matrix.shape[0]
    return csr_array(
        matrix[np.unique(np.linspace(0, n_users - 1, min(_SAMPLE, n_users)).astype(int))]
    )


def mean_length(scores: Floats) -> np.float32:
    """Return the mean length of rows of scores."""
    found: np.float32 = np.linalg.norm(scores, axis=1).mean()
    return found


# --- the graph of the items -----------------------------------------------------------------------


def leading_item_vectors(
    matrix: csr_array, rank: int, seed: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the `rank` leading right singular vectors of D_U^-1/2 X D_I^-1/2, and their values.

    Vectors (n_items, min(rank, n_users, n_items)) and values, decreasing, by block power iteration
    (Halko, Martinsson and Tropp, 2011) in one thread. The seed is that of the first block.
    """
    operator = normalised(matrix)
    turned = csr_array(operator.T)
    wanted = min(rank, *operator.shape)
    columns = min(wanted + _SPARE, *operator.shape)
    right = np.random.default_rng(seed).normal(size=(operator.shape[1], columns))
    with one_blas_thread():  # sums of several threads would come in another order
        for _ in range(_ITERATIONS):
            right = np.linalg.qr(turned @ (operator @ right))[0]
        left = operator @ right
        squares, turn = np.linalg.eigh(left.T @ left)
        vectors: NDArray[np.float64] = right @ turn[:, : -wanted - 1 : -1]
    values = np.sqrt(np.maximum(squares[: -wanted - 1 : -1], 0.0))
    return vectors, values


def normalised(matrix: csr_array) -> csr_array:
    """Return D_U^-1/2 X D_I^-1/2 of a matrix of users and items."""
    users = np.maximum(np.diff(matrix.indptr), 1)
    items = np.maximum(np.bincount(matrix.indices, minlength=matrix.shape[1]), 1)
    return csr_array(
        diags_array(users**-0.5) @ matrix.astype(np.float64) @ diags_array(items**-0.5)
    )


def nearest_items(
    matrix: csr_array,
    depth: int,
    rank: int = 64,
    seed: int = 0,
    features: Features | None = None,
    weight: float = 0.0,
) -> Nearest:
    """Find each item's `depth` most similar items, by interactions (n_users, n_items).

    The features' similarity has a `weight` beside that of the interactions, between items that
    somebody took. `rank` is that of the singular value decomposition.
    """
    n_items = int(matrix.shape[1])
    taken = np.bincount(matrix.indices, minlength=n_items)
    counts = np.maximum(taken, 1)
    share = np.where(taken > 0, np.float32(weight), np.float32(0.0))
    unit = csr_array(matrix.astype(np.float32) @ diags_array((counts**-0.5).astype(np.float32)))
    by_item = csr_array(unit.T)
    vectors, values = leading_item_vectors(matrix, rank, seed)
    scaled = vectors * values
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    points = np.divide(scaled, lengths, out=np.zeros_like(scaled), where=lengths > 0.0)
    points = points.astype(np.float32)

    def similarity(items: NDArray[np.int64]) -> NDArray[np.float32]:
        found: NDArray[np.float32] = product(points[items], points.T)
        found += (by_item[items] @ unit).toarray()
        found *= 0.5
        if features is not None and weight > 0.0:
            found *= np.float32(1.0 - weight)
            found += features.similarity(items) * share
            found[share[items] == 0.0] = 0.0
        return found

    itself = csr_array(eye_array(n_items, dtype=np.float32))
    items, found = rank_items(similarity, itself, min(depth, n_items - 1))
    return np.where(found > 0.0, items, -1), np.maximum(found, 0.0)


def item_graph(
    nearest: Nearest, degree: float, kind: GraphKind = "map"
) -> tuple[csr_array, LearnedGraph | None]:
    """Return D^-1/2 W D^-1/2 of a graph of the lists of most similar items, and what was learned.

    Parameters
    ----------
    nearest : Nearest
        Lists of at least ``CANDIDATE_RATIO * degree`` items, or of all.
    degree : float
        Mean number of edges per item; of the k-NN graphs the number of neighbours.
    kind : {"map", "knn", "soft-knn"}
        The most probable graph of the distances 1 - K; every item's nearest items with the weight
        1; or those with the weight by which their similarity exceeds that of the next one.
    """
    items, similarity = nearest
    if kind == "map":
        learned = _most_probable(items, similarity, degree)
        whole: Any = (len(items), len(items)) if learned is None else learned.adjacency
        return _operator(csr_array(whole)), learned
    count = max(1, round(degree))
    own = similarity[:, :count].astype(np.float64)
    if kind == "soft-knn":
        weights = own - (similarity[:, [count]] if items.shape[1] > count else 0.0)
    else:
        weights = np.ones_like(own)
    row, place = np.nonzero(items[:, :count] >= 0)
    ends = (row, items[row, place])
    shape = (len(items), len(items))
    directed = csr_array((np.maximum(weights, 0.0)[row, place], ends), shape=shape)
    joined = directed.maximum(directed.T) if kind == "knn" else (directed + directed.T) / 2.0
    return _operator(csr_array(joined)), None


def _operator(weights: csr_array) -> csr_array:
    degrees = weights.sum(axis=1)
    scale = np.divide(1.0, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0.0)
    found = csr_array(diags_array(scale) @ weights @ diags_array(scale))
    found.sort_indices()
    return found.astype(np.float32)


def _most_probable(
    items: NDArray[np.int64], similarity: NDArray[np.float32], degree: float
) -> LearnedGraph | None:
    """Return the most probable graph of the distances 1 - K of listed pairs; None without any."""
    n_items, depth = len(items), int(np.ceil(CANDIDATE_RATIO * degree))
    row, place = np.nonzero(items[:, :depth] >= 0)
    column = items[row, place]
    low, high = np.minimum(row, column), np.maximum(row, column)
    pairs, first = np.unique(low * n_items + high, return_index=True)
    distance = np.clip(1.0 - similarity[row, place][first].astype(np.float64), 0.0, 1.0)
    low, high = pairs // n_items, pairs % n_items
    ends = (np.concatenate([low, high]), np.concatenate([high, low]))
    shape = (n_items, n_items)
    candidates = csr_array((np.concatenate([distance, distance]), ends), shape=shape)
    inside = np.flatnonzero(np.diff(candidates.indptr))
    if len(inside) < 3:
        return None
    part = csr_array(candidates[inside][:, inside])
    part.sort_indices()
    wanted = min(degree, 0.9 * part.nnz / len(inside))  # not all candidates can be edges
    return _widened(learn(part, Settings(degree=wanted)), inside, n_items)


def _widened(graph: LearnedGraph, inside: NDArray[np.int64], size: int) -> LearnedGraph:
    """Return a graph of some items as one of all: the others have no edges."""
    if len(inside) == size:
        return graph
    multipliers = np.zeros(size)
    multipliers[inside] = graph.multipliers
    adjacency, candidates = (
        csr_array((part.data, (inside[part.row], inside[part.col])), shape=(size, size))
        for part in (graph.adjacency.tocoo(), graph.candidates.tocoo())
    )
    return replace(graph, adjacency=adjacency, candidates=candidates, multipliers=multipliers)
