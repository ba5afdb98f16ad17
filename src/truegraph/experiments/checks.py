"""Checks of what an experiment's file says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from truegraph.errors import InputError
from truegraph.experiments.tasks.base import Condition
from truegraph.suggestions import suggestion


def check_known(given: Iterable[str], known: tuple[str, ...], what: str) -> None:
    """Raise an InputError for the first name that is not known, with the nearest that is."""
    for name in given:
        if name not in known:
            raise InputError(f"unknown {what} {name!r}.{suggestion(name, known)}")


def check_number(name: str, value: Any, least: int) -> int:
    """Return a whole number that is not below the least."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InputError(f"{name} is {value!r}. Give a whole number of {least} or more.")
    return value


def texts(name: str, value: Any) -> tuple[str, ...]:
    """Return a list of different texts as a tuple; one text stands for a list of one."""
    items = [value] if isinstance(value, str) else value
    is_list = isinstance(items, list | tuple) and all(isinstance(item, str) for item in items)
    if not is_list or not items or len(set(items)) < len(items):
        raise InputError(f"{name} is {value!r}. Give a list of different names.")
    return tuple(items)


def check_conditions(
    content: Mapping[str, Any], conditions: Mapping[str, Condition]
) -> dict[str, tuple[Any, ...]]:
    """Return the values of every condition, in the order of the task."""
    return {
        name: _values(name, content[name], condition) if name in content else condition.default
        for name, condition in conditions.items()
    }


def _values(name: str, given: Any, condition: Condition) -> tuple[Any, ...]:
    values = given if isinstance(given, list | tuple) else [given]
    if not values or len(set(map(repr, values))) < len(values):
        raise InputError(f"{name} is {given!r}. Give one value, or a list of different ones.")
    for value in values:
        _check_value(name, value, condition)
    return tuple(values)


def _check_value(name: str, value: Any, condition: Condition) -> None:
    kinds = (int, float) if condition.kind is float else (condition.kind,)
    if type(value) not in kinds:
        raise InputError(f"{name} is {value!r}. Give a value of type {condition.kind.__name__}.")
    if condition.choices and value not in condition.choices:
        there = ", ".join(map(str, condition.choices))
        raise InputError(f"{name} is {value!r}. Use one of {there}.")
    if condition.least is not None and float(value) < condition.least:
        raise InputError(f"{name} is {value!r}. Give {condition.least} or more.")


def without_none(value: Any) -> Any:
    """Return a setting with None for the text "none", since TOML has no word for nothing."""
    if isinstance(value, Mapping):
        return {key: without_none(item) for key, item in value.items()}
    return None if value == "none" else value
