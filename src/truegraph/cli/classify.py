"""``truegraph classify``: label the nodes of one's own files from a few labels."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import chain, combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from truegraph.cli.common import options as cli
from truegraph.cli.common.answers import AnswerOptions
from truegraph.cli.common.compilation import announce_compilation
from truegraph.cli.common.options import MODEL, OUTPUT, option
from truegraph.cli.common.outputs import (
    GRAPH_ENDINGS,
    check_target,
    recorded_warnings,
    write_learned,
)
from truegraph.cli.common.table_options import EdgeOptions, NodeFiles
from truegraph.errors import InputError
from truegraph.tasks.classify.names import GRAPH_LEARNERS, MODELS
from truegraph.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pandas as pd

    from truegraph.data import NodeDataset
    from truegraph.learning import LearnedGraph
    from truegraph.report.page import Page, Part
    from truegraph.tasks.classify.fitting import NodeEstimator

_LEAST_EDGES, _MOST_EDGES = 50, 1_000_000  # that the page judges


@dataclass(frozen=True, kw_only=True)
class _Files(NodeFiles):
    labels: Path | None = cli.LABELS


@dataclass(frozen=True, kw_only=True)
class _Job(AnswerOptions, EdgeOptions, _Files):
    """What the command was asked for; no model means the recommended one."""

    answers = "predictions"

    model: str | None = option(
        MODEL, f"Model: {', '.join(MODELS)}.", metavar="NAME", default="auto"
    )
    degree: float | None = cli.DEGREE
    samples: int | None = cli.SAMPLES
    sets: float | None = option(
        MODEL,
        "Add the set of classes that holds the true one with this probability, such as 0.9.",
        metavar="SHARE",
    )
    seed: int = cli.seed_option()
    out: Path | None = option(OUTPUT, "Predictions, a .csv file (required).", metavar="FILE")
    graph_out: Path | None = option(
        OUTPUT, "Learned graph, a .csv, .graphml or .npz file.", metavar="FILE"
    )
    edges_out: Path | None = option(
        OUTPUT,
        "Your edges with the probability that each is real, a .csv file, the falsest first.",
        metavar="FILE",
    )
    cache: Path | None = cli.CACHE

    @property
    def name(self) -> str | None:
        """The model, checked."""
        return None if self.model is None else cli.one_model(self.model, MODELS)

    def options(self) -> dict[str, Any]:
        """Return the options of the model, checked."""
        names = GRAPH_LEARNERS if self.name is None else [self.name]
        return cli.classifier_options(names, self.degree, self.samples)


@cli.takes(_Job)
def classify(job: _Job) -> None:
    """Label the rest of your nodes from a few labels, and say how sure each answer is.

    Needs --labels and --edges, --features or both.
    """
    cli.refuse_dataset(job.context, "gcn,bgcn,auto")
    options, reading = job.options(), job.reading()
    _check(job)
    job.say(f"Reading {job.labels} ...")
    from truegraph.data import read_node_data

    dataset = read_node_data(job.edges, job.features, job.labels, **reading)
    job.say(*dataset.notes)
    _check_labels(dataset, job)
    if job.graph_out is not None and job.graph_out.suffix.lower() != ".npz":
        from truegraph.data.graphs.graph_files import check_format

        check_format(job.graph_out, dataset.node_names)
    began = time.perf_counter()
    with recorded_warnings() as heard:
        classifier = _fit(dataset, options, job)
    seconds = time.perf_counter() - began
    predictions = _predictions(dataset, classifier, job.sets)
    judged = _judged_edges(dataset, classifier, job)
    _write(dataset, classifier, predictions, job)
    document = _document(dataset, classifier, predictions, job)
    document |= {"model": classifier.model_, "seconds": round(seconds, 3)}
    from truegraph.report.parts.trust import SUSPECT, strangest_nodes, suspect_edges

    if judged is not None:
        document["suspect_edges"] = int((judged["probability"] <= SUSPECT).sum())
    more = chain(strangest_nodes(predictions), suspect_edges(judged))
    seen = _explorer(dataset, classifier.learned_graph_, predictions)
    job.show(
        document,
        lambda: _page(dataset, predictions, document, heard, chain(more, seen)),
        lambda: _print_summary(document, job),
    )


def _check(job: _Job) -> None:
    """Raise an InputError for what cannot be done, before anything is read."""
    if job.labels is None:
        raise InputError(
            "there is nothing to learn from; give --labels, and --edges, --features or both."
        )
    if job.edges is None and job.features is None:
        raise InputError("--labels alone is not enough; add --edges, --features or both.")
    if job.graph_out is not None and job.name not in (None, *GRAPH_LEARNERS):
        raise InputError(
            f"--graph-out {job.graph_out}: {job.name} learns no graph; use auto or bgcn."
        )
    if job.edges_out is not None and (job.edges is None or job.features is None):
        raise InputError(
            f"--edges-out {job.edges_out}: edges are judged by features; give --edges and "
            "--features."
        )
    if job.sets is not None:
        _check_sets(job.sets, job.name)
    files = (job.edges, job.features, job.labels)
    job.check_targets(*files)
    for path in files:
        if path is not None:
            check_target("--graph-out", job.graph_out, GRAPH_ENDINGS, str(path))
            check_target("--edges-out", job.edges_out, (".csv",), str(path))
    targets = {"--out": job.file, "--graph-out": job.graph_out, "--edges-out": job.edges_out}
    for one, two in combinations(targets, 2):
        first, second = targets[one], targets[two]
        if first is not None and second is not None and first.absolute() == second.absolute():
            raise InputError(f"{one} and {two} are both {first}; give two names.")


def _check_sets(coverage: float, model: str | None) -> None:
    if not 0.0 < coverage < 1.0:
        raise InputError(f"--sets {coverage:g} must be a share between 0 and 1, such as 0.9.")
    if model not in (None, "auto"):
        raise InputError(
            f"--sets {coverage:g}: {model} keeps no left-out predictions to make sets of; use auto."
        )


def _check_labels(dataset: NodeDataset, job: _Job) -> None:
    if dataset.n_classes < 2:
        found = ", ".join(dataset.class_names or ()) or "none"
        raise InputError(
            f"{job.labels}: at least two classes are needed, found {found}; label nodes of another "
            "class as well."
        )
    if dataset.n_nodes < 3:
        raise InputError(f"{job.labels}: {dataset.n_nodes} nodes are too few to learn from.")


def _fit(dataset: NodeDataset, options: dict[str, Any], job: _Job) -> NodeEstimator:
    import numpy as np

    from truegraph.data.nodes.datasets import cache_folder

    if not job.quiet:
        announce_compilation("truegraph.learning", "truegraph.nn", seconds=40)
    from truegraph.runtime.threads import use_threads
    from truegraph.tasks.classify.estimator import classifier_of

    classifier = classifier_of(
        job.name,
        options or None,
        random_state=job.seed,
        cache=job.cache or cache_folder() / "embeddings",
        progress=not job.quiet,
    )
    classifier._called = np.asarray(dataset.class_names)
    with use_threads(job.jobs):
        return classifier.fit(dataset.features, dataset.labels, graph=dataset.graph)


def _predictions(
    dataset: NodeDataset, classifier: NodeEstimator, coverage: float | None
) -> pd.DataFrame:
    import numpy as np

    from truegraph.report.predictions import prediction_table, set_columns

    table = prediction_table(
        dataset,
        classifier.predict_proba(),
        classifier.predictive_entropy_,
        classifier.mutual_information_,
    )
    table["novelty"] = classifier.novelty_.round(3)
    if coverage is not None:
        sets = classifier.predict_set(coverage=coverage)
        table = table.assign(**set_columns(dataset, sets.members))
    table["given"] = np.where(dataset.labels >= 0, "true", "false")
    return table


def _judged_edges(
    dataset: NodeDataset, classifier: NodeEstimator, job: _Job
) -> pd.DataFrame | None:
    """Return the observed edges, the falsest first, and write them if that was asked for.

    None if there is nothing to judge them by, or if nobody asked and they are very many.
    """
    if job.edges_out is None:
        edges = 0 if dataset.graph is None else dataset.graph.nnz // 2
        if dataset.features is None or not _LEAST_EDGES <= edges <= _MOST_EDGES or not job.page:
            return None
    import numpy as np

    from truegraph.data.spreadsheets import write_csv

    table = classifier.suspect_edges(threshold=1.0)
    nodes, classes = np.asarray(dataset.node_names), np.asarray(dataset.class_names)
    names = {"source": nodes, "target": nodes, "source_class": classes, "target_class": classes}
    table = table.assign(**{column: named[table[column]] for column, named in names.items()})
    if job.edges_out is not None:
        write_csv(table, job.edges_out, escape=job.escape_formulas)
    return table


def _write(
    dataset: NodeDataset, classifier: NodeEstimator, predictions: pd.DataFrame, job: _Job
) -> None:
    import numpy as np

    job.write_table(predictions)
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
        "options": job.options(),
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
        "graph_out": None if job.graph_out is None else str(job.graph_out),
        "edges_out": None if job.edges_out is None else str(job.edges_out),
        "sets": job.sets,
        "calibration": classifier.calibration_,
        **job.facts(),
    }


def _explorer(
    dataset: NodeDataset, learned: LearnedGraph | None, predictions: pd.DataFrame
) -> Iterator[Part]:
    from truegraph.report.explorer.embedded import explorer_part

    if learned is not None:
        given = predictions["label"].where(predictions["given"] == "true", None)
        yield from explorer_part(
            learned.named(dataset.node_names),
            labels=given.to_numpy(object),
            predictions=predictions,
            observed=dataset.graph,
        )


def _page(
    dataset: NodeDataset,
    predictions: pd.DataFrame,
    document: dict[str, Any],
    heard: Sequence[str],
    more: Iterable[Part],
) -> Page:
    from truegraph.report.answer_page import answer_page, files_and_sizes, table_of

    size, rest = document["statistics"], predictions[predictions["given"] == "false"]
    return answer_page(
        f"Classes by {document['model']}",
        f"{len(rest):,} of {counted(size['nodes'], 'node')} labelled from "
        f"{counted(document['given'], 'label')}{_sureness(document['mean_probability'])}.",
        came_in={**files_and_sizes(document["files"], size), "labels given": document["given"]},
        learned={
            "edges of the learned graph": document["learned_edges"],
            **{f"predicted {name}": count for name, count in document["predicted"].items()},
        },
        sure={
            "mean probability of the predicted label": document["mean_probability"],
            "where that comes from": document["calibration"],
        },
        look_at=table_of(
            "Least sure",
            "Nodes whose labels would help most.",
            rest.sort_values("probability", kind="stable"),
        ),
        more=chain(_set_sizes(rest, document["sets"]), more),
        plan=dataset.plan,
        notes=document["notes"],
        warnings=heard,
    )


def _set_sizes(rest: pd.DataFrame, coverage: float | None) -> Iterator[Part]:
    """Yield how large the sets of the nodes without a label are, if sets were asked for."""
    from truegraph.report.predictions import set_sizes

    if coverage is not None and len(rest):
        yield set_sizes(rest["set_size"], coverage)


def _sureness(mean: float | None) -> str:
    return "" if mean is None else f"; on average {mean:.0%} of such labels should be right"


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
    if document["sets"] is not None:
        rows.insert(-1, ("sets", f"hold the true label of {document['sets']:.0%} of the nodes"))
    if document.get("suspect_edges"):
        rows.insert(1, ("suspect", f"{counted(document['suspect_edges'], 'edge')} look false"))
    job.print_facts(rows, document["notes"], job.graph_out, job.edges_out)
