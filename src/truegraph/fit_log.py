"""The log of a fit: choices made for the user, reasons to doubt the result, seconds per stage."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

from truegraph.progress import Progress

_LOG = logging.getLogger("truegraph")


class FitLog:
    """Collects notes and alarms of one fit, times its stages and reports progress.

    `notes` say what was chosen for the user; estimators warn about those that are `alarms`.
    """

    def __init__(self, progress: Progress | None = None) -> None:
        self.progress = Progress() if progress is None else progress
        self.notes: list[str] = []
        self.alarms: list[str] = []
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Announce a stage and time it."""
        self.progress.stage(name)
        began = time.perf_counter()
        try:
            yield
        finally:
            spent = time.perf_counter() - began
            self.seconds[name] = self.seconds.get(name, 0.0) + spent
            _LOG.debug("%s took %.2f s", name, spent)

    def note(self, text: str) -> None:
        """Record a choice, once."""
        if text not in self.notes:
            self.notes.append(text)
            _LOG.info("%s", text)

    def alarm(self, text: str) -> None:
        """Record that the result is probably unreliable, and what to try."""
        self.note(text)
        if text not in self.alarms:
            self.alarms.append(text)
