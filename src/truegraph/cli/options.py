"""The options that several commands share, each written once, and what their texts stand for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truegraph.errors import InputError
from truegraph.suggestions import suggestion

if TYPE_CHECKING:
    from truegraph.cli.output import Output
    from truegraph.data import ColumnPlan, Interactions, NodeDataset

INPUT, MODEL, OUTPUT, LARGE, RUNNING = "Input", "Model", "Output", "Larger than memory", "Running"


def option(panel: str, text: str, *names: str, **more: Any) -> Any:
    """Return an option in a panel of the help, to annotate a parameter with."""
    return typer.Option(*names, help=text, rich_help_panel=panel, **more)


def file_option(panel: str, text: str, *names: str, **more: Any) -> Any:
    """Return an option that names a file."""
    return option(panel, text, *names, **{"metavar": "FILE", **more})


# --- nodes and their edges ---
Features = Annotated[
    Path | None, file_option(INPUT, "Features: one row per node, columns of any kind.")
]
Edges = Annotated[
    Path | None, file_option(INPUT, "Edges: two columns of ids and, if there are any, weights.")
]
Labels = Annotated[Path | None, file_option(INPUT, "Labels of some of the nodes: node and label.")]
Columns = Annotated[
    str | None,
    option(
        INPUT,
        "Columns of a table to use, and no others; =number, =category, =date or =text after a "
        "name sets its kind.",
        metavar="COLUMN[=KIND],...",
    ),
]
Drop = Annotated[
    str | None, option(INPUT, "Columns of a table to leave out.", metavar="COLUMN,...")
]
IdColumn = Annotated[
    str | None,
    option(
        INPUT,
        "Column of a table with the names of the nodes, or none.",
        "--id",
        metavar="COLUMN",
        show_default="recognised",
    ),
]
Ends = Annotated[
    str | None,
    option(
        INPUT,
        "Columns of the edges with their two ends.",
        metavar="COLUMN,COLUMN",
        show_default="source and target, from and to, or the first two",
    ),
]
Weight = Annotated[
    str | None,
    option(
        INPUT,
        "Column of the edges with their weights.",
        metavar="COLUMN",
        show_default="weight, if there is one",
    ),
]

# --- interactions ---
InteractionFile = Annotated[
    Path | None, file_option(INPUT, "Interactions: .csv, .parquet, .inter, .txt or .npz.")
]
User = Annotated[str | None, option(INPUT, "Column with the user's id.", metavar="COLUMN")]
Item = Annotated[str | None, option(INPUT, "Column with the item's id.", metavar="COLUMN")]
Rating = Annotated[
    str | None,
    option(
        INPUT,
        "Column with the rating, and the lowest one that counts as an interaction.",
        metavar="COLUMN=LOWEST",
    ),
]
Time = Annotated[
    str | None,
    option(INPUT, "Column with the time; the latest interactions are held out.", metavar="COLUMN"),
]

# --- models ---
Model = Annotated[
    str, option(MODEL, "Model by name; a wrong name gets the list of all.", metavar="NAME")
]
Settings = Annotated[
    list[str] | None,
    option(
        MODEL,
        "An option by its name in Python, such as degree=10; can be repeated.",
        "--option",
        metavar="NAME=VALUE",
    ),
]
Seed = Annotated[int, option(MODEL, "Seed.", metavar="N", min=0, max=2**31 - 1)]

# --- output and running ---
Answers = Annotated[
    list[Path] | None,
    file_option(
        OUTPUT,
        "Answers, a .csv file (required). A page goes beside it, or to an .html file given by a "
        "second --out.",
    ),
]
Save = Annotated[
    Path | None,
    option(OUTPUT, "Folder for the fitted model, for predict and Python.", metavar="FOLDER"),
]
Json = Annotated[bool, option(OUTPUT, "Print one JSON document instead of a summary.", "--json")]
Quiet = Annotated[
    bool, option(RUNNING, "No progress and no summary; --json still prints.", "--quiet")
]
Jobs = Annotated[
    int | None,
    option(
        RUNNING,
        "Threads, -1 for all cores; never changes a result.",
        metavar="N",
        show_default="all cores",
    ),
]


def settings(texts: Sequence[str] | None, **more: Any) -> dict[str, Any]:
    """Return the options that --option gives, and those of `more` that are not None.

    >>> settings(["samples=20", "scope=global", "fractions=0.1,0.2", "mutual=true"], degree=None)
    {'samples': 20, 'scope': 'global', 'fractions': [0.1, 0.2], 'mutual': True}
    """
    found = {name: value for name, value in more.items() if value is not None}
    for text in texts or ():
        name, equals, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name.isidentifier():
            raise InputError(f"--option {text!r} must be NAME=VALUE, such as degree=10.")
        if name in found:
            raise InputError(f"--option {text!r}: {name} is given twice; give it once.")
        parts = [_value(part.strip()) for part in value.split(",")]
        found[name] = parts if len(parts) > 1 else parts[0]
    return found


def _value(text: str) -> Any:
    words = {"none": None, "true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def check_share(name: str, value: float | None) -> None:
    """Raise an InputError unless a number, if it is given, lies between 0 and 1."""
    if value is not None and not 0.0 < value < 1.0:
        raise InputError(f"{name} {value:g} must be a share between 0 and 1, such as 0.9.")


def choice(name: str, value: str, choices: Sequence[str]) -> str:
    """Return the value of an option if it is one of the choices."""
    if value not in choices:
        raise InputError(f"{name} {value!r} must be one of {', '.join(choices)}.")
    return value


def one_model(text: str, known: Collection[str]) -> str:
    """Return the one model that --model names."""
    name = text.strip().lower()
    if "," in name:
        raise InputError(
            f"--model {text} names {1 + name.count(',')} models, but an answer comes from one. To "
            "see which is best for your data, use: truegraph compare"
        )
    if name not in known:
        raise InputError(f"--model: no model is called {name!r}.{suggestion(name, known)}")
    return name


def column_plan(columns: str | None, drop: str | None, id_column: str | None) -> ColumnPlan:
    """Return how the columns of a table become numbers, as the options ask for it."""
    from truegraph.data import ColumnPlan

    kinds: dict[str, str | None] = {}
    for part in _names("--columns", columns):
        name, _, kind = part.partition("=")
        kinds[name.strip()] = kind.strip().lower() or None
    name = "auto" if id_column is None else id_column
    return ColumnPlan(
        id_column=None if name.lower() == "none" else name,
        drop=tuple(_names("--drop", drop)),
        columns=None if columns is None else kinds,
    )


def reading(
    columns: str | None,
    drop: str | None,
    id_column: str | None,
    ends: str | None,
    weight: str | None,
) -> dict[str, Any]:
    """Return how tables and edges are read, as `truegraph.data.read_node_data` takes it."""
    names = [None, None] if ends is None else _names("--ends", ends)
    if len(names) != 2:
        raise InputError(f"--ends {ends!r} must name two columns, such as from,to.")
    plan = column_plan(columns, drop, id_column)
    return {"plan": plan, "source": names[0], "target": names[1], "weight": weight}


def read_nodes(
    files: Mapping[str, Path | None], how: Mapping[str, Any], output: Output
) -> NodeDataset:
    """Return the nodes of edges, features and labels, and print what was recognised."""
    from truegraph.data import read_node_data

    edges, features = files.get("edges"), files.get("features")
    if edges is None and features is None:
        raise InputError("--labels alone is not enough; add --edges, --features or both.")
    dataset = read_node_data(edges, features, files.get("labels"), **how)
    output.say(*dataset.notes)
    return dataset


def read_interactions(
    path: Path, user: str | None, item: str | None, rating: str | None, time: str | None
) -> Interactions:
    """Return the interactions of a file, those of at least the lowest rating if one is given."""
    from truegraph.data import read_interactions

    column, _, lowest = (rating or "").partition("=")
    try:
        least = float(lowest) if rating else None
    except ValueError:
        raise InputError(
            f"--rating {rating!r} must name a column and the lowest rating that counts, such as "
            "stars=4."
        ) from None
    found = read_interactions(path, user=user, item=item, rating=column or None, time=time)
    if least is None:
        return found
    found = found.with_min_rating(least)
    if len(found) == 0:
        raise InputError(f"{path}: no rating reaches {least:g}; lower it in --rating.")
    return found


def _names(option_name: str, text: str | None) -> list[str]:
    names = [] if text is None else [part.strip() for part in text.split(",")]
    if not all(names):
        raise InputError(f"{option_name} {text!r} has an empty entry; write a,b,c.")
    return names
