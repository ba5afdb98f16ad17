"""The refined predictor as arrays, and back; what a graph implies is computed again."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits

from truegraph.learning.learned import LearnedGraph
from truegraph.tasks.links.refined.columns import PairColumns
from truegraph.tasks.links.refined.local_scale import LocalScale, scale_of
from truegraph.tasks.links.refined.model import NodeFeatures, RefinedModel, RefinedSettings
from truegraph.tasks.links.refined.pair_network import restored_network
from truegraph.tasks.links.refined.regression import Regression
from truegraph.tasks.links.refined.similarities import Reduction, node_vectors, smoothing

_REGRESSION = ("centre", "spread", "weights", "covariance")


def refined_arrays(model: RefinedModel) -> dict[str, NDArray[Any]]:
    """Return what cannot be computed again from the graph, the features and the settings."""
    arrays = {name: getattr(model.regression, name) for name in _REGRESSION}
    arrays["offset"] = np.array(model.regression.offset)
    if model.features.reduction is not None:
        arrays["rarity"] = model.features.reduction.rarity
        arrays["directions"] = model.features.reduction.directions
    else:
        arrays["first_vectors"] = model.columns.first
    scale = model.columns.scale
    if scale is not None and scale.graph is None:
        arrays["usual"], arrays["near"] = scale.usual, scale.near
    if model.columns.network is not None:
        arrays |= model.columns.network.arrays()
    return arrays


def restored_refined(
    arrays: dict[str, NDArray[Any]],
    graph: csr_array,
    features: csr_array | None,
    learned: LearnedGraph | None,
    settings: RefinedSettings,
    seed: int,
) -> RefinedModel:
    """Return the model that `refined_arrays` was given.

    Parameters
    ----------
    arrays : dict of str to ndarray
        As in `refined_arrays`, with the "points" of the scale if it has one.
    graph : csr_array, shape (N, N)
        The training graph.
    features : csr_array, shape (N, F), or None
        As they were given to `fit`.
    learned : LearnedGraph or None
    settings : RefinedSettings
    seed : int
    """
    prepared = NodeFeatures()
    if features is not None:
        reduction = Reduction(arrays["rarity"], arrays["directions"])
        rows = reduction.rows(features)
        prepared = NodeFeatures(rows, reduction.reduced(rows), reduction)
    first = arrays["first_vectors"] if prepared.reduced is None else prepared.reduced
    with threadpool_limits(1):
        vectors = node_vectors(prepared.rows, first, smoothing(graph))
    scale: LocalScale | None = None
    if learned is not None:
        scale = scale_of(arrays["points"], learned)
    elif "usual" in arrays:
        scale = LocalScale(arrays["points"], arrays["usual"], 1.0, arrays["near"])
    regression = Regression(
        arrays["centre"],
        arrays["spread"],
        arrays["weights"],
        float(arrays["offset"]),
        arrays["covariance"],
    )
    network = restored_network(arrays, graph.shape[0])
    columns = PairColumns(graph, vectors, scale, first, network)
    return RefinedModel(columns, regression, prepared, settings, seed)
