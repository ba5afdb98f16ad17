"""An experiment as data: which models run on which data under which conditions, how often.

>>> from truegraph.experiments import Experiment
>>> experiment = Experiment.from_dict({
...     "name": "mine",
...     "task": "classification",
...     "datasets": ["cora"],
...     "labels": [5, 10],
...     "models": ["gcn", {"name": "gcn", "label": "wide GCN", "hidden": 64}],
... })
>>> len(experiment.cells())
4

The same keys in a TOML file make an experiment that ``truegraph reproduce FILE.toml`` runs.
"""

from __future__ import annotations

import itertools
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any

from truegraph.errors import InputError
from truegraph.experiments.checks import (
    check_conditions,
    check_files,
    check_known,
    check_number,
    texts,
    with_folder,
    without_none,
)
from truegraph.experiments.tasks.base import Cell, Task, find_task
from truegraph.suggestions import suggestion

_OWN_KEYS = ["name", "title", "task", "datasets", "models", "trials", "seed", "metrics"]
_OWN_KEYS += ["batch", "keep", "compare", "files"]
_USUAL_TRIALS = 10


@dataclass(frozen=True)
class ModelEntry:
    """A model of an experiment.

    Attributes
    ----------
    name : str
        Which model.
    label : str
        Name under which it is shown, unique in the experiment.
    settings : dict
        What differs from the model's defaults.
    datasets : tuple of str, or None
        The only data sets to run it on; None for all.
    on : dict of str to dict
        Settings for one data set, which add to the others or override them.
    """

    name: str
    label: str
    settings: dict[str, Any]
    datasets: tuple[str, ...] | None = None
    on: Mapping[str, dict[str, Any]] | None = None

    def settings_on(self, dataset: str) -> dict[str, Any]:
        """Return the settings for a data set."""
        return self.settings | dict((self.on or {}).get(dataset, {}))

    def restricted(self, datasets: Sequence[str]) -> ModelEntry | None:
        """Return the entry without other data sets, or None if it is run on none of these."""
        on = {name: settings for name, settings in (self.on or {}).items() if name in datasets}
        if self.datasets is None:
            return replace(self, on=on)
        left = tuple(name for name in self.datasets if name in datasets)
        return replace(self, datasets=left, on=on) if left else None

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as it is written in a file."""
        entry: dict[str, Any] = {"name": self.name, "label": self.label, **self.settings}
        if self.datasets is not None:
            entry["datasets"] = list(self.datasets)
        if self.on:
            entry["on"] = {dataset: dict(settings) for dataset, settings in self.on.items()}
        return entry


@dataclass(frozen=True)
class Experiment:
    """Many trials of several models on several data sets.

    Attributes
    ----------
    name, title, task : str
    datasets : tuple of str
    models : tuple of ModelEntry
    conditions : dict of str to tuple
        Every condition of the task with the values to sweep.
    trials : int
        Trials of every cell.
    seed : int
        Trial t has seed `seed` + t.
    metrics : tuple of str
        What is shown, the most important one first. All metrics of the task are stored.
    batch : int or None
        Largest number of trials of a cell to run together; None leaves it to the task.
    keep : tuple of str
        Artefacts to keep in the run's folder, of those that the task offers.
    compare : str or None
        Label of the model that is tested against each of the others.
    files : mapping of str to mapping
        The user's own files under the name of the data set that they make up, such as
        {"mine": {"edges": "edges.csv", "labels": "labels.csv"}}.
    """

    name: str
    title: str
    task: str
    datasets: tuple[str, ...]
    models: tuple[ModelEntry, ...]
    conditions: Mapping[str, tuple[Any, ...]]
    trials: int
    seed: int
    metrics: tuple[str, ...]
    batch: int | None = None
    keep: tuple[str, ...] = ()
    compare: str | None = None
    files: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Experiment:
        """Build an experiment from the content of a file; unknown keys are refused."""
        task = find_task(str(_required(content, "task")))
        check_known(content, (*_OWN_KEYS, *task.conditions), "key")
        name = _checked_name(_required(content, "name"))
        experiment = cls(
            name=name,
            title=str(content.get("title", name)),
            task=task.name,
            datasets=texts("datasets", _required(content, "datasets")),
            models=_entries(_required(content, "models"), task),
            conditions=check_conditions(content, task.conditions),
            trials=check_number("trials", content.get("trials", _USUAL_TRIALS), 1),
            seed=check_number("seed", content.get("seed", 0), 0),
            metrics=_named(content, "metrics", task.metrics) or tuple(task.metrics),
            batch=check_number("batch", content["batch"], 1) if "batch" in content else None,
            keep=_named(content, "keep", task.keeps),
            compare=str(content["compare"]) if "compare" in content else None,
            files=check_files(content.get("files", {}), task),
        )
        _check_cells(experiment)
        return experiment

    @classmethod
    def from_toml(cls, path: str | Path) -> Experiment:
        """Read an experiment from a TOML file."""
        file = Path(path)
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path}: cannot be read ({error}); check the path.") from error
        try:
            content = {"name": file.stem} | tomllib.loads(text)
            return cls.from_dict(with_folder(content, file.parent))
        except tomllib.TOMLDecodeError as error:
            raise InputError(f"{path}: not valid TOML: {error}.") from error
        except InputError as error:
            raise InputError(f"{path}: {error}") from error
        except RecursionError as error:
            raise InputError(f"{path}: not usable TOML: it is nested too deeply.") from error
        except (ValueError, OverflowError) as error:  # a number of thousands of digits
            raise InputError(f"{path}: not usable TOML: {error}.") from error

    def to_dict(self) -> dict[str, Any]:
        """Return what `from_dict` reads."""
        content: dict[str, Any] = {
            "name": self.name,
            "title": self.title,
            "task": self.task,
            "datasets": list(self.datasets),
            "models": [entry.to_dict() for entry in self.models],
            **{name: list(values) for name, values in self.conditions.items()},
            "trials": self.trials,
            "seed": self.seed,
            "metrics": list(self.metrics),
            "keep": list(self.keep),
        }
        optional: dict[str, Any] = {"batch": self.batch, "compare": self.compare}
        if self.files:
            optional["files"] = {name: dict(own) for name, own in self.files.items()}
        return content | {key: value for key, value in optional.items() if value is not None}

    @property
    def seeds(self) -> list[int]:
        """Seed of each trial."""
        return list(range(self.seed, self.seed + self.trials))

    def cells(self) -> list[Cell]:
        """Return every cell, ordered by data set, then conditions, then model."""
        names = list(self.conditions)
        return [
            Cell(
                self.task,
                dataset,
                entry.name,
                entry.label,
                entry.settings_on(dataset),
                dict(zip(names, values, strict=True)),
                self.files.get(dataset, {}),
            )
            for dataset in self.datasets
            for values in itertools.product(*self.conditions.values())
            for entry in self.models
            if entry.datasets is None or dataset in entry.datasets
        ]

    def select(
        self,
        *,
        datasets: Sequence[str] | None = None,
        models: Sequence[str] | None = None,
        trials: int | None = None,
        **conditions: Sequence[Any] | None,
    ) -> Experiment:
        """Return a part of the experiment.

        Parameters
        ----------
        datasets : sequence of str, optional
        models : sequence of str, optional
            Labels of models, or names where no model is labelled so; a name stands for all
            models that have it.
        trials : int, optional
            Another number of trials, perhaps a larger one.
        **conditions : sequence, optional
            Values of a condition.
        """
        chosen = dict(self.conditions)
        for name, values in conditions.items():
            if values is not None:
                chosen[name] = self._part(name, values)
        places = _some("datasets", datasets, self.datasets, self.name)
        wanted = self._models(models)
        left = [entry.restricted(places) for entry in wanted]
        entries = tuple(entry for entry in left if entry is not None)
        if not entries:
            raise InputError(
                f"nothing is left to run of experiment {self.name!r}: it runs none of the models "
                f"{', '.join(entry.label for entry in wanted)} on {', '.join(places)}."
            )
        return replace(
            self,
            datasets=places,
            models=entries,
            conditions=chosen,
            trials=self.trials if trials is None else check_number("trials", trials, 1),
            compare=self.compare if self.compare in [entry.label for entry in entries] else None,
            files={name: own for name, own in self.files.items() if name in places},
        )

    def _part(self, name: str, values: Sequence[Any]) -> tuple[Any, ...]:
        if name not in self.conditions:
            raise InputError(f"experiment {self.name!r} has no condition {name!r}; remove it.")
        return _some(name, values, self.conditions[name], self.name)

    def _models(self, wanted: Sequence[str] | None) -> tuple[ModelEntry, ...]:
        if wanted is None:
            return self.models
        known = dict.fromkeys(word for entry in self.models for word in (entry.label, entry.name))
        _some("models", wanted, tuple(known), self.name)
        labels = {entry.label for entry in self.models}
        return tuple(
            entry
            for entry in self.models
            if entry.label in wanted or (entry.name in wanted and entry.name not in labels)
        )


def _checked_name(value: Any) -> str:
    """Return the name of an experiment, which is also the name of a folder."""
    name = str(value)
    if not name or name in (".", "..") or set(name) & set("/\\\0") or len(name) > 200:
        raise InputError(
            f"name={name[:80]!r} cannot name the folder of the run; use letters and digits."
        )
    return name


def builtin_experiments() -> dict[str, Experiment]:
    """Return the experiments of the paper by name."""
    return {name: Experiment.from_dict(content) for name, content in _builtin_contents().items()}


def _builtin_contents() -> dict[str, dict[str, Any]]:
    """Return what the file of each built-in experiment says, by the name in it."""
    folder = resources.files("truegraph.experiments") / "builtin"
    files = [file for file in folder.iterdir() if file.name.endswith(".toml")]
    contents = [tomllib.loads(file.read_text("utf-8")) for file in files]
    return {content["name"]: content for content in sorted(contents, key=lambda c: c["name"])}


def find_experiment(name: str) -> Experiment:
    """Return the built-in experiment of that name, or read that TOML file."""
    if name.endswith(".toml"):
        return Experiment.from_toml(name)
    known = _builtin_contents()
    if name not in known:
        raise InputError(
            f"no experiment is called {name!r}.{suggestion(name, known)} "
            "An experiment of your own is a file that ends in .toml."
        )
    return Experiment.from_dict(known[name])


def _required(content: Mapping[str, Any], key: str) -> Any:
    if key not in content:
        raise InputError(f"{key!r} is missing; add it to the experiment.")
    return content[key]


def _named(content: Mapping[str, Any], key: str, known: Any) -> tuple[str, ...]:
    chosen = texts(key, content[key]) if content.get(key) else ()
    check_known(chosen, tuple(known), f"entry of {key}")
    return chosen


def _some(
    name: str, wanted: Sequence[Any] | None, known: tuple[Any, ...], experiment: str
) -> tuple[Any, ...]:
    if wanted is None:
        return known
    for value in wanted:
        if value not in known:
            there = ", ".join(map(str, known))
            raise InputError(
                f"{name} {value!r} is not part of experiment {experiment!r}, which has {there}; "
                "choose among them, or write an experiment of your own."
            )
    return tuple(value for value in known if value in wanted)


def _entries(content: Any, task: Task) -> tuple[ModelEntry, ...]:
    if not isinstance(content, list) or not content:
        raise InputError(f"models={content!r} must be a list of names or tables.")
    return tuple(_entry(item, task) for item in content)


def _entry(item: Any, task: Task) -> ModelEntry:
    table = {"name": item} if isinstance(item, str) else item
    if not isinstance(table, Mapping) or not isinstance(table.get("name"), str):
        raise InputError(f"models has an entry {item!r}; give a name, or a table with a name.")
    settings = {
        key: without_none(value)
        for key, value in table.items()
        if key not in ("name", "label", "datasets", "on")
    }
    name, on = table["name"], table.get("on", {})
    check_known([name], tuple(task.models), "model")
    if not isinstance(on, Mapping) or not all(isinstance(own, Mapping) for own in on.values()):
        raise InputError(f"'on' of model {name!r} is {on!r}; give one table per data set.")
    only = texts("datasets", table["datasets"]) if "datasets" in table else None
    special = {dataset: without_none(dict(own)) for dataset, own in on.items()}
    _check_plain(name, settings, special)
    return ModelEntry(name, str(table.get("label", name)), settings, only, special)


def _check_plain(name: str, *settings: Any) -> None:
    try:
        json.dumps(settings, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"settings of model {name!r} hold more than finite numbers, texts, lists and tables: "
            f"{error}."
        ) from error


def _check_cells(experiment: Experiment) -> None:
    labels = [entry.label for entry in experiment.models]
    for label in labels:
        if labels.count(label) > 1:
            raise InputError(f"two models are labelled {label!r}; give each a label of its own.")
    if experiment.compare is not None:
        check_known([experiment.compare], tuple(labels), "model to compare")
    for entry in experiment.models:
        check_known(entry.datasets or (), experiment.datasets, f"data set of model {entry.label!r}")
        check_known(entry.on or (), experiment.datasets, f"data set of model {entry.label!r}")
    check_known(experiment.files, experiment.datasets, "name of files")
    keys = [cell.key for cell in experiment.cells()]
    if len(set(keys)) < len(keys):
        raise InputError("two models have the same name and settings; remove one of them.")
