"""The paper's networks as recommenders; torch is loaded when one is trained or asked."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.errors import InputError
from truegraph.recommend.models import Floats, HistoryModel, Parts, cosines, product
from truegraph.saving import savable


@savable
class NetworkModel(HistoryModel):
    """A trained network.

    Parameters
    ----------
    name : str
        Of the base model.
    options : dict
        Of the network, with the learning rate that was found.
    observed : csr_array of shape (U, I)
        What it was trained on.
    weights : dict of Tensor
    vectors : ndarray of float32, shape (U + I, d)
        Nothing dropped.
    """

    def __init__(
        self,
        name: str,
        options: dict[str, Any],
        observed: csr_array,
        weights: dict[str, Any],
        vectors: Floats,
    ) -> None:
        self.name, self.options, self.observed = name, options, observed  # type: ignore[misc]
        self.weights, self.vectors = weights, vectors

    @classmethod
    def fit(
        cls, options: dict[str, Any], matrix: csr_array, *, seed: int = 0, features: Any = None
    ) -> Self:
        """Raise: networks are trained by `truegraph.paper.training_recommenders`."""
        raise NotImplementedError

    @classmethod
    def of(cls, network: Any) -> Self:
        """Return the model of a trained `RankingNetwork`."""
        import torch

        from truegraph.paper.step import one_thread

        with torch.no_grad(), one_thread():
            vectors = network().cpu().numpy()
        weights = {key: value.cpu() for key, value in network.state_dict().items()}
        return cls(network.name, dict(vars(network.options)), network.observed, weights, vectors)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(self.observed.shape[1])

    def scores(self, history: csr_array, users: NDArray[np.int64] | None = None) -> Floats:
        """Return dot products (m, n_items); new users are folded in without training."""
        rows = self._folded_in(history) if users is None else self.vectors[users]
        return product(rows, self.vectors[-self.n_items :].T)

    def _folded_in(self, history: csr_array) -> Floats:
        from truegraph.paper.networks import network_class
        from truegraph.paper.step import one_thread

        with one_thread():
            network = network_class(self.name).restored(self.observed, self.options, self.weights)
            return network.new_users(history)

    def contributions(self, history: NDArray[np.int64], item: int) -> Parts:
        """Raise: the vectors of a network cannot be taken apart by items."""
        raise InputError(
            f"model={self.name!r} cannot explain a score; use model='auto', 'graph-ease', "
            "'ease', 'ials', 'gf-cf', 'turbo-cf' or 'item-knn'."
        )

    def similarity(self, item: int) -> Floats:
        """Return cosines with one item's vector, (n_items,)."""
        return cosines(self.vectors[-self.n_items :], item)

    def user_similarity(self, user: int) -> Floats:
        """Return cosines with one user's vector, (n_users,)."""
        return cosines(self.vectors[: -self.n_items], user)

    def _check_saved(self) -> None:
        if self.vectors.ndim != 2 or len(self.vectors) != sum(self.observed.shape):
            raise InputError(f"the vectors of {self.name} have shape {self.vectors.shape}.")
