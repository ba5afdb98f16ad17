"""Prediction sets of TorchCP's methods, given the labels that `predict_set` of `auto` has.

    pip install torchcp==1.2.1
    python benchmarks/prediction_sets.py --datasets cora --labels 5 --trials 2

Claim: with the same labels, the sets of `auto` are no larger on average than those of TorchCP's
threshold method (LAC), APS and DAPS, and reach the asked coverage. These methods need labels that
the model has not seen: half of the labels of each class train a GCN, by its authors' settings, the
other half, the larger one of an odd number, calibrate. Splits are those of the experiments, seeds
from 0 on. DAPS takes its usual share of the neighbours, 0.5, over APS. The trials behind
results/coverage.md are in results/prediction_sets.csv.gz.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import types
import warnings
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from truegraph import NodeClassifier
from truegraph.data import NodeDataset, NodeSplit, load_dataset, random_split
from truegraph.evaluation import set_metrics
from truegraph.evaluation.trials import COVERAGES

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

METHODS = ("LAC", "APS", "DAPS", "auto")
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
    chances = fitted("gcn", data, train, seed).predict_proba()
    return torch.log(torch.from_numpy(np.maximum(chances, 1e-12)))


def fitted(name: str, data: NodeDataset, train: Any, seed: int) -> NodeClassifier:
    """Return a classifier that has seen the labels of some nodes."""
    y = np.full(data.n_nodes, -1)
    y[train] = data.labels[train]
    return NodeClassifier(name, random_state=seed).fit(data.features, y, graph=data.graph)


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
            values += set_metrics(data.labels[split.test], members)
        found[name] = dict(zip(SCORES, values, strict=True))
    model, values = fitted("auto", data, split.train, seed), []
    for level in COVERAGES:
        sets = model.predict_set(nodes=split.test, coverage=level)
        values += set_metrics(data.labels[split.test], sets.members)
    return found | {"auto": dict(zip(SCORES, values, strict=True))}


def main() -> None:
    """Print coverage and mean size of all methods as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=["cora", "citeseer", "pubmed"])
    parser.add_argument("--labels", nargs="+", type=int, default=[5, 10, 20])
    parser.add_argument("--trials", type=int, default=10)
    asked = parser.parse_args()
    print("| data set | labels | splits | method | " + " | ".join(SCORES) + " |")
    print("|---" * (4 + len(SCORES)) + "|")
    for dataset in asked.datasets:
        data = load_dataset(dataset)
        for labels in asked.labels:
            found = [trial(data, labels, seed) for seed in range(asked.trials)]
            for method in METHODS:
                means = {name: np.mean([one[method][name] for one in found]) for name in SCORES}
                listed = " | ".join(
                    f"{100 * value:.1f}" if name.startswith("coverage") else f"{value:.2f}"
                    for name, value in means.items()
                )
                print(
                    f"| {dataset} | {labels} | {asked.trials} | {method} | {listed} |", flush=True
                )


if __name__ == "__main__":
    main()
