"""The options of the commands, each described once, and what their texts stand for."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from truegraph.errors import InputError
from truegraph.suggestions import suggestion

if TYPE_CHECKING:
    from truegraph.cli.output import Output
    from truegraph.data import ColumnPlan, Interactions, NodeDataset


# Panels of the help; of an option: parameter | what stands for its value | text | default shown.
# "command.parameter" where a command needs a text of its own.
_TEXTS = """
Input
    features | FILE | Features: one row per node, columns of any kind.
    edges | FILE | Edges: two columns of ids and, if there are any, weights.
    labels | FILE | Labels of some of the nodes: node and label.
    columns | COLUMN[=KIND],... | Columns of a table to use, and no others; =number, =category,
        =date or =text after a name sets its kind.
    drop | COLUMN,... | Columns of a table to leave out.
    id_column | COLUMN | Column of a table with the names of the nodes, or none. | recognised
    ends | COLUMN,COLUMN | Columns of the edges with their two ends.
        | source and target, from and to, or the first two
    weight | COLUMN | Column of the edges with their weights. | weight, if there is one
    interactions | FILE | Interactions: .csv, .parquet, .inter, .txt or .npz.
    user | COLUMN | Column with the user's id.
    item | COLUMN | Column with the item's id.
    rating | COLUMN=LOWEST | Column with the rating, and the lowest one that counts as an
        interaction.
    time | COLUMN | Column with the time; the latest interactions are held out.
    items | FILE | A row per item: a column with the items' ids, and further columns of any kind,
        such as category, text and price. These recommend items without
        interactions.
    users | FILE | A row per user, with the same kinds of columns. Users without interactions get
        what similar users took.
    learn.source | INPUT | A row per node: a .npy, .npz, .csv, .parquet or .xlsx file, - for
        standard input, or a folder of .parquet.
    learn.metric | METRIC | Distance between rows: sqeuclidean, cosine, or precomputed, where INPUT
        holds a symmetric matrix of distances; the stored entries of a sparse one are the candidate
        pairs.
    predict.model | MODEL | The folder of truegraph classify --save.
    predict.features | FILE | New rows, with the columns of the fitted table.
    predict.edges | FILE | Edges of the new nodes with fitted ones or each other.
    explore.graph | GRAPH | A learned graph: the .npz file of truegraph learn --out or
        LearnedGraph.save.
    explore.predictions | FILE | Predictions, as truegraph classify --out writes them.
    explore.edges | FILE | Edges of the observed graph, to compare with.
    explore.centre | NAME | Show only this node, its neighbours and theirs.
    compare.task | TASK | classify, links or recommend.
    compare.dataset | DATASET | Name of a data set (see: truegraph data list); leave it out to use
        files.
Model
    model | NAME | Model by name; a wrong name gets the list of all.
    given | NAME=VALUE | An option by its name in Python, such as degree=10; can be repeated.
    seed | N | Seed.
    learn.degree | NUMBER|auto | Average number of edges per node; auto is 8.
    learn.scope | candidates|global | Optimal among the candidate pairs, or proved to be so among
        all pairs.
    learn.posterior | - | Say how certain the graph is; a .csv file then gets a row for every
        candidate pair, with the columns mean, std, inclusion, lower and upper.
    classify.target | auto|class|number | What labels are: classes, or numbers to predict; auto
        looks at them.
    compare.models | NAME,... | Models by name; a wrong name gets the list of all.
        | auto and fast rivals, none of which needs torch
    compare.given | MODEL.NAME=VALUE | An option of a model by its name in Python, such as
        bgcn.degree=10; can be repeated.
    compare.trials | N | Splits to fit on. | 10; of recommend 3
    compare.per_class | N | classify: training labels of each class. | 5
    compare.split | random|fixed|time | classify: random or the published one (fixed); recommend:
        random or by time. | random; with --time by time
    compare.groups | COLUMN | classify: column of the features; nodes with the same value, such as
        the visits of one patient, are never split between training and test.
Output
    out | FILE | Answers, a .csv file (required). A page goes beside it, or to an .html file given
        by a second --out.
    save | FOLDER | Folder for the fitted model, for predict and Python.
    as_json | - | Print one JSON document instead of a summary.
    learn.out | FILE | Graph: .npz (with its certificate and the plan of the columns), or .csv,
        .parquet or .graphml (with the nodes' names); can be repeated, for its picture as a .png,
        .svg or .pdf file, and for the page, which else goes beside the graph.
    classify.sets | SHARE | Add the set of classes, or the interval, that holds the truth with this
        probability.
    classify.graph_out | FILE | Learned graph, a .csv, .parquet, .graphml or .npz file.
    classify.edges_out | FILE | Your edges with the probability that each is real, a .csv file, the
        least probable first.
    predict.out | FILE | Predictions, a .csv file (required).
    links.node | NAME | Suggest links of this node only.
    links.top | N | Links to suggest.
    links.false_share | SHARE | Bound on the share of false suggestions: the longest list, of up to
        --top, that keeps it.
    recommend.k | N | Recommendations per user.
    recommend.coverage | SHARE | Instead of -k: so many that they hold the next item of this share
        of the users.
    explore.out | FILE | Page to write.
    compare.out | FOLDER | Folder of trials, tables and page. | runs/compare-TASK-DATASET
Larger than memory
    learn.memory | SIZE | Memory of a process, such as 8GB; points that need more are learned in
        partitions. | 80 % of this machine's
    learn.cluster | ADDRESS | Run on the workers of a Dask scheduler.
    learn.storage | FOLDER | Folder for intermediate results, on a disk that all workers see; with
        it, a killed run continues. | beside --out
Running
    quiet | - | No progress and no summary; --json still prints.
    jobs | N | Threads, -1 for all cores; never changes a result. | all cores
    compare.jobs | N | Trials to run at once. | all cores
    compare.cluster | URL | Run on the Dask cluster of this scheduler: tcp://HOST:PORT.
"""
_ARGUMENTS = {"learn.source", "predict.model", "explore.graph", "compare.task", "compare.dataset"}
_FLAGS = {"id_column": "--id", "given": "--option", "as_json": "--json", "k": "-k"}
_AT_LEAST = {"seed": 0, "top": 1, "k": 1, "trials": 1, "per_class": 1, "compare.jobs": 1}
_LARGEST_SEED = 2**31 - 1


def described(command: Callable[..., None]) -> Callable[..., None]:
    """Give each parameter of a command its text, and return the command."""
    texts = dict(_parsed())
    for name, kind in get_type_hints(command).items():
        own = f"{command.__name__}.{name}"
        key = own if own in texts else name
        if name != "return":
            command.__annotations__[name] = Annotated[kind, _option(key, kind, *texts[key])]
    return command


def _parsed() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield parameters, and of each its panel and what else is known of it."""
    joined = re.sub(r"\n {8}", " ", _TEXTS.strip())
    panel = ""
    for line in joined.splitlines():
        name, *known = line.split(" | ")
        if line.startswith(" "):
            yield name.strip(), (panel, *known)
        else:
            panel = line


def _option(
    key: str, kind: Any, panel: str, metavar: str, text: str, shown: str | bool = True
) -> Any:
    """Return what typer is told of a parameter."""
    name = key.rpartition(".")[2]
    more: dict[str, Any] = {"help": text, "rich_help_panel": panel}
    more["metavar"] = None if metavar == "-" else metavar
    if key in _ARGUMENTS:
        return typer.Argument(**more, show_default=False)
    limits = _AT_LEAST.get(key, _AT_LEAST.get(name))
    more |= {"min": limits, "max": _LARGEST_SEED if name == "seed" else None}
    is_switch = kind is bool
    flags = [_FLAGS.get(name, f"--{name.replace('_', '-')}")] if is_switch or name in _FLAGS else []
    return typer.Option(*flags, **more, show_default=shown)


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


def read_nodes(
    output: Output,
    files: Mapping[str, Path | None],
    plan: ColumnPlan,
    ends: str | None = None,
    weight: str | None = None,
) -> NodeDataset:
    """Return the nodes of edges, features and labels, and print what was recognised."""
    from truegraph.data import read_node_data

    edges, features = files.get("edges"), files.get("features")
    if edges is None and features is None:
        raise InputError("--labels alone is not enough; add --edges, --features or both.")
    names = [None, None] if ends is None else _names("--ends", ends)
    if len(names) != 2:
        raise InputError(f"--ends {ends!r} must name two columns, such as from,to.")
    how: dict[str, Any] = {"source": names[0], "target": names[1], "weight": weight}
    dataset = read_node_data(edges, features, files.get("labels"), plan=plan, **how)
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
