"""``truegraph recommend DATASET``: a model and its Bayesian version on splits of a data set."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from truegraph.cli.compilation import announce_compilation
from truegraph.cli.outputs import print_json, print_rows
from truegraph.memory import peak_memory_mb

if TYPE_CHECKING:
    from truegraph.data import Interactions, InteractionSplit
    from truegraph.evaluation.ranking import RankingScores
    from truegraph.tasks.recommend.trials import ModelLists

_PACKAGES = ("truegraph", "torch", "numpy", "scipy", "numba")
_KS = (10, 20)
_SHOWN = ("recall@10", "recall@20", "ndcg_ngcf@10", "ndcg_ngcf@20", "ndcg@20", "coverage@20")
_TESTED = "recall@20"
_FACTS = (
    "removed_fraction",
    "removed_pairs",
    "overlap_test",
    "overlap_validation",
    "precision",
    "validation_recall",
    "rank_correlation",
)


@dataclass(frozen=True)
class DatasetJob:
    """What the command was asked for, after checking.

    Attributes
    ----------
    name, model : str
    references : tuple of str
        Models to run beside it.
    trials, seed : int
    mask : tuple of str
        Interactions that are no candidates in the test.
    settings : dict
        Of the trained model.
    fractions : tuple of float
        Of removed pairs.
    out : Path or None
        Folder of results.
    jobs : int or None
    as_json, quiet : bool
    """

    name: str
    model: str
    references: tuple[str, ...]
    trials: int
    mask: tuple[str, ...]
    settings: dict[str, Any]
    fractions: tuple[float, ...]
    seed: int
    out: Path | None
    jobs: int | None
    as_json: bool
    quiet: bool

    @property
    def seeds(self) -> list[int]:
        """Seed of each trial."""
        return list(range(self.seed, self.seed + self.trials))


@dataclass(frozen=True, eq=False)
class Trial:
    """One split and what every model made of it."""

    split: InteractionSplit
    lists: dict[str, ModelLists]
    scores: dict[str, RankingScores]


def recommend_dataset(job: DatasetJob) -> None:
    """Train every model on every split, then print and write what came of it."""
    from truegraph.data import load_interactions

    data = load_interactions(job.name)
    trials = _run(data, job)
    document = _document(data, trials, job)
    if job.out is not None:
        document["files"] = _write(job.out, trials, document)
    if job.as_json:
        print_json(document)
    elif not job.quiet:
        _print_summary(document, job)


def _run(data: Interactions, job: DatasetJob) -> list[Trial]:
    from truegraph.data import split_randomly
    from truegraph.progress import console_progress

    if not job.quiet:
        announce_compilation("truegraph.learning", "truegraph.nn", seconds=60)
    from truegraph.evaluation.ranking import score_rankings
    from truegraph.tasks.recommend.trials import RecommendationTrial
    from truegraph.threads import use_threads

    trials = []
    with use_threads(job.jobs), console_progress(not job.quiet) as progress:
        for seed in job.seeds:
            split = split_randomly(data, random_state=seed)
            trial = RecommendationTrial(split, seed, mask=job.mask, progress=progress)
            lists = {name: trial.run(name, own) for name, own in _models(job).items()}
            scores = {
                name: score_rankings(found.top_items, split.test, _KS, mask=job.mask)
                for name, found in lists.items()
            }
            trials.append(Trial(split, lists, scores))
    return trials


def _models(job: DatasetJob) -> dict[str, dict[str, Any]]:
    """Return every model to run, with its settings."""
    from truegraph.nn.recommenders.registry import RANKING_MODELS

    chosen: dict[str, dict[str, Any]] = {job.model: job.settings}
    if job.model in RANKING_MODELS:
        chosen[f"b{job.model}"] = job.settings | {"fractions": job.fractions}
    return chosen | {name: {} for name in job.references}


def _document(data: Interactions, trials: list[Trial], job: DatasetJob) -> dict[str, Any]:
    names = list(trials[0].lists)
    split = trials[0].split
    return {
        "dataset": data.name,
        "source": data.source,
        "fingerprint": data.fingerprint,
        "statistics": data.statistics(),
        "split": {
            "train": split.train.nnz,
            "validation": split.validation.nnz,
            "test": split.test.nnz,
        },
        "mask": list(job.mask),
        "seeds": job.seeds,
        "settings": job.settings,
        "models": {name: _values([trial.scores[name] for trial in trials]) for name in names},
        **_bayesian_facts(trials, job),
        "comparisons": _comparisons(trials, job),
        "skipped_users": trials[0].scores[job.model].skipped,
        "seconds": {
            name: round(sum(trial.lists[name].seconds for trial in trials), 3) for name in names
        },
        "notes": list(data.notes),
        "versions": {name: metadata.version(name) for name in _PACKAGES}
        | {"python": platform.python_version()},
        "peak_memory_mb": peak_memory_mb(),
        "out": None if job.out is None else str(job.out),
        "files": [],
    }


def _values(scores: list[RankingScores]) -> dict[str, list[float]]:
    means = [one.means() for one in scores]
    return {name: [values[name] for values in means] for name in means[0]}


def _bayesian_facts(trials: list[Trial], job: DatasetJob) -> dict[str, Any]:
    """Return what was removed in each trial; None for models without negatives."""
    if f"b{job.model}" not in trials[0].lists:
        return dict.fromkeys(_FACTS)
    facts: dict[str, list[Any]] = {key: [] for key in _FACTS}
    for trial in trials:
        result = trial.lists[f"b{job.model}"].bayesian
        assert result is not None
        removed, held_out = result.removed, trial.split.test + trial.split.validation
        facts["removed_fraction"].append(removed.fraction)
        facts["removed_pairs"].append(removed.count)
        facts["overlap_test"].append(removed.overlap(trial.split.test))
        facts["overlap_validation"].append(removed.overlap(trial.split.validation))
        facts["precision"].append(removed.precision(held_out))
        facts["validation_recall"].append({f"{f:g}": r for f, r in result.recalls.items()})
        facts["rank_correlation"].append(_finite(result.ranked.rank_correlation))
    return facts


def _finite(value: float) -> float | None:
    return None if value != value else value


def _comparisons(trials: list[Trial], job: DatasetJob) -> dict[str, Any]:
    """Return Wilcoxon tests over the users of each trial, against the model asked for."""
    from truegraph.evaluation import paired_wilcoxon

    compared: dict[str, Any] = {}
    for name in trials[0].lists:
        if name == job.model:
            continue
        tests = [
            paired_wilcoxon(
                trial.scores[name].per_user[_TESTED], trial.scores[job.model].per_user[_TESTED]
            )
            for trial in trials
        ]
        compared[name] = {
            "against": job.model,
            "metric": _TESTED,
            "mean_difference": [test.mean_difference for test in tests],
            "p_value": [test.p_value for test in tests],
        }
    return compared


def _write(folder: Path, trials: list[Trial], document: dict[str, Any]) -> list[str]:
    import pandas as pd

    from truegraph.data.storage import atomic_write, write_json

    files = ["results.json", "users.csv"]
    tables = [
        pd.DataFrame({"seed": seed, "model": name, "user": one.users} | one.per_user)
        for seed, trial in zip(document["seeds"], trials, strict=True)
        for name, one in trial.scores.items()
    ]
    with atomic_write(folder / "users.csv") as temporary:
        pd.concat(tables).to_csv(temporary, index=False)
    write_json(folder / "results.json", document | {"files": files})
    return files


def _print_summary(document: dict[str, Any], job: DatasetJob) -> None:
    size, count = document["statistics"], len(document["seeds"])
    typer.echo(
        f"{document['dataset']}, {size['users']:,} users, {size['items']:,} items, "
        f"{size['interactions']:,} interactions; {count} split{'s' if count > 1 else ''}, "
        f"masked: {'+'.join(document['mask'])}. In per cent, mean over the splits:"
    )
    layout = "  {:<12}" + "{:>14}" * len(_SHOWN)
    typer.echo("\n" + layout.format("", *_SHOWN))
    for name, values in document["models"].items():
        means = [sum(values[metric]) / count for metric in _SHOWN]
        typer.echo(layout.format(name, *(f"{100 * mean:.1f}" for mean in means)))
    typer.echo()
    rows = []
    if document["removed_fraction"] is not None:
        for seed, fraction, overlap in zip(
            document["seeds"], document["removed_fraction"], document["overlap_test"], strict=True
        ):
            rows.append(
                (f"seed {seed}", f"removed {fraction:.0%} of the pairs, {overlap:.1%} of the test")
            )
    for name, test in document["comparisons"].items():
        values = ", ".join(f"{p:.2g}" for p in test["p_value"])
        rows.append((name, f"against {test['against']} over users, {_TESTED}: p = {values}"))
    rows.append(("seconds", ", ".join(f"{n} {s:.1f}" for n, s in document["seconds"].items())))
    rows += [("note", note) for note in document["notes"]]
    if job.out is not None:
        rows += [("written", str(job.out / name)) for name in document["files"]]
    print_rows(rows)
