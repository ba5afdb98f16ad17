"""Recommenders that need no training: popularity, item neighbours (ItemKNN) and EASE.

What users compare with. All three score a user from their history alone, so that a new user is
served like any other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

from truegraph.errors import InputError
from truegraph.nn.recommenders.training import one_torch_thread
from truegraph.nn.top_items import rank_items

Floats = NDArray[np.float32]
_MOST_ITEMS = 15_000  # EASE inverts a dense matrix of this size: 1.8 GB in double precision
_BLOCK = 1024


@dataclass(frozen=True)
class PopularitySettings:
    """Popularity has nothing to choose."""


@dataclass(frozen=True)
class ItemKNNSettings:
    """Hyperparameters of ItemKNN.

    Parameters
    ----------
    neighbours : int or None
        Most similar items that each item keeps; None: of 20, 50, 100 and 200 the best on the
        validation interactions, or 100 without them.
    """

    neighbours: int | None = None


@dataclass(frozen=True)
class EASESettings:
    """Hyperparameters of EASE.

    Parameters
    ----------
    penalty : float or None
        Added to the diagonal; None: of 20, 50, 100, 200, 500 and 1000 the best on the validation
        interactions, or 200 without them.
    """

    penalty: float | None = None


class ReferenceRecommender(ABC):
    """Scores items by a user's history.

    Parameters
    ----------
    settings : dataclass of the recommender
    weights : csr_array or ndarray of shape (n_items, n_items), or ndarray of shape (n_items,)
        Scores are history @ weights; one-dimensional weights are the same for everyone.
    """

    name: ClassVar[str]
    settings_type: ClassVar[type[Any]]

    def __init__(self, settings: Any, weights: Any) -> None:
        self.settings = settings
        self.weights = weights

    @classmethod
    @abstractmethod
    def fit(cls, settings: Any, train: csr_array, validation: csr_array | None) -> Any:
        """Return the recommender of training interactions (n_users, n_items)."""

    def scores(self, history: csr_array) -> Floats:
        """Return scores (m, n_items) of users with these histories (m, n_items)."""
        found = history @ self.weights
        dense = found.toarray() if hasattr(found, "toarray") else found
        return np.ascontiguousarray(dense, dtype=np.float32)

    def similarity(self, item: int) -> Floats:
        """Return how similar every item is to one, (n_items,)."""
        row = self.weights[[item]]
        dense = row.toarray() if hasattr(row, "toarray") else row
        return np.asarray(dense, dtype=np.float32).ravel()


class Popularity(ReferenceRecommender):
    """The items with most interactions, the same for everyone."""

    name: ClassVar[str] = "popularity"
    settings_type: ClassVar[type[Any]] = PopularitySettings

    @classmethod
    def fit(
        cls, settings: PopularitySettings, train: csr_array, validation: csr_array | None
    ) -> Popularity:
        """Count the interactions of every item."""
        counts = np.bincount(train.indices, minlength=train.shape[1])
        return cls(settings, counts.astype(np.float32))

    def scores(self, history: csr_array) -> Floats:
        """Return the counts, one row per user."""
        return np.tile(self.weights, (history.shape[0], 1))

    def similarity(self, item: int) -> Floats:
        """Popularity knows no similarity."""
        raise InputError("model='popularity' knows nothing of similar items. Use another model.")


class ItemKNN(ReferenceRecommender):
    """Items similar to those of the history: cosine of the columns, the nearest kept."""

    name: ClassVar[str] = "itemknn"
    settings_type: ClassVar[type[Any]] = ItemKNNSettings

    @classmethod
    def fit(
        cls, settings: ItemKNNSettings, train: csr_array, validation: csr_array | None
    ) -> ItemKNN:
        """Keep each item's nearest neighbours."""
        choices = (20, 50, 100, 200) if settings.neighbours is None else (settings.neighbours,)
        if min(choices) < 1:
            raise InputError(f"neighbours={settings.neighbours} must be at least 1.")
        made = [
            cls(replace(settings, neighbours=count), _item_neighbours(train, count))
            for count in choices
        ]
        return _best(made, train, validation, default=min(2, len(made) - 1))


class EASE(ReferenceRecommender):
    """Steck's linear auto-encoder over items (WWW 2019), in closed form."""

    name: ClassVar[str] = "ease"
    settings_type: ClassVar[type[Any]] = EASESettings

    @classmethod
    def fit(cls, settings: EASESettings, train: csr_array, validation: csr_array | None) -> EASE:
        """Solve for the item weights: B = I - P diag(P)^-1, P = (X'X + penalty I)^-1."""
        if train.shape[1] > _MOST_ITEMS:
            raise InputError(
                f"model='ease' needs a dense matrix of {train.shape[1]} x {train.shape[1]} items; "
                f"up to {_MOST_ITEMS} are possible. Use model='itemknn'."
            )
        choices: tuple[float, ...] = (20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)
        if settings.penalty is not None:
            choices = (settings.penalty,)
        if not min(choices) > 0.0:
            raise InputError(f"penalty={settings.penalty} must be above 0.")
        gram = (train.T @ train).toarray().astype(np.float64)
        made = [cls(replace(settings, penalty=p), _ease_weights(gram, p)) for p in choices]
        return _best(made, train, validation, default=min(3, len(made) - 1))


def _ease_weights(gram: NDArray[np.float64], penalty: float) -> Floats:
    shifted = gram.copy()
    shifted[np.diag_indices_from(shifted)] += penalty
    with one_torch_thread():
        inverse = torch.linalg.inv(torch.from_numpy(shifted)).numpy()
    weights = inverse / -np.diag(inverse)
    np.fill_diagonal(weights, 0.0)
    return weights.astype(np.float32)


def _item_neighbours(train: csr_array, count: int) -> csr_array:
    """Return the cosine of each item (column) with its nearest items (rows)."""
    columns = csr_array(train.T.astype(np.float64))
    lengths = np.sqrt(np.maximum(np.diff(columns.indptr), 1))
    unit = csr_array(diags_array(1.0 / lengths) @ columns)
    turned = csr_array(unit.T)
    kept: list[tuple[NDArray, NDArray, NDArray]] = []
    for start in range(0, unit.shape[0], _BLOCK):
        similarity = (unit[start : start + _BLOCK] @ turned).toarray().round(9)
        places = np.arange(len(similarity))
        similarity[places, start + places] = 0.0
        order = np.argsort(-similarity, axis=1, kind="stable")[:, :count]
        values = np.take_along_axis(similarity, order, axis=1)
        row, column = np.nonzero(values > 0.0)
        kept.append((order[row, column], row + start, values[row, column]))
    source, target, values = (np.concatenate(parts) for parts in zip(*kept, strict=True))
    shape = (train.shape[1], train.shape[1])
    return csr_array((values.astype(np.float32), (source, target)), shape=shape)


def _best(made: Sequence[Any], train: csr_array, validation: csr_array | None, default: int) -> Any:
    """Return the recommender with the highest validation recall@20, the first of equals."""
    if len(made) == 1:
        return made[0]
    if validation is None or validation.nnz == 0:
        return made[default]
    recalls = [_recall(one.scores, train, validation) for one in made]
    return made[int(np.argmax(recalls))]


def _recall(
    scores: Callable[[csr_array], Floats], train: csr_array, validation: csr_array, k: int = 20
) -> float:
    users = np.flatnonzero(np.diff(validation.indptr))
    top, _ = rank_items(lambda part: scores(train[part]), users, train[users], k)
    held = validation[users].toarray() > 0
    hits = np.take_along_axis(held, np.maximum(top, 0), axis=1) & (top >= 0)
    return float((hits.sum(axis=1) / held.sum(axis=1)).mean())


REFERENCE_RECOMMENDERS: dict[str, type[ReferenceRecommender]] = {
    kind.name: kind for kind in (Popularity, ItemKNN, EASE)
}
