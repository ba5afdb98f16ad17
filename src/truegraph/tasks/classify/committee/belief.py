"""What a committee believes about the true graph, in numbers and in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.tasks.classify.committee.views import KINDS

TRAINED = ("refined", "fast")
_MOST_EDGES = 200_000  # that agreement is measured on
_OBSERVED = ("observed", "cleaned", "links", "both")
_WORDS = {
    "none": "the features alone",
    "observed": "the observed graph",
    "cleaned": "the observed graph without edges that look random",
    "links": "which nodes are linked and how neighbours differ",
    "learned": "the graph learned from features",
    "both": "the graph learned from features and observed edges",
}


@dataclass(frozen=True)
class Belief:
    """What a committee believes in one trial.

    Attributes
    ----------
    view_weights : dict of str to float
        Weight of each view and trained recipe, the largest first; they sum to one.
    observed_graph_weight : float
        Weight of all that rest on the observed graph.
    alike : float or None
        Share of the observed edges whose ends are expected to be of one class.
    false_share : float or None
        Share of the observed edges that look random, if it is large; they count less or nothing.
    agreement : float
        How much more alike predictions from features alone are across observed edges than across
        random pairs, from 0 to 1; it speaks for the observed graph without left-out labels.
    """

    view_weights: dict[str, float]
    observed_graph_weight: float
    alike: float | None
    false_share: float | None = None
    agreement: float = 0.0

    @property
    def sentence(self) -> str:
        """The belief in words."""
        kinds: dict[str, float] = {}
        for name, weight in self.view_weights.items():
            kind = kind_of(name, has_graph=self.alike is not None)
            kinds[kind] = kinds.get(kind, 0.0) + weight
        main = max(kinds, key=lambda kind: kinds[kind])
        rest = f"predictions rest mostly on {_WORDS[main]} ({_share(kinds[main])})"
        if self.alike is None:
            return f"no graph was observed; {rest}"
        usually = "mostly differ in class" if self.alike < 0.5 else "are mostly of one class"
        share = _share(self.observed_graph_weight)
        if self.false_share is not None:
            usually += f", about {_share(self.false_share)} of the edges look random"
        return f"the observed graph has weight {share}: neighbours {usually}; {rest}"


def _share(weight: float) -> str:
    text = f"{weight:.2f}"
    return text if text.startswith("1") else text.removeprefix("0")


def kind_of(name: str, has_graph: bool = True) -> str:
    """Return the hypothesis that a view, or a trained recipe, belongs to."""
    if name in TRAINED:
        return "both" if has_graph else "learned"
    return KINDS.get(name, "none")


def agreement_across(graph: csr_array, chances: NDArray[np.floating]) -> float:
    """Return how much more alike predictions are across observed edges than across random pairs.

    Predictions that know nothing of the graph tell, without any further label, whether neighbours
    are of one class. On a scale from 0, no more alike than random pairs, to 1, as alike as a node
    is to itself; less two standard errors, so that a few edges say nothing, and never below 0.

    Parameters
    ----------
    graph : csr_array of shape (N, N)
    chances : ndarray of shape (N, C)
        Class probabilities that do not rest on the graph.
    """
    ends = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr)), graph.indices
    some = np.flatnonzero(ends[0] < ends[1])
    if len(some) < 2:
        return 0.0
    generator = np.random.default_rng(0)
    if len(some) > _MOST_EDGES:
        some = generator.choice(some, _MOST_EDGES, replace=False)
    one, two = chances[ends[0][some]], chances[ends[1][some]]
    anyone = generator.permutation(two)
    gains = np.einsum("ec,ec->e", one, two - anyone)
    most = float(np.mean(np.sum(0.5 * (one**2 + two**2) - one * anyone, axis=1)))
    if most < 1e-12:
        return 0.0
    least = float(gains.mean() - 2.0 * gains.std() / np.sqrt(len(gains)))
    return float(np.clip(least / most, 0.0, 1.0))


def believed(
    weights: Mapping[str, float],
    graph: csr_array | None,
    probabilities: NDArray[np.floating],
    false_share: float | None = None,
    agreement: float = 0.0,
) -> Belief:
    """Return the belief of a trial.

    Parameters
    ----------
    weights : mapping of str to float
        Of each view.
    graph : csr_array of shape (N, N), or None
        The observed graph.
    probabilities : ndarray of shape (N, C)
        The committee's prediction.
    false_share : float or None
        Share of the observed edges that look random, where they are left out.
    agreement : float
        Of predictions from features across the observed edges, see `agreement_across`.
    """
    order = sorted(weights, key=lambda name: -weights[name])
    has_graph = graph is not None
    observed = sum(w for name, w in weights.items() if kind_of(name, has_graph) in _OBSERVED)
    alike = None
    if graph is not None and graph.nnz:
        ends = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr)), graph.indices
        alike = float(np.einsum("ec,ec->e", *(probabilities[end] for end in ends)).mean())
    elif graph is not None:
        alike = 0.0
    ordered = {name: float(weights[name]) for name in order}
    return Belief(ordered, float(observed), alike, false_share, agreement)
