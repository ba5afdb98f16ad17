"""``truegraph recommend``: lists of items for the users of one's own file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from truegraph.cli.common import options as cli
from truegraph.cli.common.answers import AnswerOptions
from truegraph.cli.common.compilation import announce_compilation
from truegraph.cli.common.options import MODEL, OUTPUT, option
from truegraph.cli.common.outputs import recorded_warnings
from truegraph.errors import InputError
from truegraph.tasks.recommend.names import MODELS
from truegraph.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from truegraph.data import Interactions
    from truegraph.report.page import Page
    from truegraph.tasks.recommend.estimator import BayesianRecommender, Recommender


@dataclass(frozen=True, kw_only=True)
class _Job(AnswerOptions, cli.InteractionFile):
    """What the command was asked for."""

    answers = "recommendations"

    model: str = option(
        MODEL,
        f"Model: {', '.join(MODELS)}. A b in front, as in bngcf, means the Bayesian version.",
        metavar="NAME",
        value="refined",
    )
    fractions: str | None = cli.FRACTIONS
    epochs: int | None = cli.EPOCHS
    seed: int = cli.seed_option()
    k: int = option(OUTPUT, "Recommendations per user.", "-k", value=10, least=1)
    coverage: float | None = option(
        OUTPUT,
        "Instead of -k: so many that they hold the next item of this share of the users.",
        metavar="SHARE",
    )
    out: Path | None = option(OUTPUT, "Recommendations, a .csv file (required).", metavar="FILE")

    @property
    def name(self) -> str:
        """The model, checked."""
        return cli.one_model(self.model, MODELS)

    def settings(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the settings of trained recommenders, and those of Bayesian ones, checked."""
        return cli.recommender_options([self.name], self.epochs, self.fractions)


@cli.takes(_Job)
def recommend(job: _Job) -> None:
    """Recommend items to your users, without training against what they would probably like.

    Needs --interactions.
    """
    cli.refuse_dataset(job.context, "ngcf,bngcf")
    if job.interactions is None:
        raise InputError("there is nothing to learn from; give --interactions.")
    cli.check_ratings(job.rating, job.min_rating)
    if job.coverage is not None and not 0.0 < job.coverage < 1.0:
        raise InputError(f"--coverage {job.coverage} must be a share between 0 and 1.")
    settings, bayesian = job.settings()
    job.check_targets(job.interactions)
    job.say(f"Reading {job.interactions} ...")
    from truegraph.experiments.tasks.opened_data import read_own_interactions

    data = read_own_interactions(
        job.interactions,
        {"user": job.user, "item": job.item, "rating": job.rating, "time": job.time},
        min_rating=job.min_rating,
        min_per_user=job.min_per_user,
        min_per_item=job.min_per_item,
    )
    with recorded_warnings() as heard:
        recommender = _fit(data, settings, bayesian, job)
    k = job.k if job.coverage is None else recommender.set_size(job.coverage)
    table = recommender.recommend(data.user_ids, k=k)
    job.write_table(table)
    if job.save is not None:
        recommender.save(job.save)
    document = _document(data, recommender, job) | {
        "k": k,
        "coverage": job.coverage,
        "recommendations": len(table),
        "users_with_popular_items": int(table.loc[table["popular"], "user"].nunique()),
    }
    job.show(
        document,
        lambda: _page(recommender, table, document, heard),
        lambda: _print_summary(document, job),
    )


def _fit(
    data: Interactions, settings: dict[str, Any], bayesian: dict[str, Any], job: _Job
) -> Recommender | BayesianRecommender:
    if not job.quiet:
        announce_compilation("truegraph.learning", "truegraph.nn", seconds=60)
    from truegraph.runtime.threads import use_threads
    from truegraph.tasks.recommend.estimator import BayesianRecommender, Recommender
    from truegraph.tasks.recommend.trials import split_name

    base, is_bayesian = split_name(job.name)
    common: dict[str, Any] = {
        "options": settings or None,
        "random_state": job.seed,
        "progress": not job.quiet,
    }
    with use_threads(job.jobs):
        if is_bayesian:
            own = {name: value for name, value in bayesian.items() if name not in settings}
            return BayesianRecommender(base, **own, **common).fit(data)
        return Recommender(base, **common).fit(data)


def _document(
    data: Interactions, recommender: Recommender | BayesianRecommender, job: _Job
) -> dict[str, Any]:
    trained = recommender.history_
    removed = getattr(recommender, "removed_negatives_", None)
    choice = getattr(recommender, "choice_", None)
    chosen = None if choice is None else vars(choice.settings)
    if trained is not None:
        chosen = {"learning_rate": recommender.learning_rate_}
    recall = trained.best_recall if trained is not None else getattr(choice, "recall", None)
    return {
        "interactions": str(job.interactions),
        "fingerprint": data.fingerprint,
        "statistics": data.statistics(),
        "model": job.name,
        "settings": job.settings()[0],
        "seed": job.seed,
        "chosen": chosen,
        "fitted_to": "all interactions, after choices on held-out ones",
        "epochs": None if trained is None else len(trained.losses),
        "validation_recall@20": None if recall is None or recall != recall else recall,
        "removed_fraction": None if removed is None else removed.fraction,
        "removed_pairs": None if removed is None else removed.count,
        "notes": list(data.notes),
        "seconds": round(recommender.seconds_, 3),
        **job.facts(),
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
        sure={
            "recall@20 on validation interactions": document["validation_recall@20"],
            "share of the users whose next item the lists hold": document["coverage"],
        },
        look_at=table_of("First recommendations", "Do they make sense?", table),
        more=recommended_parts(recommender, table),
        notes=document["notes"],
        warnings=heard,
    )


def _print_summary(document: dict[str, Any], job: _Job) -> None:
    size = document["statistics"]
    typer.echo(
        f"{counted(document['k'], 'item')} for each of {counted(size['users'], 'user')} with "
        f"{job.name}, "
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
    if document["coverage"] is not None:
        rows.append(("sets", f"hold the next item of {document['coverage']:.0%} of the users"))
    if chosen:
        rows.append(("chosen", _words(chosen)))
    if removed is not None:
        rows.append(("removed", f"{removed:.0%} of the pairs"))
    job.print_facts(rows, document["notes"])


def _words(settings: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in settings.items())
