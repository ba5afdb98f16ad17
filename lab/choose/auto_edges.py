"""Classifier: which observed edges look false, judged by false ones that were added or flipped."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from lab.choose import Scores, sweep


def false_edges(dataset: str, seed: int, options: Mapping[str, Any]) -> Scores:
    """Return how well the probabilities of edges tell false ones."""
    from lab.classify import edge_metrics
    from lab.nodes import changed, load
    from truegraph import NodeClassifier
    from truegraph.data import random_split

    name, _, change = dataset.partition("+")
    data = load(name)
    spoilt, _ = changed(data, {"labels": 10, "split": "random", "change": change}, seed)
    train = random_split(data.labels, 10, random_state=seed).train
    y = np.full(data.n_nodes, -1)
    y[train] = data.labels[train]
    model = NodeClassifier(effort="low", options=dict(options) or None, random_state=seed)
    found = edge_metrics(model.fit(data.features, y, graph=spoilt.graph), data)
    return {key: value or 0.0 for key, value in found.items()}


if __name__ == "__main__":
    for target, values in (
        ("truegraph.classify.edges:_ALONE", (0.0, 0.25, 1.0)),
        ("truegraph.classify.edges:_UNLIKE", ((0.2, 0.4, 0.6), (0.3, 0.5, 0.7), (0.4, 0.6, 0.8))),
    ):
        sweep(target, values, false_edges, datasets=("cora+random-50", "citeseer+dice-50"))
