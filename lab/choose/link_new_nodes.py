"""New nodes: how many partners each kind of similarity proposes, judged by the links of new nodes.

A twentieth of the nodes is left out of the fit; their links are to be found among 20 suggestions.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from lab.choose import Scores, sweep


def left_out_nodes(dataset: str, seed: int, options: Mapping[str, Any]) -> Scores:
    """Return the share of the links of left-out nodes among 20 suggestions for each."""
    from lab.nodes import load
    from truegraph import LinkPredictor

    data = load(dataset, "largest")
    order = np.random.default_rng(seed).permutation(data.n_nodes)
    new, kept = np.sort(order[: data.n_nodes // 20]), np.sort(order[data.n_nodes // 20 :])
    graph, features = data.graph, data.features
    fitted = LinkPredictor(options=dict(options) or None, random_state=seed)
    fitted.fit(graph[kept][:, kept], features[kept])
    table = fitted.suggest_new(features[new], k=20)
    rows, partners = table["row"].to_numpy(), table["target"].to_numpy()
    found = np.asarray(graph[new[rows], kept[partners]]).ravel() != 0.0
    return {"recall@20": found.sum() / max(1, graph[new][:, kept].nnz)}


if __name__ == "__main__":
    sweep(
        "truegraph.links.pair_model:_NEAR",
        (50, 100, 200, 400),
        left_out_nodes,
        datasets=("cora", "citeseer"),
    )
