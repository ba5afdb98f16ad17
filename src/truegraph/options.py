"""Options of models by name: defaults, and what a user gives in their place."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from truegraph.errors import InputError
from truegraph.suggestions import suggestion


def checked_options(defaults: Mapping[str, Any], given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the defaults with what was given in their place.

    A default says what may be given: a whole number of at least 1, a number of at least 0 (below 1
    where the name ends in "dropout"), a truth value, or for texts, None and collections anything.
    """
    if given is None:
        return dict(defaults)
    if not isinstance(given, Mapping):
        raise InputError(f"options has type {type(given).__name__}; give None or a dict.")
    for name, value in given.items():
        if name not in defaults:
            raise InputError(f"unknown option {name!r}.{suggestion(name, list(defaults))}")
        _check_option(name, value, defaults[name])
    return dict(defaults) | dict(given)


def _check_option(name: str, value: Any, default: Any) -> None:
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if isinstance(default, bool):
        if not isinstance(value, bool):
            raise InputError(f"{name}={value!r} must be True or False.")
    elif isinstance(default, int):
        is_none = value is None and name == "patience"
        if not is_none and not (is_number and float(value).is_integer() and value >= 1):
            raise InputError(f"{name}={value!r} must be a whole number of at least 1.")
    elif isinstance(default, float):
        below = " and below 1" if name.endswith("dropout") else ""
        if not (is_number and 0.0 <= value < (1.0 if below else np.inf)):
            raise InputError(f"{name}={value!r} must be a number of at least 0{below}.")


def estimator_arguments(kind: type, given: Mapping[str, Any], **own: Any) -> dict[str, Any]:
    """Return keyword arguments of an estimator: those that it takes, the rest as `options`.

    >>> from truegraph import GraphLearner
    >>> estimator_arguments(GraphLearner, {"degree": 10, "tol": 1e-3}, random_state=0)
    {'random_state': 0, 'degree': 10, 'options': {'tol': 0.001}}
    """
    known = set(inspect.signature(kind).parameters) - {"options"}
    rest = {name: value for name, value in given.items() if name not in known}
    found = {name: value for name, value in (own | dict(given)).items() if name in known}
    return found | ({"options": rest} if rest else {})
