"""``truegraph recommend``: lists of items for the users of one's own file."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truegraph.cli import options as cli
from truegraph.cli.output import Output, answered, fitted
from truegraph.errors import InputError
from truegraph.wording import counted

if TYPE_CHECKING:
    from truegraph.data import Interactions


def recommend(
    interactions: Path | None = None,
    user: str | None = None,
    item: str | None = None,
    rating: str | None = None,
    time: str | None = None,
    items: Path | None = None,
    users: Path | None = None,
    model: str = "auto",
    given: list[str] | None = None,
    seed: int = 0,
    k: int = 10,
    coverage: float | None = None,
    out: list[Path] | None = None,
    save: Path | None = None,
    as_json: bool = False,
    jobs: int | None = None,
    quiet: bool = False,
) -> None:
    """Recommend items to your users, with calibrated probabilities.

    Needs --interactions.
    """
    from truegraph.recommend.names import MODELS

    output = Output(out, save, as_json, quiet)
    if interactions is None:
        raise InputError("there is nothing to learn from; give --interactions.")
    cli.check_share("--coverage", coverage)
    output.check([interactions, items, users])
    settings, model = cli.settings(given), cli.one_model(model, MODELS)
    output.say(f"Reading {interactions} ...")
    data = cli.read_interactions(interactions, user, item, rating, time)
    output.say(*data.notes)
    features = {
        "items": _features(items, data.item_ids, output),
        "users": _features(users, data.user_ids, output),
    }
    files = {"interactions": interactions, "items": items, "users": users}
    document = answered(files, data, model=model, options=settings, seed=seed)
    from truegraph.recommend.estimator import Recommender
    from truegraph.report.recommended import recommended_parts

    with output.working(jobs):
        recommender = fitted(Recommender, document, output, data, **features)
        k = k if coverage is None else recommender.set_size(coverage)
        everybody = recommender.interactions_.user_ids
        table = recommender.recommend(everybody, k=k)
    output.write_table(table)
    output.save_model(recommender)
    choice, chances = recommender.choice_, table["probability"].dropna()
    document |= {
        **{"coverage": coverage, "k": k, "recommendations": len(table)},
        "new_items": int(table["new"].sum()) if "new" in table else 0,
        "users_with_popular_items": int(table.loc[table["popular"], "user"].nunique()),
        "chosen": {"model": choice.model, **choice.options},
        "validation_recall@20": None if choice.recall != choice.recall else choice.recall,
        "mean_probability": float(chances.mean()) if len(chances) else None,
        "notes": list(recommender.notes_),
    }
    output.finish(
        document,
        f"{counted(k, 'item')} for each of {counted(len(everybody), 'user')} with {model}, from "
        f"{counted(len(data), 'interaction')} with {counted(data.n_items, 'item')}",
        title=f"Recommendations by {model}",
        answer=_expected_recall(data, document),
        learned={
            "chosen": ", ".join(f"{key} {value}" for key, value in document["chosen"].items()),
            "sets": f"hold the next item of {coverage:.0%} of the users" if coverage else None,
        },
        parts=lambda: recommended_parts(recommender, table),
    )


def _features(path: Path | None, known: Sequence[Hashable], output: Output) -> Any:
    """Return the table of items or users, ids of text files as text; None without one."""
    if path is None:
        return None
    from truegraph.data.tables import open_table

    output.say(f"Reading {path} ...")
    table = open_table(path, lambda table: True)
    frame, wanted = table.frame(), set(known)
    if any(isinstance(one, str) for one in known):
        texts = [table.columns([place])[place] for place in range(len(table.names))]
        best = max(range(len(texts)), key=lambda place: len(wanted.intersection(texts[place])))
        frame[table.names[best]] = texts[best].to_numpy()
    return frame


def _expected_recall(data: Interactions, document: dict[str, Any]) -> dict[str, str]:
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
