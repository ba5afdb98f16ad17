"""Options that several commands share, in the panels of their help, and their checks."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from truegraph.data.nodes.registry import INTERACTION_SETS, REGISTRY
from truegraph.errors import InputError
from truegraph.suggestions import suggestion
from truegraph.tasks.classify.names import GRAPH_LEARNERS
from truegraph.tasks.links.names import BAYESIAN as BAYESIAN_LINKS
from truegraph.tasks.recommend.names import BAYESIAN as BAYESIAN_RECOMMENDERS
from truegraph.tasks.recommend.names import TRAINED

INPUT, MODEL, OUTPUT, RUNNING = "Input", "Model", "Output", "Running"


def option(
    panel: str,
    text: str,
    *names: str,
    default: str | None = None,
    least: int | None = None,
    most: int | None = None,
    **more: Any,
) -> Any:
    """Return an option in a panel of the help.

    Parameters
    ----------
    panel, text : str
    *names : str
        Such as "--json"; by default made of the parameter's name.
    default : str, optional
        What None stands for.
    least, most : int, optional
        The smallest and the largest number allowed.
    **more
        Passed on to `typer.Option`.
    """
    shown: Any = False if default is None else default
    own: dict[str, Any] = {"show_default": shown}
    if least is not None:
        own |= {"metavar": "N", "callback": _bounds(least, most)}
    return typer.Option(*names, help=text, rich_help_panel=panel, **own | more)


def _bounds(least: int, most: int | None) -> Any:
    """Return a check of a number; click's own would fill the help with its range."""

    def check(parameter: typer.CallbackParam, value: int | None) -> int | None:
        if value is not None and (value < least or (most is not None and value > most)):
            limit = f"{least} or more" if most is None else f"from {least} to {most}"
            raise InputError(f"{parameter.opts[0]} {value} must be {limit}.")
        return value

    return check


Edges = Annotated[
    Path | None,
    option(INPUT, "Edges: two columns of ids and, if there are any, weights.", metavar="FILE"),
]
Features = Annotated[
    Path | None, option(INPUT, "Features: one row per node, columns of any kind.", metavar="FILE")
]
Labels = Annotated[
    Path | None, option(INPUT, "Labels of some of the nodes: node and label.", metavar="FILE")
]
Interactions = Annotated[
    Path | None,
    option(INPUT, "Interactions: .csv, .parquet, .inter, .txt or .npz.", metavar="FILE"),
]
User = Annotated[str | None, option(INPUT, "Column with the user's id.", metavar="COLUMN")]
Item = Annotated[str | None, option(INPUT, "Column with the item's id.", metavar="COLUMN")]
Rating = Annotated[str | None, option(INPUT, "Column with the rating.", metavar="COLUMN")]
Time = Annotated[
    str | None,
    option(INPUT, "Column with the time; held out are then the latest.", metavar="COLUMN"),
]
MinRating = Annotated[float | None, option(INPUT, "Lowest rating that counts as an interaction.")]
MinPerUser = Annotated[int, option(INPUT, "Drop users with fewer interactions.", least=1)]
MinPerItem = Annotated[int, option(INPUT, "Then drop items with fewer interactions.", least=1)]
Degree = Annotated[
    float | None,
    option(MODEL, "Edges per node of the learned graph.", default="chosen from the data"),
]
Samples = Annotated[
    int | None,
    option(MODEL, "Weight samples.", default="bgcn 60; refined and fast 20", least=1),
]
DecoderTarget = Annotated[
    str | None,
    option(
        MODEL,
        "Graph that the Bayesian version's decoder gives back.",
        "--decoder-target",
        metavar="combined|observed",
        default="combined",
    ),
]
Fractions = Annotated[
    str | None,
    option(
        MODEL,
        "Shares of the pairs to take out of the negatives; the best one on the validation "
        "interactions is used.",
        metavar="X,...",
        default="0.01,0.02,0.05,0.1,0.2",
    ),
]
Epochs = Annotated[
    int | None, option(MODEL, "Most epochs of each training.", default="1000", least=1)
]
Seed = Annotated[int, option(MODEL, "Seed.", least=0, most=2**31 - 1, show_default=True)]
Cache = Annotated[
    Path | None,
    option(RUNNING, "Folder of embeddings to reuse.", metavar="FOLDER", default="user's cache"),
]
Threads = Annotated[
    int | None,
    option(RUNNING, "Threads, -1 for all cores; never changes a result.", default="all cores"),
]
Processes = Annotated[
    int | None,
    option(RUNNING, "Processes; never changes a result.", default="one per core", least=1),
]
RetryFailed = Annotated[bool, option(RUNNING, "Rerun trials that failed before.", "--retry-failed")]
Json = Annotated[bool, option(OUTPUT, "Print one JSON document instead of a summary.", "--json")]
Quiet = Annotated[
    bool, option(RUNNING, "No progress and no summary; --json still prints.", "--quiet")
]


Report = Annotated[
    Path | None,
    option(
        OUTPUT,
        "Page with the answer and how it came about, an .html file; none: no page.",
        metavar="FILE",
        default="beside --out",
    ),
]
Save = Annotated[
    Path | None,
    option(
        OUTPUT,
        "Folder to keep the trained model in, for load in Python.",
        metavar="FOLDER",
    ),
]

EscapeFormulas = Annotated[
    bool,
    option(
        OUTPUT,
        "Names that a spreadsheet would run as formulas get an apostrophe in .csv files.",
        "--escape-formulas",
    ),
]

# Unknown words are let through to `refuse_dataset`, which can say more of them than click.
LET_THROUGH = {"allow_extra_args": True, "ignore_unknown_options": True}


def refuse_dataset(context: typer.Context, models: str) -> None:
    """Raise an error for anything but options that the command knows.

    Parameters
    ----------
    context : typer.Context
        Of a command that takes files only, set up with `LET_THROUGH`.
    models : str
        Names of models to suggest for a comparison, where a data set's name was given.
    """
    words = context.args
    if not words:
        return
    known = {*REGISTRY, *INTERACTION_SETS}
    command = context.info_name
    if any(word.lower() in known for word in words):
        again = words if "--models" in words else [*words, "--models", models]
        raise InputError(
            f"{command} takes your own files, not a data set's name. To compare models on a data "
            f"set, use: truegraph compare {command} {' '.join(again)}"
        )
    if words[0].startswith("-"):
        names = [name for parameter in context.command.params for name in parameter.opts]
        raise InputError(f"there is no option {words[0]!r}.{suggestion(words[0], names)}")
    raise InputError(
        f"{command} takes your own files through options (see: truegraph {command} --help), not "
        f"the argument {words[0]!r}."
    )


def model_names(text: str, known: Collection[str], name: str = "--models") -> list[str]:
    """Return the models that an option names, checked."""
    names = [part.strip().lower() for part in text.split(",")]
    for one in names:
        if one not in known:
            raise InputError(f"{name}: no model is called {one!r}.{suggestion(one, known)}")
    if len(set(names)) < len(names):
        raise InputError(f"{name} {text} names a model twice; name each once.")
    return names


def one_model(text: str, known: Collection[str]) -> str:
    """Return the one model that --model names."""
    [first, *others] = model_names(text, known, "--model")
    if others:
        raise InputError(
            f"--model {text} names {1 + len(others)} models, but an answer comes from one. To see "
            "which is best for your data, use: truegraph compare"
        )
    return first


def classifier_options(
    names: Collection[str], degree: float | None, samples: int | None
) -> dict[str, Any]:
    """Return the options of the classifiers that learn a graph."""
    given = _given({"degree": degree, "samples": samples})
    if given and not set(GRAPH_LEARNERS) & set(names):
        raise InputError(
            f"--{next(iter(given))} is an option of {', '.join(GRAPH_LEARNERS)}, but the models "
            f"are {', '.join(names)}; remove it, or add one of them."
        )
    _check_degree(degree)
    return given


def link_options(
    names: Collection[str], degree: float | None, decoder_target: str | None
) -> dict[str, Any]:
    """Return the options of the Bayesian link predictors."""
    given = _given({"degree": degree, "target": decoder_target})
    if given and not set(BAYESIAN_LINKS) & set(names):
        flag = "--degree" if "degree" in given else "--decoder-target"
        raise InputError(
            f"{flag} is an option of the Bayesian versions, but the models are "
            f"{', '.join(names)}; remove it, or use a Bayesian version, such as bvgae."
        )
    _check_degree(degree)
    if decoder_target is not None:
        choice("--decoder-target", decoder_target, ("combined", "observed"))
    return given


def recommender_options(
    names: Collection[str], epochs: int | None, fractions: str | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the settings of the trained recommenders, and those of the Bayesian ones."""
    bayesian = set(BAYESIAN_RECOMMENDERS) & set(names)
    if epochs is not None and not bayesian and not set(TRAINED) & set(names):
        raise InputError(f"--epochs {epochs}: {', '.join(names)} is not trained; remove it.")
    if fractions is not None and not bayesian:
        raise InputError(
            f"--fractions is an option of the Bayesian versions, but the models are "
            f"{', '.join(names)}; remove it, or add one of {', '.join(BAYESIAN_RECOMMENDERS)}."
        )
    settings = _given({"epochs": epochs})
    return settings, settings | _given({"fractions": _shares(fractions)})


def _shares(text: str | None) -> list[float] | None:
    if text is None:
        return None
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError as error:
        raise InputError(f"--fractions {text!r} must be numbers separated by commas.") from error
    if not all(0.0 <= fraction <= 1.0 for fraction in found):
        raise InputError(f"--fractions {text!r} must lie between 0 and 1, such as 0.01,0.05.")
    return found


def choice(name: str, value: str, choices: Sequence[str]) -> str:
    """Return the value of an option if it is one of the choices."""
    if value not in choices:
        raise InputError(f"{name} {value!r} must be one of {', '.join(choices)}.")
    return value


def check_ratings(rating: str | None, min_rating: float | None) -> None:
    """Raise an InputError for a threshold of ratings without ratings."""
    if min_rating is not None and rating is None:
        raise InputError("--min-rating needs --rating, the column of the ratings.")


def _check_degree(degree: float | None) -> None:
    if degree is not None and not 0 < degree < float("inf"):
        raise InputError(f"--degree {degree} must be a finite number above 0.")


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}
