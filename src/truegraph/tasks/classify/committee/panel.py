"""All opinions of one trial, and how much each of them counts."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from truegraph.tasks.classify.committee.opinions import Opinion, Trial, class_shares, opinions_on
from truegraph.tasks.classify.committee.views import KINDS, Views
from truegraph.tasks.classify.committee.weights import view_weights

_LEAST = 0.005  # weight below which a view is left out


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
    taken : float
        Share of the weight of views that rest on the observed graph that trained recipes take over.
    """

    def __init__(self, trial: Trial, nodes: int, all_alike: bool) -> None:
        self.trial = trial
        self.opinions: list[Opinion] = [class_shares(trial, nodes)]
        self.trusts_graph = False
        self.taken = 0.0
        self._all_alike = all_alike

    def weights(self, members: Collection[str] = ()) -> dict[str, float]:
        """Return the weight of each view that counts, and of trained recipes; they sum to one."""
        names = [one.name for one in self.opinions]
        if self._all_alike:
            own = np.full(len(names), 1.0 / len(names))
        else:
            densities = np.array([one.densities for one in self.opinions])
            own = view_weights(densities, np.ones(len(names)), self.trial.seed)
        found = {name: float(w) for name, w in zip(names, own, strict=True) if w >= _LEAST}
        total = sum(found.values())
        found = {name: weight / total for name, weight in found.items()}
        if members:
            resting = [name for name in found if KINDS.get(name) in ("observed", "both")]
            taken = self.taken * sum(found[name] for name in resting)
            found |= {name: (1.0 - self.taken) * found[name] for name in resting}
            found |= {name: taken / len(members) for name in members}
        return found

    def always_wrong(self) -> bool:
        """Return whether every left-out label is thought less likely than by guessing."""
        weights = self.weights()
        own = [one for one in self.opinions if one.name in weights]
        chances = sum(weights[one.name] * np.exp(one.densities) for one in own)
        return bool(np.size(chances)) and bool(np.all(chances < 1.0 / self.trial.classes))

    def weight_of(self, *kinds: str) -> float:
        """Return the weight of all views of some kinds."""
        return sum(weight for name, weight in self.weights().items() if KINDS.get(name) in kinds)

    def places_of(self, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return where training nodes stand among those of the trial."""
        order = np.argsort(self.trial.train)
        return order[np.searchsorted(self.trial.train, nodes, sorter=order)]

    def best_observed(
        self, views: Views, places: NDArray[np.int64], folds: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the log densities of labels under the best view of the observed graph.

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
            if KINDS.get(name) == "observed":
                opinion = opinions_on(name, views, [trial])[0]
                densities = np.empty(row.shape[1])
                densities[row[0] >= 0] = opinion.densities
                found.append(densities[places])
        return max(found, key=lambda densities: float(densities.sum()))
