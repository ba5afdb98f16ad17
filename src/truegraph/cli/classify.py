"""``truegraph classify``: label the nodes of one's own files from a few labels, or numbers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truegraph.cli import options as cli
from truegraph.cli.output import GRAPHS, Output, answered, fitted
from truegraph.errors import InputError
from truegraph.wording import counted

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from truegraph.data import NodeDataset

_LEAST_EDGES, _MOST_EDGES = 50, 1_000_000  # whose probability of being real the page shows
_USUAL_SHARE = 0.9  # of the intervals of numbers
_FEWEST, _REPEATS = 10, 0.2  # different numbers, and their share of the labels, of quantities
_NO_BETTER = 0.95  # of the spread of the given values: errors as large say nothing of a node


def classify(
    edges: Path | None = None,
    features: Path | None = None,
    labels: Path | None = None,
    columns: str | None = None,
    drop: str | None = None,
    id_column: str | None = None,
    ends: str | None = None,
    weight: str | None = None,
    target: str = "auto",
    model: str = "auto",
    given: list[str] | None = None,
    seed: int = 0,
    sets: float | None = None,
    out: list[Path] | None = None,
    graph_out: Path | None = None,
    edges_out: Path | None = None,
    save: Path | None = None,
    as_json: bool = False,
    jobs: int | None = None,
    quiet: bool = False,
) -> None:
    """Label the rest of your nodes from a few labels, and say how sure each answer is.

    Needs --labels and --edges, --features or both.
    """
    output = Output(out, save, as_json, quiet)
    files = {"edges": edges, "features": features, "labels": labels}
    _check_files(files, edges_out)
    cli.choice("--target", target, ("auto", "class", "number"))
    cli.check_share("--sets", sets)
    output.check(files.values(), graph_out=(graph_out, GRAPHS), edges_out=(edges_out, (".csv",)))
    settings, model = cli.settings(given), _checked_model(model, graph_out)
    dataset = cli.read_nodes(output, files, cli.column_plan(columns, drop, id_column), ends, weight)
    output.check_names(dataset.node_names, graph_out)
    document = answered(files, dataset, model=model, options=settings, seed=seed, sets=sets)
    numbers = _label_numbers(dataset, str(labels), target)
    if numbers is None:
        _classify(dataset, document, output, jobs, graph_out, edges_out)
    elif edges_out is not None:
        raise InputError(f"--edges-out {edges_out}: edges are rated for classes, not numbers.")
    else:
        if target == "auto":
            output.say(
                "The labels are numbers, so numbers are predicted; --target class for classes."
            )
        _regress(dataset, numbers, document, output, jobs, graph_out)


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


def _label_numbers(dataset: NodeDataset, path: str, target: str) -> np.ndarray | None:
    """Return the labels as numbers (n_nodes,), NaN where there is none; None for classes.

    With target "auto" they are numbers if they can be read as such and few of them repeat.
    """
    import numpy as np
    import pandas as pd

    from truegraph.data import read_labels
    from truegraph.data.quantities import number_format, read_numbers

    if target == "class":
        return None
    texts = pd.Series(read_labels(path), dtype=object).reindex(dataset.node_names).fillna("")
    counts = texts[texts != ""].value_counts()
    words = pd.Series(counts.index, dtype=str)
    found = number_format(words, np.asarray(counts, dtype=np.int64)) if len(words) else None
    values = np.full(len(words), np.nan) if found is None else read_numbers(words, found)
    if np.isnan(values).any() or not len(values):
        if target == "number":
            wrong = words[np.isnan(values)].head(1).tolist() or [""]
            raise InputError(f"{path}: label {wrong[0]!r} is no number; use --target class.")
        return None
    is_number = len(counts) >= _FEWEST and len(counts) > _REPEATS * counts.sum()
    if target == "auto" and not is_number:
        return None
    return texts.map(dict(zip(counts.index, values, strict=True))).to_numpy(np.float64)


def _finish(
    dataset: NodeDataset,
    estimator: Any,
    table: pd.DataFrame,
    document: dict[str, Any],
    output: Output,
    graph_out: Path | None,
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Write answers, graph and model; return the predicted rows and facts of the graph."""
    output.write_table(table)
    output.write_graph(estimator.learned_graph_, dataset.node_names, graph_out)
    output.save_model(estimator.of_table(dataset.plan, dataset.node_names))
    rest, learned = table[table["given"] == "false"], estimator.learned_graph_
    document |= {
        "given": len(table) - len(rest),
        "learned_edges": None if learned is None else learned.n_edges,
        "notes": [*dataset.notes, *estimator.notes_],
    }
    return rest, {"learned graph": None if learned is None else counted(learned.n_edges, "edge")}


# --- classes --------------------------------------------------------------------------------------


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
    from truegraph.report.classes import SUSPECT, prediction_table

    names = dataset.class_names or ()
    if len(names) < 2:
        raise InputError(
            f"{document['files']['labels']}: at least two classes are needed, found "
            f"{', '.join(names) or 'none'}; label nodes of another class as well."
        )
    labels = np.array([*names, None], dtype=object)[dataset.labels]
    coverage = document["sets"]
    with output.working(jobs):
        data = (dataset.features, labels)
        classifier = fitted(NodeClassifier, document, output, *data, graph=dataset.graph)
        table = prediction_table(classifier, dataset.node_names, labels, coverage)
        rated = _rated_edges(dataset, classifier, edges_out is not None, output.page)
    if edges_out is not None and rated is not None:
        output.write_table(rated, edges_out)
    rest, learned = _finish(dataset, classifier, table, document, output, graph_out)
    counts = {str(name): int(count) for name, count in rest["prediction"].value_counts().items()}
    suspect = 0 if rated is None else int((rated["probability"] <= SUSPECT).sum())
    document |= {"predicted": counts, "calibration": classifier.calibration_}
    output.finish(
        document,
        f"Labelled {len(rest):,} of {counted(len(table), 'node')} with {document['model']} from "
        f"{counted(document['given'], 'label')} of {counted(len(names), 'class', 'classes')}",
        title=f"Classes by {document['model']}",
        answer=_expected_accuracy(rest, document),
        learned={
            "predicted": ", ".join(f"{name} {count:,}" for name, count in counts.items()) or None,
            **learned,
            "suspect": f"{counted(suspect, 'edge')} look false" if suspect else None,
        },
        parts=lambda: _class_parts(dataset, classifier, table, rated, coverage),
        plan=dataset.plan,
    )


def _rated_edges(
    dataset: NodeDataset, classifier: Any, is_asked: bool, page: Path | None
) -> pd.DataFrame | None:
    """Return the observed edges, the least probable first.

    None without features, or if they were not asked for and are few or very many.
    """
    import numpy as np

    count = 0 if dataset.graph is None else dataset.graph.nnz // 2
    is_shown = page is not None and _LEAST_EDGES <= count <= _MOST_EDGES
    if dataset.features is None or not (is_asked or is_shown):
        return None
    table, nodes = classifier.suspect_edges(threshold=1.0), np.asarray(dataset.node_names)
    return table.assign(source=nodes[table["source"]], target=nodes[table["target"]])


def _expected_accuracy(rest: pd.DataFrame, document: dict[str, Any]) -> dict[str, str]:
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


def _class_parts(
    dataset: NodeDataset,
    classifier: Any,
    table: pd.DataFrame,
    rated: pd.DataFrame | None,
    coverage: float | None,
) -> Iterator[Any]:
    from truegraph.report.classes import class_parts
    from truegraph.report.explorer.page import explorer_part

    explorer: Iterator[Any] = iter(())
    if classifier.learned_graph_ is not None:
        given = table["label"].where(table["given"] == "true", None).to_numpy(object)
        graph = classifier.learned_graph_.named(dataset.node_names)
        explorer = explorer_part(graph, labels=given, predictions=table, observed=dataset.graph)
    return chain(class_parts(table, rated, coverage), explorer)


# --- numbers --------------------------------------------------------------------------------------


def _regress(
    dataset: NodeDataset,
    values: np.ndarray,
    document: dict[str, Any],
    output: Output,
    jobs: int | None,
    graph_out: Path | None,
) -> None:
    """Fit, predict, and write and show the answer."""
    if document["model"] != "auto":
        raise InputError(f"--model {document['model']} predicts classes; use auto for numbers.")
    from truegraph.classify.regressor import NodeRegressor
    from truegraph.errors import AnswerWarning, warn
    from truegraph.report.page import first_rows

    with output.working(jobs):
        data = (dataset.features, values)
        regressor = fitted(NodeRegressor, document, output, *data, graph=dataset.graph)
        table = _number_table(dataset, regressor, values, document["sets"] or _USUAL_SHARE)
        spread = float(table.loc[table["given"] == "true", "label"].std())
        error = float(table.loc[table["given"] == "false", "error"].mean())
        if error >= _NO_BETTER * spread:
            warn(
                "The predictions are hardly better than the mean of the given values: features and "
                "edges tell little about these numbers. Give more values, or other features.",
                AnswerWarning,
            )
    rest, learned = _finish(dataset, regressor, table, document, output, graph_out)
    document |= {"target": "number", "mean_error": error if len(rest) else None}
    least = rest.sort_values("error", ascending=False, kind="stable")
    about = ("Least sure", "Nodes whose values would help most.")
    output.finish(
        document,
        f"Predicted numbers of {len(rest):,} of {counted(len(table), 'node')} from "
        f"{counted(document['given'], 'given value')}",
        title="Numbers by auto",
        answer=_expected_error(rest, spread, document),
        learned=learned,
        parts=lambda: [first_rows(*about, least)] if len(rest) else [],
        plan=dataset.plan,
    )


def _number_table(
    dataset: NodeDataset, regressor: Any, values: np.ndarray, share: float
) -> pd.DataFrame:
    import numpy as np
    import pandas as pd

    table = pd.DataFrame({"node": dataset.node_names})
    predicted, given = np.round(regressor.predict(), 6), ~np.isnan(values)
    table["label"] = np.where(given, values, predicted)
    table["given"] = np.where(given, "true", "false")
    table["prediction"], table["error"] = predicted, regressor.uncertainty_.round(6)
    try:
        _, ends = regressor.predict(return_interval=share)
    except InputError:  # too few known values for intervals
        return table
    return table.assign(lower=ends[:, 0].round(6), upper=ends[:, 1].round(6))


def _expected_error(rest: pd.DataFrame, spread: float, document: dict[str, Any]) -> dict[str, str]:
    if not len(rest):
        return {"expected": "nothing to predict: every label is given"}
    expected = f"errors of {document['mean_error']:.3g} (standard deviation)"
    if "lower" in rest:
        half = float((rest["upper"] - rest["lower"]).mean()) / 2
        share = document["sets"] or _USUAL_SHARE
        expected = f"{share:.0%} of the true values within {half:.3g} of the prediction"
    return {
        "expected": f"{expected}; the given values have a standard deviation of {spread:.3g}",
        "rests on": f"{counted(document['given'], 'given value')}, each predicted without itself",
        "to do": "give values of the least sure nodes, listed on the page",
    }
