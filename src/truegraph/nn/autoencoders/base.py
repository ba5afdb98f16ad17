"""Base class of the graph auto-encoders, and how they are trained.

An auto-encoder embeds the nodes of a graph and decodes the embedding to one vector per node; the
logit of a link between two nodes is the inner product of their vectors. Everything that uses a
trained model (scores, suggestions, calibration) needs these vectors only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import torch
from scipy.sparse import csr_array

from truegraph.errors import InputError
from truegraph.nn.autoencoders.reconstruction import ReconstructionLoss
from truegraph.nn.dropout import Dropout
from truegraph.nn.graph_operators import normalised_adjacency
from truegraph.nn.optimiser import AdamState, Weights, adam_step, select_trials
from truegraph.nn.sparse import FixedSparse
from truegraph.nn.training.base import Inputs
from truegraph.nn.training.groups import DIVERGED, TrainingError
from truegraph.progress import Progress

Judge = Callable[[Weights], float]


@dataclass(frozen=True, eq=False)
class LinkData:
    """What an auto-encoder reads, and what it should reconstruct.

    Attributes
    ----------
    features : csr_array of float, shape (N, F)
    graph : csr_array of float, shape (N, N)
        What the encoder sees: symmetric, weights > 0, no diagonal.
    target : csr_array of float, shape (N, N)
        What the decoder should reconstruct: symmetric, weights in [0, 1], no diagonal.
    masked : csr_array, shape (N, N), or None
        Ordered pairs that are left out of the reconstruction.
    """

    features: csr_array
    graph: csr_array
    target: csr_array
    masked: csr_array | None = None


class AutoEncoder(ABC):
    """A graph with its features, seen by an auto-encoder whose links are inner products.

    Parameters
    ----------
    inputs : Inputs
        Features (N, F) and the normalised adjacency (N, N).
    reconstruction : ReconstructionLoss
        The loss of the decoder; its target may differ from the graph of `inputs`.
    settings : settings_type

    Attributes
    ----------
    name : str
    settings_type : type
        Dataclass of its hyperparameters, with `learning_rate` and `epochs` among them.
    has_posterior : bool
        Whether embeddings are drawn from a distribution.
    chooses_epoch : bool
        Whether its authors keep the epoch that is best on validation links, not the last.
    masks_hidden : bool
        Whether its authors leave validation and test pairs out of the reconstruction; the others
        train them as pairs without a link.
    """

    name: ClassVar[str]
    settings_type: ClassVar[type[Any]]
    has_posterior: ClassVar[bool] = True
    chooses_epoch: ClassVar[bool] = False
    masks_hidden: ClassVar[bool] = False

    def __init__(self, inputs: Inputs, reconstruction: ReconstructionLoss, settings: Any) -> None:
        self.inputs = inputs
        self.reconstruction = reconstruction
        self.settings = settings

    @classmethod
    def on(cls, data: LinkData, settings: Any) -> Self:
        """Return the model of a graph with its features."""
        inputs = Inputs(FixedSparse(data.features), FixedSparse(normalised_adjacency(data.graph)))
        return cls(inputs, ReconstructionLoss.from_graph(data.target, masked=data.masked), settings)

    @abstractmethod
    def initial(self, seed: int) -> Weights:
        """Return the weights before training, each (1, ...)."""

    @abstractmethod
    def loss(self, weights: Weights, generator: torch.Generator) -> torch.Tensor:
        """Return the loss of one epoch as a scalar, with noise from a CPU generator."""

    @abstractmethod
    def embedding(self, weights: Weights) -> torch.Tensor:
        """Return the posterior mean E_q[z] of every node, (N, d)."""

    @abstractmethod
    def vectors(self, weights: Weights) -> torch.Tensor:
        """Return the vectors (N, m) whose inner products are the logits of the prediction."""

    @abstractmethod
    def draw(self, weights: Weights, generator: torch.Generator) -> torch.Tensor:
        """Return the vectors (N, m) of one draw from the posterior."""


def train_autoencoder(
    model: AutoEncoder,
    *,
    random_state: int,
    epochs: int,
    learning_rate: float,
    judge: Judge | None = None,
    device: str = "cpu",
    progress: Progress | None = None,
) -> tuple[Weights, list[float]]:
    """Train an auto-encoder on its whole graph with Adam.

    Parameters
    ----------
    model : AutoEncoder
    random_state : int
        Seed of the first weights and of the noise.
    epochs : int
    learning_rate : float
    judge : callable, optional
        Rates the weights after every epoch; those rated highest are returned, the first of equals.
        None: the last ones are.
    device : str, default="cpu"
        A torch device, e.g. "cuda".
    progress : Progress or None
        Updated after each epoch.

    Returns
    -------
    weights : dict of str to tensor, each (1, ...)
    history : list of float
        The loss of every epoch, before its step.

    Raises
    ------
    TrainingError
        If a loss is not finite; the message names the model and the epoch.
    """
    if random_state < 0:
        raise InputError(f"random_state={random_state} must be an integer >= 0.")
    state = AdamState.start({n: w.to(device) for n, w in model.initial(random_state).items()})
    spare = state.select(slice(None))
    generator = torch.Generator().manual_seed(int(random_state))
    best = _Best(judge)
    history: list[float] = []
    with one_torch_thread():
        for epoch in range(epochs):
            loss, gradients = _loss_and_gradients(model, state.weights, generator)
            if not np.isfinite(loss):
                raise TrainingError(f"loss of {model.name} is {loss} in epoch {epoch}. {DIVERGED}")
            history.append(loss)
            state, spare = adam_step(state, gradients, {}, learning_rate, spare), state
            best.consider(state.weights)
            if progress is not None:
                progress.update(epoch + 1, epochs, f"loss {loss:.4f}")
    return (state.weights if best.weights is None else best.weights), history


class _Best:
    """The weights that a judge has rated highest so far."""

    def __init__(self, judge: Judge | None) -> None:
        self._judge = judge
        self._rating = -np.inf
        self.weights: Weights | None = None

    def consider(self, weights: Weights) -> None:
        if self._judge is None:
            return
        rating = self._judge(weights)
        if rating > self._rating:
            self._rating, self.weights = rating, select_trials(weights, slice(None))


def _loss_and_gradients(
    model: AutoEncoder, weights: Weights, generator: torch.Generator
) -> tuple[float, Weights]:
    leaves = {name: weight.detach().requires_grad_() for name, weight in weights.items()}
    loss = model.loss(leaves, generator)
    gradients = torch.autograd.grad(loss, list(leaves.values()))
    return loss.item(), dict(zip(leaves, gradients, strict=True))


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Keep torch's own operations, all of them short here, on one thread.

    Its threads spin while they wait for each other: on a busy machine an epoch would take ten
    times as long. What is worth sharing, the reconstruction loss, has threads of its own. One
    thread also gives the same bits whatever number the caller allows.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def drawn_dropout(rate: float, generator: torch.Generator | None) -> Dropout | None:
    """Return the dropout of one layer in one epoch; None without a generator or with rate 0."""
    if generator is None or rate == 0.0:
        return None
    keys = torch.randint(2**32, (1, 2), generator=generator)
    return Dropout(keys.numpy().astype(np.uint32), rate)
