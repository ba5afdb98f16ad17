"""A trial of suggested links: a tenth of the links is hidden, and the best pairs are asked for.

Counted is how many of the first 100, 1,000 and 5,000 suggestions are hidden links, beside what
their stated probabilities say. Every hidden link is also ranked among hard negatives of its own, in
the manner of HeaRT (Li et al., 2023): for each end, the partners without a link that walks of two
steps like best, filled up with random nodes. They are ours, not those of the HeaRT benchmark.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

from lab.nodes import load
from truegraph.data import NodeDataset
from truegraph.data.link_splits import split_links
from truegraph.trials import link_predictor

TOPS = (100, 1000, 5000)
_PER_END = 25  # hard negatives
_MOST_RANKED = 1000  # hidden links that are ranked among hard negatives
_BINS = 10


def open_data(job: Mapping[str, Any]) -> NodeDataset:
    """Return the data set of a job."""
    return load(job["dataset"], job["conditions"]["component"])


def run(data: NodeDataset, job: Mapping[str, Any]) -> dict[str, Any]:
    """Fit the model of a job to a graph with hidden links, and judge its suggestions."""
    assert data.graph is not None
    seed, share = job["seed"], float(job["conditions"]["hidden"])
    split = split_links(data.graph, validation=0.0, test=share, random_state=seed)
    model = link_predictor(job["model"], job["options"], seed)
    model.fit(split.train, data.features)
    table = model.suggest(max(TOPS))
    pairs = table[["source", "target"]].to_numpy()
    right = np.asarray(data.graph[pairs[:, 0], pairs[:, 1]]).ravel() != 0.0
    metrics = suggestion_metrics(right, table["probability"].to_numpy())
    metrics |= _hard_metrics(model, split.train, data.graph, split.test_links, seed)
    return {"metrics": metrics, "notes": list(model.notes_)}


def suggestion_metrics(
    right: NDArray[np.bool_], stated: NDArray[np.float64]
) -> dict[str, float | None]:
    """Return how many of the best suggestions are right, and how far probabilities are off.

    The calibration error is the mean distance between the share that is right and the mean stated
    probability over ten bins of equally many suggestions; the largest one is the worst of these.

    Parameters
    ----------
    right : ndarray of bool, shape (n,)
        Whether each suggestion is a hidden link, best first.
    stated : ndarray of float64, shape (n,)
    """
    metrics: dict[str, float | None] = {}
    for k in TOPS:
        metrics[f"precision_{k}"] = float(right[:k].mean()) if len(right) else None
        metrics[f"stated_{k}"] = float(stated[:k].mean()) if len(right) else None
    parts = [part for part in np.array_split(np.arange(len(right)), _BINS) if len(part)]
    gaps = [abs(float(stated[part].mean() - right[part].mean())) for part in parts]
    sizes = [len(part) for part in parts]
    metrics["calibration_error"] = float(np.average(gaps, weights=sizes)) if gaps else None
    metrics["largest_error"] = max(gaps) if gaps else None
    return metrics


def _hard_metrics(
    model: Any, train: csr_array, truth: csr_array, hidden: NDArray[np.int64], seed: int
) -> dict[str, float | None]:
    """Rank hidden links (h, 2) among hard negatives of their own."""
    links = hidden[:_MOST_RANKED]
    negatives = hard_negatives(train, truth, links, np.random.default_rng([seed, 2]))
    own = model.decision_function(links)
    others = model.decision_function(negatives.reshape(-1, 2)).reshape(len(links), -1)
    above = (others > own[:, None]).sum(axis=1) + 0.5 * (others == own[:, None]).sum(axis=1)
    return {
        "hard_mrr": float(np.mean(1.0 / (1.0 + above))),
        "hard_hits_10": float(np.mean(above < 10)),
    }


def hard_negatives(
    train: csr_array, truth: csr_array, links: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return for each link corrupted pairs at both of its ends, (n, 2 x 25, 2).

    Parameters
    ----------
    train : csr_array, shape (N, N)
        The graph whose walks choose the negatives.
    truth : csr_array, shape (N, N)
        All links; none is taken for a negative.
    links : ndarray of int64, shape (n, 2)
    rng : Generator
        Draws random nodes where walks find too few.
    """
    n_nodes, lists = train.shape[0], _best_partners(train, np.unique(links))
    found = np.empty((len(links), 2 * _PER_END, 2), dtype=np.int64)
    for place, link in enumerate(links):
        for end, node in enumerate(link):
            taken = set(truth.indices[truth.indptr[node] : truth.indptr[node + 1]].tolist())
            taken.add(int(node))
            partners = [p for p in lists[int(node)] if p not in taken][:_PER_END]
            while len(partners) < _PER_END:
                drawn = int(rng.integers(n_nodes))
                if drawn not in taken and drawn not in partners:
                    partners.append(drawn)
            rows = slice(end * _PER_END, (end + 1) * _PER_END)
            found[place, rows, 0], found[place, rows, 1] = node, partners
    return found


def _best_partners(graph: csr_array, nodes: NDArray[np.int64]) -> dict[int, list[int]]:
    """Return up to 100 nodes that walks of two steps reach most often from each of some nodes."""
    steps = csr_array(diags_array(1.0 / np.maximum(np.diff(graph.indptr), 1)) @ (graph != 0))
    found = {}
    for node in nodes.tolist():
        walks = csr_array(steps[[node]] @ steps)
        linked = graph.indices[graph.indptr[node] : graph.indptr[node + 1]]
        is_new = ~np.isin(walks.indices, np.append(linked, node))
        ends, chances = walks.indices[is_new], walks.data[is_new].astype(np.float32)
        found[node] = ends[np.lexsort((ends, -chances))][: 4 * _PER_END].tolist()
    return found
