"""Node classification on graphs with false edges of several kinds, as a task of the engine.

The condition ``change`` names a kind and how many edges it changes, in per cent of those observed:
"random-50" adds half as many random edges, "dice-50" removes edges within classes and adds edges
between them, half of the changes each, and "attack-50" flips the pairs of a gradient attack that
has seen the training labels. Every seed has changes of its own, the same for all models; an attack
of 100 % is found once and kept, and smaller ones are its beginning. Beside the usual metrics stand
those of the edges that a committee calls false.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import coo_array, csr_array, triu

from truegraph.data import NodeDataset
from truegraph.data.nodes.attack import attack_flips, flipped
from truegraph.data.nodes.perturbation import dice_graph, perturb_graph
from truegraph.data.storage import read_npz, write_npz
from truegraph.errors import InputError
from truegraph.evaluation.scores import Metric
from truegraph.experiments.tasks.base import Cell, Condition, Context, TrialResult, finite
from truegraph.experiments.tasks.classification import ClassificationTask
from truegraph.experiments.tasks.opened_data import same_data

if TYPE_CHECKING:
    from truegraph.tasks.classify.results import TrialResults

KINDS = ("random", "dice", "attack")
SHARES = (25, 50, 100)
CHANGES = ("none", *(f"{kind}-{share}" for kind in KINDS for share in SHARES))
EDGE_METRICS = {
    "suspect_precision": Metric("false edges: precision %", "higher", percent=True, digits=1),
    "suspect_recall": Metric("false edges: recall %", "higher", percent=True, digits=1),
    "false_edge_auroc": Metric("false edges: AUROC", "higher"),
}
_SUSPECT = 0.5  # probability of being real up to which an edge is called false


class AttackTask(ClassificationTask):
    """Classifiers on a graph with false edges; the nodes, features, labels and splits stay."""

    name = "attacks"
    metrics: Mapping[str, Metric] = {**ClassificationTask.metrics, **EDGE_METRICS}
    conditions: Mapping[str, Condition] = {
        **ClassificationTask.conditions,
        "change": Condition(("none",), str, CHANGES),
    }

    def check(self, cell: Cell) -> None:
        """Raise an error for what cannot be run, and for data without a graph or features."""
        super().check(cell)
        dataset = self.open(cell)
        if dataset.graph is None or dataset.features is None:
            raise InputError(f"data set {dataset.name!r} has no graph with features to attack.")

    def batch_size(self, cell: Cell) -> int:
        """Return 1 where every trial has a graph of its own."""
        return super().batch_size(cell) if cell.conditions["change"] == "none" else 1

    def run(self, cell: Cell, seeds: Sequence[int], context: Context) -> list[TrialResult]:
        """Train a model on one split and one changed graph per seed, and score it."""
        dataset = same_data(self.open(cell), cell, context)
        if cell.conditions["change"] == "none":
            return self.run_on(dataset, cell, seeds, context)
        found = []
        for seed in seeds:
            changed = replace(dataset, graph=self.changed(dataset, cell, seed, context.cache))
            found += self.run_on(changed, cell, [seed], context)
        return found

    def changed(self, dataset: NodeDataset, cell: Cell, seed: int, cache: Path) -> csr_array:
        """Return the graph of a cell and a seed."""
        kind, _, percent = cell.conditions["change"].partition("-")
        share = int(percent) / 100.0
        if kind == "random":
            return perturb_graph(dataset.graph, added=share, random_state=seed)
        if kind == "dice":
            return dice_graph(dataset.graph, dataset.labels, share, random_state=seed)
        assert dataset.graph is not None
        flips = self._flips(dataset, cell, seed, cache)
        return flipped(dataset.graph, flips[: round(share * triu(dataset.graph, k=1).nnz)])

    def _flips(self, dataset: NodeDataset, cell: Cell, seed: int, cache: Path) -> Any:
        """Return the pairs that an attack of 100 % flips, in their order, found once."""
        train = self.split(dataset, cell, seed).train
        known = np.sort(train).tobytes() + dataset.labels[np.sort(train)].tobytes()
        key = hashlib.sha256(f"{dataset.fingerprint}{seed}".encode() + known).hexdigest()[:16]
        path = cache / f"attack-{key}.npz"
        if path.is_file():
            return read_npz(path)["flips"]
        assert dataset.graph is not None
        count = triu(dataset.graph, k=1).nnz
        flips = attack_flips(
            dataset.graph, dataset.features, dataset.labels, train, count, random_state=seed
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        write_npz(path, {"flips": flips})
        return flips

    def more_metrics(
        self, dataset: NodeDataset, cell: Cell, results: TrialResults, trial: int, seed: int
    ) -> dict[str, float | None]:
        """Return how good the edges are that a committee calls false."""
        if results.beliefs is None or cell.conditions["change"] == "none":
            return dict.fromkeys(EDGE_METRICS)
        from truegraph.tasks.classify.inputs import complete_inputs
        from truegraph.tasks.classify.trust.edges import edge_probabilities

        inputs = complete_inputs(dataset.features, dataset.graph, dataset.n_nodes)
        trusts = results.beliefs[trial].observed_graph_weight > 0.0
        real = coo_array(edge_probabilities(inputs, results.probabilities[trial], trusts))
        honest = self.open(cell).graph
        assert honest is not None
        false = np.asarray(honest[real.row, real.col]).ravel() == 0.0
        return edge_scores(real.data, false)


def edge_scores(real: Any, false: Any) -> dict[str, float | None]:
    """Return the metrics of edges, given probabilities (E,) and which are false (E,)."""
    from sklearn.metrics import roc_auc_score

    called = real <= _SUSPECT
    return {
        "suspect_precision": finite(false[called].mean()) if called.any() else None,
        "suspect_recall": finite(called[false].mean()) if false.any() else None,
        "false_edge_auroc": (
            finite(roc_auc_score(false, -real)) if false.any() and not false.all() else None
        ),
    }
