"""Options of models by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from truegraph.errors import InputError
from truegraph.suggestions import suggestion


def options_from(given: Any, kind: type) -> Any:
    """Return options of a dataclass `kind` from None, a mapping or such options."""
    if given is None:
        return kind()
    if isinstance(given, kind):
        return given
    if not isinstance(given, Mapping):
        raise InputError(
            f"options has type {type(given).__name__}; give None, a dict or {kind.__name__}."
        )
    known = [entry.name for entry in fields(kind)]
    for name in given:
        if name not in known:
            raise InputError(f"unknown option {name!r}.{suggestion(name, known)}")
    return kind(**given)
