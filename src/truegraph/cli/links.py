"""``truegraph links``: suggest missing links of one's own graph."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from truegraph.cli.common import options as cli
from truegraph.cli.common.answers import AnswerOptions
from truegraph.cli.common.compilation import announce_compilation
from truegraph.cli.common.options import MODEL, OUTPUT, option
from truegraph.cli.common.outputs import recorded_warnings
from truegraph.cli.common.table_options import EdgeOptions, NodeFiles
from truegraph.errors import InputError
from truegraph.tasks.links.names import AUTO_ENCODERS, BAYESIAN, HEURISTICS, REFINED
from truegraph.wording import counted

_REASONS = (
    "Look at these first. Of suggestions stated at a probability p, about a share p is right, "
    "counted by hiding known links; one that is wrong by that count may still be a link that "
    "nobody has observed. Why a link is suggested: how many neighbours its nodes have in common, "
    "up to three of them (those with the fewest links first; in a bipartite graph partners of the "
    "target that have a neighbour in common with the source), up to three features that both have "
    "(the rarest first), and how near they are in the learned graph (slack: the weight of an edge "
    "there, below zero for other pairs)."
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from truegraph.data import NodeDataset
    from truegraph.report.page import Page
    from truegraph.tasks.links.base import LinkEstimator


@dataclass(frozen=True, kw_only=True)
class _Job(AnswerOptions, EdgeOptions, NodeFiles):
    """What the command was asked for."""

    answers = "links"

    model: str = option(
        MODEL,
        f"Model: {', '.join((REFINED, *AUTO_ENCODERS, *HEURISTICS))}; for an auto-encoder with a b "
        "in front, as in bvgae, its Bayesian version.",
        metavar="NAME",
        value=REFINED,
    )
    degree: float | None = cli.DEGREE
    decoder_target: str | None = cli.DECODER_TARGET
    missing: float = option(
        MODEL,
        "Share of the true links that your graph lacks, which the probabilities depend on.",
        value=0.1,
    )
    seed: int = cli.seed_option()
    node: str | None = option(OUTPUT, "Suggest links of this node only.", metavar="NAME")
    top: int = option(OUTPUT, "Links to suggest.", value=100, least=1)
    false_share: float | None = option(
        OUTPUT,
        "Share of the suggestions that may be false: the longest list, of up to --top, for which "
        "that is bounded.",
        metavar="SHARE",
    )
    out: Path | None = option(OUTPUT, "Suggested links, a .csv file (required).", metavar="FILE")
    cache: Path | None = cli.CACHE

    @property
    def name(self) -> str:
        """The model, checked."""
        return cli.one_model(self.model, (REFINED, *AUTO_ENCODERS, *BAYESIAN, *HEURISTICS))

    def options(self) -> dict[str, Any]:
        """Return the options of the model, checked."""
        return cli.link_options([self.name], self.degree, self.decoder_target)


@cli.takes(_Job)
def links(job: _Job) -> None:
    """Suggest the most probable missing links of your graph, and say how sure they are.

    Needs --edges.
    """
    cli.refuse_dataset(job.context, "vgae,bvgae")
    options, reading = job.options(), job.reading()
    if job.edges is None:
        raise InputError("there is nothing to learn from; give --edges.")
    if not 0.0 < job.missing < 1.0:
        raise InputError(f"--missing {job.missing} must lie between 0 and 1.")
    if job.false_share is not None and not 0.0 < job.false_share < 1.0:
        raise InputError(f"--false-share {job.false_share} must be a share between 0 and 1.")
    if job.false_share is not None and job.node is not None:
        raise InputError("--false-share is for the whole graph; remove it or --node.")
    job.check_targets(job.edges, job.features)
    job.say(f"Reading {job.edges} ...")
    from truegraph.data import read_node_data

    dataset = read_node_data(job.edges, job.features, **reading)
    job.say(*dataset.notes)
    node = None if job.node is None else _number(dataset, job.node)
    began = time.perf_counter()
    with recorded_warnings() as heard:
        predictor = _fit(dataset, options, job)
        if node is None:
            wanted = predictor.suggest(job.top, false_share=job.false_share)
        else:
            wanted = predictor.suggest_for(node, job.top)
    table = _named(dataset, wanted)
    seconds = time.perf_counter() - began
    job.write_table(table)
    if job.save is not None:
        predictor.plan_ = dataset.plan  # whoever loads it has the table, not its numbers
        predictor.save(job.save)
    document = _document(dataset, predictor, table, job) | {"seconds": round(seconds, 3)}
    job.show(
        document,
        lambda: _page(dataset, table, document, heard),
        lambda: _print_summary(table, document, job),
    )


def _number(dataset: NodeDataset, name: str) -> int:
    """Return the number of the node with a name."""
    found = [number for number, each in enumerate(_names(dataset)) if str(each) == name]
    if not found:
        raise InputError(f"--node {name}: no node has this name; give one as it is in the files.")
    return found[0]


def _names(dataset: NodeDataset) -> Any:
    assert dataset.node_names is not None  # files name their nodes
    return dataset.node_names


def _fit(dataset: NodeDataset, options: dict[str, Any], job: _Job) -> LinkEstimator:
    if not job.quiet:
        announce_compilation("truegraph.learning", "truegraph.nn", seconds=40)
    from truegraph.runtime.threads import use_threads
    from truegraph.tasks.links.estimator import BayesianLinkPredictor, LinkPredictor

    is_base = job.name not in BAYESIAN
    kind = LinkPredictor if is_base else BayesianLinkPredictor
    predictor = kind(
        job.name if is_base else job.name[1:],
        **options,
        missing=job.missing,
        random_state=job.seed,
        cache=job.cache,
        progress=not job.quiet,
    )
    with use_threads(job.jobs):
        return predictor.fit(dataset.graph, dataset.features)


def _named(dataset: NodeDataset, table: pd.DataFrame) -> pd.DataFrame:
    """Return the suggestions with the names of nodes and features."""
    names, plan = _names(dataset), dataset.plan
    features = None if plan is None else plan.get_feature_names_out()
    return table.assign(
        source=names[table["source"]],
        target=names[table["target"]],
        through=[_listed(names[row]) for row in table["through"]],
        shared_features=[
            _listed(row if features is None else features[row]) for row in table["shared_features"]
        ],
    )


def _listed(found: Any) -> str:
    return "; ".join(str(name) for name in found)


def _document(
    dataset: NodeDataset, predictor: LinkEstimator, table: pd.DataFrame, job: _Job
) -> dict[str, Any]:
    learned = predictor.learned_graph_
    has_spread = bool(table["uncertainty"].notna().all()) and len(table) > 0
    return {
        "files": {
            "edges": str(job.edges),
            "features": None if job.features is None else str(job.features),
        },
        "fingerprint": dataset.fingerprint,
        "model": job.name,
        "seed": job.seed,
        "options": job.options(),
        "missing": job.missing,
        "false_share": job.false_share,
        "node": job.node,
        "searched": predictor.searched_,
        "statistics": dataset.statistics(),
        "suggested": len(table),
        "probability": {
            "highest": float(table["probability"].max()) if len(table) else None,
            "lowest": float(table["probability"].min()) if len(table) else None,
        },
        "mean_uncertainty": float(table["uncertainty"].mean()) if has_spread else None,
        "learned_edges": None if learned is None else learned.n_edges,
        "notes": [*dataset.notes, *predictor.notes_],
        **job.facts(),
    }


def _page(
    dataset: NodeDataset, table: pd.DataFrame, document: dict[str, Any], heard: Sequence[str]
) -> Page:
    from truegraph.report.answer_page import answer_page, files_and_sizes, table_of

    return answer_page(
        f"Links by {document['model']}",
        f"{counted(len(table), 'link')} suggested for "
        f"{counted(document['statistics']['nodes'], 'node')}.",
        came_in=files_and_sizes(document["files"], document["statistics"]),
        learned={"edges of the learned graph": document["learned_edges"]},
        sure={
            "highest probability": document["probability"]["highest"],
            "lowest probability": document["probability"]["lowest"],
            "share of the true links assumed to be missing": document["missing"],
            "share of the suggestions that may be false": document["false_share"],
            "searched": document["searched"],
        },
        look_at=table_of("Most probable links", _REASONS, _shown(table)),
        plan=dataset.plan,
        notes=document["notes"],
        warnings=heard,
    )


def _shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return the suggestions for the page: reasons in plain words, without those nobody has."""
    is_empty = {name: (table[name].isna() | (table[name] == "")).all() for name in table}
    found = table.drop(columns=[name for name, empty in is_empty.items() if empty])
    return found.rename(columns=lambda name: name.replace("_", " "))


def _print_summary(table: pd.DataFrame, document: dict[str, Any], job: _Job) -> None:
    size = document["statistics"]
    typer.echo(
        f"Suggested {counted(document['suggested'], 'link')} for {counted(size['nodes'], 'node')} "
        f"with {counted(size['edges'], 'edge')}, by {job.name}"
    )
    learned = document["learned_edges"]
    rows = [
        (f"{position + 1}.", f"{row.source} - {row.target}  {_chance(row)}")
        for position, row in enumerate(table.head(5).itertuples(index=False))
    ]
    rows += [
        ("missing", f"{document['missing']:.2g} of the true links are taken to be missing"),
        ("searched", document["searched"]),
        ("false", _bound(document["false_share"])),
        ("learned", "no graph" if learned is None else counted(learned, "edge")),
        ("seconds", f"{document['seconds']:.2f}"),
    ]
    job.print_facts(rows, document["notes"])


def _bound(share: float | None) -> str:
    return "not bounded; see --false-share" if share is None else f"at most {share:.0%} of these"


def _chance(row: Any) -> str:
    spread = "" if row.uncertainty != row.uncertainty else f" ± {row.uncertainty:.2g}"
    through = f"  through {row.through}" if row.through else ""
    return f"probability {row.probability:.2g}{spread}{through}"
