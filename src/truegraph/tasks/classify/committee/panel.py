"""All opinions of one trial, and how much each of them counts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.tasks.classify.committee.belief import agreement_across
from truegraph.tasks.classify.committee.opinions import (
    CLASS_SHARES,
    Opinion,
    Trial,
    class_shares,
    opinions_on,
)
from truegraph.tasks.classify.committee.views import KINDS, Views
from truegraph.tasks.classify.committee.weights import view_weights

_LEAST = 0.005  # weight below which a view is left out
_AS_THEY_ARE = 6.0  # prior weight of the features as they are, every other view having 1: a third
_NOTHING = 12.0  # of the frequencies of the classes: labels may follow from nothing that is given
_ALIKE = ("observed", "cleaned", "both")  # kinds of views for which neighbours are alike
_TRUST = 10.0  # logarithm of the prior odds that they gain where predictions agree across all edges


class Panel:
    """What is said in one trial.

    Parameters
    ----------
    trial : Trial
    nodes : int
        Number N of nodes.
    all_alike : bool
        Whether every opinion has the same weight.

    Attributes
    ----------
    opinions : list of Opinion
    trusts_graph : bool
        Whether the first look speaks for the observed graph.
    agreement : float
        How much more alike predictions from features are across observed edges than across random
        pairs, from 0 to 1.
    recipe_kinds : tuple of str
        Kinds of the views whose hypothesis trained recipes share: those that rest on the observed
        graph or, without one, on the features.
    taken : float
        Share of the weight of these views that trained recipes take over.
    trees : Opinion or None
        What a random forest of the features says.
    taken_by_trees : float
        Share of the weight of views of the features alone that it takes over.
    recipe_left_out : tuple of ndarrays, or None
        Training nodes (m,), their folds, and what classifiers of the trained recipe predict for
        them (m, C) without the labels of their fold.
    """

    def __init__(self, trial: Trial, nodes: int, all_alike: bool) -> None:
        self.trial = trial
        self.opinions: list[Opinion] = [class_shares(trial, nodes)]
        self.trusts_graph = False
        self.agreement = 0.0
        self.recipe_kinds: tuple[str, ...] = _ALIKE
        self.taken = 0.0
        self.trees: Opinion | None = None
        self.taken_by_trees = 0.0
        self.recipe_left_out: tuple[NDArray[Any], NDArray[Any], NDArray[Any]] | None = None
        self._all_alike = all_alike

    @property
    def heard(self) -> list[Opinion]:
        """All opinions, that of the trees last."""
        return self.opinions if self.trees is None else [*self.opinions, self.trees]

    def weights(self, members: Collection[str] = ()) -> dict[str, float]:
        """Return the weight of each view that counts, and of trained recipes; they sum to one."""
        names = [one.name for one in self.opinions]
        if self._all_alike:
            own = np.full(len(names), 1.0 / len(names))
        else:
            densities = np.array([one.densities for one in self.opinions])
            prior = np.array([self._prior(name) for name in names])
            own = view_weights(densities, prior, self.trial.seed)
        found = {name: float(w) for name, w in zip(names, own, strict=True) if w >= _LEAST}
        total = sum(found.values())
        found = {name: weight / total for name, weight in found.items()}
        if members:
            found = _taken_over(found, self.recipe_kinds, self.taken, members)
        if self.trees is not None:
            found = _taken_over(found, ("none",), self.taken_by_trees, [self.trees.name])
        return found

    def _prior(self, name: str) -> float:
        """Return the weight of a view before any label is left out."""
        kind = KINDS.get(name)
        own = {"raw features": _AS_THEY_ARE, CLASS_SHARES: _NOTHING}.get(name, 1.0)
        return own if kind in _ALIKE else own * float(np.exp(-_TRUST * self.agreement))

    def look_across_edges(self, graph: csr_array) -> None:
        """Note whether predictions from features alone agree across the edges of a graph (N, N).

        The less of the two views of the features counts: what one of them finds by chance, the
        other need not.
        """
        alone = [one for one in self.opinions if KINDS.get(one.name) == "none"]
        found = [agreement_across(graph, one.probabilities) for one in alone]
        self.agreement = min(found, default=0.0)

    def left_out_probabilities(self, members: Collection[str] = ()) -> NDArray[np.float64]:
        """Return the class probabilities (n, C) of the training nodes without their own labels.

        The mean over views and trees by their weights, and over the repeats of leaving out; NaN
        for nodes that are never left out. Rows sum to what trained recipes, `members`, leave of
        the weight. Weights and temperatures, a few numbers, have seen all labels.
        """
        weights = self.weights(members)
        found = np.zeros((len(self.trial.labels), self.trial.classes))
        for one in self.heard:
            if one.name in weights:
                chances = one.sharpness.probabilities(one.left_out).mean(axis=0)
                found += weights[one.name] * chances
        found[self.trial.folds[0] < 0] = np.nan
        return found

    def always_wrong(self) -> bool:
        """Return whether every left-out label is thought less likely than by guessing."""
        labels = self.trial.labels
        chances = self.left_out_probabilities()[np.arange(len(labels)), labels]
        chances = chances[~np.isnan(chances)]
        return bool(len(chances)) and bool(np.all(chances < 1.0 / self.trial.classes))

    def weight_of(self, *kinds: str) -> float:
        """Return the weight of all views of some kinds."""
        return sum(weight for name, weight in self.weights().items() if KINDS.get(name) in kinds)

    def places_of(self, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return where training nodes stand among those of the trial."""
        order = np.argsort(self.trial.train)
        return order[np.searchsorted(self.trial.train, nodes, sorter=order)]

    def best_rival(
        self, views: Views, places: NDArray[np.int64], folds: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the log densities of labels under the best view that recipes compete with.

        Parameters
        ----------
        views : Views
        places : ndarray of shape (m,)
            Of the labels, among those of the trial.
        folds : ndarray of shape (m,)
            Those of one fold are left out together.
        """
        row = np.full((1, len(self.trial.train)), -1, dtype=np.int64)
        row[0, places] = folds
        trial = replace(self.trial, folds=row)
        found = []
        for name in (one.name for one in self.opinions):
            if KINDS.get(name) in self.recipe_kinds and KINDS.get(name) != "both":
                opinion = opinions_on(name, views, [trial])[0]
                densities = np.empty(row.shape[1])
                densities[row[0] >= 0] = opinion.densities
                found.append(densities[places])
        return max(found, key=lambda densities: float(densities.sum()))


def _taken_over(
    weights: dict[str, float], kinds: Sequence[str], share: float, names: Collection[str]
) -> dict[str, float]:
    """Return weights of which members `names` have taken a share from views of some kinds."""
    resting = [name for name in weights if KINDS.get(name) in kinds]
    taken = share * sum(weights[name] for name in resting)
    kept = {name: (1.0 - share) * weights[name] for name in resting}
    return weights | kept | {name: taken / len(names) for name in names}
