r"""Accuracy on the paper's citation graphs, beside the numbers it prints (its Table 1).

    python benchmarks/accuracy.py --datasets cora,citeseer --labels 5,10,20 --models gcn,bgcn \
        --trials 50 --batch 10 --store runs/accuracy.jsonl
    python benchmarks/accuracy.py --table --store runs/accuracy.jsonl

Trial t has seed t, which draws the split and starts the training; all models see the same splits.
Every finished batch of trials is one line of the store, written through to the disk, so the same
command continues where it was stopped and computes nothing twice. Data are found as
`truegraph.load_dataset` finds them (TRUEGRAPH_DATA).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import truegraph
from truegraph.data import NodeDataset, NodeSplit, fixed_split, load_dataset, random_split
from truegraph.errors import TruegraphError
from truegraph.evaluation import mean_std, paired_wilcoxon
from truegraph.experiments.layout import markdown
from truegraph.report.trials import score_trials, without_nan

THREADS = 2
EMBEDDING_SEED = 0
RATES = (5, 10, 20)
USUAL = {"degree": 100.0, "samples": 60, "embedding_seed": EMBEDDING_SEED}  # of bgcn

# Mean and spread for 5, 10 and 20 labels per class, as printed.
PAPER: dict[str, dict[str, dict[str, str]]] = {
    "random": {
        "chebynet": {
            "cora": "61.7±6.8 72.5±3.4 78.8±1.6",
            "citeseer": "58.5±4.8 65.8±2.8 67.5±1.9",
            "pubmed": "62.7±6.9 68.6±5.0 74.3±3.0",
        },
        "gcn": {
            "cora": "70.0±3.7 76.0±2.2 79.8±1.8",
            "citeseer": "58.5±4.7 65.4±2.6 67.8±2.3",
            "pubmed": "69.7±4.5 73.9±3.4 77.5±2.5",
        },
        "gat": {
            "cora": "70.4±3.7 76.6±2.8 79.9±1.8",
            "citeseer": "56.7±5.1 64.1±3.3 67.6±2.3",
            "pubmed": "68.0±4.8 72.6±3.6 76.4±3.0",
        },
        "dfnet-att": {
            "cora": "72.3±2.9 75.8±1.7 79.3±1.8",
            "citeseer": "60.5±1.2 63.2±2.9 66.3±1.7",
        },
        "sbm-gcn": {
            "cora": "46.0±19 74.4±10 82.6±0.2",
            "citeseer": "24.5±7.3 43.3±12 66.1±5.7",
            "pubmed": "59.0±10 67.8±6.9 74.6±4.5",
        },
        "bgcn-parametric": {
            "cora": "74.6±2.8 77.5±2.6 80.2±1.5",
            "citeseer": "63.0±4.8 69.9±2.3 71.1±1.8",
            "pubmed": "70.2±4.5 73.3±3.1 76.0±2.6",
        },
        "bgcn": {
            "cora": "74.2±2.8 76.9±2.2 78.8±1.7",
            "citeseer": "64.9±4.6 70.1±1.9 71.4±1.6",
            "pubmed": "71.1±4.4 74.6±3.6 77.6±2.9",
        },
    },
    "fixed": {
        "chebynet": {
            "cora": "67.9±3.1 72.7±2.4 80.4±0.7",
            "citeseer": "53.0±1.9 67.7±1.2 70.2±0.9",
            "pubmed": "68.1±2.5 69.4±1.6 76.0±1.2",
        },
        "gcn": {
            "cora": "74.4±0.8 74.9±0.7 81.6±0.5",
            "citeseer": "55.4±1.1 65.8±1.1 70.8±0.7",
            "pubmed": "69.7±0.5 72.8±0.5 78.9±0.3",
        },
        "gat": {
            "cora": "73.5±2.2 74.5±1.3 81.6±0.9",
            "citeseer": "55.4±2.6 66.1±1.7 70.8±1.0",
            "pubmed": "70.0±0.6 71.6±0.9 76.9±0.5",
        },
        "bgcn-parametric": {
            "cora": "75.3±0.8 76.6±0.8 81.2±0.8",
            "citeseer": "57.3±0.8 70.8±0.6 72.2±0.6",
            "pubmed": "70.9±0.8 72.3±0.8 76.6±0.7",
        },
        "sbm-gcn": {
            "cora": "59.3±1.3 77.3±1.2 82.2±0.8",
            "citeseer": "20.8±2.0 66.3±0.6 71.7±0.1",
            "pubmed": "64.8±0.8 71.7±0.7 80.6±0.4",
        },
        "bgcn": {
            "cora": "76.0±1.1 76.8±0.9 80.3±0.6",
            "citeseer": "59.0±1.5 71.7±0.8 72.6±0.6",
            "pubmed": "73.3±0.7 73.9±0.9 79.2±0.5",
        },
    },
}

Line = dict[str, Any]
Cell = tuple[str, str, int, str]  # split, data set, labels per class, model


class Store:
    """Finished batches of trials, one JSON document per line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines = _read_lines(path)

    def append(self, line: Line) -> None:
        """Add a line and wait until it is on the disk."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        _cut_torn_line(self.path)
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(line, allow_nan=False) + "\n")
            stream.flush()
            os.fsync(stream.fileno())
        self.lines.append(line)

    def seeds(self, cell: Line) -> set[int]:
        """Return the seeds that are done for a cell with the same data and options."""
        return {
            seed
            for line in self.lines
            if all(line.get(name) == value for name, value in cell.items())
            for seed in line["seeds"]
        }


def _read_lines(path: Path) -> list[Line]:
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]  # what follows was torn when a run was killed
    return [json.loads(line) for line in whole.splitlines()]


def _cut_torn_line(path: Path) -> None:
    if not path.exists():
        return
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        os.truncate(path, whole)


def batches(seeds: Sequence[int], done: set[int], size: int) -> Iterator[list[int]]:
    """Yield the seeds that are left, so many at a time."""
    left = [seed for seed in seeds if seed not in done]
    for start in range(0, len(left), size):
        yield left[start : start + size]


def split_of(dataset: NodeDataset, per_class: int, kind: str, seed: int) -> NodeSplit:
    if kind == "fixed":
        return fixed_split(dataset, per_class)
    return random_split(dataset.labels, per_class, random_state=seed)


def describe(dataset: NodeDataset, per_class: int, model: str, options: argparse.Namespace) -> Line:
    """Return what must agree for trials to be of one cell."""
    return {
        "dataset": dataset.name,
        "per_class": per_class,
        "model": model,
        "split": options.split,
        "component": options.component,
        "options": model_options(model, options),
        "fingerprint": dataset.fingerprint,
        "version": truegraph.__version__,
    }


def model_options(model: str, options: argparse.Namespace) -> dict[str, Any]:
    if model != "bgcn":
        return {}
    return USUAL | {"degree": options.degree, "samples": options.samples}


def run_batch(dataset: NodeDataset, cell: Line, seeds: list[int], cache: Path) -> Line:
    """Train and score a batch of trials of one cell."""
    from truegraph.tasks.trials import run_trials

    splits = [split_of(dataset, cell["per_class"], cell["split"], seed) for seed in seeds]
    start = time.perf_counter()
    results = run_trials(
        cell["model"],
        dataset.features,
        dataset.graph,
        dataset.labels,
        splits,
        seeds,
        options=cell["options"],
        classes=dataset.n_classes,
        cache=cache,
    )
    scores = score_trials(dataset.labels, splits, results)
    metrics = {name: without_nan(values) for name, values in scores.items()}
    seconds = round(time.perf_counter() - start, 2)
    return cell | {"seeds": seeds, "metrics": metrics, "seconds": seconds}


def run(options: argparse.Namespace) -> int:
    """Do what is left of the wanted cells; return how many data sets or batches failed."""
    import numba
    import torch

    torch.set_num_threads(THREADS)
    numba.set_num_threads(min(THREADS, numba.config.NUMBA_NUM_THREADS))
    store = Store(options.store)
    failures = 0
    for name in options.datasets:
        try:
            dataset = load_dataset(name, component=options.component)
        except TruegraphError as error:
            print(f"{name}: {error}", file=sys.stderr)
            failures += 1
            continue
        for per_class in options.labels:
            failures += run_cells(dataset, per_class, options, store)
    return failures


def run_cells(
    dataset: NodeDataset, per_class: int, options: argparse.Namespace, store: Store
) -> int:
    """Run all models batch by batch, so that a stopped run has pairs to compare."""
    seeds = range(options.seed, options.seed + options.trials)
    failures = 0
    for group in batches(seeds, set(), options.batch):
        for model in options.models:
            cell = describe(dataset, per_class, model, options)
            for left in batches(group, store.seeds(cell), options.batch):
                try:
                    line = run_batch(dataset, cell, left, options.store.parent / "cache")
                except TruegraphError as error:
                    print(f"{model} on {dataset.name}: {error}", file=sys.stderr)
                    failures += 1
                    continue
                store.append(line)
                print_progress(line)
    return failures


def print_progress(line: Line) -> None:
    found = np.array(line["metrics"]["accuracy"])
    print(
        f"{line['dataset']:<9} {line['per_class']:>2} labels  {line['model']:<11} "
        f"seeds {line['seeds'][0]}-{line['seeds'][-1]}  accuracy {100 * found.mean():.1f}"
        f" ± {100 * found.std():.1f}  {line['seconds']:.0f} s",
        flush=True,
    )


def accuracies(lines: Sequence[Line]) -> dict[Cell, dict[int, float]]:
    """Return the accuracy of each seed in each cell; a later line replaces an earlier one."""
    cells: dict[Cell, dict[int, float]] = {}
    for line in lines:
        cell = (line["split"], dataset_label(line), line["per_class"], model_label(line))
        values = zip(line["seeds"], line["metrics"]["accuracy"], strict=True)
        cells.setdefault(cell, {}).update(values)
    return cells


def dataset_label(line: Line) -> str:
    return line["dataset"] + (" (largest)" if line["component"] == "largest" else "")


def model_label(line: Line) -> str:
    """Return the model's name, with the options that are not the usual ones."""
    changed = [
        f"{name}={value:g}" for name, value in line["options"].items() if value != USUAL[name]
    ]
    return line["model"] + (f" ({', '.join(changed)})" if changed else "")


def printed(cell: Cell) -> str | None:
    """Return what the paper prints for a cell."""
    split, dataset, per_class, model = cell
    numbers = PAPER[split].get(model, {}).get(dataset)
    if numbers is None or per_class not in RATES:
        return None
    return numbers.split()[RATES.index(per_class)]


def against_paper(cells: dict[Cell, dict[int, float]]) -> list[list[str]]:
    rows = [["split", "data set", "labels", "model", "ours %", "trials", "paper %", "difference"]]
    for cell, values in sorted(cells.items(), key=lambda item: item[0]):
        found = mean_std(list(values.values()))
        paper = printed(cell)
        gap = "" if paper is None else f"{100 * found.mean - float(paper.split('±')[0]):+.1f}"
        ours = f"{100 * found.mean:.1f} ± {100 * found.std:.1f}"
        rows.append([*map(str, cell), ours, str(found.n), (paper or "-").replace("±", " ± "), gap])
    return rows


def paired(cells: dict[Cell, dict[int, float]], first: str = "bgcn") -> list[list[str]]:
    rows = [["split", "data set", "labels", "pair", "difference", "trials", "p (Wilcoxon)"]]
    for split, dataset, per_class, model in sorted(cells):
        ours = cells.get((split, dataset, per_class, first), {})
        theirs = cells[split, dataset, per_class, model]
        seeds = sorted(ours.keys() & theirs.keys())
        if model == first or not seeds:
            continue
        test = paired_wilcoxon([ours[seed] for seed in seeds], [theirs[seed] for seed in seeds])
        difference = f"{100 * test.mean_difference:+.1f}"
        pair = f"{first} - {model}"
        rows.append(
            [split, dataset, str(per_class), pair, difference, str(test.n), f"{test.p_value:.2g}"]
        )
    return rows


def print_tables(store: Store) -> None:
    cells = accuracies(store.lines)
    print(markdown(against_paper(cells)))
    print(
        "Test accuracy, mean ± standard deviation over trials; the paper's ± is the same. "
        "Difference: ours less the paper's. Trial t has seed t for split and training. bgcn uses "
        f"one VGAE embedding per data set (seed {EMBEDDING_SEED}; it sees no labels) "
        "for all splits.\n"
    )
    rows = paired(cells)
    if len(rows) > 1:
        print(markdown(rows))
        print("Differences in points on the same splits, and the two-sided p-value.")


def arguments() -> argparse.Namespace:
    def names(text: str) -> list[str]:
        return text.split(",")

    parser = argparse.ArgumentParser(description="Accuracy beside the paper's Table 1.")
    parser.add_argument("--datasets", type=names, default=["cora", "citeseer", "pubmed"])
    parser.add_argument("--labels", type=lambda text: [int(n) for n in text.split(",")])
    parser.add_argument("--models", type=names, default=["gcn", "bgcn"])
    parser.add_argument("--trials", type=int, default=50)
    parser.add_argument("--batch", type=int, default=10, help="trials per line of the store")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first trial")
    parser.add_argument("--split", choices=["random", "fixed"], default="random")
    parser.add_argument("--component", choices=["full", "largest"], default="full")
    parser.add_argument("--degree", type=float, default=USUAL["degree"])
    parser.add_argument("--samples", type=int, default=USUAL["samples"])
    parser.add_argument("--store", type=Path, default=Path("runs/accuracy.jsonl"))
    parser.add_argument("--table", action="store_true", help="only print the tables of the store")
    parser.set_defaults(labels=list(RATES))
    return parser.parse_args()


def main() -> int:
    options = arguments()
    failures = 0 if options.table else run(options)
    print_tables(Store(options.store))
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
