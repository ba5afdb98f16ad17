"""The labelled nodes of T trials, and the loss and accuracy of a model's output on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numba
import numpy as np
import torch

from truegraph.errors import InputError
from truegraph.nn import device


@dataclass(frozen=True)
class Targets:
    """Labelled nodes, trial after trial; the sets may differ in size.

    Parameters
    ----------
    nodes : ndarray of shape (total,), int64
    classes : ndarray of shape (total,), int64
    weights : ndarray of shape (total,), float32
        Weight of each node in its trial's loss; 1 / size of the trial's set for the mean.
    offsets : ndarray of shape (T + 1,), int64
        Trial ``t`` owns the positions ``offsets[t]`` to ``offsets[t + 1]``.
    """

    nodes: np.ndarray
    classes: np.ndarray
    weights: np.ndarray
    offsets: np.ndarray

    @classmethod
    def from_sets(cls, labels: np.ndarray, sets: Sequence[np.ndarray], name: str) -> Targets:
        """Gather the labels of one node set per trial.

        Parameters
        ----------
        labels : ndarray of shape (T, N), int
            Class of each node, -1 where unknown.
        sets : sequence of T index arrays
        name : str
            What the sets are called in an error message.
        """
        nodes = [np.asarray(chosen, dtype=np.int64).ravel() for chosen in sets]
        for trial, (row, chosen) in enumerate(zip(labels, nodes, strict=True)):
            _check_set(row, chosen, f"{name} set of trial {trial}")
        classes = [row[chosen] for row, chosen in zip(labels, nodes, strict=True)]
        sizes = np.array([chosen.size for chosen in nodes])
        weights = np.repeat(1.0 / sizes, sizes).astype(np.float32)
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        return cls(
            np.concatenate(nodes), np.concatenate(classes).astype(np.int64), weights, offsets
        )

    @property
    def trials(self) -> int:
        """Number of trials T."""
        return len(self.offsets) - 1

    def select(self, trials: np.ndarray) -> Targets:
        """Return the targets of some trials."""
        parts = [np.arange(self.offsets[t], self.offsets[t + 1]) for t in trials]
        where = np.concatenate(parts)
        offsets = np.concatenate([[0], np.cumsum([part.size for part in parts])])
        return Targets(self.nodes[where], self.classes[where], self.weights[where], offsets)

    def sets(self) -> list[np.ndarray]:
        """Return the labelled nodes of each trial."""
        return np.split(self.nodes, self.offsets[1:-1])

    def local(self) -> Targets:
        """Return targets for outputs that hold the labelled nodes alone, in their order."""
        sizes = np.diff(self.offsets)
        positions = np.arange(len(self.nodes)) - np.repeat(self.offsets[:-1], sizes)
        return replace(self, nodes=positions)

    def indicator(self, count: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
        """Return one-hot labels (T, count, classes), float32, and membership (T, count), bool."""
        trial = np.repeat(np.arange(self.trials), np.diff(self.offsets))
        one_hot = np.zeros((self.trials, count, classes), dtype=np.float32)
        one_hot[trial, self.nodes, self.classes] = 1.0
        member = np.zeros((self.trials, count), dtype=bool)
        member[trial, self.nodes] = True
        return one_hot, member


def _check_set(labels: np.ndarray, nodes: np.ndarray, name: str) -> None:
    if nodes.size == 0:
        raise InputError(f"{name} is empty; give at least one node.")
    outside = nodes[(nodes < 0) | (nodes >= len(labels))]
    if outside.size:
        raise InputError(f"{name} holds node {outside[0]}; nodes are 0 to {len(labels) - 1}")
    unknown = nodes[labels[nodes] < 0]
    if unknown.size:
        raise InputError(
            f"{name} holds node {unknown[0]}, whose label is unknown (-1); "
            "leave it out of the set or give its label."
        )


def cross_entropy(logits: torch.Tensor, targets: Targets) -> torch.Tensor:
    """Return the weighted cross-entropy of each trial, shape (T,), from (T, N, C) logits."""
    if not device.uses_kernels(logits):
        return _cross_entropy_torch(logits, targets)
    losses: torch.Tensor = _CrossEntropy.apply(logits, targets)
    return losses


class _CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: torch.Tensor, targets: Targets) -> torch.Tensor:
        losses = logits.new_empty(len(logits))
        gradient = torch.zeros_like(logits)
        labelled = (targets.nodes, targets.classes, targets.weights, targets.offsets)
        array = logits.detach().contiguous().numpy()
        _cross_entropy_kernel(array, labelled, losses.numpy(), gradient.numpy())
        ctx.save_for_backward(gradient)
        return losses

    @staticmethod
    def backward(ctx: Any, upstream: torch.Tensor) -> tuple[torch.Tensor, None]:
        (gradient,) = ctx.saved_tensors
        return gradient * upstream[:, None, None], None


@numba.njit(cache=True, nogil=True)
def _cross_entropy_kernel(
    logits: np.ndarray, targets: Any, losses: np.ndarray, gradient: np.ndarray
) -> None:
    nodes, classes, weights, offsets = targets
    width = logits.shape[2]
    for trial in range(logits.shape[0]):
        total = 0.0
        for k in range(offsets[trial], offsets[trial + 1]):
            row, slope = logits[trial, nodes[k]], gradient[trial, nodes[k]]
            peak, mass = row.max(), 0.0
            for c in range(width):
                mass += np.exp(row[c] - peak)
            total += weights[k] * (np.log(mass) + peak - row[classes[k]])
            for c in range(width):
                slope[c] += weights[k] * np.exp(row[c] - peak) / mass
            slope[classes[k]] -= weights[k]
        losses[trial] = total


def _cross_entropy_torch(logits: torch.Tensor, targets: Targets) -> torch.Tensor:
    place = logits.device
    trial = torch.from_numpy(np.repeat(np.arange(targets.trials), np.diff(targets.offsets)))
    nodes, classes = torch.from_numpy(targets.nodes), torch.from_numpy(targets.classes)
    log_probability = torch.log_softmax(logits[trial.to(place), nodes.to(place)], dim=1)
    taken = log_probability.gather(1, classes.to(place)[:, None])[:, 0]
    weighted = -taken * torch.from_numpy(targets.weights).to(place, logits.dtype)
    return torch.stack([part.sum() for part in weighted.split(np.diff(targets.offsets).tolist())])


def accuracy(logits: torch.Tensor, targets: Targets) -> np.ndarray:
    """Return the share of each trial's labelled nodes that are classified rightly, (T,)."""
    predicted = logits.detach().cpu().numpy().argmax(axis=2)
    trial = np.repeat(np.arange(targets.trials), np.diff(targets.offsets))
    right = predicted[trial, targets.nodes] == targets.classes
    return np.add.reduceat(right.astype(np.float64), targets.offsets[:-1]) / np.diff(
        targets.offsets
    )


def softmax(logits: torch.Tensor) -> np.ndarray:
    """Return class probabilities (T, N, C), float32, each row in a fixed order of summation."""
    probabilities = np.array(logits.detach().cpu().numpy(), order="C")
    _softmax_kernel(probabilities.reshape(-1, probabilities.shape[-1]))
    return probabilities


@numba.njit(cache=True, nogil=True)
def _softmax_kernel(rows: np.ndarray) -> None:
    for row in rows:
        peak, mass = row.max(), 0.0
        for c in range(row.size):
            row[c] = np.exp(row[c] - peak)
            mass += row[c]
        for c in range(row.size):
            row[c] /= mass
