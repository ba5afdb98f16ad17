"""How long-running work reports its progress.

Work reports to a `Progress`, which decides what to show. The default is silence;
`console_progress` draws bars on standard error.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any


class Progress:
    """A silent listener, and the interface of all others."""

    def stage(self, name: str) -> None:
        """Begin a new stage of the work."""

    def update(self, done: float, total: float | None = None, note: str = "") -> None:
        """Say how much of the stage is done; total is None when it cannot be known."""


class ConsoleProgress(Progress):
    """Bars on standard error, one per stage."""

    def __init__(self, display: Any) -> None:
        self._display = display
        self._task: Any = None

    def stage(self, name: str) -> None:
        """Finish the running bar and open a new one."""
        self.finish()
        self._task = self._display.add_task(name, total=None, note="")

    def update(self, done: float, total: float | None = None, note: str = "") -> None:
        """Move the running bar."""
        if self._task is not None:
            self._display.update(self._task, completed=done, total=total, note=note)

    def finish(self) -> None:
        """Fill the running bar."""
        if self._task is not None:
            task = self._display.tasks[self._task]
            self._display.update(
                self._task, total=task.total or 1, completed=task.total or 1, note=""
            )


@contextmanager
def console_progress(enabled: bool = True) -> Iterator[Progress]:
    """Draw progress bars on standard error while the block runs."""
    if not enabled:
        yield Progress()
        return
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description:<22}"),
        BarColumn(bar_width=20),
        TaskProgressColumn(),
        TimeRemainingColumn(compact=True, elapsed_when_finished=True),
        TextColumn("{task.fields[note]}"),
    )
    console = Console(stderr=True)
    if console.is_jupyter and find_spec("ipywidgets") is None:
        # rich moves bars in a notebook by widgets; without them it shows the finished ones
        console = Console(stderr=True, force_jupyter=False)
    with Bars(*columns, console=console) as display:
        progress = ConsoleProgress(display)
        yield progress
        progress.finish()
