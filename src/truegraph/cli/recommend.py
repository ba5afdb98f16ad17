"""``truegraph recommend``: lists of items for the users of one's own file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from truegraph.cli import options as cli
from truegraph.cli.options import OUTPUT, option
from truegraph.cli.output import Output, write_table
from truegraph.errors import InputError
from truegraph.wording import counted

if TYPE_CHECKING:
    from truegraph.data import Interactions
    from truegraph.recommend.estimator import Recommender


def recommend(
    interactions: cli.InteractionFile = None,
    user: cli.User = None,
    item: cli.Item = None,
    rating: cli.Rating = None,
    time: cli.Time = None,
    model: cli.Model = "auto",
    given: cli.Settings = None,
    seed: cli.Seed = 0,
    k: Annotated[int, option(OUTPUT, "Recommendations per user.", "-k", min=1, metavar="N")] = 10,
    coverage: Annotated[
        float | None,
        option(
            OUTPUT,
            "Instead of -k: so many that they hold the next item of this share of the users.",
            metavar="SHARE",
        ),
    ] = None,
    out: cli.Answers = None,
    save: cli.Save = None,
    as_json: cli.Json = False,
    jobs: cli.Jobs = None,
    quiet: cli.Quiet = False,
) -> None:
    """Recommend items to your users, without training against what they would probably like.

    Needs --interactions.
    """
    from truegraph.recommend.names import MODELS

    output = Output(out or (), save, as_json, quiet)
    if interactions is None:
        raise InputError("there is nothing to learn from; give --interactions.")
    cli.check_share("--coverage", coverage)
    output.check([interactions])
    settings, name = cli.settings(given), cli.one_model(model, MODELS)
    output.say(f"Reading {interactions} ...")
    data = cli.read_interactions(interactions, user, item, rating, time)
    output.say(*data.notes)
    document: dict[str, Any] = {
        "files": {"interactions": str(interactions)},
        **{"model": name, "options": settings, "seed": seed, "coverage": coverage},
        **{"statistics": data.statistics(), "fingerprint": data.fingerprint},
    }
    with output.working(jobs) as heard:
        recommender = _fitted(data, document, quiet)
        k = k if coverage is None else recommender.set_size(coverage)
        table = recommender.recommend(data.user_ids, k=k)
    write_table(table, output.answers)
    if save is not None:
        recommender.save(save)
    choice, chances = recommender.choice_, table["probability"].dropna()
    popular = int(table.loc[table["popular"], "user"].nunique())
    document |= {
        **{"k": k, "recommendations": len(table), "users_with_popular_items": popular},
        "chosen": {"model": choice.model, **choice.options},
        "validation_recall@20": None if choice.recall != choice.recall else choice.recall,
        "mean_probability": float(chances.mean()) if len(chances) else None,
        "seconds": round(sum(recommender.seconds_.values()), 3),
        "notes": [*data.notes, *recommender.notes_],
    }
    share = f"hold the next item of {coverage or 0:.0%} of the users"
    from truegraph.report.recommended import recommended_parts

    output.finish(
        document,
        title=f"Recommendations by {name}",
        headline=f"{counted(k, 'item')} for each of {counted(data.n_users, 'user')} with {name}, "
        f"from {counted(len(data), 'interaction')} with {counted(data.n_items, 'item')}",
        verdict=_verdict(data, document),
        learned={
            "chosen": ", ".join(f"{key} {value}" for key, value in document["chosen"].items()),
            "sets": share if coverage else None,
        },
        parts=lambda: list(recommended_parts(recommender, table)),
        warnings=heard,
    )


def _fitted(data: Interactions, document: dict[str, Any], quiet: bool) -> Recommender:
    from truegraph.options import estimator_arguments
    from truegraph.recommend.estimator import Recommender

    own = {"random_state": document["seed"], "progress": not quiet}
    chosen = estimator_arguments(Recommender, document["options"], **own)
    return Recommender(document["model"], **chosen).fit(data)


def _verdict(data: Interactions, document: dict[str, Any]) -> dict[str, str]:
    from truegraph.report.page import share_interval

    recall, chance = document["validation_recall@20"], document["mean_probability"]
    expected = []
    if chance is not None:
        low, high = share_interval(chance, data.n_users)
        expected.append(
            f"{chance:.0%} of the listed items are taken next ({low:.0%} to {high:.0%})"
        )
    if recall is not None:
        expected.append(f"20 items hold {recall:.0%} of what a user takes next")
    popular = document["users_with_popular_items"]
    return {
        "expected": "; ".join(expected) or "not known: nothing was held out",
        "rests on": f"held-out interactions of {counted(data.n_users, 'user')}" if expected else "",
        "to do": f"{counted(popular, 'user')} got the most popular items: more interactions help"
        if popular
        else "",
    }
