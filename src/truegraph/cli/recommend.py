"""``truegraph recommend``: lists of items for the users of one's own file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truegraph.cli.common import options as cli
from truegraph.cli.common.compilation import announce_compilation
from truegraph.cli.common.options import MODEL, OUTPUT, option
from truegraph.cli.common.outputs import (
    announce,
    check_target,
    check_target_folder,
    print_json,
    print_rows,
    recorded_warnings,
    report_target,
    write_page,
)
from truegraph.errors import InputError
from truegraph.runtime.memory import peak_memory_mb
from truegraph.tasks.recommend.names import MODELS
from truegraph.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from truegraph.data import Interactions
    from truegraph.report.page import Page
    from truegraph.tasks.recommend.estimator import BayesianRecommender, Recommender


def recommend(
    context: typer.Context,
    interactions: cli.Interactions = None,
    user: cli.User = None,
    item: cli.Item = None,
    rating: cli.Rating = None,
    time: cli.Time = None,
    min_rating: cli.MinRating = None,
    min_per_user: cli.MinPerUser = 1,
    min_per_item: cli.MinPerItem = 1,
    model: Annotated[
        str,
        option(
            MODEL,
            f"Model: {', '.join(MODELS)}. A b in front, as in bngcf, means the Bayesian version.",
            metavar="NAME",
            show_default=True,
        ),
    ] = "refined",
    fractions: cli.Fractions = None,
    epochs: cli.Epochs = None,
    seed: cli.Seed = 0,
    k: Annotated[
        int, option(OUTPUT, "Recommendations per user.", "-k", least=1, show_default=True)
    ] = 10,
    out: Annotated[
        Path | None, option(OUTPUT, "Recommendations, a .csv file (required).", metavar="FILE")
    ] = None,
    save: cli.Save = None,
    escape_formulas: cli.EscapeFormulas = False,
    report: cli.Report = None,
    as_json: cli.Json = False,
    jobs: cli.Threads = None,
    quiet: cli.Quiet = False,
) -> None:
    """Recommend items to your users, without training against what they would probably like.

    Needs --interactions.
    """
    cli.refuse_dataset(context, "ngcf,bngcf")
    if interactions is None:
        raise InputError("there is nothing to learn from; give --interactions.")
    cli.check_ratings(rating, min_rating)
    name = cli.one_model(model, MODELS)
    settings, bayesian = cli.recommender_options([name], epochs, fractions)
    where = _target(out, interactions)
    check_target_folder("--save", save)
    job = _Job(
        interactions=interactions,
        columns={"user": user, "item": item, "rating": rating, "time": time},
        min_rating=min_rating,
        min_per_user=min_per_user,
        min_per_item=min_per_item,
        model=name,
        k=k,
        settings=settings,
        fractions=bayesian.get("fractions"),
        seed=seed,
        out=where,
        escape_formulas=escape_formulas,
        save=save,
        page=report_target(report, where),
        jobs=jobs,
        as_json=as_json,
        quiet=quiet,
    )
    if not quiet:
        announce(f"Reading {interactions} ...")
    _recommend(job)


@dataclass(frozen=True)
class _Job:
    """What the command was asked for, after checking; `columns` are user, item, rating and time."""

    interactions: Path
    columns: dict[str, str | None]
    min_rating: float | None
    min_per_user: int
    min_per_item: int
    model: str
    k: int
    settings: dict[str, Any]
    fractions: list[float] | None
    seed: int
    out: Path
    escape_formulas: bool
    save: Path | None
    page: Path | None
    jobs: int | None
    as_json: bool
    quiet: bool


def _target(out: Path | None, source: Path) -> Path:
    if out is None:
        raise InputError("--out is missing; name the .csv file for the recommendations.")
    check_target("--out", out, (".csv",), str(source))
    return out


def _recommend(job: _Job) -> None:
    """Learn from the file, write recommendations for all its users, and say what was done."""
    data = _read(job)
    with recorded_warnings() as heard:
        recommender = _fit(data, job)
    table = recommender.recommend(data.user_ids, k=job.k)
    from truegraph.data.spreadsheets import write_csv

    write_csv(table, job.out, escape=job.escape_formulas)
    if job.save is not None:
        recommender.save(job.save)
    document = _document(data, recommender, job) | {
        "recommendations": len(table),
        "users_with_popular_items": int(table.loc[table["popular"], "user"].nunique()),
    }
    if job.page is not None:
        write_page(_page(recommender, table, document, heard), job.page)
    if job.as_json:
        print_json(document)
    elif not job.quiet:
        _print_summary(document, job)


def _read(job: _Job) -> Interactions:
    from truegraph.experiments.tasks.opened_data import read_own_interactions

    return read_own_interactions(
        job.interactions,
        job.columns,
        min_rating=job.min_rating,
        min_per_user=job.min_per_user,
        min_per_item=job.min_per_item,
    )


def _fit(data: Interactions, job: _Job) -> Recommender | BayesianRecommender:
    if not job.quiet:
        announce_compilation("truegraph.learning", "truegraph.nn", seconds=60)
    from truegraph.runtime.threads import use_threads
    from truegraph.tasks.recommend.estimator import BayesianRecommender, Recommender
    from truegraph.tasks.recommend.trials import split_name

    base, is_bayesian = split_name(job.model)
    common: dict[str, Any] = {
        "options": job.settings or None,
        "random_state": job.seed,
        "progress": not job.quiet,
    }
    with use_threads(job.jobs):
        if is_bayesian:
            own: dict[str, Any] = {} if job.fractions is None else {"fractions": job.fractions}
            return BayesianRecommender(base, **own, **common).fit(data)
        return Recommender(base, **common).fit(data)


def _document(
    data: Interactions, recommender: Recommender | BayesianRecommender, job: _Job
) -> dict[str, Any]:
    trained = recommender.history_
    removed = getattr(recommender, "removed_negatives_", None)
    choice = getattr(recommender, "choice_", None)
    recall = trained.best_recall if trained is not None else getattr(choice, "recall", None)
    return {
        "interactions": str(job.interactions),
        "fingerprint": data.fingerprint,
        "statistics": data.statistics(),
        "model": job.model,
        "settings": job.settings,
        "seed": job.seed,
        "k": job.k,
        "chosen": None if choice is None else vars(choice.settings),
        "fitted_to": "all interactions, after choices on held-out ones",
        "epochs": None if trained is None else len(trained.losses),
        "validation_recall@20": None if recall is None or recall != recall else recall,
        "removed_fraction": None if removed is None else removed.fraction,
        "removed_pairs": None if removed is None else removed.count,
        "notes": list(data.notes),
        "seconds": round(recommender.seconds_, 3),
        "peak_memory_mb": peak_memory_mb(),
        "out": str(job.out),
        "save": None if job.save is None else str(job.save),
        "report": None if job.page is None else str(job.page),
    }


def _page(
    recommender: Recommender | BayesianRecommender,
    table: pd.DataFrame,
    document: dict[str, Any],
    heard: Sequence[str],
) -> Page:
    from truegraph.report.answer_page import answer_page, table_of
    from truegraph.report.parts.recommended_items import recommended_parts

    size = document["statistics"]
    return answer_page(
        f"Recommendations by {document['model']}",
        f"{counted(document['k'], 'item')} for each of {counted(size['users'], 'user')}.",
        came_in={"interactions": document["interactions"], **size},
        learned={
            "fitted to": document["fitted_to"],
            "chosen": document["chosen"] and _words(document["chosen"]),
            "epochs": document["epochs"],
            "pairs taken out of the negatives": document["removed_pairs"],
            "users who got the most popular items": document["users_with_popular_items"],
        },
        sure={"recall@20 on validation interactions": document["validation_recall@20"]},
        look_at=table_of("First recommendations", "Do they make sense?", table),
        more=recommended_parts(recommender, table),
        notes=document["notes"],
        warnings=heard,
    )


def _print_summary(document: dict[str, Any], job: _Job) -> None:
    size = document["statistics"]
    typer.echo(
        f"{counted(job.k, 'item')} for each of {counted(size['users'], 'user')} with {job.model}, "
        f"from {counted(size['interactions'], 'interaction')} with {counted(size['items'], 'item')}"
    )
    recall, removed = document["validation_recall@20"], document["removed_fraction"]
    chosen = document["chosen"] or {}
    rows = [
        ("validation", "-" if recall is None else f"recall@20 {recall:.1%}"),
        ("fitted to", document["fitted_to"]),
        (
            "popular",
            f"{counted(document['users_with_popular_items'], 'user')} got the most popular items",
        ),
        ("seconds", f"{document['seconds']:.2f}"),
    ]
    if chosen:
        rows.append(("chosen", _words(chosen)))
    if removed is not None:
        rows.append(("removed", f"{removed:.0%} of the pairs"))
    rows += [("note", note) for note in document["notes"]]
    written = [str(path) for path in (job.out, job.save, job.page) if path is not None]
    print_rows([*rows, ("written", ", ".join(written))])


def _words(settings: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in settings.items())
