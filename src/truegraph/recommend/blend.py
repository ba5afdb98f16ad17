"""Two models at once: the sum of their scores, each divided by its mean length."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.recommend.ease import EASE
from truegraph.recommend.graph_ease import GraphEASE
from truegraph.recommend.graph_filters import GFCF
from truegraph.recommend.ials import IALS
from truegraph.recommend.low_pass import spread_users
from truegraph.recommend.models import Floats, HistoryModel, Parts
from truegraph.saving import savable

FAMILIES: dict[str, type[HistoryModel]] = {
    kind.name: kind for kind in (EASE, GFCF, GraphEASE, IALS)
}


@savable
class Blend(HistoryModel):
    """The scores of two models with equal weight, ``of`` two names and ``own`` options of each.

    Parameters
    ----------
    options : dict
    models : list of HistoryModel
    scales : list of float
        What the scores are multiplied by.
    """

    name: ClassVar[str] = "blend"

    def __init__(
        self, options: dict[str, Any], models: list[HistoryModel], scales: list[float]
    ) -> None:
        self.options, self.models, self.scales = options, models, scales

    @classmethod
    def fit(
        cls, options: dict[str, Any], matrix: csr_array, *, seed: int = 0, features: Any = None
    ) -> Self:
        """Fit both."""
        models = [
            FAMILIES[name].fit(own, matrix, seed=seed, features=features)
            for name, own in zip(options["of"], options["own"], strict=True)
        ]
        return cls.joined(models, matrix)

    @classmethod
    def joined(cls, models: list[HistoryModel], matrix: csr_array) -> Self:
        """Return the blend of two models that were fitted to interactions."""
        sample = spread_users(matrix)
        lengths = [np.linalg.norm(one.scores(sample), axis=1).mean() for one in models]
        scales = [float(0.5 / length) if length > 0.0 else 0.0 for length in lengths]
        of, own = [one.name for one in models], [one.options for one in models]
        return cls({"of": of, "own": own}, models, scales)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return self.models[0].n_items

    @property
    def graph(self) -> Any:
        """The item graph of one of the models, or None."""
        return next((one.graph for one in self.models if isinstance(one, GraphEASE)), None)

    def scores(self, history: csr_array, users: NDArray[np.int64] | None = None) -> Floats:
        """Return the sum of the scaled scores."""
        first, second = (
            one.scores(history) * np.float32(scale)
            for one, scale in zip(self.models, self.scales, strict=True)
        )
        return first + second

    def contributions(self, history: NDArray[np.int64], item: int) -> Parts:
        """Return the sums of the scaled contributions."""
        parts = [
            scale * np.array(one.contributions(history, item))
            for one, scale in zip(self.models, self.scales, strict=True)
        ]
        direct, graph = parts[0] + parts[1]
        return direct, graph

    def similarity(self, item: int) -> Floats:
        """Return that of the model with an item graph, else of the first."""
        first = next((one for one in self.models if isinstance(one, GraphEASE)), self.models[0])
        return first.similarity(item)

    def _check_saved(self) -> None:
        if len(self.models) != 2 or len(self.scales) != 2:
            raise ValueError("a blend is of two models")
        if self.models[0].n_items != self.models[1].n_items:
            raise ValueError("the models of a blend differ in their items")
