"""Suggestions as a task of the engine: hide a tenth of a graph's links, and ask for the best pairs.

A trial counts how many of the first 100, 1,000 and 5,000 suggestions are hidden links and compares
that with the stated probabilities. It also ranks every hidden link among hard negatives of its own,
in the manner of HeaRT (Li et al., 2023): for each end, the partners without a link that a
heuristic, chance of a walk of two steps, likes best, filled up with random nodes. They are ours,
not those of the HeaRT benchmark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.data import NodeDataset
from truegraph.data.graphs.link_splits import Pairs, split_links
from truegraph.data.graphs.made_graphs import MADE_GRAPHS
from truegraph.errors import InputError
from truegraph.evaluation import Metric
from truegraph.experiments.tasks.base import Cell, Condition, Context, Task, TrialResult
from truegraph.experiments.tasks.links import check_settings, predictor_of
from truegraph.experiments.tasks.opened_data import LINK_FILES, open_nodes, same_data
from truegraph.runtime.threads import use_threads
from truegraph.tasks.links.names import AUTO_ENCODERS, BAYESIAN, HEURISTICS, REFINED

if TYPE_CHECKING:
    from truegraph.tasks.links.base import LinkEstimator

TOPS = (100, 1000, 5000)
_PER_END = 25  # hard negatives
_MOST_RANKED = 1000  # hidden links that are ranked among hard negatives
_BINS = 10
_LINKS_ONLY = "-links"  # end of the name of a data set that is used without its features
METRICS = {
    **{f"precision_{k}": Metric(f"right of {k} %", "higher", True, 1) for k in TOPS},
    **{f"stated_{k}": Metric(f"stated of {k} %", "neither", True, 1) for k in TOPS},
    "calibration_error": Metric("calibration error %", "lower", True, 1),
    "largest_error": Metric("largest error %", "lower", True, 1),
    "hard_mrr": Metric("hard MRR %", "higher", True, 1),
    "hard_hits_10": Metric("hard Hits@10 %", "higher", True, 1),
}


class LinkRankingTask(Task):
    """Predictors of links on named and made-up graphs, by what they suggest."""

    name = "link-ranking"
    metrics = METRICS
    models = (REFINED, *AUTO_ENCODERS, *BAYESIAN, *HEURISTICS)
    files = LINK_FILES
    conditions: Mapping[str, Condition] = {
        "component": Condition(("largest",), str, ("largest", "full")),
        "hidden": Condition((0.1,), float, least=0.0),
    }

    def check(self, cell: Cell) -> None:
        """Raise an error for unknown settings and data without a graph."""
        check_settings(cell)
        opened(cell)

    def open(self, cell: Cell) -> NodeDataset:
        """Return the graph of a cell: named, made up, or the user's own."""
        return opened(cell)

    def run(self, cell: Cell, seeds: Sequence[int], context: Context) -> list[TrialResult]:
        """Fit a model to one graph with hidden links per seed, and judge its suggestions."""
        dataset = same_data(self.open(cell), cell, context)
        with use_threads(context.threads):
            return [_trial(dataset, cell, seed, context) for seed in seeds]


def opened(cell: Cell) -> NodeDataset:
    """Return a named or made-up graph; "cora-links" is Cora without its features."""
    name = cell.dataset
    if name in MADE_GRAPHS and not cell.files:
        return _made(name)
    is_plain = not cell.files and name.endswith(_LINKS_ONLY)
    found = open_nodes(replace(cell, dataset=name.removesuffix(_LINKS_ONLY)) if is_plain else cell)
    if found.graph is None:
        raise InputError(f"data set {name!r} has no graph, hence no links to suggest.")
    return replace(found, name=name, features=None) if is_plain else found


@lru_cache(maxsize=4)
def _made(name: str) -> NodeDataset:
    graph = MADE_GRAPHS[name]()
    return NodeDataset(
        name=name,
        labels=np.full(graph.shape[0], -1),
        features=None,
        graph=graph,
        source="made",
        notes=("made up: a stand-in for graphs with this pattern",),
    )


def _trial(dataset: NodeDataset, cell: Cell, seed: int, context: Context) -> TrialResult:
    assert dataset.graph is not None
    share = float(cell.conditions["hidden"])
    split = split_links(dataset.graph, validation=0.0, test=share, random_state=seed)
    predictor = predictor_of(cell, seed, context)
    predictor.fit(split.train, dataset.features)
    context.notes.extend(predictor.notes_)
    table = predictor.suggest(max(TOPS))
    pairs = table[["source", "target"]].to_numpy()
    right = np.asarray(dataset.graph[pairs[:, 0], pairs[:, 1]]).ravel() != 0.0
    metrics = suggestion_metrics(right, table["probability"].to_numpy())
    metrics |= _hard_metrics(predictor, split.train, dataset.graph, split.test_links, seed)
    return TrialResult(seed, metrics, {"searched": predictor.searched_})


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
    predictor: LinkEstimator, train: csr_array, truth: csr_array, hidden: Pairs, seed: int
) -> dict[str, float | None]:
    """Rank hidden links (h, 2) among hard negatives of their own."""
    links = hidden[:_MOST_RANKED]
    negatives = hard_negatives(train, truth, links, np.random.default_rng([seed, 2]))
    own = predictor.decision_function(links)
    others = predictor.decision_function(negatives.reshape(-1, 2)).reshape(len(links), -1)
    above = (others > own[:, None]).sum(axis=1) + 0.5 * (others == own[:, None]).sum(axis=1)
    return {
        "hard_mrr": float(np.mean(1.0 / (1.0 + above))),
        "hard_hits_10": float(np.mean(above < 10)),
    }


def hard_negatives(
    train: csr_array, truth: csr_array, links: Pairs, rng: np.random.Generator
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
    from truegraph.tasks.links.suggesting.candidates import best_partners

    lists = best_partners(train, 2, 4 * _PER_END)
    found = np.empty((len(links), 2 * _PER_END, 2), dtype=np.int64)
    for place, link in enumerate(links):
        for end, node in enumerate(link):
            taken = set(truth.indices[truth.indptr[node] : truth.indptr[node + 1]].tolist())
            taken.add(int(node))
            partners = [int(p) for p in lists[node] if p < len(lists) and int(p) not in taken]
            partners = partners[:_PER_END]
            while len(partners) < _PER_END:
                drawn = int(rng.integers(len(lists)))
                if drawn not in taken and drawn not in partners:
                    partners.append(drawn)
            rows = slice(end * _PER_END, (end + 1) * _PER_END)
            found[place, rows, 0], found[place, rows, 1] = node, partners
    return found
