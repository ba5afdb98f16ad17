"""The recommended classifiers: cost per fit on Cora, and how it grows with the nodes.

    python benchmarks/classification.py cora                 # processor seconds per fit, best of 3
    python benchmarks/classification.py large                # 10,000, 100,000 and 1,000,000 nodes
    python benchmarks/classification.py large --nodes 22000 --models auto auto-low

On a large graph every node has 20 of 2,000 words and about 5 edges; words and edges prefer the
node's class, one of 10. Ten nodes per class are labelled. Each size runs in a process of its own,
so that its peak memory is its own, after one small run that compiles. "auto-low" trains no network.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array

from truegraph import NodeClassifier
from truegraph.data import load_dataset, random_split

CLASSES, WORDS, WORDS_PER_NODE, EDGES_PER_NODE = 10, 2_000, 20, 2.5
SIZES = (10_000, 100_000, 1_000_000)
LARGEST_RIVAL = 100_000
MODELS = ("gcn", "appnp", "bgcn", "bgcn-refined", "bgcn-fast", "auto-low", "auto")


def planted(nodes: int, seed: int = 0) -> tuple[csr_array, csr_array, np.ndarray]:
    """Return features (N, words), graph (N, N) and labels (N,)."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, CLASSES, nodes)
    by_class = np.argsort(labels, kind="stable")
    begins = np.searchsorted(labels[by_class], np.arange(CLASSES + 1))
    sources = generator.integers(0, nodes, int(EDGES_PER_NODE * nodes))
    own = labels[sources]
    place = begins[own] + (generator.random(sources.size) * np.diff(begins)[own]).astype(int)
    anyone = generator.integers(0, nodes, sources.size)
    targets = np.where(generator.random(sources.size) < 0.7, by_class[place], anyone)
    links = coo_array((np.ones(sources.size), (sources, targets)), shape=(nodes, nodes))
    graph = csr_array(links + links.T)
    graph.data[:] = 1.0
    graph.setdiag(0.0)
    graph.eliminate_zeros()
    owners = np.repeat(np.arange(nodes), WORDS_PER_NODE)
    words = generator.integers(0, WORDS, owners.size)
    typical = generator.random(owners.size) < 0.3
    per_class = WORDS // CLASSES
    words[typical] = labels[owners[typical]] * per_class + words[typical] % per_class
    table = coo_array((np.ones(owners.size), (owners, words)), shape=(nodes, WORDS))
    return csr_array(table), graph, labels


def classifier_of(name: str) -> NodeClassifier:
    """Return an estimator that is not fitted."""
    is_low = name == "auto-low"
    return NodeClassifier("auto" if is_low else name, effort="low" if is_low else "normal",
                          random_state=0)  # fmt: skip


def fitted(name: str, features: Any, y: np.ndarray, graph: csr_array) -> tuple[Any, float]:
    """Return a fitted classifier and its processor seconds."""
    began = time.process_time()
    found = classifier_of(name).fit(features, y, graph=graph)
    return found, time.process_time() - began


def on_cora(models: list[str]) -> None:
    """Print processor seconds of a fit at 5 labels per class, nothing cached, and accuracy."""
    cora = load_dataset("cora")
    split = random_split(cora.labels, 5, random_state=0)
    y = np.full(cora.n_nodes, -1)
    y[split.train] = cora.labels[split.train]
    for name in models:
        runs = [fitted(name, cora.features, y, cora.graph) for _ in range(4)]  # one compiles
        right = runs[-1][0].predict()[split.test] == cora.labels[split.test]
        best = min(seconds for _, seconds in runs[1:])
        print(f"{name:14} {best:6.2f} processor seconds, accuracy {right.mean():.3f}", flush=True)


def on_planted(nodes: int, models: list[str]) -> dict[str, object]:
    """Fit classifiers to one graph, in this process."""
    small = planted(2_000)
    for name in models:
        classifier_of(name).fit(small[0], _labelled(small[2]), graph=small[1])
    features, graph, labels = planted(nodes)
    y = _labelled(labels)
    found: dict[str, object] = {"nodes": nodes, "edges": graph.nnz // 2}
    for name in models:
        if name == "appnp" and nodes > LARGEST_RIVAL:
            continue
        began = time.perf_counter()
        classifier, processor = fitted(name, features, y, graph)
        found[name] = {
            "seconds": round(time.perf_counter() - began, 1),
            "processor seconds": round(processor, 1),
            "accuracy": round(float(np.mean(classifier.predict()[y < 0] == labels[y < 0])), 4),
            "peak MB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000),
            "stages": {k: round(v, 1) for k, v in classifier.seconds_.items()},
        }
    return found


def _labelled(labels: np.ndarray) -> np.ndarray:
    y = np.full(labels.size, -1)
    for label in range(CLASSES):
        y[np.flatnonzero(labels == label)[:10]] = label
    return y


def main() -> None:
    """Do what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("cora", "large"))
    parser.add_argument("--nodes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--models", nargs="+", choices=MODELS)
    parser.add_argument("--here", action="store_true", help="measure in this process")
    options = parser.parse_args()
    if options.what == "cora":
        on_cora(options.models or list(MODELS))
        return
    models = options.models or ["bgcn-fast", "appnp", "auto"]
    for nodes in options.nodes:
        if options.here:
            print(json.dumps(on_planted(nodes, models)))
        else:
            command = [sys.executable, __file__, "large", "--here", "--nodes", str(nodes)]
            subprocess.run([*command, "--models", *models], check=True)


if __name__ == "__main__":
    main()
