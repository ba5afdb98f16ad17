"""Train a recommender on triples: Adam, early stopping on validation recall, best epoch restored.

Everything runs in one thread, so that bits do not depend on the number of threads; several
trainings can run in as many threads beside each other. A training is a function of the model, the
first weights, the pool of negatives and the seed::

    sampler = TripleSampler(train, pool, batch=1024, negatives=1, by="users", seed=seed)
    trained = train_ranking(model, model.initial(seed), sampler, HeldOutRecall(train, validation))
    again = train_ranking(model, trained.weights, other_sampler, recall, patience=100)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from truegraph.errors import TruegraphError
from truegraph.nn.dropout import Noise
from truegraph.nn.optimiser import AdamState, Weights, adam_step
from truegraph.nn.recommenders.base import RankingModel
from truegraph.nn.recommenders.triples import Triples, TripleSampler
from truegraph.nn.recommenders.validation_recall import HeldOutRecall
from truegraph.progress import Progress


class RankingError(TruegraphError):
    """Training failed: the loss is not finite."""


@dataclass(frozen=True, eq=False)
class TrainedRanking:
    """What a training leaves behind.

    Attributes
    ----------
    weights : dict of Tensor
        Those of the best epoch; without validation of the last one.
    best_epoch : int
        Counted from 0; -1 when no epoch was better than the weights it started from.
    best_recall : float
        Validation recall of the best epoch; NaN without validation.
    losses, recalls : ndarray of float64, shape (epochs,)
        Mean loss and validation recall of every epoch; NaN where it was not looked at.
    watched : ndarray of float64, shape (epochs,)
        A second recall that was recorded and not used; NaN where there was none.
    start : tuple of two floats
        Validation recall and watched recall of the weights it started from; NaN unless these
        could be kept.
    """

    weights: Weights
    best_epoch: int
    best_recall: float
    losses: NDArray[np.float64]
    recalls: NDArray[np.float64]
    watched: NDArray[np.float64]
    start: tuple[float, float] = (np.nan, np.nan)


def train_ranking(
    model: RankingModel,
    weights: Weights,
    sampler: TripleSampler,
    recall: HeldOutRecall | None,
    *,
    patience: int | None = None,
    progress: Progress | None = None,
    watched: HeldOutRecall | None = None,
    may_keep_start: bool = False,
) -> TrainedRanking:
    """Train until validation recall has not risen for `patience` epochs.

    Parameters
    ----------
    model : RankingModel
    weights : dict of Tensor
        Where to start; left as they are. Adam's moments start at zero.
    sampler : TripleSampler
        Its seed also decides the dropout masks.
    recall : HeldOutRecall or None
        None: train for ``settings.epochs`` and keep the last weights.
    patience : int, optional
        By default that of the settings.
    progress : Progress, optional
        Updated after each epoch.
    watched : HeldOutRecall, optional
        Recorded for pictures, never used.
    may_keep_start : bool, default=False
        Whether the weights handed in are kept if no epoch is better: right for weights that were
        trained before.

    Returns
    -------
    TrainedRanking
    """
    patience = model.settings.patience if patience is None else patience
    with one_torch_thread():
        run = _Run(model, weights, sampler)
        looks = (recall, watched)
        record = _Record()
        if may_keep_start and recall is not None:
            record.begin(run.weights(), *_look(looks, run.vectors(), model.n_users))
        for epoch in range(model.settings.epochs):
            loss = run.epoch(epoch)
            is_due = (epoch + 1) % model.settings.evaluate_every == 0
            found = [np.nan, np.nan]
            if is_due and (recall is not None or watched is not None):
                found = _look(looks, run.vectors(), model.n_users)
            if record.add(loss, *found):
                record.weights = run.weights()
            if progress is not None:
                progress.update(epoch + 1, model.settings.epochs, record.note)
            if recall is not None and epoch - record.best_epoch >= patience:
                break
        if recall is None:
            record.weights, record.best_epoch = run.weights(), epoch
        return record.finished()


def _look(
    looks: tuple[HeldOutRecall | None, ...], vectors: torch.Tensor, n_users: int
) -> list[float]:
    return [np.nan if recall is None else recall(vectors, n_users) for recall in looks]


class _Record:
    """Losses and recalls so far, and the best epoch's weights."""

    def __init__(self) -> None:
        self.rows: list[tuple[float, float, float]] = []
        self.weights: Weights = {}
        self.start = (np.nan, np.nan)
        self.best_epoch, self.best_recall = -1, -np.inf

    def begin(self, weights: Weights, recall: float, watched: float) -> None:
        """Record the weights to start from, the best so far."""
        self.weights, self.best_recall = weights, recall
        self.start = (recall, watched)

    def add(self, loss: float, recall: float, watched: float) -> bool:
        """Record an epoch; return whether it is the best so far."""
        self.rows.append((loss, recall, watched))
        if not recall > self.best_recall:
            return False
        self.best_epoch, self.best_recall = len(self.rows) - 1, recall
        return True

    @property
    def note(self) -> str:
        if not np.isfinite(self.best_recall):
            return ""
        return f"recall {self.best_recall:.4f} at epoch {self.best_epoch + 1}"

    def finished(self) -> TrainedRanking:
        losses, recalls, watched = np.array(self.rows).T
        best = self.best_recall if np.isfinite(self.best_recall) else np.nan
        return TrainedRanking(
            self.weights, self.best_epoch, best, losses, recalls, watched, self.start
        )


class _Run:
    """Weights in training, and the batches they are trained on."""

    def __init__(self, model: RankingModel, weights: Weights, sampler: TripleSampler) -> None:
        self._model, self._sampler = model, sampler
        self._seeds = np.array([sampler.seed], dtype=np.uint64)
        copies = [{name: tensor.detach().clone() for name, tensor in weights.items()} for _ in "ab"]
        for tensors in copies:
            for tensor in tensors.values():
                tensor.requires_grad_()
        self._state, self._spare = AdamState.start(copies[0]), AdamState.start(copies[1])

    def epoch(self, number: int) -> float:
        """Take one step per batch; return the mean loss."""
        total = 0.0
        for triples in self._sampler.epoch(number):
            total += self._step(triples)
        return total / self._sampler.n_batches

    def _step(self, triples: Triples) -> float:
        state, model = self._state, self._model
        noise = Noise(self._seeds, state.steps)
        loss = model.loss(state.weights, triples, noise)
        value = float(loss.detach())
        if not np.isfinite(value):
            raise RankingError(
                f"the loss of {model.name} became {value} after {state.steps} steps. "
                f"Lower learning_rate={model.settings.learning_rate:g}."
            )
        gradients = torch.autograd.grad(loss, list(state.weights.values()))
        named = dict(zip(state.weights, gradients, strict=True))
        rate = model.settings.learning_rate
        self._state, self._spare = adam_step(state, named, {}, rate, self._spare), state
        return value

    def vectors(self) -> torch.Tensor:
        """Return the vectors as they are, nothing dropped."""
        with torch.no_grad():
            return self._model.vectors(self._state.weights, None)

    def weights(self) -> Weights:
        """Return copies of the weights."""
        return {name: tensor.detach().clone() for name, tensor in self._state.weights.items()}


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Let torch use one thread in this block: the order of its sums is then always the same."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
