"""What a committee would have predicted for its training nodes without their own labels.

From enough of them follow temperatures of all nodes.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.tasks.classify.committee.panel import Panel
from truegraph.tasks.classify.recipes.cross_fitting import fitted_temperature
from truegraph.tasks.classify.recipes.ensemble import tempered
from truegraph.tasks.classify.trust.left_out import LeftOutLabels
from truegraph.tasks.classify.trust.temperatures import (
    LEAST_LABELS,
    NodeTemperatures,
    fit_temperatures,
    log_degrees,
)


def left_out_labels(
    panel: Panel, members: Collection[str], factors: NDArray[np.float64], temperature: float
) -> LeftOutLabels:
    """Return the training nodes with predictions that their own labels had no part in.

    Views and trees are averaged as in the prediction of all nodes, at the same temperature. In
    place of trained recipes stand the classifiers that judged them, which were trained without a
    third of the labels. Weights and temperatures, a few numbers, have seen all labels.

    Parameters
    ----------
    panel : Panel
    members : collection of str
        Names of the trained recipes that take part.
    factors : ndarray of shape (C,)
        By which the probabilities of the classes are multiplied; labels count by them, too.
    temperature : float
        Of the prediction of all nodes.
    """
    weights, labels = panel.weights(members), panel.trial.labels
    mean = panel.left_out_probabilities(members)
    trained = sum(weights[name] for name in members)
    if trained and panel.recipe_left_out is not None:
        nodes, _, chances = panel.recipe_left_out
        heard = np.isin(nodes, panel.trial.train)
        places = panel.places_of(nodes[heard])
        chances = chances[heard]
        own = tempered(chances, fitted_temperature(chances, labels[places]))
        mean[places] += trained * own
    seen = np.flatnonzero(~np.isnan(mean).any(axis=1))
    found = mean[seen] * factors
    found /= found.sum(axis=1, keepdims=True)
    nodes, classes = panel.trial.train[seen], labels[seen]
    return LeftOutLabels(nodes, classes, tempered(found, temperature), factors[classes])


def learned_temperatures(
    left_out: LeftOutLabels, graph: csr_array
) -> tuple[NodeTemperatures | None, LeftOutLabels]:
    """Return the temperatures that left-out labels teach, and these labels' nodes at theirs.

    None, and the nodes as they are, where the labels are too few.
    """
    if len(left_out.nodes) < LEAST_LABELS:
        return None, left_out
    degrees = log_degrees(graph)
    found = fit_temperatures(left_out, degrees)
    chances = found.applied(left_out.probabilities, degrees[left_out.nodes])
    return found, replace(left_out, probabilities=chances)
