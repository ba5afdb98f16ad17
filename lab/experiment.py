"""What an experiment is: a TOML file that names data sets, conditions, models and trials.

    title = "Does a wider GCN help?"
    task = "classify"              # or links, suggestions, recommend, points, statistics
    datasets = ["cora", "citeseer"]
    trials = 4                     # of seeds 0, 1, ...; `seed` names another first one
    metrics = ["accuracy"]         # what tables show, the main one first; all are stored
    compare = "GCN"                # optional: tables tell this model's gain over each other one

    [conditions]
    labels = [5, 20]               # a value, or a list of which each is run

    [[models]]
    name = "gcn"
    label = "wide GCN"
    datasets = ["cora"]            # optional: these only
    options = {hidden = 32}
    on.pubmed = {hidden = 64}      # optional: more options for one data set
    from = "table1"                # optional: the experiment whose trials these are

A trial is described by its *job*, a mapping of plain values, from which it can be run anywhere.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import product
from pathlib import Path
from typing import Any

from lab.tasks import TASKS
from truegraph.errors import InputError
from truegraph.suggestions import suggestion

FOLDER = Path(__file__).parent / "experiments"
_KEYS = {"title", "task", "datasets", "trials", "seed", "metrics", "compare", "conditions"}
_MODEL_KEYS = {"name", "label", "datasets", "options", "on", "from"}

Job = dict[str, Any]


@dataclass(frozen=True)
class Entry:
    """A model of an experiment.

    Attributes
    ----------
    name, label : str
        The library's name, and the one that tables show.
    source : str
        The experiment that keeps its trials.
    """

    name: str
    label: str
    source: str
    options: Mapping[str, Any] = field(default_factory=dict)
    on: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    datasets: tuple[str, ...] | None = None

    def options_on(self, dataset: str) -> dict[str, Any]:
        """Return the options on a data set."""
        return {**self.options, **self.on.get(dataset, {})}


@dataclass(frozen=True)
class Cell:
    """A model on one data set under one choice of the conditions; its trials differ in the seed."""

    task: str
    dataset: str
    conditions: Mapping[str, Any]
    model: str
    options: Mapping[str, Any]
    label: str
    source: str

    @cached_property
    def key(self) -> str:
        """Text that tells the cell from others, whatever it is called."""
        return cell_key(self.dataset, self.conditions, self.model, self.options)

    def job(self, seed: int, fingerprint: str) -> Job:
        """Return the description of a trial."""
        return {
            "task": self.task,
            "dataset": self.dataset,
            "fingerprint": fingerprint,
            "conditions": dict(self.conditions),
            "model": self.model,
            "options": dict(self.options),
            "seed": seed,
        }


def cell_key(dataset: str, conditions: Any, model: str, options: Any) -> str:
    """Return the text that tells a cell from others."""
    return json.dumps([dataset, dict(conditions), model, dict(options)], sort_keys=True)


@dataclass(frozen=True)
class Experiment:
    """An experiment as its file describes it."""

    name: str
    title: str
    task: str
    datasets: tuple[str, ...]
    conditions: Mapping[str, tuple[Any, ...]]
    models: tuple[Entry, ...]
    trials: int
    metrics: tuple[str, ...]
    seed: int = 0
    compare: str | None = None

    @property
    def swept(self) -> list[str]:
        """Conditions that have several values."""
        return [name for name, values in self.conditions.items() if len(values) > 1]

    @property
    def seeds(self) -> range:
        """Seeds of the trials."""
        return range(self.seed, self.seed + self.trials)

    def cells(self) -> Iterator[Cell]:
        """Yield every cell: data sets, then conditions, then models."""
        for dataset in self.datasets:
            for values in product(*self.conditions.values()):
                conditions = dict(zip(self.conditions, values, strict=True))
                for model in self.models:
                    if model.datasets is None or dataset in model.datasets:
                        yield Cell(
                            self.task,
                            dataset,
                            conditions,
                            model.name,
                            model.options_on(dataset),
                            model.label,
                            model.source,
                        )

    def only(
        self,
        *,
        models: Sequence[str] | None = None,
        datasets: Sequence[str] | None = None,
        labels: Sequence[int] | None = None,
        trials: int | None = None,
    ) -> Experiment:
        """Return a part of the experiment; models go by label, or by name if no label is that."""
        for name in models or ():
            known = [one for entry in self.models for one in (entry.name, entry.label)]
            _check(name, known, f"model of {self.name}")
        for name in datasets or ():
            _check(name, self.datasets, f"data set of {self.name}")
        chosen = dict(self.conditions)
        if labels:
            for count in labels:
                _check(count, chosen.get("labels", ()), f"number of labels of {self.name}")
            chosen["labels"] = tuple(labels)
        labelled = {entry.label for entry in self.models} & set(models or ())
        named = set(models or ()) - labelled
        kept = [e for e in self.models if not models or e.label in labelled or e.name in named]
        return replace(
            self,
            models=tuple(kept),
            datasets=tuple(datasets or self.datasets),
            conditions=chosen,
            trials=self.trials if trials is None else trials,
        )


def _check(name: Any, known: Sequence[Any], what: str) -> None:
    if name not in known:
        texts = [str(one) for one in known]
        raise InputError(f"{name!r} is no {what}.{suggestion(str(name), texts)}")


@cache
def experiments() -> dict[str, Path]:
    """Return the files of the built-in experiments by name."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.toml"))}


def load(name: str) -> Experiment:
    """Return a built-in experiment by name, or one of a file of your own."""
    path = Path(name) if name.endswith(".toml") else experiments().get(name)
    if path is None or not path.is_file():
        raise InputError(f"no experiment is called {name!r}.{suggestion(name, experiments())}")
    with path.open("rb") as stream:
        try:
            return parse(path.stem, tomllib.load(stream))
        except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
            raise InputError(f"{path}: not an experiment ({error!r}).") from error


def parse(name: str, found: Mapping[str, Any]) -> Experiment:
    """Return an experiment from the content of its file."""
    for key in found:
        _check(key, [*_KEYS, "models"], f"key of the experiment {name}")
    _check(found["task"], list(TASKS), "task")
    task = TASKS[found["task"]]
    for metric in found["metrics"]:
        _check(metric, list(task.metrics), f"metric of {found['task']}")
    given = dict(found.get("conditions", {}))
    for condition in given:
        _check(condition, task.conditions, f"condition of {found['task']}")
    usual = {key: value for key, value in task.usual.items() if key not in given}
    conditions = {
        key: tuple(value) if isinstance(value, list) else (value,)
        for key, value in (given | usual).items()
    }
    models = tuple(_entry(name, one) for one in found["models"])
    labels = [entry.label for entry in models]
    if len(set(labels)) < len(labels):
        raise InputError(f"experiment {name!r} has a label twice; give each model its own.")
    if found.get("compare") is not None:
        _check(found["compare"], labels, f"label of {name}")
    return Experiment(
        name,
        found["title"],
        found["task"],
        tuple(found["datasets"]),
        {key: conditions[key] for key in task.conditions if key in conditions},
        models,
        found["trials"],
        tuple(found["metrics"]),
        found.get("seed", 0),
        found.get("compare"),
    )


def _entry(experiment: str, found: Mapping[str, Any]) -> Entry:
    for key in found:
        _check(key, list(_MODEL_KEYS), f"key of a model of {experiment}")
    chosen = found.get("datasets")
    return Entry(
        found["name"],
        found.get("label", found["name"]),
        found.get("from", experiment),
        _without_none(found.get("options", {})),
        {dataset: _without_none(one) for dataset, one in found.get("on", {}).items()},
        None if chosen is None else tuple(chosen),
    )


def _without_none(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with None for "none": TOML has no word for nothing."""
    return {name: None if value == "none" else value for name, value in options.items()}
