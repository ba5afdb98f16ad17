"""Does the temperature of the refined recipes help? Judged on validation nodes.

    python benchmarks/calibration.py                # Cora and Citeseer, 6 splits each
    python benchmarks/calibration.py --trials 20 --datasets cora

Claim: the temperature that left-out labelled nodes choose lowers the negative log-likelihood and
the calibration error. Both recipes run with and without it on the same splits and seeds; scored
are validation nodes, whose labels no step of the recipes sees. The splits (seeds from 1000 on) are
none of those of the experiments.
"""

from __future__ import annotations

import argparse
import tempfile

import numpy as np
from rich.progress import track

from truegraph.data import load_dataset, random_split
from truegraph.evaluation.calibration import expected_calibration_error
from truegraph.evaluation.metrics import negative_log_likelihood
from truegraph.evaluation.significance import paired_wilcoxon
from truegraph.tasks.classify.trials import run_trials

FIRST_SEED = 1000
RECIPES = {"refined": {"embedding_seed": 0}, "fast": {}}
SCORES = {"NLL": negative_log_likelihood, "ECE": expected_calibration_error}


def scores(
    dataset: str, labels: int, model: str, calibration: str, trials: int, cache: str
) -> dict:
    """Return for each score its value on the validation nodes of every split, (trials,)."""
    data = load_dataset(dataset)
    seeds = range(FIRST_SEED, FIRST_SEED + trials)
    splits = [random_split(data.labels, labels, random_state=seed) for seed in seeds]
    results = run_trials(
        model,
        data.features,
        data.graph,
        data.labels,
        splits,
        seeds,
        options=RECIPES[model] | {"calibration": calibration},
        cache=cache,
    )
    found: dict[str, list[float]] = {name: [] for name in SCORES}
    for split, chances in zip(splits, results.probabilities, strict=True):
        nodes = split.validation
        for name, score in SCORES.items():
            found[name].append(score(data.labels[nodes], chances[nodes]))
    return {name: np.array(values) for name, values in found.items()}


def main() -> None:
    """Print one line per data set, number of labels and recipe."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=6)
    parser.add_argument("--datasets", nargs="+", default=["cora", "citeseer"])
    parser.add_argument("--labels", type=int, nargs="+", default=[5, 20])
    options = parser.parse_args()
    cells = [(d, n, m) for d in options.datasets for n in options.labels for m in RECIPES]
    rows = []
    with tempfile.TemporaryDirectory() as cache:
        for cell in track(cells, "calibration"):
            without = scores(*cell, "none", options.trials, cache)
            tempered = scores(*cell, "cross-fit", options.trials, cache)
            row = " | ".join(map(str, cell))
            for name in SCORES:
                before, after = without[name], tempered[name]
                p_value = paired_wilcoxon(before, after).p_value
                lower = f"{int(np.sum(after < before))} of {options.trials}"
                row += f" | {before.mean():.3f} | {after.mean():.3f} | {lower} | {p_value:.2g}"
            rows.append(f"| {row} |")
    columns = [f"{n} {c}" for n in SCORES for c in ("without", "with", "lower in", "p")]
    print("| data set | labels | recipe | " + " | ".join(columns) + " |")
    print("|" + "---|" * (3 + len(columns)))
    print("\n".join(rows))


if __name__ == "__main__":
    main()
