"""Graph-augmented EASE: what users did not take is not all negative.

1. `nearest_items`: the similarity K of items and each item's nearest ones
2. `item_graph`: the most probable graph of the distances 1 - K      -> W = D^-1/2 W D^-1/2
3. soft positives: A = X M with M = I + c W
4. `dense_weights`: regress every item on the others, G = A' diag(w) A, users weighted by
   w_u ~ n_u^-a, ridge = penalty + diag G                             -> B; scores are X M B

The paper takes the strongest pairs of a learned graph out of the negatives of a network. Here the
graph's mass is added to the positives of a linear model. From 15,000 items on the regressions are
done on each item's nearest items only (`local_weights`), nothing has the size items x items, and
5. `LowPass`: what such regressions miss is added, half as strong; scores are X M B + X L R'.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, eye_array

from truegraph.errors import InputError
from truegraph.recommend.choosing import Options, Search
from truegraph.recommend.dense_ridge import MOST_ITEMS, dense_gram, dense_weights
from truegraph.recommend.item_graph import (
    CANDIDATE_RATIO,
    GRAPHS,
    ItemGraph,
    NearestItems,
    item_graph,
    nearest_items,
)
from truegraph.recommend.local_ridge import local_weights, strongest_entries
from truegraph.recommend.low_pass import LowPass, spread_users
from truegraph.recommend.models import Floats, HistoryModel, Parts, as_dense
from truegraph.saving import savable

_DIAGONAL_SHARE = 1.0  # of diag G in the ridge; lab/choose/graph_ease.py
_SOFT_POSITIVES = 1  # per interaction, the strongest, that local regressions learn from


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

    Parameters
    ----------
    options : dict
    mixing : csr_array of float32, shape (n_items, n_items)
        M = I + c W.
    weights : ndarray or csr_array of float32, shape (n_items, n_items)
        B.
    graph : ItemGraph or None
        The graph behind M; None without soft positives.
    low_pass : LowPass or None
        What is added to regressions on the nearest items.
    """

    name: ClassVar[str] = "graph-ease"
    DEFAULTS: ClassVar[dict[str, Any]] = {  # lab/choose/graph_ease.py
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
        "feature_weight": (0.0, 0.5, 0.75, 1.0),  # lab/choose/graph_ease.py
    }
    CHOICES: ClassVar[dict[str, tuple[Any, ...]]] = {"graph": (*GRAPHS, None)}

    def __init__(
        self,
        options: Options,
        mixing: csr_array,
        weights: Any,
        graph: ItemGraph | None,
        low_pass: LowPass | None = None,
    ) -> None:
        self.options, self.mixing, self.weights = options, mixing, weights
        self.graph, self.low_pass = graph, low_pass

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
    def fit(
        cls, options: Options, matrix: csr_array, *, seed: int = 0, features: Any = None
    ) -> Self:
        """Learn the graph and solve for the item weights."""
        fits = GraphEASEFits(matrix, deepest(options), seed, features)
        return next(iter(fits(options, (options["penalty"],))))  # type: ignore[return-value]

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(self.mixing.shape[0])

    def scores(self, history: csr_array, users: NDArray[np.int64] | None = None) -> Floats:
        """Return history M B, and the low-pass part if there is one."""
        regressed = as_dense(csr_array(history @ self.mixing) @ self.weights)
        return regressed if self.low_pass is None else regressed + self.low_pass.scores(history)

    def contributions(self, history: NDArray[np.int64], item: int) -> Parts:
        """Return the parts of a score that come from the items, and from others like them."""
        column = as_dense(self.weights[:, [item]]).astype(np.float64).ravel()
        whole = self.mixing[history].astype(np.float64) @ column
        if self.low_pass is not None:
            whole = whole + self.low_pass.contributions(history, item)
        return column[history], whole - column[history]

    def similarity(self, item: int) -> Floats:
        """Return the weights of the item's edges, D^-1/2 W D^-1/2; without a graph its row of B."""
        if self.graph is None or not self.options["strength"]:
            return as_dense(self.weights[[item]]).ravel()
        return as_dense(self.graph.operator[[item]]).ravel()

    def _check_saved(self) -> None:
        if self.mixing.shape != self.weights.shape or self.weights.shape[0] != self.n_items:
            raise InputError(f"the weights of {self.name} have shape {self.weights.shape}.")


def choose_graph_ease(
    options: Options, train: csr_array, search: Search, seed: int, features: Any = None
) -> Options:
    """Choose what is left open by recall@20 + NDCG@20: first how to regress, then the graph."""
    chosen = GraphEASE.usual(options)
    tried = {
        name: values if options[name] is None else (options[name],)
        for name, values in GraphEASE.TRIED.items()
    }
    fits = GraphEASEFits(train, deepest(options), seed, features)
    powers = [chosen | {"user_power": a} for a in tried["user_power"]]
    best = _best_of(search, fits, powers, tried["penalty"])
    if options["graph"] is None:
        return best
    degrees = tried["degree"]
    if train.shape[1] > options["dense_items"]:  # a fit takes long: one after the other
        wanted = [best | {"degree": degree} for degree in degrees]
        degrees = (_best_of(search, fits, wanted, (best["penalty"],))["degree"],)
    graphs = [best | {"degree": d, "strength": c} for d in degrees for c in tried["strength"]]
    best = _best_of(search, fits, graphs, (best["penalty"],))
    if features is None:
        return best
    joined = [best | {"feature_weight": weight} for weight in tried["feature_weight"]]
    return _best_of(search, fits, joined, (best["penalty"],))


def _best_of(
    search: Search, fits: GraphEASEFits, wanted: list[Options], penalties: Sequence[float]
) -> Options:
    """Try all options with every penalty; return the best of them."""
    for options in wanted:
        new = [p for p in penalties if search.known(options | {"penalty": p}) is None]
        for model in fits(options, new) if new else ():
            search.record(model)
    everything = [options | {"penalty": p} for options in wanted for p in penalties]
    return max(everything, key=lambda options: sum(search.known(options) or ()))


def deepest(options: Options) -> int:
    """Return how long the lists of nearest items must be for any degree that may be tried."""
    degree = options["degree"]
    degree = max(GraphEASE.TRIED["degree"]) if degree is None else degree
    return int(np.ceil(CANDIDATE_RATIO * degree)) + 1


class GraphEASEFits:
    """Fits to one matrix; nearest items and the last graph are kept between them."""

    def __init__(self, matrix: csr_array, depth: int, seed: int, features: Any = None) -> None:
        self._matrix, self._depth, self._seed = matrix, depth, seed
        self._features = features
        self._nearest: dict[float, NearestItems] = {}
        self._graphs: dict[tuple[float, float, str], ItemGraph] = {}
        self._low_pass: LowPass | None = None

    def __call__(self, options: Options, penalties: Sequence[float]) -> Iterator[GraphEASE]:
        """Yield the recommender for one penalty after the other."""
        is_dense = self._matrix.shape[1] <= options["dense_items"]
        graph = None if options["graph"] is None else self._graph(options)
        identity = eye_array(self._matrix.shape[1], dtype=np.float32, format="csr")
        mixing = csr_array(identity)
        if graph is not None:
            mixing = csr_array(identity + np.float32(options["strength"]) * graph.operator)
        counts = np.maximum(np.diff(self._matrix.indptr), 1).astype(np.float64)
        users = counts ** -options["user_power"]
        users /= users.mean()
        made = self._dense if is_dense else self._local
        for penalty, weights in made(options, penalties, users, mixing):
            fitted = GraphEASE(options | {"penalty": penalty}, mixing, weights, graph)
            if options["low_pass"] > 0.0 and not is_dense:
                fitted.low_pass = self._smooth(fitted)
            yield fitted

    def _smooth(self, fitted: GraphEASE) -> LowPass:
        """Return the low-pass part, as strong beside the regressions as the options say."""
        if self._low_pass is None:
            rank = fitted.options["low_pass_rank"]
            self._low_pass = LowPass.fit(self._matrix, rank, self._seed)
        sample = spread_users(self._matrix)
        share = fitted.options["low_pass"]
        return self._low_pass.beside(fitted.scores(sample), sample, share)

    def _near(self, options: Options) -> NearestItems:
        is_dense = self._matrix.shape[1] <= options["dense_items"]
        depth = self._depth if is_dense else max(self._depth, options["neighbours"])
        weight = 0.0 if self._features is None else float(options["feature_weight"])
        if weight not in self._nearest:
            self._nearest[weight] = nearest_items(
                self._matrix,
                depth,
                rank=options["rank"],
                seed=self._seed,
                features=self._features,
                weight=weight,
            )
        return self._nearest[weight]

    def _graph(self, options: Options) -> ItemGraph:
        key = (float(options["degree"]), float(options["feature_weight"]), options["graph"])
        if key not in self._graphs:
            self._graphs[key] = item_graph(self._near(options), key[0], options["graph"])
        return self._graphs[key]

    def _dense(
        self, options: Options, penalties: Any, users: NDArray[Any], mixing: csr_array
    ) -> Iterator[tuple[float, Any]]:
        is_mixed = None if options["graph"] is None else mixing
        for penalty in penalties:  # one matrix in memory at a time
            gram = dense_gram(self._matrix, users, is_mixed)
            ridge = penalty + _DIAGONAL_SHARE * np.diag(gram).astype(np.float64)
            yield penalty, dense_weights(gram, ridge)

    def _local(
        self, options: Options, penalties: Any, users: NDArray[Any], mixing: csr_array
    ) -> Iterator[tuple[float, Any]]:
        near = self._near(options).items[:, : options["neighbours"]]
        rows = csr_array(self._matrix.astype(np.float32) @ mixing)
        kept = (1 + _SOFT_POSITIVES) * np.diff(self._matrix.indptr).astype(np.int64)
        columns = csc_array(strongest_entries(rows, kept))
        found = local_weights(columns, users, near, np.array(penalties), _DIAGONAL_SHARE)
        yield from zip(penalties, found, strict=True)
