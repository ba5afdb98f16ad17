"""The classification problem that every method sees, with all secret labels hidden at one door.

Only the labels of the training nodes, and of the validation nodes where a method stops early, get
through `open_problem`; all others are -1 before anything else looks at them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truegraph.data.nodes.containers import UNLABELLED, NodeSplit
from truegraph.errors import InputError
from truegraph.tasks.classify.inputs import NodeInputs
from truegraph.wording import counted


@dataclass(frozen=True, eq=False)
class Problem:
    """T trials on one set of nodes.

    Attributes
    ----------
    inputs : NodeInputs
    labels : ndarray of int64, shape (T, N)
        -1 except at each trial's own training (and validation) nodes.
    train : list of T index arrays
    validation : list of T index arrays, or None
        None for methods that do not stop early.
    seeds : list of T int
    classes : int
        Number C of classes.
    """

    inputs: NodeInputs
    labels: NDArray[np.int64]
    train: list[NDArray[np.int64]]
    validation: list[NDArray[np.int64]] | None
    seeds: list[int]
    classes: int

    @property
    def trials(self) -> int:
        """Number of trials T."""
        return len(self.seeds)

    def chunks(self, size: int) -> list[Problem]:
        """Return the trials in portions of at most `size`."""
        trials = range(self.trials)
        return [self.select(trials[start : start + size]) for start in trials[::size]]

    def select(self, trials: Sequence[int]) -> Problem:
        """Return some of the trials, by their numbers."""
        validation = self.validation
        return replace(
            self,
            labels=self.labels[list(trials)],
            train=[self.train[trial] for trial in trials],
            validation=None if validation is None else [validation[trial] for trial in trials],
            seeds=[self.seeds[trial] for trial in trials],
        )


def open_problem(
    inputs: NodeInputs,
    labels: Any,
    splits: Sequence[NodeSplit],
    seeds: Sequence[int],
    *,
    classes: int | None,
    use_validation: bool,
) -> Problem:
    """Let in the labels that a method may use, and hide all others.

    Parameters
    ----------
    inputs : NodeInputs
    labels : array-like of int, shape (N,)
        -1 where unknown.
    splits : sequence of T NodeSplit
    seeds : sequence of T int >= 0
    classes : int or None
        Number of classes; None: one more than the largest label that was let in.
    use_validation : bool
        Whether the method may see the labels of the validation nodes.
    """
    given = np.asarray(labels)
    nodes = inputs.n_nodes
    if given.shape != (nodes,) or given.dtype.kind not in "iu":
        raise InputError(
            f"labels has shape {given.shape} and type {given.dtype}; give {nodes} whole numbers, "
            "one per node, -1 where unknown."
        )
    if len(splits) != len(seeds) or not len(seeds):
        raise InputError(
            f"{counted(len(splits), 'split')} with {counted(len(seeds), 'seed')}; give one seed "
            "per split, and at least one."
        )
    train = [_checked_nodes(split.train, nodes, "train") for split in splits]
    validation = None
    if use_validation:
        validation = [_checked_nodes(split.validation, nodes, "validation") for split in splits]
    visible = np.full((len(splits), nodes), UNLABELLED, dtype=np.int64)
    for trial, row in enumerate(visible):
        shown = train[trial]
        if validation is not None:
            shown = np.concatenate([shown, validation[trial]])
        row[shown] = given[shown]
    largest = int(visible.max()) + 1
    if classes is not None and largest > classes:
        raise InputError(f"classes={classes}, but a label is {largest - 1}; raise classes.")
    return Problem(
        inputs, visible, train, validation, [int(seed) for seed in seeds], classes or largest
    )


def _checked_nodes(nodes: Any, n_nodes: int, name: str) -> NDArray[np.int64]:
    chosen = np.asarray(nodes, dtype=np.int64).ravel()
    if chosen.size == 0:
        raise InputError(f"the {name} set of a split is empty; give at least one node.")
    if chosen.min() < 0 or chosen.max() >= n_nodes:
        outside = chosen.min() if chosen.min() < 0 else chosen.max()
        raise InputError(f"the {name} set names node {outside}, outside 0 to {n_nodes - 1}.")
    return chosen
