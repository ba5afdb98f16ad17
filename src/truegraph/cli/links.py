"""``truegraph links``: suggest missing links of one's own graph."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truegraph.cli.common import options as cli
from truegraph.cli.common import table_options as tables
from truegraph.cli.common.compilation import announce_compilation
from truegraph.cli.common.options import MODEL, OUTPUT, option
from truegraph.cli.common.outputs import (
    announce,
    check_target,
    check_target_folder,
    print_json,
    print_rows,
    recorded_warnings,
    report_target,
    write_page,
)
from truegraph.errors import InputError
from truegraph.runtime.memory import peak_memory_mb
from truegraph.tasks.links.names import AUTO_ENCODERS, BAYESIAN, HEURISTICS, REFINED
from truegraph.wording import counted

_REASONS = (
    "Look at these first. Of suggestions stated at a probability p, about a share p is right, "
    "counted by hiding known links; one that is wrong by that count may still be a link that "
    "nobody has observed. Why a link is suggested: how many neighbours its nodes have in common, "
    "up to three of them (those with the fewest links first), up to three features that both have "
    "(the rarest first), and how near they are in the learned graph (slack: the weight of an edge "
    "there, below zero for other pairs)."
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from truegraph.data import ColumnPlan, NodeDataset
    from truegraph.report.page import Page
    from truegraph.tasks.links.base import LinkEstimator


def links(
    context: typer.Context,
    edges: cli.Edges = None,
    features: cli.Features = None,
    scale: tables.Scale = "auto",
    id_column: tables.IdColumn = None,
    drop: tables.Drop = None,
    columns: tables.Columns = None,
    source: tables.SourceColumn = None,
    target: tables.TargetColumn = None,
    weight: tables.WeightColumn = None,
    duplicates: tables.Duplicates = "max",
    directed: tables.Directed = "any",
    model: Annotated[
        str,
        option(
            MODEL,
            f"Model: {', '.join((REFINED, *AUTO_ENCODERS, *HEURISTICS))}; for an auto-encoder with "
            "a b in front, as in bvgae, its Bayesian version.",
            metavar="NAME",
            show_default=True,
        ),
    ] = REFINED,
    degree: cli.Degree = None,
    decoder_target: cli.DecoderTarget = None,
    missing: Annotated[
        float,
        option(
            MODEL,
            "Share of the true links that your graph lacks, which the probabilities depend on.",
            show_default=True,
        ),
    ] = 0.1,
    seed: cli.Seed = 0,
    top: Annotated[int, option(OUTPUT, "Links to suggest.", least=1, show_default=True)] = 100,
    out: Annotated[
        Path | None, option(OUTPUT, "Suggested links, a .csv file (required).", metavar="FILE")
    ] = None,
    save: cli.Save = None,
    escape_formulas: cli.EscapeFormulas = False,
    report: cli.Report = None,
    as_json: cli.Json = False,
    cache: cli.Cache = None,
    jobs: cli.Threads = None,
    quiet: cli.Quiet = False,
) -> None:
    """Suggest the most probable missing links of your graph, and say how sure they are.

    Needs --edges.
    """
    cli.refuse_dataset(context, "vgae,bvgae")
    name = cli.one_model(model, (REFINED, *AUTO_ENCODERS, *BAYESIAN, *HEURISTICS))
    options = cli.link_options([name], degree, decoder_target)
    if edges is None:
        raise InputError("there is nothing to learn from; give --edges.")
    if not 0.0 < missing < 1.0:
        raise InputError(f"--missing {missing} must lie between 0 and 1.")
    where = _target(out, edges, features)
    check_target_folder("--save", save)
    if not quiet:
        announce(f"Reading {edges} ...")
    job = _Job(
        edges=edges,
        features=features,
        model=name,
        top=top,
        missing=missing,
        plan=tables.column_plan(scale, id_column, drop, columns),
        reading=tables.edge_options(source, target, weight, duplicates, directed),
        out=where,
        save=save,
        escape_formulas=escape_formulas,
        page=report_target(report, where),
        seed=seed,
        options=options,
        cache=cache,
        jobs=jobs,
        as_json=as_json,
        quiet=quiet,
    )
    _suggest(job)


@dataclass(frozen=True)
class _Job:
    """What the command was asked for, after checking."""

    edges: Path
    features: Path | None
    model: str
    top: int
    missing: float
    plan: ColumnPlan
    reading: dict[str, Any]
    out: Path
    save: Path | None
    escape_formulas: bool
    page: Path | None
    seed: int
    options: dict[str, Any]
    cache: Path | None
    jobs: int | None
    as_json: bool
    quiet: bool


def _target(out: Path | None, *sources: Path | None) -> Path:
    if out is None:
        raise InputError("--out is missing; name the .csv file for the links.")
    for path in sources:
        if path is not None:
            check_target("--out", out, (".csv",), str(path))
    return out


def _suggest(job: _Job) -> None:
    """Train on the given edges, write the most probable missing ones, and say what was done."""
    from truegraph.data import read_node_data
    from truegraph.data.spreadsheets import write_csv

    dataset = read_node_data(job.edges, job.features, plan=job.plan, **job.reading)
    if not job.quiet:
        for note in dataset.notes:
            announce(note)
    began = time.perf_counter()
    with recorded_warnings() as heard:
        predictor = _fit(dataset, job)
    table = _named(dataset, predictor.suggest(job.top))
    seconds = time.perf_counter() - began
    write_csv(table, job.out, escape=job.escape_formulas)
    if job.save is not None:
        predictor.plan_ = dataset.plan  # whoever loads it has the table, not its numbers
        predictor.save(job.save)
    document = _document(dataset, predictor, table, job) | {"seconds": round(seconds, 3)}
    if job.page is not None:
        write_page(_page(dataset, table, document, heard), job.page)
    if job.as_json:
        print_json(document)
    elif not job.quiet:
        _print_summary(table, document, job)


def _fit(dataset: NodeDataset, job: _Job) -> LinkEstimator:
    if not job.quiet:
        announce_compilation("truegraph.learning", "truegraph.nn", seconds=40)
    from truegraph.runtime.threads import use_threads
    from truegraph.tasks.links.estimator import BayesianLinkPredictor, LinkPredictor

    is_base = job.model not in BAYESIAN
    kind = LinkPredictor if is_base else BayesianLinkPredictor
    predictor = kind(
        job.model if is_base else job.model[1:],
        **job.options,
        missing=job.missing,
        random_state=job.seed,
        cache=job.cache,
        progress=not job.quiet,
    )
    with use_threads(job.jobs):
        return predictor.fit(dataset.graph, dataset.features)


def _named(dataset: NodeDataset, table: pd.DataFrame) -> pd.DataFrame:
    """Return the suggestions with the names of nodes and features."""
    names, plan = dataset.node_names, dataset.plan
    assert names is not None  # files name their nodes
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
        "model": job.model,
        "seed": job.seed,
        "options": job.options,
        "missing": job.missing,
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
        "peak_memory_mb": peak_memory_mb(),
        "out": str(job.out),
        "save": None if job.save is None else str(job.save),
        "report": None if job.page is None else str(job.page),
    }


def _page(
    dataset: NodeDataset, table: pd.DataFrame, document: dict[str, Any], heard: Sequence[str]
) -> Page:
    from truegraph.report.answer_page import answer_page, table_of

    return answer_page(
        f"Links by {document['model']}",
        f"{counted(len(table), 'link')} suggested for "
        f"{counted(document['statistics']['nodes'], 'node')}.",
        came_in={**document["files"], **document["statistics"]},
        learned={"edges of the learned graph": document["learned_edges"]},
        sure={
            "highest probability": document["probability"]["highest"],
            "lowest probability": document["probability"]["lowest"],
            "share of the true links assumed to be missing": document["missing"],
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
        f"with {counted(size['edges'], 'edge')}, by {job.model}"
    )
    learned = document["learned_edges"]
    rows = [
        (f"{position + 1}.", f"{row.source} - {row.target}  {_chance(row)}")
        for position, row in enumerate(table.head(5).itertuples(index=False))
    ]
    rows += [
        ("missing", f"{document['missing']:.2g} of the true links are taken to be missing"),
        ("searched", document["searched"]),
        ("learned", "no graph" if learned is None else counted(learned, "edge")),
        ("seconds", f"{document['seconds']:.2f}"),
    ]
    rows += [("note", note) for note in document["notes"]]
    written = [str(path) for path in (job.out, job.save, job.page) if path is not None]
    print_rows([*rows, ("written", ", ".join(written))])


def _chance(row: Any) -> str:
    spread = "" if row.uncertainty != row.uncertainty else f" ± {row.uncertainty:.2g}"
    through = f"  through {row.through}" if row.through else ""
    return f"probability {row.probability:.2g}{spread}{through}"
