"""What the engine knows about a task: cells, trials, and the adapter that runs them.

A *cell* is one entry of a table: a model with its settings on one data set under one choice of
the conditions. Its trials differ in the seed only. An adapter (`Task`) turns cells and seeds into
numbers; the engine does everything else. Adapters are named in `TASKS` by their dotted path and
import nothing heavy before a trial runs.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from truegraph.errors import InputError
from truegraph.suggestions import suggestion

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from truegraph.evaluation import Metric

TASKS = {
    "attacks": "truegraph.experiments.tasks.attacked_graphs:AttackTask",
    "classification": "truegraph.experiments.tasks.classification:ClassificationTask",
    "datasets": "truegraph.experiments.tasks.dataset_statistics:StatisticsTask",
    "graph-quality": "truegraph.experiments.tasks.graph_quality:GraphQualityTask",
    "link-ranking": "truegraph.experiments.tasks.link_ranking:LinkRankingTask",
    "links": "truegraph.experiments.tasks.links:LinksTask",
    "noise": "truegraph.experiments.tasks.noisy_graphs:NoiseTask",
    "novelty": "truegraph.experiments.tasks.novel_nodes:NoveltyTask",
    "strangers": "truegraph.experiments.tasks.strange_graphs:StrangersTask",
    "recommendation": "truegraph.experiments.tasks.recommendation:RecommendationTask",
}


@dataclass(frozen=True)
class Condition:
    """A key that an experiment of some task may set, to one value or to a list to be swept.

    Attributes
    ----------
    default : tuple
        Values when the key is left out.
    kind : type
        int, float, str or bool.
    choices : tuple
        The values allowed; empty for any of the kind.
    least : int or float or None
        The smallest number allowed.
    """

    default: tuple[Any, ...]
    kind: type
    choices: tuple[Any, ...] = ()
    least: float | None = None


@dataclass(frozen=True)
class Cell:
    """A model with its settings on one data set under one choice of the conditions.

    Attributes
    ----------
    task, dataset, model : str
    label : str
        Name under which the model is shown; it does not tell cells apart.
    settings : dict
        Of the model; only what differs from its defaults. Plain numbers, strings, lists, dicts.
    conditions : dict
        Such as {"labels": 5, "split": "random"}.
    files : dict
        The user's own files that hold the data, and how to read them; empty for a named data set.
        Where the files lie does not tell cells apart: the fingerprint of their content does.
    """

    task: str
    dataset: str
    model: str
    label: str
    settings: dict[str, Any] = field(default_factory=dict)
    conditions: dict[str, Any] = field(default_factory=dict)
    files: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def key(self) -> str:
        """SHA-256 of everything but the label and the files."""
        parts = [self.task, self.dataset, self.model, self.settings, self.conditions]
        text = json.dumps(parts, sort_keys=True, ensure_ascii=True, allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()

    def __str__(self) -> str:
        conditions = ", ".join(f"{name} {value}" for name, value in self.conditions.items())
        return f"{self.label} on {self.dataset}" + (f" ({conditions})" if conditions else "")


@dataclass(frozen=True)
class TrialResult:
    """What one trial found.

    Attributes
    ----------
    seed : int
    metrics : dict of str to float or None
        None where a metric is not defined.
    details : dict
        More about the trial for plots: plain and small, since it is stored as JSON.
    """

    seed: int
    metrics: dict[str, float | None]
    details: dict[str, Any] = field(default_factory=dict)


@dataclass
class Context:
    """What an adapter may use while it runs trials.

    Attributes
    ----------
    cache : Path
        Folder for work that trials share.
    fingerprint : str
        Of the data that the trials must be run on.
    keep : tuple of str
        Which artefacts to keep, of those that the task offers.
    first_seed : int
        Seed of the experiment's first trial; large artefacts are kept of that one only.
    device : str
        A torch device, e.g. "cuda".
    threads : int
        Threads that the trials may use, see `truegraph.runtime.threads.use_threads`.
    notes : list of str
        What was chosen for the user, for the records.
    artefacts : dict
        What was kept: arrays under the name of the file that they will be in.
    """

    cache: Path
    fingerprint: str
    keep: tuple[str, ...] = ()
    first_seed: int = 0
    device: str = "cpu"
    threads: int = 1
    notes: list[str] = field(default_factory=list)
    artefacts: dict[str, dict[str, NDArray[Any]]] = field(default_factory=dict)

    def keep_arrays(self, file: str, arrays: dict[str, NDArray[Any]]) -> str:
        """Have arrays written to an npz file in the run's folder, and return its name there."""
        self.artefacts[file] = arrays
        return file


@dataclass(frozen=True)
class Source:
    """Where the data of a cell come from.

    Attributes
    ----------
    fingerprint : str
        SHA-256 of the content.
    source : str
        Where it was found.
    notes : tuple of str
        What a reader of the results should know, such as that the data are a stand-in.
    """

    fingerprint: str
    source: str
    notes: tuple[str, ...] = ()


class Described(Protocol):
    """What the engine asks of data, such as a `NodeDataset`."""

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the content."""

    @property
    def source(self) -> str:
        """Where it was found."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the results should know."""


class Task(Protocol):
    """What the engine needs of a task, and the usual answers.

    Attributes
    ----------
    name : str
    metrics : mapping of str to Metric
        The first is the one that progress shows.
    conditions : mapping of str to Condition
    models : collection of str
    keeps : collection of str
        Artefacts that can be kept.
    files : collection of str
        What an experiment may say of the user's own files.
    """

    name: str
    metrics: Mapping[str, Metric]
    conditions: Mapping[str, Condition]
    models: Collection[str]
    keeps: Collection[str] = ()
    files: Collection[str] = ()

    def check(self, cell: Cell) -> None:
        """Raise an InputError for settings and conditions that cannot be run."""

    def open(self, cell: Cell) -> Described:
        """Return the data of a cell."""

    def batch_size(self, cell: Cell) -> int:
        """Return how many trials of a cell are best run together; 1 if they share nothing."""
        return 1

    def run(self, cell: Cell, seeds: Sequence[int], context: Context) -> list[TrialResult]:
        """Run trials together; each must give what it would give alone."""


def finite(value: float) -> float | None:
    """Return a number that JSON can hold, or None."""
    return float(value) if math.isfinite(value) else None


def find_task(name: str) -> Task:
    """Return the adapter of a task, or raise an InputError that suggests the nearest."""
    if name not in TASKS:
        raise InputError(f"task {name!r} is not known.{suggestion(name, TASKS)}")
    module, _, attribute = TASKS[name].partition(":")
    task: Task = getattr(import_module(module), attribute)()
    return task
