"""Leak-free splits of the labelled nodes into training, validation and test nodes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from truegraph import gate
from truegraph.data.containers import UNLABELLED, IndexArray, NodeDataset, NodeSplit
from truegraph.errors import DataError, InputError


def random_split(
    labels: ArrayLike,
    per_class: int,
    *,
    test_size: int = 1000,
    validation_size: int = 500,
    random_state: int | np.random.Generator | None = None,
) -> NodeSplit:
    """Draw a random split: training nodes of each class, then test, then validation nodes.

    Unlabelled nodes are never drawn. The draws follow the order of the classes, all without
    replacement.

    Parameters
    ----------
    labels : array-like of int, shape (n_nodes,)
        Class of every node; -1 means unlabelled.
    per_class : int
        Training nodes of each class.
    test_size, validation_size : int, default=1000 and 500
        Test and validation nodes, drawn from what is left.
    random_state : int, Generator or None
        Seed of the draw; the same seed gives the same split.

    Returns
    -------
    split : NodeSplit
        Training nodes ordered by class, test and validation nodes in the order of the draw.

    Raises
    ------
    InputError
        If a class or the whole has too few labelled nodes.

    Examples
    --------
    >>> split = random_split([0, 1, 0, 1, -1], 1, test_size=1, validation_size=1, random_state=0)
    >>> len(split.train), len(split.validation), len(split.test)
    (2, 1, 1)
    """
    labels = gate.whole_numbers("labels", labels)
    gate.whole_number("per_class", per_class, at_least=1)
    gate.whole_number("test_size", test_size)
    gate.whole_number("validation_size", validation_size)
    rng = np.random.default_rng(random_state)
    classes = np.unique(labels[labels != UNLABELLED])
    train = [_draw_of_class(labels, label, per_class, rng) for label in classes]
    taken = np.concatenate(train) if train else np.empty(0, dtype=np.int64)
    rest = np.setdiff1d(np.flatnonzero(labels != UNLABELLED), taken)
    if len(rest) < test_size + validation_size:
        raise InputError(
            f"per_class={per_class} leaves {len(rest)} labelled nodes, too few for "
            f"test_size={test_size} and validation_size={validation_size}; lower one of the three."
        )
    drawn = rng.permutation(rest)[: test_size + validation_size]
    return NodeSplit(train=taken, validation=drawn[test_size:], test=drawn[:test_size])


def _draw_of_class(
    labels: np.ndarray, label: int, per_class: int, rng: np.random.Generator
) -> IndexArray:
    members = np.flatnonzero(labels == label)
    if len(members) < per_class:
        raise InputError(
            f"class {label} has {len(members)} labelled nodes, fewer than per_class={per_class}; "
            f"use per_class={len(members)} or less, or leave the class out."
        )
    return rng.choice(members, size=per_class, replace=False)


def fixed_split(dataset: NodeDataset, per_class: int) -> NodeSplit:
    """Return the public split with only the first training nodes of each class.

    This is the fixed split of Zhang et al. (2019): of each class the `per_class` training nodes
    with the lowest numbers; validation and test nodes as published.

    Parameters
    ----------
    dataset : NodeDataset
        A data set with a public split.
    per_class : int
        Training nodes of each class.

    Returns
    -------
    split : NodeSplit
    """
    gate.whole_number("per_class", per_class, at_least=1)
    public = dataset.public_split
    if public is None:
        raise DataError(
            f"data set {dataset.name!r} from {dataset.source!r} has no public split; use "
            "random_split, or load a copy with the split: Planetoid's files in the folder "
            f"{dataset.name!r} under TRUEGRAPH_DATA."
        )
    train = np.sort(public.train)
    chosen = []
    for label in np.unique(dataset.labels[train]):
        members = train[dataset.labels[train] == label]
        if len(members) < per_class:
            raise InputError(
                f"the public split of {dataset.name!r} has {len(members)} training nodes of class "
                f"{label}, fewer than per_class={per_class}; use {len(members)} or less."
            )
        chosen.append(members[:per_class])
    return NodeSplit(np.concatenate(chosen), public.validation, public.test)
