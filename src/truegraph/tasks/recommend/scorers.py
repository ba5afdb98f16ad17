"""Fitted models as the recommenders use them."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.errors import InputError
from truegraph.nn.closed_form.base import HistoryModel
from truegraph.nn.optimiser import Weights
from truegraph.nn.recommenders.base import RankingModel
from truegraph.nn.recommenders.training import TrainedRanking, one_torch_thread
from truegraph.nn.recommenders.trainings import Trainings

Floats = NDArray[np.float32]


class Scorer(Protocol):
    """A fitted model as the estimators use it."""

    def scores(self, users: NDArray[np.int64]) -> Floats:
        """Return scores (len(users), n_items)."""

    def scores_of(self, history: csr_array) -> Floats:
        """Return scores (m, n_items) of new users with these histories (m, n_items)."""

    def contributions(
        self, history: NDArray[np.int64], item: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return what each item of a history adds to a score, directly and by the graph."""

    def item_similarity(self, item: int) -> Floats:
        """Return how similar every item is to one, (n_items,)."""

    def user_similarity(self, user: int) -> Floats:
        """Return how similar every user is to one, (n_users,)."""


class VectorScorer:
    """Scores by the vectors of a trained model.

    Parameters
    ----------
    model : RankingModel
    weights : dict of Tensor
    vectors : ndarray of float32, shape (n_users + n_items, d)
        Those of the weights, nothing dropped.
    """

    def __init__(self, model: RankingModel, weights: Weights, vectors: Floats) -> None:
        self.model, self.weights, self.vectors = model, weights, vectors

    def scores(self, users: NDArray[np.int64]) -> Floats:
        """Return dot products (len(users), n_items)."""
        return self._products(self.vectors[users])

    def scores_of(self, history: csr_array) -> Floats:
        """Return scores (m, n_items) of new users, folded in without training."""
        with torch.no_grad(), one_torch_thread():
            folded = self.model.fold_in(self.weights, history).numpy()
        return self._products(folded)

    def _products(self, rows: Floats) -> Floats:
        items = torch.from_numpy(self.vectors[self.model.n_users :])
        with one_torch_thread():
            products: Floats = (torch.from_numpy(np.ascontiguousarray(rows)) @ items.T).numpy()
        return products

    def contributions(
        self, history: NDArray[np.int64], item: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Raise: the vectors of a network cannot be taken apart by items."""
        raise InputError(
            f"model={self.model.name!r} cannot explain a score; use model='refined', "
            "'ease', 'ials', 'gfcf', 'turbocf' or 'itemknn'."
        )

    def item_similarity(self, item: int) -> Floats:
        """Return cosines with one item's vector, (n_items,)."""
        return _cosines(self.vectors[self.model.n_users :], item)

    def user_similarity(self, user: int) -> Floats:
        """Return cosines with one user's vector, (n_users,)."""
        return _cosines(self.vectors[: self.model.n_users], user)


def _cosines(vectors: Floats, place: int) -> Floats:
    lengths = np.linalg.norm(vectors, axis=1)
    safe = np.where(lengths > 0.0, lengths, 1.0)
    cosines: Floats = (vectors @ vectors[place] / (safe * safe[place])).astype(np.float32)
    return cosines


class HistoryScorer:
    """Scores by the histories of users.

    Parameters
    ----------
    recommender : HistoryModel
    histories : csr_array of shape (n_users, n_items)
        Of the users by number.
    """

    def __init__(self, recommender: HistoryModel, histories: csr_array) -> None:
        self.recommender, self.histories = recommender, histories

    def scores(self, users: NDArray[np.int64]) -> Floats:
        """Return scores (len(users), n_items)."""
        return self.recommender.scores(self.histories[users])

    def scores_of(self, history: csr_array) -> Floats:
        """Return scores (m, n_items) of new users; nothing distinguishes them from others."""
        return self.recommender.scores(history)

    def contributions(
        self, history: NDArray[np.int64], item: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return what each item of a history adds to a score, directly and by the graph."""
        return self.recommender.contributions(history, item)

    def item_similarity(self, item: int) -> Floats:
        """Return how similar every item is to one, (n_items,)."""
        return self.recommender.similarity(item)

    def user_similarity(self, user: int) -> Floats:
        """Raise: there are no vectors of users."""
        raise InputError(
            f"model={self.recommender.name!r} has no similar users; use another model."
        )


def trained_scorer(trainings: Trainings, trained: TrainedRanking) -> VectorScorer:
    """Return the scorer of a trained network."""
    vectors = trainings.vectors(trained.weights)
    return VectorScorer(trainings.model, trained.weights, vectors)
