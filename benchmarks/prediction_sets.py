"""Prediction sets of TorchCP's methods, given the labels that `predict_set` of `auto` has.

    pip install torchcp==1.2.1
    python benchmarks/prediction_sets.py --trials 10            # what is not in the CSV yet
    python benchmarks/prediction_sets.py --datasets cora --labels 5 --trials 2

Claim: with the same labels, the sets of `auto` are no larger on average than those of TorchCP's
threshold method (LAC), APS and DAPS, and reach the asked coverage. These methods need labels that
the model has not seen: half of the labels of each class train a GCN, by its authors' settings, the
other half, the larger one of an odd number, calibrate. Splits are those of the experiments, seeds
from 0 on; the trials of `auto` on the same splits are those of results/coverage_trials.csv. DAPS
takes its usual share of the neighbours, 0.5, over APS. Every trial is a line of
results/prediction_sets_trials.csv; those that stand there are not run again.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import sys
import types
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from truegraph.data import NodeDataset, NodeSplit, load_dataset, random_split
from truegraph.evaluation.scores import COVERAGES, score_sets
from truegraph.tasks.classify.trials import run_trials

# TorchCP loads torchsort, which must be compiled, for a training loss that nothing here uses.
if importlib.util.find_spec("torchsort") is None:
    sys.modules["torchsort"] = types.ModuleType("torchsort")
    sys.modules["torchsort"].soft_rank = sys.modules["torchsort"].soft_sort = None
try:
    from torchcp.classification.score import APS, LAC
    from torchcp.graph.score import DAPS
    from torchcp.utils.common import calculate_conformal_value
except ImportError as error:
    raise SystemExit(f"{error}; install it: pip install torchcp==1.2.1") from error

RESULTS = Path(__file__).resolve().parent.parent / "results"
TABLE, OURS = RESULTS / "prediction_sets_trials.csv", RESULTS / "coverage_trials.csv"
METHODS = ("LAC", "APS", "DAPS")
NAMES = ["dataset", "labels", "seed", "method"]
SCORES = [
    f"{score}_{round(100 * level)}" for level in COVERAGES for score in ("coverage", "set_size")
]


def halves(
    labels: NDArray[np.int64], train: NDArray[np.int64], seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the labelled nodes to train on and those to calibrate with, class by class."""
    generator = np.random.default_rng([seed, 27])
    first, second = [], []
    for label in np.unique(labels[train]):
        members = generator.permutation(train[labels[train] == label])
        first.append(members[: len(members) // 2])
        second.append(members[len(members) // 2 :])
    return np.concatenate(first), np.concatenate(second)


def logits_of(data: NodeDataset, split: NodeSplit, train: Any, seed: int) -> torch.Tensor:
    """Return the logarithms of a GCN's probabilities (N, C)."""
    part = NodeSplit(train, split.validation, split.test)
    given = (data.features, data.graph, data.labels, [part], [seed])
    chances = run_trials("gcn", *given, classes=data.n_classes).probabilities[0]
    return torch.log(torch.from_numpy(np.maximum(chances, 1e-12)))


def score_functions(data: NodeDataset) -> dict[str, Any]:
    """Return TorchCP's scores by name."""
    edges = torch.from_numpy(np.vstack(data.graph.tocoo().coords).astype(np.int64))
    graph = types.SimpleNamespace(num_nodes=data.n_nodes, edge_index=edges, edge_weight=None)
    return {"LAC": LAC(), "APS": APS(), "DAPS": DAPS(graph, APS(), neigh_coef=0.5)}


def trial(data: NodeDataset, labels: int, seed: int) -> dict[str, dict[str, float]]:
    """Return coverage and mean size on the test nodes by method."""
    split = random_split(data.labels, labels, random_state=seed)
    train, aside = halves(data.labels, split.train, seed)
    logits = logits_of(data, split, train, seed)
    torch.manual_seed(seed)  # APS draws
    found: dict[str, dict[str, float]] = {}
    for name, function in score_functions(data).items():
        scores = function(logits)
        own = scores[torch.from_numpy(aside), torch.from_numpy(data.labels[aside])]
        values: list[float] = []
        for level in COVERAGES:
            with warnings.catch_warnings():  # of too few labels: every class is in the set
                warnings.simplefilter("ignore")
                limit = calculate_conformal_value(own, 1.0 - level)
            members = (scores[torch.from_numpy(split.test)] <= limit).numpy()
            values += score_sets(data.labels[split.test], members)
        found[name] = dict(zip(SCORES, values, strict=True))
    return found


def rows(path: Path) -> list[dict[str, str]]:
    """Return the lines of a table; none if there is no such table."""
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def add(found: list[dict[str, Any]]) -> None:
    """Add trials to the table."""
    is_new = not TABLE.is_file()
    with TABLE.open("a", encoding="utf-8", newline="") as lines:
        writer = csv.DictWriter(lines, [*NAMES, *SCORES], lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerows(found)


def our_rows() -> list[dict[str, str]]:
    """Return the trials of `auto` with its defaults."""
    found = [row for row in rows(OURS) if row["label"] == "auto" and row.get(SCORES[0])]
    return [{**row, "method": "auto"} for row in found]


def show() -> None:
    """Print coverage and mean size of all methods as Markdown, on the splits that all have."""
    theirs, ours = rows(TABLE), our_rows()
    print("| data set | labels | splits | method | " + " | ".join(SCORES) + " |")
    print("|---" * (4 + len(SCORES)) + "|")
    cells = {(row["dataset"], row["labels"]) for row in theirs}
    for dataset, labels in sorted(cells, key=lambda cell: (cell[0], int(cell[1]))):
        cell = [r for r in [*theirs, *ours] if (r["dataset"], r["labels"]) == (dataset, labels)]
        seeds = {r["seed"] for r in cell if r["method"] == "LAC"}
        if mine := {r["seed"] for r in cell if r["method"] == "auto"}:
            seeds &= mine
        for method in (*METHODS, "auto"):
            own = [r for r in cell if r["method"] == method and r["seed"] in seeds]
            if own:
                means = [float(np.mean([float(r[name]) for r in own])) for name in SCORES]
                listed = " | ".join(
                    f"{100 * value:.1f}" if name.startswith("coverage") else f"{value:.2f}"
                    for name, value in zip(SCORES, means, strict=True)
                )
                print(f"| {dataset} | {labels} | {len(own)} | {method} | {listed} |")


def main() -> None:
    """Run what is missing and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=["cora", "citeseer", "pubmed"])
    parser.add_argument("--labels", nargs="+", type=int, default=[5, 10, 20])
    parser.add_argument("--trials", type=int, default=10)
    asked = parser.parse_args()
    done = {tuple(row[name] for name in NAMES[:3]) for row in rows(TABLE)}
    for dataset in asked.datasets:
        data = load_dataset(dataset)
        for labels in asked.labels:
            for seed in range(asked.trials):
                if (dataset, str(labels), str(seed)) in done:
                    continue
                found = trial(data, labels, seed)
                key = {"dataset": dataset, "labels": labels, "seed": seed}
                add(
                    [
                        {**key, "method": name, **{k: f"{v:.6f}" for k, v in scores.items()}}
                        for name, scores in found.items()
                    ]
                )
    show()


if __name__ == "__main__":
    main()
