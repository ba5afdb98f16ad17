"""``truegraph links``: suggest missing links of one's own graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from truegraph.cli import options as cli
from truegraph.cli.options import OUTPUT, option
from truegraph.cli.output import Output, write_table
from truegraph.errors import InputError
from truegraph.wording import counted

if TYPE_CHECKING:
    import pandas as pd

    from truegraph.data import NodeDataset
    from truegraph.links.estimator import LinkPredictor
    from truegraph.report.page import Part

_REASONS = (
    "Check these first. The reasons for a link: how many neighbours its nodes have in common, "
    "up to three of them (those with the fewest links first; in a bipartite graph partners of the "
    "target that have a neighbour in common with the source), and up to three features that both "
    "have (the rarest first)."
)


def links(
    edges: cli.Edges = None,
    features: cli.Features = None,
    columns: cli.Columns = None,
    drop: cli.Drop = None,
    id_column: cli.IdColumn = None,
    ends: cli.Ends = None,
    weight: cli.Weight = None,
    model: cli.Model = "auto",
    given: cli.Settings = None,
    seed: cli.Seed = 0,
    node: Annotated[
        str | None, option(OUTPUT, "Suggest links of this node only.", metavar="NAME")
    ] = None,
    top: Annotated[int, option(OUTPUT, "Links to suggest.", min=1, metavar="N")] = 100,
    false_share: Annotated[
        float | None,
        option(
            OUTPUT,
            "Bound on the share of false suggestions: the longest list, of up to --top, that "
            "keeps it.",
            metavar="SHARE",
        ),
    ] = None,
    out: cli.Answers = None,
    save: cli.Save = None,
    as_json: cli.Json = False,
    jobs: cli.Jobs = None,
    quiet: cli.Quiet = False,
) -> None:
    """Suggest the most probable missing links of your graph, and say how sure they are.

    Needs --edges.
    """
    from truegraph.links.names import MODELS

    output = Output(out or (), save, as_json, quiet)
    if edges is None:
        raise InputError("there is nothing to learn from; give --edges.")
    cli.check_share("--false-share", false_share)
    if false_share is not None and node is not None:
        raise InputError("--false-share is for the whole graph; remove it or --node.")
    files = {"edges": edges, "features": features}
    output.check(files.values())
    settings, name = cli.settings(given), cli.one_model(model, MODELS)
    output.say(f"Reading {edges} ...")
    dataset = cli.read_nodes(files, cli.reading(columns, drop, id_column, ends, weight), output)
    document: dict[str, Any] = {
        "files": {name: None if path is None else str(path) for name, path in files.items()},
        **{"model": name, "options": settings, "seed": seed},
        **{"false_share": false_share, "node": node},
        **{"statistics": dataset.statistics(), "fingerprint": dataset.fingerprint},
    }
    place = None if node is None else _number(dataset, node)
    with output.working(jobs) as heard:
        predictor = _fitted(dataset, document, quiet)
        if place is None:
            found = predictor.suggest(top, false_share=false_share)
        else:
            found = predictor.suggest_for(place, top)
    table = _named(dataset, found)
    write_table(table, output.answers)
    if save is not None:
        predictor.plan_ = dataset.plan  # whoever loads it has the table, not its numbers
        predictor.save(save)
    learned = predictor.learned_graph_
    document |= {
        **{"missing": predictor.missing, "suggested": len(table)},
        "learned_edges": None if learned is None else learned.n_edges,
        "seconds": round(sum(predictor.seconds_.values()), 3),
        "notes": [*dataset.notes, *predictor.notes_],
    }
    size = document["statistics"]
    output.finish(
        document,
        title=f"Links by {name}",
        headline=f"Suggested {counted(len(table), 'link')} for {counted(size['nodes'], 'node')} "
        f"with {counted(size['edges'], 'edge')}, by {name}",
        verdict=_verdict(table, predictor.missing, dataset),
        learned={
            **{f"{place + 1}.": _line(row) for place, row in enumerate(table.head(5).itertuples())},
            "searched": predictor.searched_,
            "learned graph": None if learned is None else counted(learned.n_edges, "edge"),
        },
        parts=lambda: [_part(table)],
        plan=dataset.plan,
        warnings=heard,
    )


def _number(dataset: NodeDataset, name: str) -> int:
    """Return the number of the node with a name."""
    for number, known in enumerate(_names(dataset)):
        if str(known) == name:
            return number
    raise InputError(f"--node {name}: no node has this name; give one as it is in the files.")


def _names(dataset: NodeDataset) -> Any:
    assert dataset.node_names is not None  # files name their nodes
    return dataset.node_names


def _fitted(dataset: NodeDataset, document: dict[str, Any], quiet: bool) -> LinkPredictor:
    from truegraph.links.estimator import LinkPredictor
    from truegraph.options import estimator_arguments

    own = {"random_state": document["seed"], "progress": not quiet}
    chosen = estimator_arguments(LinkPredictor, document["options"], **own)
    return LinkPredictor(document["model"], **chosen).fit(dataset.graph, dataset.features)


def _named(dataset: NodeDataset, table: pd.DataFrame) -> pd.DataFrame:
    """Return the suggestions with the names of nodes and features."""
    names, plan = _names(dataset), dataset.plan
    features = None if plan is None else plan.get_feature_names_out()

    def listed(found: Any) -> str:
        return "; ".join(str(name) for name in found)

    return table.assign(
        source=names[table["source"]],
        target=names[table["target"]],
        through=[listed(names[row]) for row in table["through"]],
        shared_features=[
            listed(row if features is None else features[row]) for row in table["shared_features"]
        ],
    )


def _verdict(table: pd.DataFrame, missing: float, dataset: NodeDataset) -> dict[str, str]:
    """Return the share of right suggestions to expect: their mean probability."""
    if not len(table):
        return {"expected": "no suggestion", "to do": "raise --top or --false-share"}
    mean = float(table["probability"].mean())
    error = 1.96 * float(table["uncertainty"].fillna(0.0).mean())
    interval = f" ({max(mean - error, 0.0):.0%} to {min(mean + error, 1.0):.0%})" if error else ""
    todo = "--false-share 0.5 keeps a list of which half is right"
    return {
        "expected": f"{mean:.0%} of these {len(table)} suggestions are links{interval}",
        "rests on": f"known links that were hidden, and the assumption that {missing:.0%} of the "
        "true links are missing: set --option missing=SHARE",
        "to do": todo + ("; features of the nodes help" if dataset.features is None else ""),
    }


def _line(row: Any) -> str:
    spread = "" if row.uncertainty != row.uncertainty else f" ± {row.uncertainty:.2g}"
    through = f", through {row.through}" if row.through else ""
    return f"{row.source} - {row.target}: probability {row.probability:.2g}{spread}{through}"


def _part(table: pd.DataFrame) -> Part:
    from truegraph.report.page import first_rows

    is_empty = {name: (table[name].isna() | (table[name] == "")).all() for name in table}
    shown = table.drop(columns=[name for name, empty in is_empty.items() if empty])
    return first_rows("Most probable links", _REASONS, shown)
