"""``truegraph recommend``: compare models on a named data set, or serve the users of one's files.

Usage is checked here; `recommend_dataset` and `recommend_files` do the work.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from truegraph.cli.outputs import check_target, check_target_folder
from truegraph.cli.recommend_dataset import DatasetJob, recommend_dataset
from truegraph.cli.recommend_files import FilesJob, recommend_files
from truegraph.errors import InputError
from truegraph.suggestions import suggestion
from truegraph.tasks.recommend.names import CLOSED_FORM, TRAINED

REFERENCES = ("popularity", "itemknn", "ease")

_FRACTIONS = (0.01, 0.02, 0.05, 0.1, 0.2)


def recommend(
    dataset: Annotated[
        str | None,
        typer.Argument(
            metavar="[DATASET]",
            help="A set of interactions (see: truegraph data list). Leave it out to use a file.",
            show_default=False,
        ),
    ] = None,
    model: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help=f"{', '.join((*TRAINED, *CLOSED_FORM))}. The first four also run in their "
            "Bayesian version; with a file, bngcf or ngcf says which of the two.",
        ),
    ] = "refined",
    trials: Annotated[
        int | None, typer.Option(min=1, help="Splits to draw and train on. [default: 1]")
    ] = None,
    references: Annotated[
        bool, typer.Option("--references", help=f"Run {', '.join(REFERENCES)} too.")
    ] = False,
    mask: Annotated[
        str | None,
        typer.Option(
            metavar="train|train+validation",
            help="Interactions that are no candidates in the test. [default: train]",
        ),
    ] = None,
    fractions: Annotated[
        str | None,
        typer.Option(
            metavar="X,...",
            help="Shares of the pairs to take out of the negatives, the best on validation is "
            "taken. [default: 0.01,0.02,0.05,0.1,0.2]",
        ),
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Most epochs of each training. [default: 1000]")
    ] = None,
    interactions: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Your interactions: .csv, .parquet, .inter, .txt, .npz."),
    ] = None,
    user: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of the user's id.")
    ] = None,
    item: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of the item's id.")
    ] = None,
    rating: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of the rating.")
    ] = None,
    min_rating: Annotated[
        float | None, typer.Option(help="Lowest rating that counts as an interaction.")
    ] = None,
    min_per_user: Annotated[
        int | None, typer.Option(min=1, help="Drop users with fewer interactions.")
    ] = None,
    min_per_item: Annotated[
        int | None, typer.Option(min=1, help="Then drop items with fewer interactions.")
    ] = None,
    k: Annotated[
        int | None, typer.Option("-k", min=1, help="Recommendations per user. [default: 10]")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Folder for results.json and the metrics of every user; with a file the .csv "
            "file for the recommendations.",
        ),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="With a file: keep the trained recommender."),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=2**31 - 1, help="Seed; trial t uses seed + t.")
    ] = 0,
    jobs: Annotated[
        int | None, typer.Option(help="Threads, -1 for all cores; never changes the result.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document instead of a summary.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="No progress and no summary; --json still prints.")
    ] = False,
) -> None:
    """Recommend items to users, without training against what they would probably like.

    With the name of a data set: split it, train the model and its Bayesian version, and compare
    them on the test interactions. With --interactions: recommend items to your own users.
    """
    _check_source(dataset, interactions)
    common: dict[str, Any] = {
        "settings": {} if epochs is None else {"epochs": epochs},
        "fractions": _fractions(fractions),
        "seed": seed,
        "jobs": jobs,
        "as_json": as_json,
        "quiet": quiet,
    }
    columns = {"--user": user, "--item": item, "--rating": rating, "--min-rating": min_rating}
    counts = {"--min-per-user": min_per_user, "--min-per-item": min_per_item}
    if dataset is not None:
        _check_unused({**columns, **counts, "-k": k, "--save": save}, "a data set's name")
        check_target_folder("--out", out)
        _check_trainable(model, common, fractions)
        recommend_dataset(
            DatasetJob(
                name=dataset,
                model=_known(model, (*TRAINED, *CLOSED_FORM)),
                references=REFERENCES if references else (),
                trials=trials or 1,
                mask=_mask(mask),
                out=out,
                **common,
            )
        )
        return
    assert interactions is not None  # _check_source
    _check_unused(
        {"--trials": trials, "--mask": mask, "--references": references or None}, "a file"
    )
    bayesian = tuple(f"b{name}" for name in TRAINED)
    chosen = _known(model, (*TRAINED, *bayesian, *CLOSED_FORM))
    _check_trainable(chosen, common, fractions)
    if min_rating is not None and rating is None:
        raise InputError("--min-rating needs --rating, the column of the ratings.")
    recommend_files(
        FilesJob(
            interactions=interactions,
            columns={"user": user, "item": item, "rating": rating},
            min_rating=min_rating,
            min_per_user=min_per_user or 1,
            min_per_item=min_per_item or 1,
            model=chosen,
            k=k or 10,
            out=_target(out, interactions),
            save=save,
            **common,
        )
    )


def _check_source(dataset: str | None, interactions: Path | None) -> None:
    if dataset is not None and interactions is not None:
        raise InputError(
            f"DATASET {dataset!r} and --interactions {interactions} are given. Give one of them."
        )
    if dataset is None and interactions is None:
        raise InputError(
            "nothing to learn from: give the name of a set of interactions, such as ml100k, or a "
            "file with --interactions."
        )


def _known(name: str, known: tuple[str, ...]) -> str:
    if name.lower() in known:
        return name.lower()
    raise InputError(f"--model: no model is called {name!r}.{suggestion(name, known)}")


def _fractions(text: str | None) -> tuple[float, ...]:
    if text is None:
        return _FRACTIONS
    try:
        found = tuple(float(part) for part in text.split(","))
    except ValueError as error:
        raise InputError(f"--fractions {text!r} must be numbers with commas between.") from error
    if not all(0.0 <= fraction <= 1.0 for fraction in found):
        raise InputError(f"--fractions {text!r} must lie between 0 and 1, such as 0.01,0.05.")
    return found


def _mask(text: str | None) -> tuple[str, ...]:
    choices = {"train": ("train",), "train+validation": ("train", "validation")}
    if text is not None and text not in choices:
        raise InputError(f"--mask {text!r} must be one of {', '.join(choices)}.")
    return choices[text or "train"]


def _check_unused(options: dict[str, Any], where: str) -> None:
    for option, value in options.items():
        if value is not None:
            raise InputError(f"{option} does not go with {where}. Leave it out.")


def _check_trainable(model: str, common: dict[str, Any], fractions: str | None) -> None:
    given = {"--epochs": common["settings"] or None, "--fractions": fractions}
    for option, value in given.items():
        if value is not None and model.lower() in CLOSED_FORM:
            raise InputError(f"{option} does not go with --model {model}, which is not trained.")


def _target(out: Path | None, source: Path) -> Path:
    if out is None:
        raise InputError("--out is missing. Name the .csv file for the recommendations.")
    check_target("--out", out, (".csv",), str(source))
    return out
