"""A run as the page reads it: the experiment, its trials, and what they add up to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from truegraph.evaluation import Metric
from truegraph.experiments import Experiment, TrialRecord, TrialStore, find_task
from truegraph.experiments.naming import Naming
from truegraph.faces import Shown
from truegraph.report.cell_summary import CellSummary, summarise
from truegraph.report.summary import main_metrics


@dataclass(frozen=True)
class Run(Shown):
    """A run of an experiment: a comparison of models, which a notebook shows as a table.

    Attributes
    ----------
    folder : Path
        Where the store and the artefacts are.
    experiment : Experiment
    records : tuple of TrialRecord
        As `TrialStore.records` gives them.
    """

    folder: Path
    experiment: Experiment
    records: tuple[TrialRecord, ...]

    @classmethod
    def read(cls, folder: str | Path) -> Run:
        """Read a run from its folder, or from the path of the store in it."""
        with TrialStore.open(folder) as store:
            return cls(store.path.parent, store.experiment, tuple(store.records()))

    def only(self, seeds: Sequence[int]) -> Run:
        """Return the run without the trials of other seeds."""
        chosen = set(seeds)
        return replace(self, records=tuple(r for r in self.records if r.seed in chosen))

    @cached_property
    def done(self) -> list[TrialRecord]:
        """Trials that did not fail."""
        return [record for record in self.records if record.status == "done"]

    @cached_property
    def failed(self) -> list[TrialRecord]:
        """Trials that failed."""
        return [record for record in self.records if record.status == "failed"]

    @cached_property
    def cells(self) -> list[CellSummary]:
        """Every cell that has trials, for every metric shown."""
        return summarise(self.records, self.experiment)

    @cached_property
    def naming(self) -> Naming:
        """Names of the settings."""
        return Naming(self.records)

    @property
    def labels(self) -> list[str]:
        """Names of the models, as the experiment orders them."""
        return [entry.label for entry in self.experiment.models]

    @property
    def main_metric(self) -> str:
        """The most important metric."""
        return main_metrics(self.cells, self.experiment)[0]

    @cached_property
    def metrics(self) -> dict[str, Metric]:
        """How each metric is shown."""
        return dict(find_task(self.experiment.task).metrics)

    def main_cells(self) -> dict[tuple[Any, ...], list[CellSummary]]:
        """Return the cells of the main metric that have values, by setting."""
        found: dict[tuple[Any, ...], list[CellSummary]] = {}
        for cell in self.cells:
            if cell.metric == self.main_metric and cell.values:
                found.setdefault(cell.setting, []).append(cell)
        return found

    def with_detail(self, name: str) -> Iterator[tuple[str, dict[str, list[TrialRecord]]]]:
        """Yield each setting with the done trials that have a detail, by the model's label."""
        settings: dict[str, dict[str, list[TrialRecord]]] = {}
        for record in self.done:
            if record.details.get(name) is not None:
                setting = settings.setdefault(self.naming.setting(record), {})
                setting.setdefault(record.label, []).append(record)
        yield from settings.items()
