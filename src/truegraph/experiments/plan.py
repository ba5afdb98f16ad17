"""What is left to do of an experiment, and in which batches and which order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from truegraph.errors import DataError
from truegraph.experiments.experiment import Experiment
from truegraph.experiments.store import TrialStore
from truegraph.experiments.tasks.base import Cell, Source, Task


@dataclass(frozen=True)
class Share:
    """Trials of one cell.

    Attributes
    ----------
    cell : Cell
    source : Source
        Where its data come from.
    seeds : tuple of int
    """

    cell: Cell
    source: Source
    seeds: tuple[int, ...]


def wanted_shares(experiment: Experiment, task: Task) -> list[Share]:
    """Return every cell with all its trials, after checking that it can be run."""
    shares = []
    for cell in experiment.cells():
        try:
            task.check(cell)
        except DataError as error:
            raise DataError(f"{error} Or leave data set {cell.dataset!r} out.") from error
        data = task.open(cell)
        source = Source(data.fingerprint, data.source, tuple(data.notes))
        shares.append(Share(cell, source, tuple(experiment.seeds)))
    return shares


def left_of(share: Share, store: TrialStore, retry_failed: bool) -> Share:
    """Return the trials that the store does not hold; a failed one is held unless retried."""
    fingerprint = share.source.fingerprint
    held = store.done(share.cell, fingerprint)
    if not retry_failed:
        held |= store.failed(share.cell, fingerprint)
    return Share(share.cell, share.source, tuple(s for s in share.seeds if s not in held))


def batches(
    shares: Sequence[Share], task: Task, *, slots: int, largest: int | None = None
) -> list[Share]:
    """Cut shares into batches, none larger than what keeps every slot busy.

    All models of a table's column come before the next column, batch by batch, so that a run that
    is stopped has pairs of trials to compare.

    Parameters
    ----------
    shares : sequence of Share
        In the order of the experiment's cells.
    task : Task
    slots : int
        Batches that can run at a time.
    largest : int, optional
        Most trials in a batch; default: what the task says.
    """
    fair = -(-sum(len(share.seeds) for share in shares) // slots)
    columns: dict[str, int] = {}
    placed = []
    for row, share in enumerate(shares):
        size = max(1, min(largest or task.batch_size(share.cell), fair))
        column = columns.setdefault(f"{share.cell.dataset} {share.cell.conditions}", len(columns))
        for start in range(0, len(share.seeds), size):
            batch = Share(share.cell, share.source, share.seeds[start : start + size])
            placed.append(((column, batch.seeds[0], row), batch))
    return [batch for _, batch in sorted(placed, key=lambda pair: pair[0])]
