"""How a run says where it is: what is done, running and failed, the time left, the means so far."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from truegraph.evaluation import Metric
from truegraph.experiments.plan import Share
from truegraph.experiments.store import TrialRecord

if TYPE_CHECKING:
    from rich.console import Console

_LINES_AROUND = 8  # of the terminal, that the live table leaves to other things


@dataclass
class CellTally:
    """Where a cell is.

    Attributes
    ----------
    share : Share
        The cell with all trials that are wanted of it.
    values : dict of int to float or None
        Main metric of each finished trial, by seed.
    failed : set of int
        Seeds of failed trials.
    seconds : list of float
        Of finished trials.
    running : int
        Trials under way.
    touched : float
        When a trial was last finished.
    """

    share: Share
    values: dict[int, float | None] = field(default_factory=dict)
    failed: set[int] = field(default_factory=set)
    seconds: list[float] = field(default_factory=list)
    running: int = 0
    touched: float = 0.0

    @property
    def left(self) -> int:
        """Trials that are neither done nor failed."""
        return len(self.share.seeds) - len(self.values) - len(self.failed)


class Tally:
    """Where a run is.

    Parameters
    ----------
    shares : sequence of Share
        Every cell with all trials that are wanted.
    metric : str
        Name of the metric to show.
    shown : Metric
        How to show it.
    """

    def __init__(self, shares: Sequence[Share], metric: str, shown: Metric) -> None:
        self.metric = metric
        self.shown = shown
        self.slots = 1
        self.cells = {share.cell.key: CellTally(share) for share in shares}
        first = shares[0].cell.conditions
        self._swept = [
            name for name in first if len({share.cell.conditions[name] for share in shares}) > 1
        ]

    def add(self, records: Sequence[TrialRecord]) -> None:
        """Count finished trials, of this run or of earlier ones."""
        for record in records:
            cell = self.cells.get(record.cell.key)
            if cell is None or record.seed not in cell.share.seeds:
                continue
            if record.fingerprint != cell.share.source.fingerprint:
                continue
            if record.seed in cell.values:
                continue
            cell.touched = time.monotonic()
            if record.status == "failed":
                cell.failed.add(record.seed)
                continue
            cell.failed.discard(record.seed)
            cell.values[record.seed] = record.metrics.get(self.metric)
            cell.seconds.append(record.seconds)

    @property
    def total(self) -> int:
        """Trials that are wanted."""
        return sum(len(cell.share.seeds) for cell in self.cells.values())

    @property
    def done(self) -> int:
        """Trials that are done."""
        return sum(len(cell.values) for cell in self.cells.values())

    @property
    def failed(self) -> int:
        """Trials that failed."""
        return sum(len(cell.failed) for cell in self.cells.values())

    @property
    def running(self) -> int:
        """Trials under way."""
        return sum(cell.running for cell in self.cells.values())

    def seconds_left(self) -> float | None:
        """Guess from the trials of the same model on the same data, or else from all trials."""
        rates: dict[tuple[str, str], list[float]] = {}
        for cell in self.cells.values():
            rates.setdefault(_kind(cell), []).extend(cell.seconds)
        known = {kind: float(np.mean(seconds)) for kind, seconds in rates.items() if seconds}
        if not known:
            return None
        usual = float(np.mean(list(known.values())))
        work = sum(cell.left * known.get(_kind(cell), usual) for cell in self.cells.values())
        return work / self.slots

    def name(self, cell: CellTally) -> str:
        """Return which cell it is: model, data set, and the conditions that differ."""
        which = cell.share.cell
        conditions = [f"{name} {which.conditions[name]}" for name in self._swept]
        return ", ".join([f"{which.label} on {which.dataset}", *conditions])

    def headline(self) -> str:
        """Return the counts and the time left as a line."""
        share = (self.done + self.failed) / self.total
        text = f"{self.done}/{self.total} trials done ({share:.0%}), {self.running} running"
        if self.failed:
            text += f", {self.failed} failed"
        left = self.seconds_left()
        if left is not None and self.done + self.failed < self.total:
            text += f", {_duration(left)} left"
        return text

    def value(self, cell: CellTally) -> str:
        """Return mean and, of several values, standard deviation of a cell so far, as text."""
        values = [value for value in cell.values.values() if value is not None]
        if not values:
            return ""
        mean = self.shown.shown(float(np.mean(values)))
        return mean if len(values) == 1 else f"{mean} ± {self.shown.shown(float(np.std(values)))}"


def _kind(cell: CellTally) -> tuple[str, str]:
    return cell.share.cell.dataset, cell.share.cell.label


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


class Watcher:
    """A silent watcher of a run, and the interface of every other."""

    def begin(self, tally: Tally) -> None:
        """Begin to watch; called once, before the first batch."""

    def started(self, batch: Share) -> None:
        """Take note of a batch that was started."""

    def finished(self, records: Sequence[TrialRecord]) -> None:
        """Take note of trials that were stored."""


class LineWatcher(Watcher):
    """A line on standard error for every batch, where there is no terminal."""

    def begin(self, tally: Tally) -> None:
        """Say how much there is."""
        self._tally = tally
        print(tally.headline(), file=sys.stderr, flush=True)

    def finished(self, records: Sequence[TrialRecord]) -> None:
        """Say how the cell of the batch stands."""
        cell = self._tally.cells[records[0].cell.key]
        line = f"{self._tally.name(cell)}: {len(cell.values)}/{len(cell.share.seeds)}"
        line += f"  {self._tally.shown.heading} {self._tally.value(cell)}".rstrip()
        print(f"{line}  [{self._tally.headline()}]", file=sys.stderr, flush=True)
        for record in records:
            if record.status == "failed":
                print(f"  trial {record.seed} failed: {record.error}", file=sys.stderr, flush=True)


class LiveWatcher(Watcher):
    """A table on the terminal that changes in place.

    Parameters
    ----------
    display : rich.live.Live
        Shows what `table` returns.
    """

    def __init__(self, display: Any) -> None:
        self._display = display
        self._tally: Tally | None = None

    def begin(self, tally: Tally) -> None:
        """Show the first table."""
        self._tally = tally
        self._update()

    def started(self, batch: Share) -> None:
        """Show what is running."""
        self._update()

    def finished(self, records: Sequence[TrialRecord]) -> None:
        """Show the new means."""
        self._update()

    def _update(self) -> None:
        assert self._tally is not None
        rows = max(1, self._display.console.height - _LINES_AROUND)
        self._display.update(table(self._tally, rows), refresh=True)


def table(tally: Tally, rows: int) -> Any:
    """Return the cells that matter now as a rich table, those under way first."""
    from rich import box
    from rich.table import Table

    grid = Table(title=tally.headline(), title_justify="left", box=box.SIMPLE)
    for heading in ("cell", "done", "running", "failed", tally.shown.heading):
        grid.add_column(heading, justify="left" if heading == "cell" else "right")
    cells = [cell for cell in tally.cells.values() if cell.running or cell.values or cell.failed]
    for cell in sorted(cells, key=lambda cell: (-bool(cell.running), -cell.touched))[:rows]:
        grid.add_row(
            tally.name(cell),
            f"{len(cell.values)}/{len(cell.share.seeds)}",
            str(cell.running or ""),
            str(len(cell.failed) or ""),
            tally.value(cell),
        )
    return grid


@contextmanager
def console_watcher(enabled: bool = True, console: Console | None = None) -> Iterator[Watcher]:
    """Give a live table on a terminal, lines elsewhere, or silence."""
    if not enabled:
        yield Watcher()
        return
    from rich.console import Console
    from rich.live import Live

    console = console or Console(stderr=True)
    if not console.is_terminal:
        yield LineWatcher()
        return
    with Live(console=console, auto_refresh=False) as display:
        yield LiveWatcher(display)
