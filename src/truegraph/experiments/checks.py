"""Checks of the contents of an experiment file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from truegraph import gate
from truegraph.data.nodes.registry import INTERACTION_SETS, REGISTRY
from truegraph.errors import InputError
from truegraph.experiments.tasks.base import Condition, Task
from truegraph.suggestions import suggestion

FILE_KEYS = ("edges", "features", "labels", "interactions")  # of an experiment's files


def check_known(given: Iterable[str], known: tuple[str, ...], what: str) -> None:
    """Raise an InputError that names the first unknown name and the nearest known one."""
    for name in given:
        if name not in known:
            raise InputError(f"unknown {what} {name!r}.{suggestion(name, known)}")


def check_number(name: str, value: Any, least: int) -> int:
    """Return a whole number of at least `least`, or raise an InputError."""
    return gate.whole_number(name, value, at_least=least)


def texts(name: str, value: Any) -> tuple[str, ...]:
    """Return a list of distinct strings as a tuple; a single string counts as a list of one."""
    items = [value] if isinstance(value, str) else value
    is_list = isinstance(items, list | tuple) and all(isinstance(item, str) for item in items)
    if not is_list or not items or len(set(items)) < len(items):
        raise InputError(f"{name}={value!r} must be a list of different names.")
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
        raise InputError(f"{name}={given!r} must be one value, or a list of different ones.")
    for value in values:
        _check_value(name, value, condition)
    return tuple(values)


def _check_value(name: str, value: Any, condition: Condition) -> None:
    kinds = (int, float) if condition.kind is float else (condition.kind,)
    if type(value) not in kinds:
        raise InputError(f"{name}={value!r} must be of type {condition.kind.__name__}.")
    if condition.choices and value not in condition.choices:
        there = ", ".join(map(str, condition.choices))
        raise InputError(f"{name}={value!r} must be one of {there}.")
    if condition.least is not None and float(value) < condition.least:
        raise InputError(f"{name}={value!r} must be at least {condition.least}.")


def without_none(value: Any) -> Any:
    """Return a setting with None for the text "none", since TOML has no word for nothing."""
    if isinstance(value, Mapping):
        return {key: without_none(item) for key, item in value.items()}
    return None if value == "none" else value


def check_files(given: Any, task: Task) -> dict[str, dict[str, Any]]:
    """Return the user's own files by the name of their data set."""
    if not isinstance(given, Mapping) or not all(
        isinstance(own, Mapping) for own in given.values()
    ):
        raise InputError(f"files={given!r} must be a table of files for each data set.")
    for name, own in given.items():
        if name in REGISTRY or name in INTERACTION_SETS:
            raise InputError(
                f"files are called {name!r} like a known data set; choose another name."
            )
        check_known(own, tuple(task.files), f"key of files.{name}")
    return {str(name): dict(own) for name, own in given.items()}


def with_folder(content: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the content of an experiment's file; paths of files count from its folder."""
    files = content.get("files")
    if not isinstance(files, Mapping):
        return content
    found = {
        name: {
            key: str(folder.absolute() / value) if key in FILE_KEYS else value
            for key, value in own.items()
        }
        if isinstance(own, Mapping)
        else own
        for name, own in files.items()
    }
    return content | {"files": found}
