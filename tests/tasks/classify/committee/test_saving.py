"""A committee taken apart and put together again is the same."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from truegraph import BayesianNodeClassifier
from truegraph.tasks.classify.committee.saving import committee_from_arrays, committee_to_arrays


def test_the_same_after_a_round_trip(planted: Any) -> None:
    known = np.where(np.arange(120) % 4 == 0, planted.labels, -1)
    for graph in (planted.graph, None):
        fitted = BayesianNodeClassifier(effort="low", random_state=0)
        fitted.fit(planted.features, known, graph=graph)
        document, arrays = committee_to_arrays(fitted._weights)
        again = committee_from_arrays(json.loads(json.dumps(document)), arrays, {})
        first, second = (one.predict(fitted._inputs) for one in (fitted._weights, again))
        assert np.array_equal(first.probabilities, second.probabilities)
        assert np.array_equal(first.expected_entropy, second.expected_entropy)
