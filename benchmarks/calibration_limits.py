"""How small the calibration error of `auto` could be, if its mean confidence were right.

    python benchmarks/calibration_limits.py                  # what is not in the store yet
    python benchmarks/calibration_limits.py --datasets cora texas --trials 4

Claim: what `auto` lacks is the level of its confidence, not the shape, and few labels do not tell
the level: within a cell, the share of left-out training labels that are predicted rightly says
next to nothing about the accuracy on the test nodes (their correlation is printed). On the 32
cells of `beyond`, `strangers` and `spoilt`, each with splits of its own (seeds from 1000 on), the
calibration error is shown as it is, with one temperature for which the mean confidence equals the
mean accuracy of the cell's other splits, with the one for which it equals the accuracy of the
split itself, and, the floor, as it would be on average if all confidences were right. The second
and third look at test labels: no method can have them. Predictions are kept in a folder, and what
is there is not computed again.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from truegraph.evaluation import accuracy, expected_calibration_error
from truegraph.evaluation.calibration import calibration_floor
from truegraph.experiments import Experiment
from truegraph.experiments.experiment import builtin_experiments
from truegraph.experiments.tasks.base import Cell, find_task
from truegraph.experiments.tasks.strange_graphs import StrangersTask, changed, thinned
from truegraph.tasks.classify.recipes.ensemble import confidence_temperature, tempered
from truegraph.tasks.classify.trials import run_trials

EXPERIMENTS = ("beyond", "strangers", "spoilt")
FIRST_SEED = 1000

# labels (n,), probabilities (n, C), and the share of left-out labels that are predicted rightly
Prediction = tuple[NDArray[np.int64], NDArray[np.float64], float]


def cells_of(experiment: Experiment) -> Iterator[Cell]:
    """Yield the cells of `auto` as it is."""
    return (cell for cell in experiment.cells() if cell.label == "auto")


def predicted(cell: Cell, seed: int, cache: str | None) -> Prediction:
    """Return the labels of the test nodes of a split and what `auto` predicts for them."""
    task = find_task(cell.task)
    data = task.open(cell)
    if isinstance(task, StrangersTask):
        data = changed(thinned(data), cell, seed)
    split = task.split(data, cell, seed)
    given = (data.features, data.graph, data.labels, [split], [seed])
    results = run_trials("auto", *given, classes=data.n_classes, cache=cache)
    assert results.left_out is not None
    left_out = results.left_out[0]
    share = accuracy(left_out.labels, left_out.probabilities.argmax(axis=1))
    chances = results.probabilities[0][split.test].astype(np.float64)
    return data.labels[split.test], chances, share


def kept(cell: Cell, seed: int, store: Path, cache: str | None) -> Prediction:
    """Return a prediction from the store, or make it and put it there."""
    file = store / f"{cell.key}-{seed}.npz"
    if not file.is_file():
        labels, probabilities, share = predicted(cell, seed, cache)
        np.savez_compressed(file, labels=labels, probabilities=probabilities, left_out=share)
    with np.load(file) as arrays:
        return arrays["labels"], arrays["probabilities"], float(arrays["left_out"])


def at_level(probabilities: NDArray[np.float64], level: float) -> NDArray[np.float64]:
    """Return probabilities (n, C) at the temperature that gives them a mean confidence."""
    return tempered(probabilities, confidence_temperature(probabilities, level))


def levels_of(predictions: list[Prediction]) -> NDArray[np.float64]:
    """Return the accuracy of each split of a cell."""
    return np.array([accuracy(labels, p.argmax(axis=1)) for labels, p, _ in predictions])


def errors(predictions: list[Prediction]) -> NDArray[np.float64]:
    """Return accuracy, the three calibration errors and the floor of a cell, in percent."""
    levels = levels_of(predictions)
    rows = []
    for place, (labels, chances, _) in enumerate(predictions):
        others = float(np.delete(levels, place).mean())
        shown = (chances, at_level(chances, others), at_level(chances, float(levels[place])))
        found = [expected_calibration_error(labels, p) for p in shown]
        rows.append([levels[place], *found, calibration_floor(chances)])
    return 100.0 * np.mean(rows, axis=0)


def told_by_left_out(cells: list[list[Prediction]]) -> float:
    """Return how left-out and test accuracies correlate within cells, over all of them."""
    shares = [np.array([share for _, _, share in own]) for own in cells]
    levels = [levels_of(own) for own in cells]
    around = [np.concatenate([one - one.mean() for one in values]) for values in (shares, levels)]
    return float(np.corrcoef(*around)[0, 1])


def main() -> None:
    """Run what is missing and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", help="all by default")
    parser.add_argument("--trials", type=int, default=4, help="splits per cell, at least 2")
    parser.add_argument("--store", type=Path, default=Path("runs/calibration_limits"))
    parser.add_argument("--cache", help="folder of embeddings to reuse")
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    asked.store.mkdir(parents=True, exist_ok=True)
    known = builtin_experiments()
    cells = [
        cell
        for name in EXPERIMENTS
        for cell in cells_of(known[name])
        if asked.datasets is None or cell.dataset in asked.datasets
    ]
    pairs = [(cell, FIRST_SEED + trial) for cell in cells for trial in range(asked.trials)]
    made = Parallel(asked.jobs)(delayed(kept)(*pair, asked.store, asked.cache) for pair in pairs)
    print("| cell | accuracy % | ECE % | level of other splits | own level | floor |")
    print("|---|---|---|---|---|---|")
    table = []
    by_cell = [made[asked.trials * k : asked.trials * (k + 1)] for k in range(len(cells))]
    for cell, own in zip(cells, by_cell, strict=True):
        row = errors(own)
        table.append(row)
        print(f"| {cell} | " + " | ".join(f"{value:.1f}" for value in row) + " |", flush=True)
    mean, below = np.mean(table, axis=0), np.sum(np.array(table) < 5.0, axis=0)
    print("| mean | " + " | ".join(f"{value:.1f}" for value in mean) + " |")
    print("| below 5 % | | " + " | ".join(f"{count}" for count in below[1:]) + " |")
    told = told_by_left_out(by_cell)
    print(f"\nLeft-out and test accuracies within a cell: correlation {told:.2f}.")


if __name__ == "__main__":
    main()
