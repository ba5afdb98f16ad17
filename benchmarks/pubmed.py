"""The whole Bayesian pipeline on Pubmed, one split, nothing cached: stages, memory, accuracy.

    python benchmarks/pubmed.py [--labels 20] [--seed 0]

Pubmed has 19,717 nodes, so a dense matrix over all pairs would take 3.1 GB by itself. Claim:
embedding, base classifier, graph learning and weight samples together take under ten minutes and
under 4 GB on two cores. Memory is the largest resident set of the process, imports and data
included. The GCN on the same split stands beside it.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time

import numpy as np

from truegraph import NodeClassifier
from truegraph.data import load_dataset, random_split


def main() -> None:
    """Fit both models to one random split and print seconds per stage and the test accuracy."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--labels", type=int, default=20, help="training nodes of each class")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    pubmed = load_dataset("pubmed")
    split = random_split(pubmed.labels, options.labels, random_state=options.seed)
    y = np.full(pubmed.n_nodes, -1)
    y[split.train] = pubmed.labels[split.train]
    for name in ("gcn", "bgcn"):
        start, processor = time.perf_counter(), time.process_time()
        with tempfile.TemporaryDirectory() as cache:
            model = NodeClassifier(name, random_state=options.seed, cache=cache)
            model.fit(pubmed.features, y, graph=pubmed.graph)
        seconds, busy = time.perf_counter() - start, time.process_time() - processor
        right = np.mean(model.predict()[split.test] == pubmed.labels[split.test])
        print(f"{name}: {seconds:.0f} s, {busy:.0f} processor s, accuracy {100 * right:.1f} %")
        for stage, took in model.seconds_.items():
            print(f"    {stage:<28} {took:6.1f} s")
        if name == "bgcn":
            certificate = model.learned_graph_.certificate
            print(f"    degree {certificate.degree:.2f}, gap {certificate.relative_gap:.1e}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"largest resident set: {peak:.2f} GB")


if __name__ == "__main__":
    main()
