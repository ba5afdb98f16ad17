"""From a user's labels, of any kind and with gaps, to class numbers, weights and a split."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import column_or_1d

from truegraph import gate
from truegraph.data.containers import UNLABELLED
from truegraph.errors import InputError, InputWarning, warn

_VALIDATION_SHARE = 0.2  # a fifth, as is usual
_MANY_NUMBERS = 50  # so many different numbers are quantities rather than names of classes

Nodes = NDArray[np.int64]


def encode_labels(y: Any, sample_weight: Any = None) -> tuple[Nodes, NDArray[Any]]:
    """Return class numbers (N,), -1 where unlabelled, and the sorted classes (C,).

    Labels are of any one sortable kind; -1, None and NaN mean unlabelled, and so does weight 0.
    """
    is_number = isinstance(y, np.ndarray) and y.ndim == 1 and y.dtype.kind in "iu"
    values = y if is_number and not np.ma.isMaskedArray(y) else _as_objects(y)
    if values is y:
        known = np.ones(len(y), dtype=bool) if y.dtype.kind == "u" else y != UNLABELLED
    else:
        known = np.array([not _is_missing(value) for value in values], dtype=bool)
    if sample_weight is not None and known.any():
        known &= _checked_weights(sample_weight, len(values)) > 0.0
        if not known.any():
            raise InputError("sample_weight is zero at every label; give some a weight above zero.")
    if not known.any():
        raise InputError(
            "y has no labels at all: every entry is -1, None or NaN; label at least one node of "
            "each of two classes."
        )
    _check_names(values[known])
    try:
        # large unsigned numbers would become floats in a list
        found = values[known] if values.dtype.kind == "u" else np.array(values[known].tolist())
        classes, numbers = np.unique(found, return_inverse=True)
    except (TypeError, ValueError) as error:
        raise InputError(f"y has labels that cannot be sorted: {error}; use one kind.") from error
    if len(classes) < 2:
        raise InputError(
            f"y has only one class, {classes[0]}; label at least one node of another class."
        )
    _check_no_quantities(classes)
    labels = np.full(len(values), UNLABELLED, dtype=np.int64)
    labels[known] = numbers
    return labels, classes


def _check_names(known: NDArray[Any]) -> None:
    """Raise where labels are no names of classes."""
    if known.dtype != object:
        return
    for value in known:
        if isinstance(value, tuple | list | set | dict | np.ndarray):
            raise InputError(
                f"y holds {value!r}, a {type(value).__name__}; give one name or number per node."
            )
        if isinstance(value, str) and not value.strip():
            raise InputError(f"y holds the empty label {value!r}; give None where unknown.")
        if isinstance(value, float | np.floating) and np.isinf(value):
            raise InputError(f"Input y contains infinity ({value}); give NaN where unknown.")
    if len({isinstance(value, str) for value in known}) > 1:
        raise InputError("y mixes strings with other labels; use one kind.")


def _check_no_quantities(classes: NDArray[Any]) -> None:
    """Raise, or for whole numbers warn, where classes look like the values of a quantity."""
    if classes.dtype.kind not in "iuf" or len(classes) < _MANY_NUMBERS:
        return
    found = f"y has {len(classes)} different numbers, from {classes[0]:g} to {classes[-1]:g}"
    if classes.dtype.kind == "f" and np.any(classes != np.rint(classes)):
        raise InputError(
            f"Unknown label type: continuous. {found}: predict quantities with NodeRegressor, or "
            "give classes."
        )
    message = f"{found}, each of which is taken for a class; if they are quantities, use"
    warn(f"{message} NodeRegressor.", InputWarning)


def _as_objects(y: Any) -> NDArray[Any]:
    if y is None:
        raise InputError(
            "the fit requires y to be passed, but the target y is None; give one label per node, "
            "-1 where unknown."
        )
    if isinstance(y, np.ma.MaskedArray):
        if np.ma.getmaskarray(y).any():
            raise InputError("y is a masked array; give -1 or None in place of masked labels.")
        y = y.data
    # A list of strings and None, or NaN, must not become strings altogether.
    values = np.asarray(y) if hasattr(y, "dtype") else _list_of_objects(y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = column_or_1d(values, warn=True)
    if values.ndim != 1:
        raise InputError(f"y has shape {values.shape}; give one label per node, shape (N,).")
    return values.astype(object)


def _list_of_objects(y: Any) -> NDArray[Any]:
    """Return a list as an array of objects; tuples in it stay tuples."""
    if isinstance(y, list) and any(isinstance(one, tuple) for one in y):
        found = np.empty(len(y), dtype=object)
        found[:] = y
        return found
    return np.asarray(y, dtype=object)


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ == "NAType":  # of pandas, which need not be there
        return True
    if isinstance(value, float | np.floating) and np.isnan(value):
        return True
    if isinstance(value, str | bool | tuple | list | np.ndarray):
        return False
    return bool(value == UNLABELLED)


def _checked_weights(sample_weight: Any, count: int) -> NDArray[np.float64]:
    return gate.numbers("sample_weight", sample_weight, length=count, nonnegative=True)


def weights_of_labels(sample_weight: Any, labels: Nodes) -> NDArray[np.float64] | None:
    """Return how much each label counts, one on average (N,); None where all count alike."""
    if sample_weight is None:
        return None
    weights = _checked_weights(sample_weight, len(labels))
    known = weights[labels != UNLABELLED]
    return None if np.ptp(known) == 0.0 else weights / known.mean()


def training_split(
    labels: NDArray[np.int64], validation: Any, is_needed: bool, seed: int
) -> tuple[Nodes, Nodes, str | None]:
    """Divide the labelled nodes of (N,) between training and validation; say what was drawn.

    Validation nodes that a user gave are never trained on; where none are given, some are drawn if
    they are needed.
    """
    labelled = np.flatnonzero(labels != UNLABELLED)
    if validation is not None:
        chosen = _checked_validation(validation, labels)
        return np.setdiff1d(labelled, chosen), chosen, None
    if not is_needed:
        return labelled, labelled[:0], None
    rng = np.random.default_rng(seed)
    classes = np.unique(labels[labelled])
    drawn = np.concatenate([_drawn(np.flatnonzero(labels == label), rng) for label in classes])
    if drawn.size == 0:
        note = "too few labels for validation nodes: training stops on the training nodes"
        return labelled, labelled, note
    note = f"{drawn.size} of {labelled.size} labelled nodes were drawn for validation"
    return np.setdiff1d(labelled, drawn), drawn, note


def _drawn(members: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw a fifth of a class, at least one of two nodes, but never its only one."""
    count = max(1, round(_VALIDATION_SHARE * members.size)) if members.size > 1 else 0
    return np.sort(rng.choice(members, count, replace=False))


def _checked_validation(validation: Any, labels: NDArray[np.int64]) -> NDArray[np.int64]:
    chosen = check_nodes(validation, len(labels), "validation")
    unknown = chosen[labels[chosen] == UNLABELLED]
    if unknown.size or not chosen.size:
        what = f"names node {unknown[0]}, which has no label" if unknown.size else "is empty"
        raise InputError(f"validation {what}; give labelled nodes, or None.")
    if np.isin(np.flatnonzero(labels != UNLABELLED), chosen).all():
        raise InputError("validation holds every labelled node; leave some for training.")
    return np.unique(chosen)


def check_nodes(nodes: Iterable[int], n_nodes: int, name: str) -> NDArray[np.int64]:
    """Return node numbers as an array after checking their range."""
    return gate.indices(name, np.atleast_1d(np.asarray(nodes)), n_nodes)
