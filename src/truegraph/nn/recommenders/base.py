"""Base class of the recommenders trained on triples: vectors of users and items.

A model is stateless apart from its fixed operators. Its weights are a dictionary of tensors,
handed in and out. The score of a user and an item is the dot product of their vectors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from scipy.sparse import csr_array

from truegraph import gate
from truegraph.errors import InputError
from truegraph.nn.dense import dropout_values
from truegraph.nn.dropout import Noise, dropout_of
from truegraph.nn.optimiser import Weights
from truegraph.nn.recommenders.bpr import bpr_loss
from truegraph.nn.recommenders.propagation import mean_of
from truegraph.nn.recommenders.triples import Sampling, Triples

LEARNING_RATES = (1e-3, 1e-2)  # that are tried; the first where there is nothing to try them on


@dataclass(frozen=True)
class RankingSettings:
    """Hyperparameters that every model has; each model adds its own and gives the values.

    Parameters
    ----------
    width : int
        Length of the embedding vectors.
    learning_rate : float or None
        Step of Adam; None: 0.001 or 0.01, whichever is better on the validation interactions.
    penalty : float
        Coefficient of the squared length of the batch's vectors.
    batch : int
        Triples per batch.
    negatives : int
        Negatives per positive.
    pool : {"uniform", "popularity"}
        How negatives are drawn.
    epochs : int
        Largest number of epochs.
    patience : int
        Epochs without a gain in validation recall after which training stops.
    evaluate_every : int
        Epochs from one look at the validation interactions to the next.
    """

    width: int = 64
    learning_rate: float | None = None
    penalty: float = 1e-4
    batch: int = 1024
    negatives: int = 1
    pool: Literal["uniform", "popularity"] = "uniform"
    epochs: int = 1000
    patience: int = 50
    evaluate_every: int = 1

    def __post_init__(self) -> None:
        for name in ("width", "batch", "negatives", "epochs", "patience", "evaluate_every"):
            gate.whole_number(name, getattr(self, name), at_least=1)
        if self.pool not in ("uniform", "popularity"):
            raise InputError(f'pool={self.pool!r} must be "uniform" or "popularity".')
        rate = 1.0 if self.learning_rate is None else self.learning_rate
        if not 0 < rate < np.inf or not 0 <= self.penalty < np.inf:
            raise InputError(
                f"learning_rate={self.learning_rate!r} must be above 0 and "
                f"penalty={self.penalty!r} at least 0, both finite."
            )


class RankingModel(ABC):
    """Vectors of users and items as a function of weights and a fixed graph.

    Subclasses give ``name``, ``settings_type``, ``sampling``, :meth:`initial`, :meth:`vectors`
    and :meth:`fold_in`, and where they differ from the default :meth:`loss`.

    Parameters
    ----------
    settings : RankingSettings
        A learning rate of None stands for 0.001; `best_rate` looks for a better one.
    train : csr_array of shape (n_users, n_items)
        Training interactions: the observed graph.
    """

    name: ClassVar[str]
    settings_type: ClassVar[type[RankingSettings]] = RankingSettings
    sampling: ClassVar[Sampling] = "interactions"

    def __init__(self, settings: Any, train: csr_array) -> None:
        if settings.learning_rate is None:
            settings = replace(settings, learning_rate=LEARNING_RATES[0])
        self.settings = settings
        self.train = train
        self.n_users, self.n_items = (int(size) for size in train.shape)

    @abstractmethod
    def initial(self, seed: int) -> Weights:
        """Return the weights before training."""

    @abstractmethod
    def vectors(self, weights: Weights, noise: Noise | None) -> torch.Tensor:
        """Return vectors (n_users + n_items, d), users first; without noise nothing is dropped."""

    @abstractmethod
    def fold_in(self, weights: Weights, history: csr_array) -> torch.Tensor:
        """Return vectors (m, d) of new users from their histories (m, n_items), untrained."""

    def loss(self, weights: Weights, triples: Triples, noise: Noise | None) -> torch.Tensor:
        """Return the loss of a batch: BPR with a penalty on the vectors."""
        found = self.vectors(weights, noise)
        return bpr_loss(found, triples, self.n_users, self.settings.penalty)

    def first_vectors(self, weights: Weights, history: csr_array) -> torch.Tensor:
        """Return what new users start from, (m, width): the mean embedding two hops away.

        That is the mean, over the items of a history, of the mean over their users.
        """
        users = weights["embeddings"].detach().numpy()[: self.n_users]
        by_item = mean_of(csr_array(self.train.T)) @ users
        start = mean_of(history) @ by_item
        return torch.from_numpy(np.ascontiguousarray(start, dtype=np.float32))


def initial_embeddings(seed: int, n_users: int, n_items: int, width: int) -> torch.Tensor:
    """Return Glorot-uniform embeddings (n_users + n_items, width), users and items apart."""
    parts = [glorot(seed, table, size, width) for table, size in enumerate((n_users, n_items))]
    return torch.cat(parts)


def glorot(seed: int, layer: int, fan_in: int, fan_out: int) -> torch.Tensor:
    """Return weights (fan_in, fan_out), uniform in +-sqrt(6 / (fan_in + fan_out))."""
    limit = np.sqrt(6.0 / (fan_in + fan_out))
    rng = np.random.default_rng([seed, layer])
    return torch.from_numpy(rng.uniform(-limit, limit, (fan_in, fan_out)).astype(np.float32))


def drop(tensor: torch.Tensor, noise: Noise | None, rate: float, layer: int) -> torch.Tensor:
    """Drop elements of a (rows, width) tensor in training and rescale the rest."""
    return dropout_values(tensor[None], dropout_of(noise, rate, layer))[0]


def check_rate(name: str, rate: float) -> None:
    """Raise an InputError unless a dropout rate is at least 0 and below 1."""
    if not 0.0 <= rate < 1.0:
        raise InputError(f"{name}={rate!r} must be at least 0 and below 1.")


def check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    """Raise an InputError unless a value is among the choices."""
    if value not in choices:
        raise InputError(f"{name}={value!r} must be one of {', '.join(choices)}.")
