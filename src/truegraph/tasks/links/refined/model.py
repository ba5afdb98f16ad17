"""The refined predictor: scores of pairs on the training graph, weighed by cross-fitted regression.

A link's scores on a graph that holds it say little about links that are missing. So the links are
cut into folds, and the links of a fold, with twice as many random pairs without a link, are scored
on the graph without that fold; new pairs are scored on the whole training graph.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.data.graphs.link_splits import Pairs
from truegraph.errors import InputError
from truegraph.tasks.links.refined.columns import PairColumns, pair_columns
from truegraph.tasks.links.refined.folds import folds_of
from truegraph.tasks.links.refined.local_scale import SCALES
from truegraph.tasks.links.refined.regression import Regression, fit_regression
from truegraph.tasks.links.refined.similarities import Reduction, fit_reduction

SLACK_NODES = 100_000  # up to here scale="auto" learns a graph
_SCALES = {
    "slack": "with the slack of a learned graph",
    "neighbours": "with the distance of nearest neighbours",
    "off": "without a local scale",
}
_BLOCK = 1 << 18  # pairs scored at a time


@dataclass(frozen=True)
class RefinedSettings:
    """Options of the refined predictor.

    Attributes
    ----------
    rank : int
        Dimensions of the reduced features, or of the vectors taken from a graph without features.
    scale : {"auto", "slack", "neighbours", "off"}
        The local scale of distances: the slack of a graph learned for every fold, the mean
        distance to nearest neighbours, or none. "auto": with features "slack" up to 100,000 nodes,
        then "neighbours"; without features "off", which is as good and quicker.
    encoder : bool
        Whether a small network on the smoothed features adds its score, and its vectors are the
        points of the local scale. It needs torch and several times as long.
    folds : int
    hidden : float
        Share of the links that is hidden to find out which suggestions are right.
    """

    rank: int = 128
    scale: str = "auto"
    encoder: bool = False
    folds: int = 5
    hidden: float = 0.1

    def __post_init__(self) -> None:
        if self.rank < 1:
            raise InputError(f"rank={self.rank} must be at least 1.")
        if self.scale not in ("auto", *SCALES):
            raise InputError(f"scale={self.scale!r} must be one of auto, {', '.join(SCALES)}.")
        if not isinstance(self.encoder, bool):
            raise InputError(f"encoder={self.encoder!r} must be True or False.")
        if self.folds < 2:
            raise InputError(f"folds={self.folds} must be at least 2.")
        if not 0.0 < self.hidden < 0.5:
            raise InputError(f"hidden={self.hidden} must be a share of the links from 0 to 0.5.")

    def scale_for(self, n_nodes: int, has_features: bool) -> str:
        """Return the scale that is used on a graph of that size."""
        if self.scale != "auto":
            return self.scale
        if not has_features:
            return "off"
        return "slack" if n_nodes <= SLACK_NODES else "neighbours"


@dataclass(frozen=True, eq=False)
class NodeFeatures:
    """Features of the nodes in the two forms that scores need.

    Attributes
    ----------
    rows : csr_array of float32, shape (N, F), or None
        Unit rows; None without features.
    reduced : ndarray of float32, shape (N, d), or None
        The same in few dimensions.
    reduction : Reduction or None
        How features become these.
    """

    rows: csr_array | None = None
    reduced: NDArray[np.float32] | None = None
    reduction: Reduction | None = None


def prepared_features(features: csr_array | None, rank: int, seed: int) -> NodeFeatures:
    """Weigh features (N, F) and reduce them; None stays None."""
    if features is None:
        return NodeFeatures()
    reduction = fit_reduction(features, rank, seed)
    rows = reduction.rows(features)
    return NodeFeatures(rows, reduction.reduced(rows), reduction)


@dataclass(frozen=True, eq=False)
class RefinedModel:
    """A fitted refined predictor.

    Attributes
    ----------
    columns : PairColumns
        Scores on the whole training graph.
    regression : Regression
        From scores to the log odds of a link among as many links as other pairs.
    features : NodeFeatures
    settings : RefinedSettings
    seed : int
    """

    columns: PairColumns
    regression: Regression
    features: NodeFeatures
    settings: RefinedSettings
    seed: int

    @property
    def embedding(self) -> NDArray[np.float32]:
        """Vectors of the nodes: features or eigenvectors, smoothed once over the graph, (N, d)."""
        return self.columns.vectors.smoothed[1]

    def describe(self) -> str:
        """Return in words what pairs are scored by."""
        by = "features and walks" if self.features.rows is not None else "walks and eigenvectors"
        scale = self.settings.scale_for(self.columns.graph.shape[0], self.features.rows is not None)
        network = ", and a small network" if self.settings.encoder else ""
        return f"refined scores by {by}, {_SCALES[scale]}{network}, on {self.settings.folds} folds"

    def logits(self, pairs: Pairs) -> NDArray[np.float64]:
        """Return the log odds of each pair (n, 2), (n,)."""
        return in_blocks(self.columns, self.regression.logits, pairs)

    def drawn_logits(self, pairs: Pairs) -> NDArray[np.float64]:
        """Return nothing, of shape (0, n): the spread is a standard error, see `errors`."""
        return np.zeros((0, len(pairs)))

    def errors(self, pairs: Pairs) -> NDArray[np.float64]:
        """Return the standard errors of these log odds, (n,)."""
        return self.regression.errors(self.columns.of(pairs))


def in_blocks(
    columns: PairColumns,
    weighed: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    pairs: Pairs,
) -> NDArray[np.float64]:
    """Return one number for each of many pairs (n, 2), holding the columns of some at a time, (n,).

    Parameters
    ----------
    columns : PairColumns
    weighed : callable
        From columns (n, columns) to numbers (n,).
    pairs : ndarray of int64, shape (n, 2)
    """
    found = [
        weighed(columns.of(pairs[first : first + _BLOCK])) for first in range(0, len(pairs), _BLOCK)
    ]
    return np.concatenate(found) if found else np.zeros(0)


def columns_on(
    graph: csr_array, features: NodeFeatures, settings: RefinedSettings, seed: int
) -> PairColumns:
    """Prepare the scores of pairs on a graph (N, N)."""
    return pair_columns(
        graph,
        features.rows,
        features.reduced,
        scale=settings.scale_for(graph.shape[0], features.rows is not None),
        rank=settings.rank,
        encoder=settings.encoder,
        seed=seed,
    )


def fit_refined(
    graph: csr_array,
    known: csr_array,
    features: NodeFeatures,
    settings: RefinedSettings,
    seed: int,
) -> RefinedModel:
    """Fit the refined predictor.

    Parameters
    ----------
    graph : csr_array of float64, shape (N, N)
        The links to learn from; weights count.
    known : csr_array of float64, shape (N, N)
        These and other links, none of which may serve as a non-link.
    features : NodeFeatures
    settings : RefinedSettings
    seed : int
    """
    scores, is_link = [], []
    for rest, links, non_links in folds_of(graph, known, settings.folds, seed):
        columns = columns_on(rest, features, settings, seed)
        scores.append(columns.of(np.concatenate([links, non_links])))
        is_link.append(np.repeat([True, False], [len(links), len(non_links)]))
    labels = np.concatenate(is_link)
    if labels.all():
        raise InputError(
            "the graph has no pairs without a link to learn from; give one that is not complete."
        )
    regression = fit_regression(np.concatenate(scores), labels)
    whole = columns_on(graph, features, settings, seed)
    return RefinedModel(whole, regression, features, settings, seed)
