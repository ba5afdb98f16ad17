"""``truegraph recommend --interactions FILE``: lists of items for the users of one's own file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from truegraph.cli.compilation import announce_compilation
from truegraph.cli.outputs import print_json, print_rows
from truegraph.errors import InputError
from truegraph.memory import peak_memory_mb

if TYPE_CHECKING:
    from truegraph.data import Interactions
    from truegraph.tasks.recommend.estimator import BayesianRecommender, Recommender


@dataclass(frozen=True)
class FilesJob:
    """What the command was asked for, after checking.

    Attributes
    ----------
    interactions : Path
    columns : dict of str to str or None
        Names of the columns user, item and rating.
    min_rating : float or None
    min_per_user, min_per_item : int
    model : str
        With a ``b`` in front for the Bayesian version.
    k : int
        Recommendations per user.
    settings : dict
        Of the trained model.
    fractions : tuple of float
        Of removed pairs.
    seed : int
    out : Path
        Where the recommendations go.
    save : Path or None
        Where the trained recommender goes.
    jobs : int or None
    as_json, quiet : bool
    """

    interactions: Path
    columns: dict[str, str | None]
    min_rating: float | None
    min_per_user: int
    min_per_item: int
    model: str
    k: int
    settings: dict[str, Any]
    fractions: tuple[float, ...]
    seed: int
    out: Path
    save: Path | None
    jobs: int | None
    as_json: bool
    quiet: bool


def recommend_files(job: FilesJob) -> None:
    """Learn from the file, write recommendations for all its users, and say what was done."""
    data = _read(job)
    recommender = _fit(data, job)
    table = recommender.recommend(data.user_ids, k=job.k)
    from truegraph.data.storage import atomic_write

    with atomic_write(job.out) as temporary:
        table.to_csv(temporary, index=False)
    if job.save is not None:
        recommender.save(job.save)
    document = _document(data, recommender, job) | {
        "recommendations": len(table),
        "users_with_popular_items": int(table.loc[table["popular"], "user"].nunique()),
    }
    if job.as_json:
        print_json(document)
    elif not job.quiet:
        _print_summary(document, job)


def _read(job: FilesJob) -> Interactions:
    from truegraph.data import read_interactions

    data = read_interactions(
        job.interactions,
        user=job.columns["user"],
        item=job.columns["item"],
        rating=job.columns["rating"],
    )
    if job.min_rating is not None:
        data = data.with_min_rating(job.min_rating)
    data = data.with_min_counts(job.min_per_user, job.min_per_item)
    if len(data) == 0:
        raise InputError(f"{job.interactions}: no interactions are left. Lower the thresholds.")
    return data


def _fit(data: Interactions, job: FilesJob) -> Recommender | BayesianRecommender:
    if not job.quiet:
        announce_compilation("truegraph.learning", "truegraph.nn", seconds=60)
    from truegraph.tasks.recommend.estimator import BayesianRecommender, Recommender
    from truegraph.tasks.recommend.trials import split_name
    from truegraph.threads import use_threads

    base, is_bayesian = split_name(job.model)
    common: dict[str, Any] = {
        "options": job.settings or None,
        "random_state": job.seed,
        "progress": not job.quiet,
    }
    with use_threads(job.jobs):
        if is_bayesian:
            return BayesianRecommender(base, fractions=job.fractions, **common).fit(data)
        return Recommender(base, **common).fit(data)


def _document(
    data: Interactions, recommender: Recommender | BayesianRecommender, job: FilesJob
) -> dict[str, Any]:
    trained = recommender.history_
    removed = getattr(recommender, "removed_negatives_", None)
    recall = None if trained is None else trained.best_recall
    return {
        "interactions": str(job.interactions),
        "fingerprint": data.fingerprint,
        "statistics": data.statistics(),
        "model": job.model,
        "settings": job.settings,
        "seed": job.seed,
        "k": job.k,
        "epochs": None if trained is None else len(trained.losses),
        "validation_recall@20": None if recall is None or recall != recall else recall,
        "removed_fraction": None if removed is None else removed.fraction,
        "removed_pairs": None if removed is None else removed.count,
        "notes": list(data.notes),
        "seconds": round(recommender.seconds_, 3),
        "peak_memory_mb": peak_memory_mb(),
        "out": str(job.out),
        "save": None if job.save is None else str(job.save),
    }


def _print_summary(document: dict[str, Any], job: FilesJob) -> None:
    size = document["statistics"]
    typer.echo(
        f"{job.k} items for each of {size['users']:,} users with {job.model}, from "
        f"{size['interactions']:,} interactions with {size['items']:,} items"
    )
    recall, removed = document["validation_recall@20"], document["removed_fraction"]
    rows = [
        ("validation", "-" if recall is None else f"recall@20 {recall:.1%}"),
        ("removed", "nothing" if removed is None else f"{removed:.0%} of the pairs"),
        ("popular", f"{document['users_with_popular_items']} users got the most popular items"),
        ("seconds", f"{document['seconds']:.2f}"),
    ]
    rows += [("note", note) for note in document["notes"]]
    written = [str(path) for path in (job.out, job.save) if path is not None]
    print_rows([*rows, ("written", ", ".join(written))])
