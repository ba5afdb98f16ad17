"""EASE (Steck, WWW 2019) and graph-augmented EASE: ridge regression of items on items.

What users did not take is not all negative. Graph-augmented EASE learns a graph of the items:

1. `nearest_items`: the similarity K of items and each item's nearest ones
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
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, eye_array

from truegraph.errors import InputError
from truegraph.learning.learned import LearnedGraph
from truegraph.recommend.item_graph import (
    CANDIDATE_RATIO,
    GRAPHS,
    Nearest,
    item_graph,
    leading_item_vectors,
    nearest_items,
)
from truegraph.recommend.models import (
    Floats,
    HistoryModel,
    LinearModel,
    Options,
    Parts,
    as_dense,
    product,
)
from truegraph.recommend.ridge import (
    MOST_ITEMS,
    dense_gram,
    dense_weights,
    local_weights,
    strongest_entries,
)
from truegraph.saving import savable

_NEIGHBOURS = 100  # that an item is regressed on when there are many; lab/choose/graph_ease.py
_DIAGONAL_SHARE = 1.0  # of diag G in the ridge; lab/choose/graph_ease.py
_SOFT_POSITIVES = 1  # per interaction, the strongest, that local regressions learn from
_POPULARITY = (
    0.7  # power of the counts in the low-pass part, GF-CF's is 0.5; lab/choose/low_pass.py
)
_SAMPLE = 512  # users whose scores set a scale: their mean is then right to some percent


@savable
class EASE(LinearModel):
    """Ridge regression of every item on all the others, B = I - P diag(P)^-1.

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
    """Graph-augmented EASE.

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
