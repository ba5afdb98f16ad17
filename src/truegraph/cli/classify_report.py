"""The files of ``truegraph classify DATASET --out FOLDER``: values, tables, pictures and a page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from truegraph.cli.classify_dataset import Trials, headline
from truegraph.data.storage import atomic_write, write_json, write_text
from truegraph.evaluation import ReliabilityCurve, reliability_curve
from truegraph.report.page import Facts, Files, Notes, Page, Panel, Part, Picture
from truegraph.report.parts.posterior import posterior_parts
from truegraph.report.plots import adjacency, reliability, save_figure, side_by_side
from truegraph.report.predictions import class_labels, prediction_table
from truegraph.report.tables import Table, markdown
from truegraph.report.trials import table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from scipy.sparse import csr_array

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
    curves = _curves(trials)
    figures = {"reliability.png": reliability(curves)}
    pictures = [_reliability(trials, curves)]
    graphs = _graphs(trials)
    if graphs:
        figures["adjacency.png"] = _side_by_side(trials, graphs)
        pictures.append(_adjacency(trials, graphs))
    files = ["report.html", "results.json", "table.md", "predictions.csv", *figures]
    with atomic_write(folder / "predictions.csv") as temporary:
        _predictions(trials).to_csv(temporary, index=False)
    write_text(folder / "table.md", markdown(table(trials.scores)) + "\n" + _CAPTION + "\n")
    for name, figure in figures.items():
        save_figure(figure, folder / name)
    write_json(folder / "results.json", document | {"files": files})
    page = _page(trials, document, pictures, files[1:])
    write_text(folder / "report.html", page.render())
    return files


def _page(
    trials: Trials, document: dict[str, Any], pictures: list[Picture], files: list[str]
) -> Page:
    names = ", ".join(document["models"])
    parts: list[Part] = [
        Table("Metrics on the test nodes", _CAPTION, table(trials.scores)),
        Table("Accuracy, trial by trial", "In per cent.", _accuracies(document)),
        *pictures,
        *_certainty(trials),
        Facts("How this was made", _facts(document)),
    ]
    if document["notes"]:
        parts.append(Notes("Notes", document["notes"]))
    parts.append(Files("Files", [(name, _DESCRIPTIONS[name]) for name in files]))
    return Page(
        title=f"Node classification on {document['dataset'].capitalize()}: {names}",
        summary=headline(document),
        parts=parts,
    )


def _certainty(trials: Trials) -> list[Part]:
    """Return how certain the first learned graph is, and the edges of its first test node."""
    learned = next((found.graphs[0] for found in trials.results if found.graphs), None)
    if learned is None:
        return []
    return list(posterior_parts(learned.posterior(), [int(trials.splits[0].test[0])]))


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
        ("options of the graph learners", options or "the defaults"),
        ("seconds", ", ".join(f"{name} {s:.1f}" for name, s in document["seconds"].items())),
        ("versions", ", ".join(f"{name} {v}" for name, v in document["versions"].items())),
    ]


def _curves(trials: Trials) -> dict[str, ReliabilityCurve]:
    tests = [split.test for split in trials.splits]
    labels = np.concatenate([trials.dataset.labels[test] for test in tests])
    return {
        found.model: reliability_curve(
            labels,
            np.concatenate([found.probabilities[trial][test] for trial, test in enumerate(tests)]),
        )
        for found in trials.results
    }


def _reliability(trials: Trials, curves: dict[str, ReliabilityCurve]) -> Picture:
    errors = {
        model.name: np.mean(model.values["expected_calibration_error"]) for model in trials.scores
    }
    return Picture(
        heading="How far confidence can be trusted",
        caption="Test nodes of all trials, sorted by the probability of their predicted class. "
        "Where a bar ends below the dashed line the model is too sure, above it too modest; the "
        "small bars show how many predictions there are.",
        panels=[
            Panel(
                reliability({name: curve}),
                f"Reliability diagram of {name}. "
                f"Mean expected calibration error per trial: {errors[name]:.1%}.",
            )
            for name, curve in curves.items()
        ],
        small=True,
    )


def _graphs(trials: Trials) -> dict[str, csr_array]:
    """Return the observed graph, if there is one, and the first learned one; {} if none is."""
    learned = next((found for found in trials.results if found.graphs), None)
    if learned is None or learned.graphs is None:
        return {}
    observed = trials.dataset.graph
    before = {} if observed is None else {f"Observed graph of {trials.dataset.name}": observed}
    return {
        **before,
        f"Learned graph ({learned.model}, first trial)": learned.graphs[0].adjacency,
    }


def _side_by_side(trials: Trials, graphs: dict[str, csr_array]) -> Figure:
    labels, names = trials.dataset.labels, trials.dataset.class_names
    if len(graphs) == 1:
        [(title, graph)] = graphs.items()
        return adjacency(graph, labels, class_names=names, title=title)
    (first, observed), (second, learned) = graphs.items()
    return side_by_side(observed, learned, labels, class_names=names, titles=(first, second))


def _adjacency(trials: Trials, graphs: dict[str, csr_array]) -> Picture:
    dataset = trials.dataset
    return Picture(
        heading="The learned graph" if len(graphs) == 1 else "The observed graph and the learned",
        caption="Nodes are ordered by true class, as in the paper's Figure 2; the learned graph "
        "is that of the first trial. True classes serve the drawing only.",
        panels=[
            Panel(
                adjacency(graph, dataset.labels, class_names=dataset.class_names, title=title),
                f"{title}: adjacency matrix with nodes ordered by class and class boundaries in "
                f"red, {graph.nnz // 2:,} edges.",
            )
            for title, graph in graphs.items()
        ],
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
