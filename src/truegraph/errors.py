"""Errors and warnings of truegraph."""

from __future__ import annotations

import sys
import warnings


class TruegraphError(Exception):
    """Base class of the errors; the message names the argument, its value and the remedy."""


class InputError(TruegraphError, ValueError):
    """An argument or the content of a file cannot be used."""


class DataError(TruegraphError):
    """A data set is missing, damaged or cannot be fetched."""


class WriteError(TruegraphError, OSError):
    """A file could not be written; the message names it and says what was kept."""


class ConvergenceWarning(UserWarning):
    """A solver stopped before it reached its tolerance."""


class InputWarning(UserWarning):
    """The input may lead to a poor result; the message says what to try."""


class AnswerWarning(UserWarning):
    """The result is probably unreliable; the message says why and what to try."""


def warn(message: str, category: type[UserWarning]) -> None:
    """Warn at the nearest line of the stack outside truegraph."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level + 1)


def _is_ours(module: object) -> bool:
    """Whether a module belongs to this package."""
    return isinstance(module, str) and module.startswith("truegraph.")
