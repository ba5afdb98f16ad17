"""Progress of long-running work.

Work reports to a `Progress`. The default only writes the stages to the log "truegraph";
`console_progress` also draws bars on standard error, or keeps one line in a notebook.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_LOG = logging.getLogger("truegraph")
_SECONDS = 0.2  # between two changes of the line in a notebook


class Progress:
    """A silent listener, and the interface of all others."""

    def stage(self, name: str) -> None:
        """Begin a new stage of the work."""
        _LOG.info("stage: %s", name)

    def update(self, done: float, total: float | None = None, note: str = "") -> None:
        """Report how much of the stage is done; total is None if it cannot be known."""


class ConsoleProgress(Progress):
    """Bars on standard error, one per stage."""

    def __init__(self, display: Any) -> None:
        self._display = display
        self._task: Any = None

    def stage(self, name: str) -> None:
        """Finish the running bar and open a new one."""
        super().stage(name)
        self.finish()
        self._task = self._display.add_task(name, total=None, note="")

    def update(self, done: float, total: float | None = None, note: str = "") -> None:
        """Move the running bar."""
        if self._task is not None:
            self._display.update(self._task, completed=done, total=total, note=note)

    def finish(self) -> None:
        """Fill the running bar."""
        if self._task is not None:
            total = self._display.tasks[self._task].total or 1
            self.update(total, total)


class NotebookProgress(Progress):
    """One line of a notebook's output, replaced as the work goes on."""

    def __init__(self) -> None:
        from IPython.display import display

        self._handle = display({"text/plain": "..."}, raw=True, display_id=True)
        self._done: list[str] = []
        self._name = ""
        self._began = self._shown = time.perf_counter()

    def stage(self, name: str) -> None:
        """Note the seconds of the stage before, and name the new one."""
        super().stage(name)
        self.finish()
        self._name, self._began = name, time.perf_counter()
        self._show(f"{name} ...")

    def update(self, done: float, total: float | None = None, note: str = "") -> None:
        """Show the share of the running stage that is done."""
        if self._name and time.perf_counter() - self._shown > _SECONDS:
            share = f"{done / total:.0%}" if total else "..."
            self._show(f"{self._name} {share} {note}".strip())

    def finish(self) -> None:
        """Leave the seconds of all stages."""
        if self._name:
            self._done.append(f"{self._name} {time.perf_counter() - self._began:.1f} s")
        self._name = ""
        self._show()

    def _show(self, *running: str) -> None:
        self._shown = time.perf_counter()
        line = ", ".join([*self._done, *running])
        self._handle.update({"text/plain": line}, raw=True)


@contextmanager
def console_progress(enabled: bool = True) -> Iterator[Progress]:
    """Draw progress on standard error, or in a notebook's cell, while the block runs."""
    if not enabled:
        yield Progress()
    elif _is_in_notebook():
        line = NotebookProgress()
        yield line
        line.finish()
    else:
        from rich import progress as rich
        from rich.console import Console

        columns = (
            rich.TextColumn("{task.description:<22}"),
            rich.BarColumn(bar_width=20),
            rich.TaskProgressColumn(),
            rich.TimeRemainingColumn(compact=True, elapsed_when_finished=True),
            rich.TextColumn("{task.fields[note]}", markup=False),
        )
        with rich.Progress(*columns, console=Console(stderr=True)) as display:
            bars = ConsoleProgress(display)
            yield bars
            bars.finish()


def _is_in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return type(shell).__name__ == "ZMQInteractiveShell"
