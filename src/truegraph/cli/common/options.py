"""Options that several commands share, in the panels of their help, and their checks."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from dataclasses import MISSING, dataclass, fields
from inspect import Parameter, Signature
from pathlib import Path
from typing import Any, TypeVar, cast, get_type_hints

import typer

from truegraph.data.nodes.registry import INTERACTION_SETS, REGISTRY
from truegraph.errors import InputError
from truegraph.suggestions import suggestion
from truegraph.tasks.classify.names import GRAPH_LEARNERS
from truegraph.tasks.links.names import BAYESIAN as BAYESIAN_LINKS
from truegraph.tasks.recommend.names import BAYESIAN as BAYESIAN_RECOMMENDERS
from truegraph.tasks.recommend.names import TRAINED

INPUT, MODEL, SEARCH, OUTPUT = "Input", "Model", "Search and solver", "Output"
LARGE, RUNNING = "Larger than memory", "Running"
_PANELS = (INPUT, MODEL, SEARCH, OUTPUT, LARGE, RUNNING)

Options = TypeVar("Options")


def option(
    panel: str,
    text: str,
    *names: str,
    value: Any = None,
    default: str | None = None,
    least: int | None = None,
    most: int | None = None,
    **more: Any,
) -> Any:
    """Return an option in a panel of the help, as the default of a parameter or field.

    Parameters
    ----------
    panel, text : str
    *names : str
        Such as "--json"; by default made of the parameter's name.
    value : object, optional
        What it is if it is not given; the help shows it, unless it is None or a flag's.
    default : str, optional
        What None stands for.
    least, most : int, optional
        The smallest and the largest number allowed.
    **more
        Passed on to `typer.Option`.
    """
    is_shown = value is not None and not isinstance(value, bool)
    own: dict[str, Any] = {"show_default": is_shown if default is None else default}
    if least is not None:
        own |= {"metavar": "N", "callback": _bounds(least, most)}
    return typer.Option(value, *names, help=text, rich_help_panel=panel, **own | more)


def _bounds(least: int, most: int | None) -> Any:
    """Return a check of a number; click's own would fill the help with its range."""

    def check(parameter: typer.CallbackParam, value: int | None) -> int | None:
        if value is not None and (value < least or (most is not None and value > most)):
            limit = f"{least} or more" if most is None else f"from {least} to {most}"
            raise InputError(f"{parameter.opts[0]} {value} must be {limit}.")
        return value

    return check


def flag(panel: str, text: str, name: str) -> Any:
    """Return an option without a value, such as --quiet."""
    return option(panel, text, name, value=False)


def takes(kind: type[Options]) -> Callable[[Callable[[Options], None]], Callable[..., None]]:
    """Make a command of a function of one argument, whose fields become the command's options.

    Parameters
    ----------
    kind : type
        A dataclass; the default of a field is what `option` returns.
    """

    def made(run: Callable[[Options], None]) -> Callable[..., None]:
        @functools.wraps(run)
        def command(**given: Any) -> None:
            run(kind(**given))

        hints = get_type_hints(kind)
        parameters = [
            Parameter(
                entry.name,
                Parameter.KEYWORD_ONLY,
                default=Parameter.empty if entry.default is MISSING else entry.default,
                annotation=hints[entry.name],
            )
            for entry in fields(cast(Any, kind))
        ]
        parameters.sort(key=_panel)  # options of a panel stand together, whoever declared them
        command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = hints
        return command

    return made


def _panel(parameter: Parameter) -> int:
    panel = getattr(parameter.default, "rich_help_panel", INPUT)
    return _PANELS.index(panel)


EDGES = option(INPUT, "Edges: two columns of ids and, if there are any, weights.", metavar="FILE")
FEATURES = option(INPUT, "Features: one row per node, columns of any kind.", metavar="FILE")
LABELS = option(INPUT, "Labels of some of the nodes: node and label.", metavar="FILE")
DEGREE = option(MODEL, "Edges per node of the learned graph.", default="chosen from the data")
SAMPLES = option(MODEL, "Weight samples.", default="bgcn 60; refined and fast 20", least=1)
DECODER_TARGET = option(
    MODEL,
    "Graph that the Bayesian version's decoder gives back.",
    "--decoder-target",
    metavar="combined|observed",
    default="combined",
)
FRACTIONS = option(
    MODEL,
    "Shares of the pairs to take out of the negatives; the best one on the validation "
    "interactions is used.",
    metavar="X,...",
    default="0.01,0.02,0.05,0.1,0.2",
)
EPOCHS = option(MODEL, "Most epochs of each training.", default="1000", least=1)
CACHE = option(RUNNING, "Folder of embeddings to reuse.", metavar="FOLDER", default="user's cache")
THREADS = option(RUNNING, "Threads, -1 for all cores; never changes a result.", default="all cores")
PROCESSES = option(RUNNING, "Processes; never changes a result.", default="one per core", least=1)
RETRY_FAILED = flag(RUNNING, "Rerun trials that failed before.", "--retry-failed")
JSON = flag(OUTPUT, "Print one JSON document instead of a summary.", "--json")
QUIET = flag(RUNNING, "No progress and no summary; --json still prints.", "--quiet")
ESCAPE_FORMULAS = flag(
    OUTPUT,
    "Names that a spreadsheet would run as formulas get an apostrophe in .csv files.",
    "--escape-formulas",
)


def seed_option(text: str = "Seed.", panel: str = MODEL, most: int = 2**31 - 1) -> Any:
    """Return the option --seed."""
    return option(panel, text, value=0, least=0, most=most)


@dataclass(frozen=True, kw_only=True)
class InteractionFile:
    """The options of a file of interactions."""

    interactions: Path | None = option(
        INPUT, "Interactions: .csv, .parquet, .inter, .txt or .npz.", metavar="FILE"
    )
    user: str | None = option(INPUT, "Column with the user's id.", metavar="COLUMN")
    item: str | None = option(INPUT, "Column with the item's id.", metavar="COLUMN")
    rating: str | None = option(INPUT, "Column with the rating.", metavar="COLUMN")
    time: str | None = option(
        INPUT, "Column with the time; held out are then the latest.", metavar="COLUMN"
    )
    min_rating: float | None = option(INPUT, "Lowest rating that counts as an interaction.")
    min_per_user: int = option(
        INPUT, "Drop users with fewer interactions.", value=1, least=1, show_default=False
    )
    min_per_item: int = option(
        INPUT, "Then drop items with fewer interactions.", value=1, least=1, show_default=False
    )


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
