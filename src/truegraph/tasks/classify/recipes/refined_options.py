"""Options of the refined recipe and of the fast one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from truegraph.errors import InputError
from truegraph.nn.classifiers.appnp import APPNPSettings
from truegraph.nn.options import options_from
from truegraph.tasks.classify.problem import Problem
from truegraph.tasks.classify.recipes.node_graphs import GraphOptions, wanted_degree

SCALINGS = ("sum", "length")
_CHOICES = {
    "label_distance": ("hard", "soft"),
    "average": ("rounds", "last"),
    "graph": ("learned", "nearest"),
    "calibration": ("cross-fit", "none"),
}
_COVERAGE = 0.95  # of the propagated weight that training keeps; it saves a third of the time
_REACH = 20_000  # nodes that training keeps at most
_EDGES = 600_000.0  # more nodes than these allow 100 edges each get fewer, but not below:
_LEAST_DEGREE = 10.0


@dataclass(frozen=True, eq=False)
class RefinedOptions(GraphOptions):
    """Options of the refined recipe, beside those of its graph.

    Parameters
    ----------
    rounds : int
        How often a graph is learned from the current prediction; 0: only the observed graph.
    scalings : sequence of {"sum", "length"}
        How rows of features are normalised, one classifier for each.
    temper : bool
        Whether all scalings' predictions get the mean confidence of the last one's.
    label_distance : {"hard", "soft"}
        Whether predicted classes or their probabilities make D2.
    average : {"rounds", "last"}
        Predict the mean over the rounds, or the last one.
    graph : {"learned", "nearest"}
        The most probable graph, or as many nearest neighbours by the same distance.
    safeguard : (float, float), optional
        Rounds count by the mean confidence that they gain over the first prediction: not at all up
        to the first number, in full from the second one on, in between in proportion. The first
        prediction has the rest. None: rounds always count in full.
    calibration : {"cross-fit", "none"}
        Whether the prediction is tempered.
    samples : int
        Passes with dropout of each classifier.
    settings : APPNPSettings or mapping, optional
        Of the classifiers.
    """

    rounds: int = 2
    scalings: Sequence[str] = SCALINGS
    temper: bool = True
    label_distance: str = "hard"
    average: str = "rounds"
    graph: str = "learned"
    safeguard: tuple[float, float] | None = (0.01, 0.05)
    calibration: str = "cross-fit"
    samples: int = 20
    settings: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_choices(_CHOICES)
        if self.rounds < 0:
            raise InputError(f"rounds={self.rounds} must be at least 0.")
        if self.samples < 1:
            raise InputError(f"samples={self.samples} must be at least 1.")
        if self.safeguard is not None:
            _check_gains(self.safeguard)
        unknown = [scaling for scaling in self.scalings if scaling not in SCALINGS]
        if isinstance(self.scalings, str) or unknown or not self.scalings:
            raise InputError(
                f"scalings={self.scalings!r} must be one or both of {', '.join(SCALINGS)}."
            )

    @property
    def classifier_settings(self) -> APPNPSettings:
        """Settings of the classifiers; a mapping changes only what it names."""
        given = {} if self.settings is None else self.settings
        if isinstance(given, Mapping):
            given = {"coverage": _COVERAGE, "reach": _REACH, **given}
        settings: APPNPSettings = options_from(given, APPNPSettings)
        return settings


def _check_gains(gains: Any) -> None:
    try:
        none, full = (float(gain) for gain in gains)
    except (TypeError, ValueError):
        none, full = 0.0, 0.0
    if not -1.0 <= none < full <= 1.0:
        raise InputError(
            f"safeguard={gains!r} must be two gains of confidence, the smaller one first, such as "
            "(0.01, 0.05), or None to let all rounds count."
        )


@dataclass(frozen=True, eq=False)
class FastOptions(RefinedOptions):
    """Options of the fast recipe: the same, with other defaults."""

    embedding: Any = "svd"
    rounds: int = 1
    scalings: Sequence[str] = ("length",)
    label_distance: str = "soft"
    safeguard: tuple[float, float] | None = (-0.01, 0.01)  # soft labels do not confirm themselves


def round_degree(problem: Problem, options: RefinedOptions) -> float:
    """Return the edges per node; unless they are given, fewer beyond 6,000 nodes."""
    degree = wanted_degree(problem, options)
    if options.degree is not None:
        return degree
    return min(degree, max(_LEAST_DEGREE, round(_EDGES / problem.inputs.n_nodes)))
