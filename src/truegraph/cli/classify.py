"""``truegraph classify``: label the nodes of one's own files from a few labels."""

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
    GRAPH_ENDINGS,
    announce,
    check_target,
    check_target_folder,
    print_json,
    print_rows,
    recorded_warnings,
    report_target,
    write_learned,
    write_page,
)
from truegraph.errors import InputError
from truegraph.runtime.memory import peak_memory_mb
from truegraph.tasks.classify.names import GRAPH_LEARNERS, MODELS
from truegraph.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from truegraph.data import ColumnPlan, NodeDataset
    from truegraph.report.page import Page
    from truegraph.tasks.classify.fitting import NodeEstimator


def classify(
    context: typer.Context,
    edges: cli.Edges = None,
    features: cli.Features = None,
    labels: cli.Labels = None,
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
        str | None,
        option(
            MODEL,
            f"Model: {', '.join(MODELS)}.",
            metavar="NAME",
            default="auto",
        ),
    ] = None,
    degree: cli.Degree = None,
    samples: cli.Samples = None,
    seed: cli.Seed = 0,
    out: Annotated[
        Path | None, option(OUTPUT, "Predictions, a .csv file (required).", metavar="FILE")
    ] = None,
    graph_out: Annotated[
        Path | None,
        option(OUTPUT, "Learned graph, a .csv, .graphml or .npz file.", metavar="FILE"),
    ] = None,
    save: cli.Save = None,
    escape_formulas: cli.EscapeFormulas = False,
    report: cli.Report = None,
    as_json: cli.Json = False,
    cache: cli.Cache = None,
    jobs: cli.Threads = None,
    quiet: cli.Quiet = False,
) -> None:
    """Label the rest of your nodes from a few labels, and say how sure each answer is.

    Needs --labels and --edges, --features or both.
    """
    cli.refuse_dataset(context, "gcn,bgcn,auto")
    names = [] if model is None else [cli.one_model(model, MODELS)]
    needed, where = _needed(edges, features, labels), _target(out)
    job = _Job(
        edges=edges,
        features=features,
        labels=needed,
        model=names[0] if names else None,
        seed=seed,
        options=cli.classifier_options(names or GRAPH_LEARNERS, degree, samples),
        plan=tables.column_plan(scale, id_column, drop, columns),
        reading=tables.edge_options(source, target, weight, duplicates, directed),
        out=where,
        graph_out=graph_out,
        save=save,
        page=report_target(report, where),
        escape_formulas=escape_formulas,
        cache=cache,
        jobs=jobs,
        as_json=as_json,
        quiet=quiet,
    )
    _check_targets(job)
    if not quiet:
        announce(f"Reading {job.labels} ...")
    _classify(job)


@dataclass(frozen=True)
class _Job:
    """What the command was asked for, after checking; no model means the recommended one."""

    edges: Path | None
    features: Path | None
    labels: Path
    model: str | None
    seed: int
    options: dict[str, Any]
    plan: ColumnPlan
    reading: dict[str, Any]
    out: Path
    graph_out: Path | None
    save: Path | None
    escape_formulas: bool
    page: Path | None
    cache: Path | None
    jobs: int | None
    as_json: bool
    quiet: bool


def _needed(edges: Path | None, features: Path | None, labels: Path | None) -> Path:
    if labels is None:
        raise InputError(
            "there is nothing to learn from; give --labels, and --edges, --features or both."
        )
    if edges is None and features is None:
        raise InputError("--labels alone is not enough; add --edges, --features or both.")
    return labels


def _target(out: Path | None) -> Path:
    if out is None:
        raise InputError("--out is missing; name the .csv file for the predictions.")
    return out


def _check_targets(job: _Job) -> None:
    if job.graph_out is not None and job.model not in (None, *GRAPH_LEARNERS):
        raise InputError(
            f"--graph-out {job.graph_out}: {job.model} learns no graph; use auto or bgcn."
        )
    for path in (job.edges, job.features, job.labels):
        if path is not None:
            check_target("--out", job.out, (".csv",), str(path))
            check_target("--graph-out", job.graph_out, GRAPH_ENDINGS, str(path))
    if job.graph_out is not None and job.out.absolute() == job.graph_out.absolute():
        raise InputError(f"--out and --graph-out are both {job.out}; give two names.")
    check_target_folder("--save", job.save)


def _classify(job: _Job) -> None:
    """Train on the given labels, write predictions for all nodes, and say what was done."""
    from truegraph.data import read_node_data

    dataset = read_node_data(job.edges, job.features, job.labels, plan=job.plan, **job.reading)
    if not job.quiet:
        for note in dataset.notes:
            announce(note)
    _check_labels(dataset, job)
    if job.graph_out is not None and job.graph_out.suffix.lower() != ".npz":
        from truegraph.data.graphs.graph_files import check_format

        check_format(job.graph_out, dataset.node_names)
    began = time.perf_counter()
    with recorded_warnings() as heard:
        classifier = _fit(dataset, job)
    seconds = time.perf_counter() - began
    predictions = _predictions(dataset, classifier)
    _write(dataset, classifier, predictions, job)
    document = _document(dataset, classifier, predictions, job)
    document |= {"model": classifier.model_, "seconds": round(seconds, 3)}
    if job.page is not None:
        write_page(_page(dataset, predictions, document, heard), job.page)
    if job.as_json:
        print_json(document)
    elif not job.quiet:
        _print_summary(document, job)


def _check_labels(dataset: NodeDataset, job: _Job) -> None:
    if dataset.n_classes < 2:
        found = ", ".join(dataset.class_names or ()) or "none"
        raise InputError(
            f"{job.labels}: at least two classes are needed, found {found}; label nodes of another "
            "class as well."
        )
    if dataset.n_nodes < 3:
        raise InputError(f"{job.labels}: {dataset.n_nodes} nodes are too few to learn from.")


def _fit(dataset: NodeDataset, job: _Job) -> NodeEstimator:
    from truegraph.data.nodes.datasets import cache_folder

    if not job.quiet:
        announce_compilation("truegraph.learning", "truegraph.nn", seconds=40)
    from truegraph.runtime.threads import use_threads
    from truegraph.tasks.classify.estimator import classifier_of

    classifier = classifier_of(
        job.model,
        job.options or None,
        random_state=job.seed,
        cache=job.cache or cache_folder() / "embeddings",
        progress=not job.quiet,
    )
    with use_threads(job.jobs):
        return classifier.fit(dataset.features, dataset.labels, graph=dataset.graph)


def _predictions(dataset: NodeDataset, classifier: NodeEstimator) -> pd.DataFrame:
    import numpy as np

    from truegraph.report.predictions import prediction_table

    table = prediction_table(
        dataset,
        classifier.predict_proba(),
        classifier.predictive_entropy_,
        classifier.mutual_information_,
    )
    table["given"] = np.where(dataset.labels >= 0, "true", "false")
    return table


def _write(
    dataset: NodeDataset, classifier: NodeEstimator, predictions: pd.DataFrame, job: _Job
) -> None:
    import numpy as np

    from truegraph.data.spreadsheets import write_csv

    write_csv(predictions, job.out, escape=job.escape_formulas)
    if job.save is not None:
        # The model was trained on numbers; whoever loads it has the table and names of classes.
        classifier.classes_ = np.asarray(dataset.class_names)
        classifier.plan_ = dataset.plan
        classifier.save(job.save)
    learned = classifier.learned_graph_
    if job.graph_out is not None and learned is not None:
        write_learned(learned, dataset.node_names, job.graph_out, escape=job.escape_formulas)


def _document(
    dataset: NodeDataset, classifier: NodeEstimator, predictions: pd.DataFrame, job: _Job
) -> dict[str, Any]:
    given = predictions["given"] == "true"
    learned = classifier.learned_graph_
    files = {"edges": job.edges, "features": job.features, "labels": job.labels}
    return {
        "files": {name: None if path is None else str(path) for name, path in files.items()},
        "fingerprint": dataset.fingerprint,
        "seed": job.seed,
        "options": job.options,
        "statistics": dataset.statistics(),
        "class_names": list(dataset.class_names or ()),
        "given": int(given.sum()),
        "predicted": {
            str(name): int(count)
            for name, count in predictions.loc[~given, "label"].value_counts(sort=False).items()
        },
        "mean_probability": None if given.all() else float(predictions.probability[~given].mean()),
        "learned_edges": None if learned is None else learned.n_edges,
        "notes": [*dataset.notes, *classifier.notes_],
        "peak_memory_mb": peak_memory_mb(),
        "out": str(job.out),
        "graph_out": None if job.graph_out is None else str(job.graph_out),
        "save": None if job.save is None else str(job.save),
        "report": None if job.page is None else str(job.page),
    }


def _page(
    dataset: NodeDataset, predictions: pd.DataFrame, document: dict[str, Any], heard: Sequence[str]
) -> Page:
    from truegraph.report.answer_page import answer_page, table_of

    size, rest = document["statistics"], predictions[predictions["given"] == "false"]
    return answer_page(
        f"Classes by {document['model']}",
        f"{len(rest):,} of {counted(size['nodes'], 'node')} labelled from "
        f"{counted(document['given'], 'label')}.",
        came_in={**document["files"], **size, "labels given": document["given"]},
        learned={
            "edges of the learned graph": document["learned_edges"],
            **{f"predicted {name}": count for name, count in document["predicted"].items()},
        },
        sure={"mean probability of the predicted label": document["mean_probability"]},
        look_at=table_of(
            "Least sure",
            "Nodes whose labels would help most.",
            rest.sort_values("probability", kind="stable"),
        ),
        plan=dataset.plan,
        notes=document["notes"],
        warnings=heard,
    )


def _print_summary(document: dict[str, Any], job: _Job) -> None:
    size = document["statistics"]
    typer.echo(
        f"Labelled {size['nodes'] - document['given']:,} of {size['nodes']:,} nodes with "
        f"{document['model']} from {counted(document['given'], 'given label')} of "
        f"{counted(size['classes'], 'class', 'classes')}"
    )
    predicted = ", ".join(f"{name} {count:,}" for name, count in document["predicted"].items())
    sure = document["mean_probability"]
    learned = document["learned_edges"]
    rows = [
        ("observed", "no graph" if size["edges"] is None else counted(size["edges"], "edge")),
        ("learned", "no graph" if learned is None else counted(learned, "edge")),
        ("predicted", predicted or "nothing, every label is given"),
        ("sure", "-" if sure is None else f"{sure:.1%} mean probability of the predicted label"),
        ("seconds", f"{document['seconds']:.2f}"),
    ]
    rows += [("note", note) for note in document["notes"]]
    paths = (job.out, job.graph_out, job.save, job.page)
    written = [str(path) for path in paths if path is not None]
    print_rows([*rows, ("written", ", ".join(written))])
