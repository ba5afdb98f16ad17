"""``truegraph classify``: label the nodes of one's own files from a few labels."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from truegraph.cli import options as cli
from truegraph.cli.options import MODEL, OUTPUT, file_option, option
from truegraph.cli.output import GRAPHS, Output, write_table
from truegraph.errors import InputError
from truegraph.wording import counted

if TYPE_CHECKING:
    import pandas as pd

    from truegraph.classify.estimator import NodeClassifier
    from truegraph.data import NodeDataset
    from truegraph.report.page import Part

_LEAST_EDGES, _MOST_EDGES = 50, 1_000_000  # whose probability of being real the page shows


def classify(
    edges: cli.Edges = None,
    features: cli.Features = None,
    labels: cli.Labels = None,
    columns: cli.Columns = None,
    drop: cli.Drop = None,
    id_column: cli.IdColumn = None,
    ends: cli.Ends = None,
    weight: cli.Weight = None,
    target: Annotated[
        str,
        option(
            MODEL,
            "What labels are: classes, or numbers to predict; auto looks at them.",
            metavar="auto|class|number",
        ),
    ] = "auto",
    model: cli.Model = "auto",
    given: cli.Settings = None,
    seed: cli.Seed = 0,
    sets: Annotated[
        float | None,
        option(
            OUTPUT,
            "Add the set of classes, or the interval, that holds the truth with this probability.",
            metavar="SHARE",
        ),
    ] = None,
    out: cli.Answers = None,
    graph_out: Annotated[
        Path | None, file_option(OUTPUT, "Learned graph, a .csv, .parquet, .graphml or .npz file.")
    ] = None,
    edges_out: Annotated[
        Path | None,
        file_option(
            OUTPUT,
            "Your edges with the probability that each is real, a .csv file, the least probable "
            "first.",
        ),
    ] = None,
    save: cli.Save = None,
    as_json: cli.Json = False,
    jobs: cli.Jobs = None,
    quiet: cli.Quiet = False,
) -> None:
    """Label the rest of your nodes from a few labels, and say how sure each answer is.

    Needs --labels and --edges, --features or both.
    """
    output = Output(out or (), save, as_json, quiet)
    files = {"edges": edges, "features": features, "labels": labels}
    _check_files(files, edges_out)
    cli.choice("--target", target, ("auto", "class", "number"))
    cli.check_share("--sets", sets)
    output.check(files.values(), graph_out=(graph_out, GRAPHS), edges_out=(edges_out, (".csv",)))
    settings, model = cli.settings(given), _checked_model(model, graph_out)
    dataset = cli.read_nodes(files, cli.reading(columns, drop, id_column, ends, weight), output)
    output.check_names(dataset.node_names, graph_out)
    document: dict[str, Any] = {
        "files": {name: None if path is None else str(path) for name, path in files.items()},
        **{"model": model, "options": settings, "seed": seed, "sets": sets},
        **{"statistics": dataset.statistics(), "fingerprint": dataset.fingerprint},
    }
    from truegraph.cli.regress import label_numbers, regress

    numbers = label_numbers(dataset, str(labels), target)
    if numbers is not None:
        if target == "auto":
            output.say("The labels are numbers, so numbers are predicted; --target class for "
                       "classes.")  # fmt: skip
        if edges_out is not None:
            raise InputError(f"--edges-out {edges_out}: edges are judged for classes, not numbers.")
        regress(dataset, numbers, document, output, jobs, graph_out)
        return
    _classify(dataset, document, output, jobs, graph_out, edges_out)


def _check_files(files: dict[str, Path | None], edges_out: Path | None) -> None:
    """Raise an InputError for what cannot be done, before anything is read."""
    if files["labels"] is None:
        raise InputError(
            "there is nothing to learn from; give --labels, and --edges, --features or both."
        )
    if edges_out is not None and None in files.values():
        raise InputError(
            f"--edges-out {edges_out}: features tell which edges look false; give --edges and "
            "--features."
        )


def _checked_model(model: str, graph_out: Path | None) -> str:
    from truegraph.classify.models import MODELS

    name = cli.one_model(model, MODELS)
    learns = name in ("auto", "learned-spreading") or name.startswith("bgcn")
    if graph_out is not None and not learns:
        raise InputError(f"--graph-out {graph_out}: {name} learns no graph; use auto or bgcn.")
    return name


def _classify(
    dataset: NodeDataset,
    document: dict[str, Any],
    output: Output,
    jobs: int | None,
    graph_out: Path | None,
    edges_out: Path | None,
) -> None:
    """Fit, predict, and write and show the answer."""
    import numpy as np

    from truegraph.classify.estimator import NodeClassifier
    from truegraph.options import estimator_arguments
    from truegraph.report.classes import prediction_table

    names = dataset.class_names or ()
    if len(names) < 2:
        raise InputError(
            f"{document['files']['labels']}: at least two classes are needed, found "
            f"{', '.join(names) or 'none'}; label nodes of another class as well."
        )
    labels = np.array([*names, None], dtype=object)[dataset.labels]
    own = {"random_state": document["seed"], "progress": not output.quiet}
    chosen = estimator_arguments(NodeClassifier, document["options"], **own)
    began = time.perf_counter()
    with output.working(jobs) as heard:
        classifier = NodeClassifier(document["model"], **chosen)
        classifier.fit(dataset.features, labels, graph=dataset.graph)
        coverage = document["sets"]
        table = prediction_table(classifier, dataset.node_names, labels, coverage)
        judged = _judged_edges(dataset, classifier, edges_out is not None, output.page)
    write_table(table, output.answers)
    if edges_out is not None and judged is not None:
        write_table(judged, edges_out)
    learned = classifier.learned_graph_
    if graph_out is not None and learned is not None:
        output.write_graph(learned.named(dataset.node_names), graph_out)
    elif graph_out is not None:  # auto may have no use for one
        output.say(f"No graph was learned: {graph_out} is not written.")
    if output.save is not None:
        classifier.of_table(dataset.plan, dataset.node_names).save(output.save)
    rest = table[table["given"] == "false"]
    counts = {str(name): int(count) for name, count in rest["prediction"].value_counts().items()}
    document |= {
        **{"given": len(table) - len(rest), "predicted": counts},
        "calibration": classifier.calibration_,
        "learned_edges": None if learned is None else learned.n_edges,
        "seconds": round(time.perf_counter() - began, 3),
        "notes": [*dataset.notes, *classifier.notes_],
    }
    output.finish(
        document,
        title=f"Classes by {document['model']}",
        headline=f"Labelled {len(rest):,} of {counted(len(table), 'node')} with "
        f"{document['model']} from {counted(document['given'], 'label')} of "
        f"{counted(len(names), 'class', 'classes')}",
        verdict=_verdict(rest, document),
        learned=_facts(classifier, counts, judged),
        parts=lambda: _parts(dataset, classifier, table, judged, coverage),
        plan=dataset.plan,
        warnings=heard,
        also=(graph_out if learned is not None else None, edges_out),
    )


def _judged_edges(
    dataset: NodeDataset, classifier: NodeClassifier, is_asked: bool, page: Path | None
) -> pd.DataFrame | None:
    """Return the observed edges, the least probable first.

    None if there is nothing to judge them by, or if nobody asked and they are few or very many.
    """
    import numpy as np

    count = 0 if dataset.graph is None else dataset.graph.nnz // 2
    is_shown = page is not None and _LEAST_EDGES <= count <= _MOST_EDGES
    if dataset.features is None or not (is_asked or is_shown):
        return None
    table, nodes = classifier.suspect_edges(threshold=1.0), np.asarray(dataset.node_names)
    return table.assign(source=nodes[table["source"]], target=nodes[table["target"]])


def _verdict(rest: pd.DataFrame, document: dict[str, Any]) -> dict[str, str]:
    """Return the accuracy to expect: the mean probability of the predictions."""
    from truegraph.report.page import share_interval

    if not len(rest):
        return {"expected": "nothing to predict: every label is given"}
    mean = float(rest["probability"].mean())
    low, high = share_interval(mean, document["given"])
    return {
        "expected": f"{mean:.0%} of the predicted labels are right ({low:.0%} to {high:.0%})",
        "rests on": f"{counted(document['given'], 'given label')}; {document['calibration']}",
        "to do": "label the least sure nodes, listed on the page; "
        "truegraph compare classify tells which model is best",
    }


def _facts(
    classifier: NodeClassifier, counts: dict[str, int], judged: pd.DataFrame | None
) -> dict[str, Any]:
    from truegraph.report.classes import SUSPECT

    learned = classifier.learned_graph_
    suspect = 0 if judged is None else int((judged["probability"] <= SUSPECT).sum())
    return {
        "predicted": ", ".join(f"{name} {count:,}" for name, count in counts.items()) or None,
        "learned graph": None if learned is None else counted(learned.n_edges, "edge"),
        "suspect": f"{counted(suspect, 'edge')} look false" if suspect else None,
    }


def _parts(
    dataset: NodeDataset,
    classifier: NodeClassifier,
    table: pd.DataFrame,
    judged: pd.DataFrame | None,
    coverage: float | None,
) -> Iterator[Part]:
    from truegraph.report.classes import class_parts
    from truegraph.report.explorer.page import explorer_part

    explorer: Iterator[Part] = iter(())
    if classifier.learned_graph_ is not None:
        given = table["label"].where(table["given"] == "true", None).to_numpy(object)
        graph = classifier.learned_graph_.named(dataset.node_names)
        explorer = explorer_part(graph, labels=given, predictions=table, observed=dataset.graph)
    return chain(class_parts(table, judged, coverage), explorer)
