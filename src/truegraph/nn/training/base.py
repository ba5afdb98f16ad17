"""Base class of the node classifiers: T independent copies of one network on a graph.

A model is stateless. Its weights are a dictionary of tensors with the trials as leading
dimension, handed in and out, which makes a snapshot, a roll-back or the choice of a few trials
a matter of copying the dictionary.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from scipy.sparse import csr_array

from truegraph.errors import InputError
from truegraph.nn.dropout import Noise
from truegraph.nn.graph_operators import normalised_adjacency
from truegraph.nn.optimiser import Weights
from truegraph.nn.sparse import FixedSparse
from truegraph.nn.training.stopping import EarlyStopping
from truegraph.nn.training.targets import Targets, cross_entropy


class Inputs(NamedTuple):
    """What a forward pass reads: features (N, F) and the graph's operator (N, N)."""

    features: FixedSparse
    operator: FixedSparse


@dataclass(frozen=True)
class Settings:
    """Hyperparameters that every model has; each model adds its own and gives the values.

    Parameters
    ----------
    learning_rate : float
        Step of Adam.
    weight_decay : float
        Coefficient of the L2 term that Adam's gradient gets (coupled, not AdamW).
    epochs : int
        Full-batch epochs, or their largest number where training stops early.
    """

    learning_rate: float = 0.01
    weight_decay: float = 5e-4
    epochs: int = 200

    def __post_init__(self) -> None:
        for field in fields(self):
            _check_setting(field.name, str(field.type), getattr(self, field.name))


def _check_setting(name: str, kind: str, value: Any) -> None:
    """Raise an InputError unless counts are whole and positive, shares below 1, floats >= 0."""
    if value is None and "None" in kind:
        return
    if kind.startswith("int"):
        if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
            raise InputError(f"{name}={value!r} must be a whole number of at least 1.")
    elif kind.startswith("float"):
        most = 1.0 if name.endswith("dropout") else math.inf
        if isinstance(value, bool) or not isinstance(value, Real) or not 0.0 <= float(value) < most:
            below = "" if most == math.inf else " and below 1"
            raise InputError(f"{name}={value!r} must be a number of at least 0{below}.")


class Classifier(ABC):
    """A node classifier with T copies of its weights.

    Subclasses give ``name``, ``settings_type``, :meth:`initial`, :meth:`forward` and, where they
    differ from the defaults, the rest.

    Parameters
    ----------
    settings : Settings
    features : int
        Number of features F.
    classes : int
        Number of classes C.
    """

    name: ClassVar[str]
    settings_type: ClassVar[type[Settings]] = Settings
    group_size: ClassVar[int] = 8  # trials that are worked on together, for speed and memory
    watches_accuracy: ClassVar[bool] = False  # not only the loss, to stop early
    stopping: EarlyStopping | None = None

    def __init__(self, settings: Any, features: int, classes: int) -> None:
        self.settings = settings
        self.features = features
        self.classes = classes
        patience = getattr(settings, "patience", None)
        if patience is not None:
            self.stopping = EarlyStopping(patience, watch_accuracy=self.watches_accuracy)

    @staticmethod
    def operator(adjacency: Any) -> csr_array:
        """Return the matrix (N, N) that the model makes of a weighted adjacency matrix.

        Here the normalised adjacency with self-loops.
        """
        return normalised_adjacency(adjacency)

    @abstractmethod
    def initial(self, seeds: np.ndarray) -> Weights:
        """Return the weights before training; each trial's depend on its seed alone."""

    @abstractmethod
    def forward(self, weights: Weights, inputs: Inputs, noise: Noise | None) -> torch.Tensor:
        """Return logits of shape (T, N, C); without noise nothing is dropped."""

    def decay(self) -> dict[str, float]:
        """Return the L2 coefficient of each weight that has one: here all, biases too."""
        names = self.initial(np.zeros(1, dtype=np.uint64))
        return dict.fromkeys(names, self.settings.weight_decay)

    def prepare(self, inputs: Inputs, targets: Targets) -> Any:
        """Return what :meth:`loss` can compute once for a graph and the labelled nodes."""
        return targets

    def loss(
        self, weights: Weights, inputs: Inputs, prepared: Any, noise: Noise
    ) -> tuple[torch.Tensor, Weights]:
        """Return each trial's loss (T,), and new values of weights not trained by gradient."""
        return cross_entropy(self.forward(weights, inputs, noise), prepared), {}

    def constrain(self, weights: Weights) -> None:  # noqa: B027 - most models restrict nothing
        """Put weights back in place where a model restricts them after every step."""


@dataclass(frozen=True)
class TwoLayerSettings(Settings):
    """Hyperparameters of networks with one hidden layer.

    Parameters
    ----------
    hidden : int
    dropout : float
        On the stored features and on the hidden layer.
    """

    hidden: int = 16
    dropout: float = 0.5


class TwoMatrices(Classifier):
    """A network whose weights are two matrices, with L2 on the first only, as Kipf has it."""

    def initial(self, seeds: np.ndarray) -> Weights:
        """Return Glorot uniform weights."""
        hidden = self.settings.hidden
        return {
            "first": glorot_uniform(seeds, 0, self.features, hidden),
            "second": glorot_uniform(seeds, 1, hidden, self.classes),
        }

    def decay(self) -> dict[str, float]:
        """Return L2 on the first layer only."""
        return {"first": self.settings.weight_decay}


def glorot_uniform(seeds: np.ndarray, layer: int, *shape: int) -> torch.Tensor:
    """Return weights (T, *shape), uniform in +-sqrt(6 / (fan in + fan out)).

    The last two dimensions are fan in and fan out; each trial draws from its own seed.
    """
    limit = np.sqrt(6.0 / (shape[-2] + shape[-1]))
    return drawn(seeds, layer, lambda generator: generator.uniform(-limit, limit, shape))


def drawn(
    seeds: np.ndarray, layer: int, draw: Callable[[np.random.Generator], np.ndarray]
) -> torch.Tensor:
    """Return one float32 draw per trial, stacked; the generator knows only seed and layer."""
    values = [draw(np.random.default_rng([int(seed), layer])) for seed in seeds]
    return torch.from_numpy(np.stack(values).astype(np.float32))
