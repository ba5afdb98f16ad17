"""Which model is best for my data? Fit several on the same random splits, and tell.

>>> from truegraph import compare
>>> found = compare("classify", "cora", models=["gcn", "auto"], trials=6)  # doctest: +SKIP
>>> found.winner  # doctest: +SKIP
'auto'

Every trial is one fit of a public estimator on one split, which all models share. With `out` every
finished trial is kept in a folder, and the same call goes on where it was stopped.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property, lru_cache, partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from truegraph import trials as one_trial
from truegraph.data import Interactions, NodeDataset, load_dataset, load_interactions
from truegraph.data.link_splits import split_links
from truegraph.data.storage import PathLike, read_npz, write_text
from truegraph.errors import DataError, InputError
from truegraph.evaluation import (
    LINK_METRICS,
    METRICS,
    RANKING_METRICS,
    SET_METRICS,
    Metric,
    mean_std,
    paired_wilcoxon,
)
from truegraph.evaluation.trials import PairedTest, Summary
from truegraph.faces import Shown
from truegraph.progress import console_progress
from truegraph.runner import Job, Outcome, Record, run_trials
from truegraph.suggestions import suggestion
from truegraph.wording import counted

if TYPE_CHECKING:
    import pandas as pd

Data = str | NodeDataset | Interactions

LEVEL = 0.05  # of significance
FEWEST_PAIRS = 6  # with fewer, a two-sided signed-rank test cannot fall below 0.05
FILE = "trials.jsonl"
_RANKING = ("recall@20", "ndcg@20", "recall@10", "hit@20", "coverage@20")
_METRICS: dict[str, Mapping[str, Metric]] = {  # the first decides
    "classify": METRICS | SET_METRICS,
    "links": LINK_METRICS,
    "recommend": {name: RANKING_METRICS[name] for name in _RANKING},
}
_TRIALS = {"classify": 10, "links": 10, "recommend": 3}
_SETTINGS: dict[str, dict[str, Any]] = {
    "classify": {"per_class": 5, "split": "random", "component": "full"},
    "links": {"component": "largest"},
    "recommend": {"split": "random"},
}
_CHOICES = {"component": ("full", "largest"), "split": ("random", "fixed", "time")}


def models_of(task: str) -> tuple[str, ...]:
    """Return the names of the models that can be compared on a task."""
    where = {"classify": "classify.models", "links": "links.names", "recommend": "recommend.names"}
    found = tuple(import_module(f"truegraph.{where[task]}").MODELS)
    return (*found, *one_trial.RIVALS) if task == "classify" else found


def usual_models(task: str, dataset: Any) -> tuple[str, ...]:
    """Return the models that are compared unless others are named; none needs torch."""
    if task == "links":
        return ("auto", "adamic-adar", "personalised-pagerank")
    if task == "recommend":
        return ("auto", "ease", "popularity")
    features = ("logistic-regression", "random-forest", "gradient-boosting")
    known = features[: 3 if one_trial.can_be_dense(dataset.features) else 2]
    models = ("auto", *(known if dataset.features is not None else ()))
    return models if dataset.graph is None else (*models, "label-propagation")


class Comparison(Shown):
    """Models compared on the same splits.

    Attributes
    ----------
    task, name : str
        Of the comparison and of its data.
    data : NodeDataset or Interactions
    models : tuple of str
    seeds : tuple of int
        One per trial.
    settings : dict
        Such as labels per class.
    metrics : mapping
        How each metric is shown; `main_metric`, the first, decides who wins.
    outcome : Outcome
        The trials, see `truegraph.runner.run_trials`.
    users : dict of str to dict
        Recall@20 of every user, averaged over the trials, by model; of recommenders.
    groups : sequence, optional
        That were kept together by the splits.
    """

    _drawn_by: ClassVar[str] = "truegraph.report.comparison"

    def __init__(
        self,
        task: str,
        name: str,
        data: Any,
        models: tuple[str, ...],
        seeds: tuple[int, ...],
        settings: dict[str, Any],
        outcome: Outcome,
        users: dict[str, dict[int, float]],
        groups: Any = None,
    ) -> None:
        self.task, self.name, self.data, self.models = task, name, data, models
        self.seeds, self.settings, self.outcome = seeds, settings, outcome
        self.users, self.groups, self.metrics = users, groups, _METRICS[task]
        self.main_metric = next(iter(self.metrics))

    def records(self, model: str) -> list[Record]:
        """Return the trials of a model that did not fail."""
        return [record for record in self.outcome.done if record["model"] == model]

    def values(self, model: str, metric: str | None = None) -> dict[int, float]:
        """Return a metric of a model by seed; by default the one that decides."""
        name = metric or self.main_metric
        found = {record["seed"]: record["metrics"].get(name) for record in self.records(model)}
        return {seed: value for seed, value in found.items() if value is not None}

    def summary(self, model: str, metric: str | None = None) -> Summary | None:
        """Return mean and spread of a metric over the trials; None without any."""
        values = list(self.values(model, metric).values())
        return mean_std(values) if values else None

    @property
    def table(self) -> pd.DataFrame:
        """Mean of every metric: one row per model, one column per metric."""
        import pandas as pd

        shown = {name: self.means(name) for name in self.metrics}
        rows = {name: means for name, means in shown.items() if means}
        return pd.DataFrame(rows, index=list(self.models)).rename_axis("model")

    @property
    def trials(self) -> pd.DataFrame:
        """Every trial: model, seed, status, its metrics, seconds, error."""
        import pandas as pd

        rows = [
            {name: record[name] for name in ("model", "seed", "status")}
            | {name: record.get("metrics", {}).get(name) for name in self.metrics}
            | {name: record[name] for name in ("seconds", "error")}
            for record in self.outcome.records
        ]
        return pd.DataFrame(rows)

    def means(self, metric: str) -> dict[str, float]:
        """Return the mean of a metric by model, of those that have it."""
        found = {model: self.summary(model, metric) for model in self.models}
        return {model: one.mean for model, one in found.items() if one}

    @cached_property
    def leader(self) -> str | None:
        """The model with the best mean; None if nothing was measured."""
        means = self.means(self.main_metric)
        return max(means, key=means.__getitem__) if means else None

    @cached_property
    def tests(self) -> dict[str, PairedTest]:
        """The leader against each other model: Wilcoxon's signed ranks on the same splits.

        Of recommenders on the same users.
        """
        if self.leader is None:
            return {}
        samples = self.users or {model: self.values(model) for model in self.models}
        ours = samples[self.leader]
        found = {}
        for model in self.models:
            shared = sorted(ours.keys() & samples.get(model, {}).keys())
            if model != self.leader and shared:
                theirs = samples[model]
                found[model] = paired_wilcoxon(
                    [ours[one] for one in shared], [theirs[one] for one in shared]
                )
        return found

    @property
    def winner(self) -> str | None:
        """The leader if it is significantly better than every other model, each at 5 %."""
        rivals = [model for model in self.models if model != self.leader]
        is_best = all(model in self.tests and self.tests[model].p_value < LEVEL for model in rivals)
        return self.leader if rivals and is_best else None

    @property
    def conclusion(self) -> str:
        """The best model, or why none is best, in a few sentences."""
        if self.leader is None:
            return "No trial is done."
        metric, best = self.metrics[self.main_metric], self.summary(self.leader)
        assert best is not None
        ahead = "; ".join(
            f"{metric.signed(test.mean_difference)} against {model} (p = {test.p_value:.2g})"
            for model, test in self.tests.items()
        )
        text = f"{self.leader} {metric.shown(best.mean)} {metric.heading}"
        if not self.tests:
            return f"Nothing to compare with: {text}."
        if self.winner:
            return f"The winner is {self.leader}: {text}; {ahead}."
        near = [model for model, test in self.tests.items() if not test.p_value < LEVEL]
        advice = f"it cannot be told from {', '.join(near)}"
        count = len(self.seeds)
        if not self.users and count < FEWEST_PAIRS:
            advice += (
                f", as {counted(count, 'split')} cannot give a p-value below 0.05; use "
                f"{FEWEST_PAIRS} or more trials"
            )
        return f"No winner: {self.leader} is ahead, but {advice}. {text}; {ahead}."

    def never_right(self, most: int = 20) -> pd.DataFrame:
        """Return the nodes that all models got wrong whenever they were tested.

        Perhaps their labels are wrong. Columns node (its name), label, predicted (the most
        frequent prediction) and tested (in how many trials); often tested nodes first.
        """
        import pandas as pd

        if self.task != "classify":
            raise InputError(f"never_right is of classify, but the task is {self.task!r}.")
        dataset, how = self.data, (self.settings["per_class"], self.settings["split"])
        votes = np.zeros((dataset.n_nodes, dataset.n_classes), dtype=np.int64)
        for record in self.outcome.done:
            if "predicted" in record["details"]:
                split = one_trial.node_split(dataset, how[0], record["seed"], how[1], self.groups)
                votes[np.sort(split.test), record["details"]["predicted"]] += 1
        tested, nodes = votes.sum(axis=1), np.arange(dataset.n_nodes)
        right = votes[nodes, np.maximum(dataset.labels, 0)]
        found = np.flatnonzero((tested > len(self.models)) & (right == 0))
        found = found[np.argsort(-tested[found], kind="stable")][:most]
        names = dataset.node_names if dataset.node_names is not None else nodes
        classes = dataset.class_names or tuple(range(dataset.n_classes))
        return pd.DataFrame(
            {
                "node": [names[node] for node in found],
                "label": [classes[dataset.labels[node]] for node in found],
                "predicted": [classes[votes[node].argmax()] for node in found],
                "tested": tested[found],
            }
        )

    def to_csv(self, folder: PathLike) -> None:
        """Write table.csv and trials.csv to a folder."""
        write_text(Path(folder) / "table.csv", self.table.to_csv())
        write_text(Path(folder) / "trials.csv", self.trials.to_csv(index=False))

    def to_dict(self) -> dict[str, Any]:
        """Return everything that was measured, ready for JSON."""
        values = {
            model: {
                name: [self.values(model, name).get(seed) for seed in self.seeds]
                for name in self.metrics
            }
            for model in self.models
        }
        seconds = {m: sum(record["seconds"] for record in self.records(m)) for m in self.models}
        names = ("model", "seed", "error")
        return {
            "task": self.task,
            "data": self.name,
            "source": self.data.source,
            "fingerprint": self.data.fingerprint,
            "statistics": self.data.statistics(),
            **self.settings,
            "seeds": list(self.seeds),
            "models": values,
            "seconds": {model: round(value, 3) for model, value in seconds.items()},
            "leader": self.leader,
            "winner": self.winner,
            "conclusion": self.conclusion,
            "tests": {
                model: {"mean_difference": test.mean_difference, "p_value": test.p_value}
                for model, test in self.tests.items()
            },
            "failed": [{name: one[name] for name in names} for one in self.outcome.failed],
            "notes": self.notes,
        }

    @property
    def notes(self) -> list[str]:
        """Notes on the data, and on what the models chose."""
        found = [*self.data.notes]
        for record in self.outcome.done:
            found += [f"{record['model']}: {note}" for note in record["notes"]]
        return list(dict.fromkeys(found))


def compare(
    task: str,
    data: Data,
    models: Sequence[str] | None = None,
    *,
    trials: int | None = None,
    seed: int = 0,
    per_class: int | None = None,
    split: str | None = None,
    component: str | None = None,
    groups: Any = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    out: PathLike | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    retry_failed: bool = False,
    progress: bool = False,
) -> Comparison:
    """Fit models on the same random splits of some data, and say which one is best.

    Parameters
    ----------
    task : {"classify", "links", "recommend"}
    data : str, NodeDataset or Interactions
        Name of a data set, or one's own data, such as `truegraph.data.read_node_data` and
        `read_interactions` return.
    models : sequence of str, optional
        Names as of `NodeClassifier`, `LinkPredictor` and `Recommender`; of classify also
        "random-forest", "gradient-boosting" and "nearest-neighbours", which see features only. By
        default "auto" and fast rivals that need no torch, see `usual_models`.
    trials : int, optional
        Splits; by default 10, of recommend 3.
    seed : int, default=0
        Of the first trial; the next has seed + 1.
    per_class : int, optional
        Of classify: training labels of each class, by default 5.
    split : str, optional
        Of classify "random" or the published one, "fixed"; of recommend "random" or "time".
    component : {"full", "largest"}, optional
        Of classify and links: nodes to use; by default of links those of the largest component.
    groups : array-like of shape (n_nodes,), optional
        Of classify: nodes of one group, such as the visits of one patient, are never split between
        training and test.
    options : mapping, optional
        Options of models by their names.
    out : path-like, optional
        Folder that keeps every trial; the same call goes on where it was stopped.
    workers, cluster, retry_failed
        As of `truegraph.runner.run_trials`.
    progress : bool, default=False
        Whether to draw a progress bar on standard error.

    Returns
    -------
    Comparison
    """
    if task not in _METRICS:
        raise InputError(f"task={task!r} must be one of {', '.join(_METRICS)}.")
    names = None if models is None else _checked_models(models, task)
    count = _TRIALS[task] if trials is None else trials
    if count < 1:
        raise InputError(f"trials={trials} must be at least 1.")
    given = {"per_class": per_class, "split": split, "component": component}
    chosen = _checked_settings(task, {k: v for k, v in given.items() if v is not None})
    dataset = _loaded(task, data, chosen)
    names = names or usual_models(task, dataset)
    if groups is not None:
        groups = _checked_groups(task, dataset, groups, chosen)
    _check_splits(task, dataset, chosen, groups)
    seeds = tuple(range(seed, seed + count))
    shared = {model: _shared_options(task, model, seed) for model in names}
    jobs = [
        {
            "task": task,
            "data": dataset.name,
            "fingerprint": dataset.fingerprint,
            "settings": chosen,
            "model": model,
            "options": shared[model] | dict((options or {}).get(model, {})),
            "seed": one,
        }
        for one in seeds  # all models of a split first, so that a stopped run has pairs
        for model in names
    ]
    with ExitStack() as stack:
        folder = Path(out or stack.enter_context(tempfile.TemporaryDirectory()))
        outcome = run_trials(
            partial(_run, data if isinstance(data, str) else dataset, groups, seed),
            jobs,
            folder / FILE,
            workers=workers,
            cluster=cluster,
            retry_failed=retry_failed,
            progress=stack.enter_context(console_progress(progress)),
            named=partial(_named, *next(iter(_METRICS[task].items()))),
        )
        users = _users(outcome, folder) if task == "recommend" else {}
    return Comparison(task, dataset.name, dataset, names, seeds, chosen, outcome, users, groups)


def _checked_models(models: Sequence[str], task: str) -> tuple[str, ...]:
    names, known = (models,) if isinstance(models, str) else tuple(models), models_of(task)
    for name in names:
        if name not in known:
            raise InputError(f"no model is called {name!r}.{suggestion(name, known)}")
    if len(set(names)) < len(names):
        raise InputError(f"models={models!r} names a model twice; name each once.")
    return names


def _checked_settings(task: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a task, the usual ones among them."""
    other = "time" if task == "classify" else "fixed"  # a split of another task
    for name, value in given.items():
        if name not in _SETTINGS[task]:
            raise InputError(f"{name}={value!r} does not go with {task!r}; remove it.")
        known = [one for one in _CHOICES.get(name, (value,)) if one != other]
        if value not in known:
            raise InputError(f"{name}={value!r} must be {' or '.join(known)}.")
    per_class = given.get("per_class", 1)
    if not isinstance(per_class, int) or per_class < 1:
        raise InputError(f"per_class={per_class!r} must be a whole number of at least 1.")
    return _SETTINGS[task] | given


def _loaded(task: str, data: Data, settings: Mapping[str, Any]) -> Any:
    if isinstance(data, str):
        return _named_data(task, data, settings.get("component", "full"))
    kind = Interactions if task == "recommend" else NodeDataset
    if not isinstance(data, kind):
        raise InputError(
            f"data is a {type(data).__name__}; {task} needs the name of a data set or a "
            f"truegraph.data.{kind.__name__}."
        )
    is_part = isinstance(data, NodeDataset) and settings["component"] == "largest"
    return data.largest_component() if is_part else data  # type: ignore[union-attr]


@lru_cache(maxsize=2)
def _named_data(task: str, name: str, component: Any) -> Any:
    return (
        load_interactions(name) if task == "recommend" else load_dataset(name, component=component)
    )


def _checked_groups(
    task: str, dataset: Any, groups: Any, settings: dict[str, Any]
) -> tuple[str, ...]:
    """Return the group of every node; the settings get a digest of them, to tell trials apart."""
    if task != "classify" or settings["split"] == "fixed" or settings["component"] == "largest":
        raise InputError("groups go with classify, a random split and all nodes; remove them.")
    names = tuple(str(group) for group in groups)
    if len(names) != dataset.n_nodes:
        raise InputError(f"groups has {len(names)} entries for {dataset.n_nodes} nodes; give one "
                         "each.")  # fmt: skip
    settings["groups"] = hashlib.sha256("\n".join(names).encode()).hexdigest()[:16]
    return names


def _check_splits(task: str, dataset: Any, settings: Mapping[str, Any], groups: Any) -> None:
    """Raise an InputError for data that cannot be split, before the first trial."""
    if task == "classify":
        if dataset.n_classes < 2:
            raise InputError(f"data {dataset.name!r} have fewer than two classes.")
        one_trial.node_split(dataset, settings["per_class"], 0, settings["split"], groups)
    elif task == "links":
        if dataset.graph is None:
            raise InputError(f"data {dataset.name!r} have no graph, hence no links to predict.")
        split_links(dataset.graph, random_state=0)
    else:
        one_trial.interaction_split(dataset, settings["split"], 0)


def _shared_options(task: str, model: str, seed: int) -> dict[str, Any]:
    """Return the seed of the embedding: one serves all trials, since it sees no labels.

    Without torch "auto" goes without its trained member.
    """
    if task != "classify" or model in one_trial.RIVALS:
        return {}
    from truegraph.classify.models import MODELS

    if model == "auto" and find_spec("torch") is None:
        return {"trained_member": False}
    return {"embedding_seed": seed} if "embedding_seed" in MODELS[model].defaults else {}


def _run(data: Data, groups: Any, first_seed: int, job: Job) -> Mapping[str, Any]:
    """Run a trial on the data that the comparison was started with."""
    found = _loaded(job["task"], data, job["settings"])
    if found.fingerprint != job["fingerprint"]:
        raise DataError(
            f"data {job['data']!r} differ from those that the comparison was started with; give "
            "all workers the same data."
        )
    if job["task"] == "classify":
        return one_trial.classify_trial(found, job, groups, job["seed"] == first_seed)
    run = one_trial.link_trial if job["task"] == "links" else one_trial.recommend_trial
    return run(found, job)


def _named(name: str, metric: Metric, record: Job) -> str:
    value = record["metrics"].get(name)
    return f"{record['model']}" + ("" if value is None else f" {metric.shown(value)}")


def _users(outcome: Outcome, folder: Path) -> dict[str, dict[int, float]]:
    """Return recall@20 of every user, averaged over the trials, by model."""
    import pandas as pd

    found: dict[str, list[Any]] = {}
    for record in outcome.done:
        arrays = read_npz(folder / record["details"]["users"])
        one = pd.Series(arrays["recall"], index=arrays["users"])
        found.setdefault(record["model"], []).append(one)
    return {
        model: pd.concat(trials).groupby(level=0, sort=False).mean().to_dict()
        for model, trials in found.items()
    }
