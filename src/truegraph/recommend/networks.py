"""The paper's networks as recommenders; torch is loaded when one is trained or asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.errors import InputError
from truegraph.fit_log import FitLog
from truegraph.recommend.choosing import Choice
from truegraph.recommend.models import Floats, HistoryModel, Options, Parts, cosines, product
from truegraph.recommend.names import NETWORKS
from truegraph.saving import savable

#: Choice, model of the training part, model that is served, and fitted attributes of an estimator.
Trained = tuple[Choice, HistoryModel | None, HistoryModel, dict[str, Any]]


@savable
class NetworkModel(HistoryModel):
    """A trained network: `name` of the base model, and `options` with the learning rate found.

    Attributes
    ----------
    observed : csr_array of shape (U, I)
        What it was trained on.
    weights : dict of Tensor
    vectors : ndarray of float32, shape (U + I, d)
        Nothing dropped.
    """

    def __init__(
        self, name: str, options: Options, observed: csr_array, weights: Options, vectors: Floats
    ) -> None:
        self.name, self.options, self.observed = name, options, observed  # type: ignore[misc]
        self.weights, self.vectors = weights, vectors

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


def train(
    name: str,
    given: Mapping[str, Any] | None,
    parts: tuple[csr_array, csr_array | None, csr_array],
    log: FitLog,
    **how: Any,
) -> Trained:
    """Train on the first of the parts (training, held out, all), then as it was chosen on all.

    Names with a b in front run Algorithm 3. `how` has seed and device.
    """
    if name in NETWORKS:
        return _trained(name, given, parts, log, **how)
    from truegraph.paper.algorithm3 import algorithm3, checked_choices

    first_part, held_out, everything = parts
    if held_out is None:
        raise InputError(
            f"model={name!r} chooses the fraction of removed pairs on held-out "
            "interactions, but there are none; give validation, or a validation_share above 0."
        )
    options, choices = checked_choices(name[1:], given)
    found = algorithm3(name[1:], first_part, held_out, options, choices, log=log, **how)
    first, history = NetworkModel.of(found.network), found.history
    own = first.options | {"fraction": found.fraction}
    options |= {"learning_rate": own["learning_rate"], "epochs": found.base_epochs}
    choices |= {"fractions": (found.fraction,)}
    how |= {"epochs": history["best_epoch"] + 1, "log": log}
    served = algorithm3(name[1:], everything, None, options, choices, **how)
    attributes = {
        "history_": history,
        "learned_graph_": served.learned,
        "removed_pairs_": served.removed,
        "fraction_": found.fraction,
        "fraction_recalls_": found.recalls,
        "rank_correlation_": served.rank_correlation,
    }
    choice = Choice(name, own, history["best_recall"])
    return choice, first, NetworkModel.of(served.network), attributes


def _trained(name: str, given: Any, parts: Any, log: FitLog, **how: Any) -> Trained:
    """Train a network, and then as many epochs as were best on all interactions."""
    from truegraph.paper.training_recommenders import train_base

    first_part, held_out, everything = parts
    how["progress"] = log.progress
    with log.stage(name):
        network, history = train_base(name, first_part, held_out, options=given, **how)
    first = NetworkModel.of(network)
    choice = Choice(name, first.options, history["best_recall"])
    if held_out is None:
        return choice, None, first, {"history_": history}
    again = first.options | {"epochs": history["best_epoch"] + 1}
    with log.stage("fit to all interactions"):
        network, _ = train_base(name, everything, None, options=again, **how)
    return choice, first, NetworkModel.of(network), {"history_": history}
