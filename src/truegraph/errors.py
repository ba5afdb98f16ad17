"""The one family of errors and warnings that truegraph raises on purpose."""

from __future__ import annotations


class TruegraphError(Exception):
    """Base class of every error that truegraph raises on purpose.

    The text names the argument, the value it had and what to do about it.
    """


class InputError(TruegraphError, ValueError):
    """An argument or a file has content that cannot be used."""


class DataError(TruegraphError):
    """A data set is missing, damaged or cannot be fetched."""


class ConvergenceWarning(UserWarning):
    """A solver stopped before it reached the wanted tolerance."""
