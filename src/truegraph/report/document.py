"""A comparison of models as one document: every value of every trial, and what they add up to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from truegraph.data.storage import read_npz
from truegraph.evaluation import paired_wilcoxon
from truegraph.experiments import TrialRecord, find_task
from truegraph.experiments.provenance import versions
from truegraph.report.runs import Run
from truegraph.tasks.links.names import BAYESIAN
from truegraph.wording import counted

if TYPE_CHECKING:
    from truegraph.experiments import Cell

FEWEST_PAIRS = 6  # with fewer, a two-sided signed-rank test cannot fall below 0.05
_TESTED = "recall@20"  # what recommenders are compared by, user by user
_REMOVAL_FACTS = (
    *("removed_fraction", "removed_pairs", "overlap_test", "overlap_validation"),
    *("precision", "validation_recall", "rank_correlation"),
)
_OF_REMOVAL = ("overlap_test", "overlap_validation", "removed_fraction", "removal_precision")

Values = dict[str, list[float | None]]


def comparison_document(run: Run) -> dict[str, Any]:
    """Return the results of a comparison on one data set, ready for JSON.

    Parameters
    ----------
    run : Run
        One data set, one choice of the conditions, any number of models.

    Returns
    -------
    document : dict
        ``models`` maps the label of each model to its metrics, each a list with one value per
        seed, None where a trial failed or the metric is not defined.
    """
    experiment = run.experiment
    task, cells = find_task(experiment.task), experiment.cells()
    data: Any = task.open(cells[0])
    trials = {label: _by_seed(run, label) for label in run.labels}
    shown = [name for name in task.metrics if name not in _OF_REMOVAL]
    models = {
        label: {name: _values(found, name) for name in shown} for label, found in trials.items()
    }
    memory = [r.peak_memory_mb for r in run.records if r.peak_memory_mb is not None]
    document: dict[str, Any] = {
        "task": experiment.task,
        "dataset": cells[0].dataset,
        "source": data.source,
        "fingerprint": data.fingerprint,
        "statistics": data.statistics(),
        "seeds": experiment.seeds,
        "models": models,
        "seconds": {
            label: round(sum(record.seconds for record in found if record), 3)
            for label, found in trials.items()
        },
        "versions": versions(),
        "peak_memory_mb": max(memory, default=None),
        "failed": len(run.failed),
    }
    document |= _OF_TASK[experiment.task](run, trials, models, data)
    return document | {"notes": _notes(run, data.notes, document)}


def headline(document: Mapping[str, Any]) -> str:
    """Return in a few sentences what was compared, and by how much the models differ."""
    count = len(document["seeds"])
    text = _HEADS[document["task"]](document, count)
    for name, test in document["comparisons"].items():
        metric, means, p_values = _test(test)
        points = 100 * sum(means) / len(means)
        side = "above" if points >= 0 else "below"
        text += f" {name} is {abs(points):.1f} points of {metric} {side} {test['against']}"
        text += f" (p = {', '.join(f'{p:.2g}' for p in p_values)})."
    return text


def _test(test: Mapping[str, Any]) -> tuple[str, list[float], list[float]]:
    """Return what a test is about, the mean differences and the p-values, one or one per trial."""
    if "auc" in test:
        return "AUC", [test["auc"]["mean_difference"]], [test["auc"]["p_value"]]
    means, p_values = test["mean_difference"], test["p_value"]
    if isinstance(means, list):
        return test["metric"], means, p_values
    return test["metric"], [means], [p_values]


def _by_seed(run: Run, label: str) -> list[TrialRecord | None]:
    found = {record.seed: record for record in run.done if record.label == label}
    return [found.get(seed) for seed in run.experiment.seeds]


def _values(trials: Sequence[TrialRecord | None], metric: str) -> list[float | None]:
    return [None if trial is None else trial.metrics.get(metric) for trial in trials]


def _paired(first: Sequence[float | None], second: Sequence[float | None]) -> dict[str, float]:
    """Return mean difference and p-value over the trials that both have; {} with none."""
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
    if not pairs:
        return {}
    test = paired_wilcoxon(*zip(*pairs, strict=True))
    return {"mean_difference": test.mean_difference, "p_value": test.p_value}


def _notes(run: Run, of_data: Sequence[str], document: Mapping[str, Any]) -> list[str]:
    notes = list(of_data)
    for record in run.records:
        notes += [f"{record.label}: {note}" for note in record.notes if note not in of_data]
    shared = [
        f"{entry.label}: all trials share the node embedding of seed "
        f"{entry.settings['embedding_seed']}, which sees no labels"
        for entry in run.experiment.models
        if "embedding_seed" in entry.settings and entry.name != "fast"
    ]
    notes += shared if len(document["seeds"]) > 1 else []
    is_tested = run.experiment.task != "recommendation" and document["comparisons"]
    if is_tested and len(document["seeds"]) < FEWEST_PAIRS:
        notes.append(
            f"{counted(len(document['seeds']), 'split')} cannot give a p-value below 0.05; use "
            f"--trials {FEWEST_PAIRS} or more for a verdict"
        )
    return list(dict.fromkeys(notes))


# --- what only one task has ---------------------------------------------------------------------


def _classification(
    run: Run, trials: Mapping[str, Sequence[TrialRecord | None]], models: Any, data: Any
) -> dict[str, Any]:
    conditions = run.experiment.cells()[0].conditions
    first, *others = models
    tests = {name: _paired(models[name]["accuracy"], models[first]["accuracy"]) for name in others}
    return {
        "component": conditions["component"],
        "split": conditions["split"],
        "per_class": conditions["labels"],
        "test_nodes": max(
            (sum(record.details["reliability"]["count"]) for record in run.done), default=0
        ),
        "comparisons": {
            name: {"against": first, "metric": "accuracy", **test}
            for name, test in tests.items()
            if test
        },
        "stages": {label: _stages(found) for label, found in trials.items()},
        "learned_graphs": {
            label: {
                name: [trial.details["learned_graph"][name] for trial in found if trial]
                for name in ("mean_degree", "relative_gap", "converged")
            }
            for label, found in trials.items()
            if any(trial and "learned_graph" in trial.details for trial in found)
        },
    }


def _stages(trials: Sequence[TrialRecord | None]) -> dict[str, float]:
    """Return the seconds of each stage, over all trials."""
    total: dict[str, float] = {}
    for trial in trials:
        for name, seconds in (trial.details.get("stages", {}) if trial else {}).items():
            total[name] = total.get(name, 0.0) + seconds
    return total


def _links(
    run: Run, trials: Mapping[str, Sequence[TrialRecord | None]], models: Any, data: Any
) -> dict[str, Any]:
    links = data.statistics()["edges"]
    bases = {name: name[1:] for name in models if name in BAYESIAN and name[1:] in models}
    tests = {
        name: {
            metric: _paired(models[name][metric], models[base][metric]) for metric in ("auc", "ap")
        }
        for name, base in bases.items()
    }
    return {
        "component": run.experiment.cells()[0].conditions["component"],
        "hidden_links": {"validation": links // 20, "test": links // 10},
        "comparisons": {
            name: {"against": bases[name], **test} for name, test in tests.items() if test["auc"]
        },
        "learned_graphs": {
            label: [trial.details["filling"] for trial in found if trial]
            for label, found in trials.items()
            if any(trial and "filling" in trial.details for trial in found)
        },
    }


def _recommendation(
    run: Run, trials: Mapping[str, Sequence[TrialRecord | None]], models: Any, data: Any
) -> dict[str, Any]:
    from truegraph.experiments.tasks.recommendation import split_of

    cell: Cell = run.experiment.cells()[0]
    split = split_of(data, cell, run.experiment.seed)
    done = run.done[0].details if run.done else {}
    return {
        "split": {name: getattr(split, name).nnz for name in ("train", "validation", "test")},
        "mask": cell.conditions["mask"].split("+"),
        "comparisons": _over_users(run, trials),
        **_removals(trials),
        "skipped_users": done.get("skipped_users"),
    }


def _removals(trials: Mapping[str, Sequence[TrialRecord | None]]) -> dict[str, Any]:
    """Return what the first Bayesian model took out of the negatives, trial by trial."""
    for found in trials.values():
        facts = [_removed(trial) for trial in found if trial and "removed" in trial.details]
        if facts:
            return {name: [one[name] for one in facts] for name in facts[0]}
    return dict.fromkeys(_REMOVAL_FACTS)


def _removed(trial: TrialRecord) -> dict[str, Any]:
    removed = trial.details["removed"]
    return {
        "removed_fraction": removed["fraction"],
        "removed_pairs": removed["pairs"],
        "overlap_test": trial.metrics["overlap_test"],
        "overlap_validation": trial.metrics["overlap_validation"],
        "precision": trial.metrics["removal_precision"],
        "validation_recall": removed["validation_recall"],
        "rank_correlation": trial.details["learned_graph"]["rank_correlation"],
    }


def _over_users(
    run: Run, trials: Mapping[str, Sequence[TrialRecord | None]]
) -> dict[str, dict[str, Any]]:
    """Return tests over the users of each trial, every model against the first."""
    first, *others = trials
    compared = {}
    for name in others:
        tests = [
            paired_wilcoxon(_users(run, one), _users(run, base))
            for one, base in zip(trials[name], trials[first], strict=True)
            if one is not None and base is not None
        ]
        if tests:
            compared[name] = {
                "against": first,
                "metric": _TESTED,
                "mean_difference": [test.mean_difference for test in tests],
                "p_value": [test.p_value for test in tests],
            }
    return compared


def _users(run: Run, trial: TrialRecord) -> Any:
    return read_npz(run.folder / trial.details["users_file"])[_TESTED]


_OF_TASK = {
    "classification": _classification,
    "links": _links,
    "recommendation": _recommendation,
}


# --- headlines ----------------------------------------------------------------------------------


def _of_nodes(document: Mapping[str, Any], count: int) -> str:
    is_fixed = document["split"] == "fixed"
    runs = "training" if is_fixed else "random split"
    where = " on the fixed split" if is_fixed else ""
    return (
        f"{document['dataset']}, {counted(document['per_class'], 'label')} per class, "
        f"{counted(count, runs)}{where} with {document['test_nodes']:,} test nodes."
    )


def _of_links(document: Mapping[str, Any], count: int) -> str:
    return (
        f"{document['dataset']}, {counted(count, 'random split')}, each with "
        f"{counted(document['hidden_links']['test'], 'hidden link')} to tell from as many "
        "unlinked pairs."
    )


def _of_interactions(document: Mapping[str, Any], count: int) -> str:
    size = document["statistics"]
    return (
        f"{document['dataset']}, {counted(size['users'], 'user')}, "
        f"{counted(size['items'], 'item')}, {counted(size['interactions'], 'interaction')}; "
        f"{counted(count, 'split')}, masked: {'+'.join(document['mask'])}."
    )


_HEADS = {
    "classification": _of_nodes,
    "links": _of_links,
    "recommendation": _of_interactions,
}
