"""Options of the committee."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truegraph import gate
from truegraph.errors import InputError
from truegraph.learning.inputs import check_number

EFFORTS = ("low", "normal", "high")
WEIGHTS = ("left-out", "equal")
PRIORS = ("auto", "train", "uniform")


@dataclass(frozen=True, eq=False)
class CommitteeOptions:
    """Options of the committee.

    Parameters
    ----------
    effort : {"low", "normal", "high"}
        "low" trains no network; "normal" trains one recipe, "refined" up to 6,000 nodes and "fast"
        beyond, where left-out labels speak for the observed graph; "high" trains both there.
    degree : float, optional
        Average number of edges per node of the learned graphs; by default 30 if learned from
        features, 80 if from features and graph, in both cases fewer on few nodes and on many.
    samples : int
        Passes with dropout of each trained classifier.
    embedding_seed : int
        Seed of the embedding that the recipe "refined" trains, which sees no labels.
    class_prior : {"auto", "train", "uniform"} or array of shape (C,)
        How frequent the classes are among all nodes: as the predictions say where they clearly
        differ from the training labels, as among these, all alike, or as given.
    weights : {"left-out", "equal"}
        Whether views are weighted by left-out labels or all alike.
    learned_graphs, observed_graph, trained_members : bool
        Whether views of learned graphs, views of the observed graph, and trained recipes take part.
    """

    effort: str = "normal"
    degree: float | None = None
    samples: int = 20
    embedding_seed: int = 0
    class_prior: Any = "auto"
    weights: str = "left-out"
    learned_graphs: bool = True
    observed_graph: bool = True
    trained_members: bool = True

    def __post_init__(self) -> None:
        for name, allowed in (("effort", EFFORTS), ("weights", WEIGHTS)):
            if getattr(self, name) not in allowed:
                raise InputError(
                    f"{name}={getattr(self, name)!r} must be one of {', '.join(allowed)}."
                )
        if self.samples < 1:
            raise InputError(f"samples={self.samples} must be at least 1.")
        if self.degree is not None:
            check_number("degree", self.degree, above=0.0)
        if isinstance(self.class_prior, str) and self.class_prior not in PRIORS:
            raise InputError(
                f"class_prior={self.class_prior!r} must be 'auto', 'train', 'uniform' or one "
                "share per class."
            )

    @property
    def estimates_shares(self) -> bool:
        """Whether predictions say how frequent the classes are."""
        return isinstance(self.class_prior, str) and self.class_prior == "auto"

    def class_factors(self, labels: NDArray[np.int64], classes: int) -> NDArray[np.float64]:
        """Return what to multiply class probabilities (..., C) with, given the training labels.

        Ones where predictions will have to say it.
        """
        if isinstance(self.class_prior, str) and self.class_prior in ("auto", "train"):
            return np.ones(classes)
        wanted = np.full(classes, 1.0 / classes)
        if not isinstance(self.class_prior, str):
            wanted = gate.numbers("class_prior", self.class_prior)
            if wanted.shape != (classes,) or not (wanted >= 0.0).all() or not wanted.sum() > 0.0:
                raise InputError(
                    f"class_prior={self.class_prior!r} does not fit; give {classes} shares >= 0, "
                    "one per class in the order of classes_."
                )
        given = np.bincount(labels, minlength=classes) + 1e-9
        factors: NDArray[np.float64] = (wanted / wanted.sum()) / (given / given.sum())
        return factors
