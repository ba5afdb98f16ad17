"""The one family of errors and warnings that truegraph raises on purpose."""

from __future__ import annotations

import sys
import warnings


class TruegraphError(Exception):
    """Base class of every error that truegraph raises on purpose.

    The text names the argument, the value it had and what to do about it.
    """


class InputError(TruegraphError, ValueError):
    """An argument or a file has content that cannot be used."""


class DataError(TruegraphError):
    """A data set is missing, damaged or cannot be fetched."""


class WriteError(TruegraphError, OSError):
    """A file could not be written; the text names it and says what was kept."""


class ConvergenceWarning(UserWarning):
    """A solver stopped before it reached the wanted tolerance."""


class InputWarning(UserWarning):
    """The input can be used as it is, but the answer may be poor; the text says what to try."""


class AnswerWarning(UserWarning):
    """The answer looks bad; the text says how, and what to try."""


def warn(message: str, category: type[UserWarning]) -> None:
    """Warn at the first line up the stack that is not truegraph's own."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level + 1)


def _is_ours(module: object) -> bool:
    """Whether a module is of this package; code that is run from text may have no name."""
    return isinstance(module, str) and module.startswith("truegraph.")
