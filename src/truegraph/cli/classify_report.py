"""The files of ``truegraph classify DATASET --out FOLDER``: values, tables, pictures and a page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from truegraph.cli.classify_dataset import Trials, headline
from truegraph.data.storage import atomic_write, write_json, write_text
from truegraph.report.page import Page, Picture, Table
from truegraph.report.plots import adjacency, save_figure, side_by_side
from truegraph.report.predictions import class_labels, prediction_table
from truegraph.report.reliability import reliability_diagrams
from truegraph.report.trials import markdown, table

if TYPE_CHECKING:
    import pandas as pd

    from truegraph.tasks.trials import TrialResults

_CAPTION = (
    "Mean ± standard deviation over the trials. Higher is better for accuracy, macro-F1 and error "
    "AUROC (how well predictive entropy tells wrong predictions from right ones, 0.5 = not at "
    "all); lower for NLL, Brier and ECE (expected calibration error). The last column is the "
    "two-sided p-value of Wilcoxon's signed-rank test on the accuracies, trial by trial."
)
_DESCRIPTIONS = {
    "report.html": "all of it on one page",
    "results.json": "every value of every trial",
    "table.md": "the table of metrics",
    "predictions.csv": "the first trial, node by node",
    "reliability.png": "how far confidence can be trusted",
    "adjacency.png": "the observed and the learned graph",
}


def write_report(folder: Path, trials: Trials, document: dict[str, Any]) -> list[str]:
    """Write all files and return their names, the page first."""
    pictures = {"reliability.png": _reliability(trials)}
    learned = next((found for found in trials.results if found.graphs), None)
    if learned is not None:
        pictures["adjacency.png"] = _adjacency(trials, learned)
    files = ["report.html", "results.json", "table.md", "predictions.csv", *pictures]
    with atomic_write(folder / "predictions.csv") as temporary:
        _predictions(trials).to_csv(temporary, index=False)
    write_text(folder / "table.md", markdown(table(trials.scores)) + "\n" + _CAPTION + "\n")
    for name, picture in pictures.items():
        save_figure(picture.figure, folder / name)
    write_json(folder / "results.json", document | {"files": files})
    page = _page(trials, document, list(pictures.values()), files[1:])
    write_text(folder / "report.html", page.render())
    return files


def _page(
    trials: Trials, document: dict[str, Any], pictures: list[Picture], files: list[str]
) -> Page:
    names = ", ".join(document["models"])
    return Page(
        title=f"Node classification on {document['dataset'].capitalize()}: {names}",
        summary=headline(document),
        tables=[
            Table("Metrics on the test nodes", _CAPTION, table(trials.scores)),
            Table("Accuracy, trial by trial", "In per cent.", _accuracies(document)),
        ],
        pictures=pictures,
        facts=_facts(document),
        notes=document["notes"],
        files=[(name, _DESCRIPTIONS[name]) for name in files],
    )


def _accuracies(document: dict[str, Any]) -> list[list[str]]:
    rows = [["seed", *document["models"]]]
    for trial, seed in enumerate(document["seeds"]):
        values = [model["accuracy"][trial] for model in document["models"].values()]
        rows.append([str(seed), *(f"{100 * value:.1f}" for value in values)])
    return rows


def _facts(document: dict[str, Any]) -> list[tuple[str, str]]:
    size = document["statistics"]
    seeds = document["seeds"]
    options = ", ".join(f"{name} {value:g}" for name, value in document["options"].items())
    return [
        (
            "data",
            f"{document['dataset']} ({document['source']}), {document['component']} graph: "
            f"{size['nodes']:,} nodes, {size['classes']} classes",
        ),
        ("fingerprint", document["fingerprint"]),
        ("split", f"{document['split']}, {document['per_class']} labels per class"),
        ("seeds", f"{seeds[0]} to {seeds[-1]}: of the split and of the training"),
        ("options of bgcn", options or "the defaults"),
        ("seconds", ", ".join(f"{name} {s:.1f}" for name, s in document["seconds"].items())),
        ("versions", ", ".join(f"{name} {v}" for name, v in document["versions"].items())),
    ]


def _reliability(trials: Trials) -> Picture:
    tests = [split.test for split in trials.splits]
    labels = np.concatenate([trials.dataset.labels[test] for test in tests])
    predictions = {}
    for found in trials.results:
        rows = [found.probabilities[trial][test] for trial, test in enumerate(tests)]
        predictions[found.model] = (labels, np.concatenate(rows))
    errors = "; ".join(
        f"{model.name} {np.mean(model.values['expected_calibration_error']):.1%}"
        for model in trials.scores
    )
    return Picture(
        heading="How far confidence can be trusted",
        caption="Test nodes of all trials, sorted by the probability of their predicted class. "
        "Where a bar ends below the dashed line the model is too sure, above it too modest; the "
        "small bars show how many predictions there are.",
        alternative="Reliability diagrams of the models, side by side. "
        f"Mean expected calibration error per trial: {errors}.",
        figure=reliability_diagrams(predictions),
    )


def _adjacency(trials: Trials, learned: TrialResults) -> Picture:
    dataset = trials.dataset
    assert learned.graphs is not None
    graph = learned.graphs[0].adjacency
    title = f"Learned graph ({learned.model}, first trial)"
    about: dict[str, Any] = {"labels": dataset.labels, "class_names": dataset.class_names}
    if dataset.graph is None:
        figure = adjacency(graph, title=title, **about)
    else:
        titles = (f"Observed graph of {dataset.name}", title)
        figure = side_by_side(dataset.graph, graph, titles=titles, **about)
    before = "" if dataset.graph is None else f"{dataset.graph.nnz // 2:,} observed edges and "
    return Picture(
        heading="The observed graph and the learned one" if before else "The learned graph",
        caption="Nodes are ordered by true class, as in the paper's Figure 2; the learned graph "
        "is that of the first trial. True classes serve the drawing only.",
        alternative="Adjacency matrices with nodes ordered by class and boundaries in red: "
        f"{before}{graph.nnz // 2:,} learned edges.",
        figure=figure,
    )


def _predictions(trials: Trials) -> pd.DataFrame:
    """Return the predictions of the first trial, one row per model and node."""
    import pandas as pd

    dataset, split = trials.dataset, trials.splits[0]
    role = np.full(dataset.n_nodes, "", dtype="<U10")
    for name in ("train", "validation", "test"):
        role[getattr(split, name)] = name
    tables = []
    for found in trials.results:
        information = found.mutual_information
        rows = prediction_table(
            dataset,
            found.probabilities[0],
            found.predictive_entropy[0],
            None if information is None else information[0],
        )
        rows.insert(0, "model", found.model)
        tables.append(rows.assign(true_label=class_labels(dataset, dataset.labels), set=role))
    return pd.concat(tables, ignore_index=True)
