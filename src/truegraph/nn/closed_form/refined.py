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

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, eye_array

from truegraph.errors import InputError
from truegraph.nn.closed_form.base import (
    Choice,
    Floats,
    HistoryModel,
    Search,
    as_dense,
    packed,
    unpacked,
)
from truegraph.nn.closed_form.dense_inverse import MOST_ITEMS, dense_gram, dense_weights
from truegraph.nn.closed_form.item_graph import (
    CANDIDATE_RATIO,
    GRAPHS,
    GraphKind,
    ItemGraph,
    NearestItems,
    item_graph,
    nearest_items,
)
from truegraph.nn.closed_form.local_ridge import local_weights, strongest_entries
from truegraph.nn.closed_form.low_pass import LowPass, spread_users
from truegraph.progress import Progress

_DEGREES, _STRENGTHS = (10, 20, 40), (0.5, 1.0)
_POWERS, _PENALTIES = (0.25, 0.5), (20.0, 50.0, 120.0, 300.0)
_USUAL = {"degree": 20, "strength": 1.0, "user_power": 0.5, "penalty": 50.0}
_LEAST = {"degree": 1.0, "strength": 0.0, "user_power": 0.0, "low_pass": 0.0}
_DIAGONAL_SHARE = 1.0
_SOFT_POSITIVES = 1  # per interaction, the strongest, that local regressions learn from


@dataclass(frozen=True)
class RefinedSettings:
    """Hyperparameters of graph-augmented EASE; None is chosen on validation interactions.

    Parameters
    ----------
    degree : float or None
        Mean number of edges per item of the graph; of 10, 20 and 40 the best, usually 20.
    strength : float or None
        c, the weight of the soft positives; 0.5 or 1.
    user_power : float or None
        a: users count in proportion to the number of their interactions to the power -a; 0.25 or
        0.5.
    penalty : float or None
        Added to the diagonal; of 20, 50, 120 and 300 the best.
    graph : {"map", "knn", "soft-knn"} or None
        The most probable graph; a k-nearest-neighbour graph with equal weights, or with weights
        by how much nearer a neighbour is than the next one; None: no soft positives.
    rank : int
        Of the singular value decomposition behind the similarity of items.
    neighbours : int
        Items that each item is regressed on when there are more than `dense_items`.
    dense_items : int
        Up to this many items, every item is regressed on all the others.
    low_pass : float
        How strong the low-pass part is beside regressions on the nearest items; 0 leaves it out.
    low_pass_rank : int
        Its rank.
    """

    degree: float | None = None
    strength: float | None = None
    user_power: float | None = None
    penalty: float | None = None
    graph: GraphKind | None = "map"
    rank: int = 64
    neighbours: int = 100
    dense_items: int = MOST_ITEMS
    low_pass: float = 0.5
    low_pass_rank: int = 512

    def __post_init__(self) -> None:
        if self.graph not in (*GRAPHS, None):
            raise InputError(f"graph={self.graph!r} must be one of {', '.join(GRAPHS)} or None.")
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if value is not None and not least <= value < np.inf:
                raise InputError(f"{name}={value!r} must be at least {least:g} and finite.")
        if self.penalty is not None and not 0.0 < self.penalty < np.inf:
            raise InputError(f"penalty={self.penalty!r} must be finite and above 0.")
        for name in ("rank", "neighbours", "low_pass_rank"):
            if getattr(self, name) < 1:
                raise InputError(f"{name}={getattr(self, name)} must be above 0.")
        if not 0 <= self.dense_items <= MOST_ITEMS:
            raise InputError(f"dense_items={self.dense_items} must lie between 0 and {MOST_ITEMS}.")


class Refined(HistoryModel):
    """Graph-augmented EASE.

    Parameters
    ----------
    settings : RefinedSettings
    mixing : csr_array of float32, shape (n_items, n_items)
        M = I + c W.
    weights : ndarray or csr_array of float32, shape (n_items, n_items)
        B.
    graph : ItemGraph or None
        The graph behind M; None after reading from disk, and without soft positives.
    low_pass : LowPass or None
        What is added to regressions on the nearest items.
    """

    name: ClassVar[str] = "refined"
    settings_type: ClassVar[type[Any]] = RefinedSettings

    def __init__(
        self,
        settings: RefinedSettings,
        mixing: csr_array,
        weights: Any,
        graph: ItemGraph | None,
        low_pass: LowPass | None = None,
    ) -> None:
        super().__init__(settings)
        self.mixing, self.weights, self.graph = mixing, weights, graph
        self.low_pass = low_pass

    @classmethod
    def choose(
        cls,
        settings: RefinedSettings,
        train: csr_array,
        validation: csr_array | None,
        *,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> Choice:
        """Choose what is left open by recall@20 + NDCG@20: first how to regress, then the graph."""
        missing = [name for name in _USUAL if getattr(settings, name) is None]
        usual: dict[str, Any] = {name: _USUAL[name] for name in missing}
        chosen: RefinedSettings = replace(settings, **usual)
        if not missing or validation is None or validation.nnz == 0:
            return Choice(chosen)
        search = Search(validation, train, seed, progress)
        fits = _Fits(train, _deepest(settings), seed)
        powers = _POWERS if settings.user_power is None else (settings.user_power,)
        penalties = _PENALTIES if settings.penalty is None else (settings.penalty,)
        best = _best_of(search, fits, [replace(chosen, user_power=a) for a in powers], penalties)
        if settings.graph is not None:
            degrees: tuple[float | None, ...] = _DEGREES
            if settings.degree is not None:
                degrees = (settings.degree,)
            strengths = _STRENGTHS if settings.strength is None else (settings.strength,)
            if train.shape[1] > settings.dense_items:  # a fit takes long: one after the other
                tried = [replace(best, degree=degree) for degree in degrees]
                degrees = (_best_of(search, fits, tried, (best.penalty,)).degree,)
            graphs = [replace(best, degree=d, strength=c) for d in degrees for c in strengths]
            best = _best_of(search, fits, graphs, (best.penalty,))
        return search.choice(best)

    @classmethod
    def fit(cls, settings: RefinedSettings, matrix: csr_array, *, seed: int = 0) -> Self:
        """Learn the graph and solve for the item weights."""
        fits = _Fits(matrix, _deepest(settings), seed)
        return next(iter(fits(settings, (settings.penalty,))))  # type: ignore[return-value]

    def scores(self, history: csr_array) -> Floats:
        """Return history M B, and the low-pass part if there is one."""
        regressed = as_dense(csr_array(history @ self.mixing) @ self.weights)
        return regressed if self.low_pass is None else regressed + self.low_pass.scores(history)

    def contributions(
        self, history: NDArray[np.int64], item: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the parts of a score that come from the items, and from others like them."""
        column = as_dense(self.weights[:, [item]]).astype(np.float64).ravel()
        whole = self.mixing[history].astype(np.float64) @ column
        if self.low_pass is not None:
            whole = whole + self.low_pass.contributions(history, item)
        return column[history], whole - column[history]

    def similarity(self, item: int) -> Floats:
        """Return the weights of the item's edges, D^-1/2 W D^-1/2; without a graph its row of B."""
        row = self.mixing[[item]].toarray().ravel()
        row[item] -= 1.0
        strength = self.settings.strength
        return (
            row / strength
            if strength and self.settings.graph is not None
            else self._regressed(item)
        )

    def _regressed(self, item: int) -> Floats:
        return as_dense(self.weights[[item]]).ravel()

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return M, B and the low-pass part."""
        regressed = packed(self.mixing, "mixing") | packed(self.weights, "weights")
        return regressed if self.low_pass is None else regressed | vars(self.low_pass)

    @classmethod
    def restored(cls, settings: Any, arrays: dict[str, NDArray[Any]]) -> Self:
        """Return the recommender with this M and B, and this low-pass part."""
        low_pass = LowPass(arrays["left"], arrays["right"]) if "left" in arrays else None
        mixing, weights = unpacked(arrays, "mixing"), unpacked(arrays, "weights")
        return cls(settings, mixing, weights, None, low_pass)


def _best_of(
    search: Search, fits: _Fits, options: list[RefinedSettings], penalties: tuple[Any, ...]
) -> RefinedSettings:
    """Try every option with every penalty; return the best of them."""
    for option in options:
        new = [p for p in penalties if search.known(replace(option, penalty=p)) is None]
        for model in fits(option, tuple(new)) if new else ():
            search.record(model)
    everything = [replace(option, penalty=p) for option in options for p in penalties]
    return max(everything, key=lambda option: sum(search.known(option) or ()))


def _deepest(settings: RefinedSettings) -> int:
    """Return how long the lists of nearest items must be for any degree that may be tried."""
    degree = max(_DEGREES) if settings.degree is None else settings.degree
    return int(np.ceil(CANDIDATE_RATIO * degree)) + 1


class _Fits:
    """Fits to one matrix; nearest items and the last graph are kept between them."""

    def __init__(self, matrix: csr_array, depth: int, seed: int) -> None:
        self._matrix, self._depth, self._seed = matrix, depth, seed
        self._nearest: NearestItems | None = None
        self._graphs: dict[tuple[float, str], ItemGraph] = {}
        self._low_pass: LowPass | None = None

    def __call__(
        self, settings: RefinedSettings, penalties: tuple[float | None, ...]
    ) -> Iterator[Refined]:
        """Yield the recommender for one penalty after the other."""
        is_dense = self._matrix.shape[1] <= settings.dense_items
        graph = None if settings.graph is None else self._graph(settings)
        identity = eye_array(self._matrix.shape[1], dtype=np.float32, format="csr")
        mixing = csr_array(identity)
        if graph is not None:
            mixing = csr_array(identity + np.float32(settings.strength) * graph.operator)
        counts = np.maximum(np.diff(self._matrix.indptr), 1).astype(np.float64)
        users = counts**-settings.user_power  # type: ignore[operator]
        users /= users.mean()
        made = self._dense if is_dense else self._local
        for penalty, weights in made(settings, penalties, users, mixing):
            fitted = Refined(replace(settings, penalty=penalty), mixing, weights, graph)
            if settings.low_pass > 0.0 and not is_dense:
                fitted.low_pass = self._smooth(fitted)
            yield fitted

    def _smooth(self, fitted: Refined) -> LowPass:
        """Return the low-pass part, as strong beside the regressions as the settings say."""
        settings = fitted.settings
        if self._low_pass is None:
            self._low_pass = LowPass.fit(self._matrix, settings.low_pass_rank, self._seed)
        sample = spread_users(self._matrix)
        return self._low_pass.beside(fitted.scores(sample), sample, settings.low_pass)

    def _near(self, settings: RefinedSettings) -> NearestItems:
        is_dense = self._matrix.shape[1] <= settings.dense_items
        depth = self._depth if is_dense else max(self._depth, settings.neighbours)
        if self._nearest is None:
            self._nearest = nearest_items(self._matrix, depth, rank=settings.rank, seed=self._seed)
        return self._nearest

    def _graph(self, settings: RefinedSettings) -> ItemGraph:
        assert settings.degree is not None
        assert settings.graph is not None
        key = (float(settings.degree), settings.graph)
        if key not in self._graphs:
            self._graphs[key] = item_graph(self._near(settings), settings.degree, settings.graph)
        return self._graphs[key]

    def _dense(
        self, settings: RefinedSettings, penalties: Any, users: NDArray[Any], mixing: csr_array
    ) -> Iterator[tuple[float, Any]]:
        is_mixed = None if settings.graph is None else mixing
        for penalty in penalties:  # one matrix in memory at a time
            gram = dense_gram(self._matrix, users, is_mixed)
            ridge = penalty + _DIAGONAL_SHARE * np.diag(gram).astype(np.float64)
            yield penalty, dense_weights(gram, ridge)

    def _local(
        self, settings: RefinedSettings, penalties: Any, users: NDArray[Any], mixing: csr_array
    ) -> Iterator[tuple[float, Any]]:
        near = self._near(settings).items[:, : settings.neighbours]
        rows = csr_array(self._matrix.astype(np.float32) @ mixing)
        kept = (1 + _SOFT_POSITIVES) * np.diff(self._matrix.indptr).astype(np.int64)
        columns = csc_array(strongest_entries(rows, kept))
        found = local_weights(columns, users, near, np.array(penalties), _DIAGONAL_SHARE)
        yield from zip(penalties, found, strict=True)
