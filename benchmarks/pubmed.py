"""The whole Bayesian pipeline on Pubmed, one split, nothing cached: stages, memory, accuracy.

    python benchmarks/pubmed.py [--labels 20] [--seed 0] [--json]

Pubmed has 19,717 nodes, so a dense matrix over all pairs would take 3.1 GB by itself. Claim:
embedding, base classifier, graph learning and weight samples together take under ten minutes and
under 4 GB on two cores. Memory is the largest resident set of the process, imports and data
included. The GCN on the same split stands beside it.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from typing import Any

import numpy as np

from truegraph.data import load_dataset, random_split
from truegraph.tasks.classify.trials import run_trials


def run_model(model: str, per_class: int, seed: int) -> dict[str, Any]:
    """Train a model on one random split; return seconds per stage and the test accuracy."""
    pubmed = load_dataset("pubmed")
    split = random_split(pubmed.labels, per_class, random_state=seed)
    start, processor = time.perf_counter(), time.process_time()
    with tempfile.TemporaryDirectory() as cache:
        found = run_trials(
            model,
            pubmed.features,
            pubmed.graph,
            pubmed.labels,
            [split],
            [seed],
            classes=pubmed.n_classes,
            cache=cache,
        )
    seconds, busy = time.perf_counter() - start, time.process_time() - processor
    right = found.predictions[0][split.test] == pubmed.labels[split.test]
    return {
        "seconds": seconds,
        "processor_seconds": busy,
        "stages": found.seconds,
        "accuracy": float(np.mean(right)),
        "learned_degree": None if found.certificates is None else found.certificates[0].degree,
        "relative_gap": None if found.certificates is None else found.certificates[0].relative_gap,
    }


def print_result(result: dict[str, Any]) -> None:
    for name in ("gcn", "bgcn"):
        row = result[name]
        print(f"{name}: {row['seconds']:.0f} s, accuracy {100 * row['accuracy']:.1f} %")
        for stage, seconds in row["stages"].items():
            print(f"    {stage:<16} {seconds:6.1f} s")
    print(f"largest resident set: {result['peak_memory_gb']:.2f} GB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--labels", type=int, default=20, help="training nodes of each class")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    result: dict[str, Any] = {
        name: run_model(name, options.labels, options.seed) for name in ("gcn", "bgcn")
    }
    result["peak_memory_gb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(json.dumps(result, indent=2)) if options.json else print_result(result)


if __name__ == "__main__":
    main()
