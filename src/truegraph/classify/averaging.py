"""Bayesian model averaging: how much each view counts, and with it the observed graph.

A view's weight is its prior times its evidence. The evidence is how well its classifier predicts
training labels that were left out (`view_weights`). The prior is `view_prior`: views for which
neighbours are alike gain where predictions from features alone agree across the observed edges
(`graph_agreement`). `observed_graph_weight` sums the weights of all that rest on the observed
graph. Where edges seem to have been put at labelled nodes to mislead, `misleading_edges` says so,
and these views are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import softmax

from truegraph.classify.left_out import TrainingLabels
from truegraph.classify.view_models import CLASS_SHARES, FittedView
from truegraph.classify.views import KINDS

PROPAGATION = "propagation"  # the trained member
_BOOTSTRAPS = 400  # means of so many vary little
# lab/choose/auto_weights.py
_DISCOUNT = 0.5  # of log densities: left-out predictions of one split are not independent
_LEAST = 0.005  # weight below which a view is left out
_AS_THEY_ARE = 6.0  # prior weight of the features as they are, every other view having 1: a third
_NOTHING = 12.0  # of the frequencies of the classes: labels may follow from nothing that is given
_PRIORS = {"raw features": _AS_THEY_ARE, CLASS_SHARES: _NOTHING}
ALIKE = ("observed", "cleaned", "both")  # kinds of views for which neighbours are alike
_GAIN_OF_AGREEMENT = 10.0  # log prior odds that they gain where predictions agree across all edges
_OBSERVED = ("observed", "cleaned", "links", "both")
_ALONE = ("none", "learned")  # kinds of views that no observed edge enters
_MOST_EDGES = 200_000  # that agreement is measured on
_WORDS = {
    "none": "the features alone",
    "observed": "the observed graph",
    "cleaned": "the observed graph without edges that look random",
    "links": "which nodes are linked and how neighbours differ",
    "learned": "the graph learned from features",
    "both": "the graph learned from features and observed edges",
}
_REFERENCES = ("features", "learned")  # views that edges are compared with
# 48 development splits of honest graphs, with random edges and without, fell by 3.3 standard errors
# at the most, and of 163 more of Citeseer one by 4.6; two with a tenth of the edges flipped by an
# attack by 5.5 and 6.5.
_ERRORS = 5.0
_DROP = 0.25  # labels drawn by class are never quite like all nodes
_LEAST_LEFT_OUT = 20  # shares of fewer labels say nothing
MISLEADING = (
    "the observed graph is set aside: around labelled nodes it fits the features far better than "
    "around all others ({labelled:.0%} against {others:.0%} of predictions agree), as if edges had "
    "been added there to mislead. Look at suspect_edges()"
)


def view_weights(
    densities: NDArray[np.float64],
    prior: NDArray[np.float64],
    seed: int,
    counts: NDArray[np.float64] | float = 1.0,
) -> NDArray[np.float64]:
    """Return the weights (V,) of views, which sum to one.

    They are those of Bayesian model averaging with left-out likelihoods in place of marginal ones,
    averaged over Bayesian bootstraps of the labels (pseudo-BMA+, Yao et al. 2018): with few labels
    the bootstraps disagree, and the weights stay near their prior (V,). Densities (V, m) are log
    densities of left-out labels, of which each counts `counts` (m,).
    """
    count = densities.shape[1]
    if not count:
        return prior / prior.sum()
    generator = np.random.default_rng([seed, _BOOTSTRAPS])
    shares = generator.dirichlet(np.ones(count), size=_BOOTSTRAPS)
    evidence = _DISCOUNT * count * (shares @ (counts * densities).T) + np.log(prior)
    found: NDArray[np.float64] = softmax(evidence, axis=1).mean(axis=0)
    return found / found.sum()


def view_prior(name: str, agreement: float) -> float:
    """Return the weight of a view before any label is left out."""
    own = _PRIORS.get(name, 1.0)
    if KINDS.get(name) in ALIKE:
        return own
    return own * float(np.exp(-_GAIN_OF_AGREEMENT * agreement))


def weights_of_views(
    densities: Mapping[str, NDArray[np.float64]],
    agreement: float,
    seed: int,
    *,
    all_alike: bool = False,
    counts: NDArray[np.float64] | float = 1.0,
) -> dict[str, float]:
    """Return the weight of each view that counts, by name; they sum to one, see `view_weights`."""
    names = list(densities)
    own = np.full(len(names), 1.0 / len(names))
    if not all_alike:
        prior = np.array([view_prior(name, agreement) for name in names])
        own = view_weights(np.array(list(densities.values())), prior, seed, counts)
    found = {name: float(w) for name, w in zip(names, own, strict=True) if w >= _LEAST}
    total = sum(found.values())
    return {name: weight / total for name, weight in found.items()}


def handed_over(
    weights: Mapping[str, float], kinds: Sequence[str], share: float, name: str
) -> dict[str, float]:
    """Return weights of which a member `name` has taken a share from views of some kinds."""
    kept = {view: (1.0 - share) * w for view, w in weights.items() if KINDS.get(view) in kinds}
    return {**weights, **kept, name: share * weight_of(weights, kinds)}


def weight_of(weights: Mapping[str, float], kinds: Sequence[str]) -> float:
    """Return the weight of all views of some kinds."""
    return sum(weight for name, weight in weights.items() if KINDS.get(name) in kinds)


def observed_graph_weight(weights: Mapping[str, float], has_graph: bool) -> float:
    """Return the weight of all views, and of the network, that rest on the observed graph."""
    return float(sum(w for name, w in weights.items() if kind_of(name, has_graph) in _OBSERVED))


def kind_of(name: str, has_graph: bool = True) -> str:
    """Return the hypothesis that a view, or the trained member, belongs to."""
    if name == PROPAGATION:
        return "both" if has_graph else "learned"
    return KINDS.get(name, "none")


def graph_agreement(graph: csr_array, fitted: Iterable[FittedView]) -> float:
    """Return how much predictions from features alone agree across the edges of a graph (N, N)."""
    alone = [one for one in fitted if KINDS.get(one.name) == "none"]
    return min((agreement_across(graph, one.probabilities) for one in alone), default=0.0)


def agreement_across(graph: csr_array, chances: NDArray[np.floating]) -> float:
    """Return how much more alike predictions are across observed edges than across random pairs."""
    ends = _ends(graph)
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


def misleading_edges(fitted: Sequence[FittedView], labels: TrainingLabels) -> str | None:
    """Return what looks wrong about the edges of labelled nodes; None if nothing does.

    Left-out labels say how good the observed graph is at the labelled nodes only. Whoever adds
    edges to mislead a classifier adds them there, until labelled nodes predict each other perfectly
    and everybody else wrongly. Two views of the same nodes, one that rests on the observed graph
    and one that does not, give it away without any further label: how often they predict the same
    class is a property of the nodes, and must be the same for labelled nodes, each predicted
    without its own label, as for all others.
    """
    named = {one.name: one for one in fitted}
    others = np.ones(len(fitted[0].scores), dtype=bool)
    others[labels.nodes] = False
    count = len(labels.tested_nodes)
    if count < _LEAST_LEFT_OUT or not others.any():
        return None
    worst, message = -_ERRORS, None
    for reference in (named[name] for name in _REFERENCES if name in named):
        own = reference.left_out.argmax(axis=2), reference.scores[others].argmax(axis=1)
        for one in (one for one in fitted if rests_on_edges(one.name)):
            labelled = float(np.mean(one.left_out.argmax(axis=2) == own[0]))
            rest = float(np.mean(one.scores[others].argmax(axis=1) == own[1]))
            spread = max(labelled * (1.0 - labelled), 0.02) / count
            errors = (rest - labelled) / np.sqrt(spread + rest * (1.0 - rest) / others.sum())
            if errors < worst and labelled - rest > _DROP:
                worst = errors
                message = MISLEADING.format(labelled=labelled, others=rest)
    return message


def rests_on_edges(name: str) -> bool:
    """Return whether observed edges enter a view."""
    return KINDS.get(name, "none") not in _ALONE


def weights_in_words(
    weights: Mapping[str, float],
    graph: csr_array | None,
    probabilities: NDArray[np.floating],
    false_share: float | None,
) -> str:
    """Return in words what predictions rest on."""
    kinds: dict[str, float] = {}
    for name, weight in weights.items():
        kind = kind_of(name, graph is not None)
        kinds[kind] = kinds.get(kind, 0.0) + weight
    main = max(kinds, key=lambda kind: kinds[kind])
    rest = f"predictions rest mostly on {_WORDS[main]} ({_share(kinds[main])})"
    if graph is None:
        return f"no graph was observed; {rest}"
    first, second = (probabilities[end] for end in _ends(graph))
    alike = float(np.einsum("ec,ec->e", first, second).mean()) if graph.nnz else 0.0
    usually = "mostly differ in class" if alike < 0.5 else "are mostly of one class"
    if false_share is not None:
        usually += f", about {_share(false_share)} of the edges look random"
    share = _share(observed_graph_weight(weights, has_graph=True))
    return f"the observed graph has weight {share}: neighbours {usually}; {rest}"


def _ends(graph: csr_array) -> tuple[NDArray[np.int64], NDArray[np.integer]]:
    return np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr)), graph.indices


def _share(weight: float) -> str:
    text = f"{weight:.2f}"
    return text if text.startswith("1") else text.removeprefix("0")


# --- warnings about answers that look bad ---------------------------------------------------------

_NEARLY_ALL = 0.95
_FEWER_LABELS = 0.8  # a class with more of the labels may well be nearly everywhere
_FEWEST_NODES = 20
_NO_SHARE = 0.005


def class_advice(
    probabilities: NDArray[Any], labels: NDArray[np.int64], classes: NDArray[Any]
) -> list[str]:
    """Return advice about predictions, in full sentences."""
    unknown = labels < 0
    if np.count_nonzero(unknown) < _FEWEST_NODES:
        return []
    predicted = np.bincount(probabilities[unknown].argmax(axis=1), minlength=len(classes))
    most = int(predicted.argmax())
    share = predicted[most] / predicted.sum()
    among_labels = np.mean(labels[~unknown] == most)
    if share < _NEARLY_ALL or among_labels > _FEWER_LABELS:
        return []
    return [
        f"{100 * share:.0f} % of the nodes without a label are predicted to be of class "
        f"{classes[most]}, which has {100 * among_labels:.0f} % of the labels: the features or the "
        "graph may be unrelated to the classes. Scale the features, give more labels, or look "
        "at the probabilities."
    ]


def share_advice(view_weights: Mapping[str, float]) -> list[str]:
    """Return what is to be said where a graph was learned, but the answer has none of it."""
    learned = sum(
        weight for name, weight in view_weights.items() if kind_of(name) in ("learned", "both")
    )
    if learned >= _NO_SHARE:
        return []
    return [
        "left-out labels are better predicted without a learned graph: its share of the result is "
        "0 %. Scale the features or give others, or give more labels."
    ]
