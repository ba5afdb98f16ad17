"""``truegraph links``: suggest missing links of one's own graph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from truegraph.cli import options as cli
from truegraph.cli.output import Output, answered, fitted
from truegraph.errors import InputError
from truegraph.wording import counted

if TYPE_CHECKING:
    import pandas as pd

    from truegraph.data import NodeDataset

_REASONS = (
    "Check these first. The reasons for a link: how many neighbours its nodes have in common, "
    "up to three of them (those with the fewest links first; in a bipartite graph partners of the "
    "target that have a neighbour in common with the source), and up to three features that both "
    "have (the rarest first)."
)


def links(
    edges: Path | None = None,
    features: Path | None = None,
    columns: str | None = None,
    drop: str | None = None,
    id_column: str | None = None,
    ends: str | None = None,
    weight: str | None = None,
    model: str = "auto",
    given: list[str] | None = None,
    seed: int = 0,
    node: str | None = None,
    top: int = 100,
    false_share: float | None = None,
    out: list[Path] | None = None,
    save: Path | None = None,
    as_json: bool = False,
    jobs: int | None = None,
    quiet: bool = False,
) -> None:
    """Suggest the most probable missing links of your graph, and say how sure they are.

    Needs --edges.
    """
    from truegraph.links.names import MODELS

    output = Output(out, save, as_json, quiet)
    if edges is None:
        raise InputError("there is nothing to learn from; give --edges.")
    cli.check_share("--false-share", false_share)
    if false_share is not None and node is not None:
        raise InputError("--false-share is for the whole graph; remove it or --node.")
    files = {"edges": edges, "features": features}
    output.check(files.values())
    settings, model = cli.settings(given), cli.one_model(model, MODELS)
    output.say(f"Reading {edges} ...")
    dataset = cli.read_nodes(output, files, cli.column_plan(columns, drop, id_column), ends, weight)
    document = answered(files, dataset, model=model, options=settings, seed=seed)
    document |= {"false_share": false_share, "node": node}
    place = None if node is None else _number(dataset, node)
    from truegraph.links.estimator import LinkPredictor

    with output.working(jobs):
        predictor = fitted(LinkPredictor, document, output, dataset.graph, dataset.features)
        if place is None:
            found = predictor.suggest(top, false_share=false_share)
        else:
            found = predictor.suggest_for(place, top)
    table = _named(dataset, found)
    output.write_table(table)
    predictor.plan_ = dataset.plan  # whoever loads it has the table, not its numbers
    output.save_model(predictor)
    learned = predictor.learned_graph_
    document |= {
        **{"missing": predictor.missing, "suggested": len(table)},
        "learned_edges": None if learned is None else learned.n_edges,
        "notes": [*dataset.notes, *predictor.notes_],
    }
    size = document["statistics"]
    output.finish(
        document,
        f"Suggested {counted(len(table), 'link')} for {counted(size['nodes'], 'node')} with "
        f"{counted(size['edges'], 'edge')}, by {model}",
        title=f"Links by {model}",
        answer=_expected_share(table, predictor.missing, dataset),
        learned={
            **{f"{rank + 1}.": _line(row) for rank, row in enumerate(table.head(5).itertuples())},
            "searched": predictor.searched_,
            "learned graph": None if learned is None else counted(learned.n_edges, "edge"),
        },
        parts=lambda: [_part(table)],
        plan=dataset.plan,
    )


def _number(dataset: NodeDataset, name: str) -> int:
    """Return the number of the node with a name."""
    import numpy as np

    for number, known in enumerate(np.asarray(dataset.node_names)):
        if str(known) == name:
            return number
    raise InputError(f"--node {name}: no node has this name; give one as it is in the files.")


def _named(dataset: NodeDataset, table: pd.DataFrame) -> pd.DataFrame:
    """Return the suggestions with the names of nodes and features."""
    import numpy as np

    names, plan = np.asarray(dataset.node_names), dataset.plan
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


def _expected_share(table: pd.DataFrame, missing: float, dataset: NodeDataset) -> dict[str, str]:
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


def _part(table: pd.DataFrame) -> Any:
    from truegraph.report.page import first_rows

    is_empty = {name: (table[name].isna() | (table[name] == "")).all() for name in table}
    shown = table.drop(columns=[name for name, empty in is_empty.items() if empty])
    return first_rows("Most probable links", _REASONS, shown)
