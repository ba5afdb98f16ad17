"""Options of the refined recipe: sizes that follow the data, and clear refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph import InputError
from truegraph.data import random_split
from truegraph.tasks.classify.inputs import complete_inputs
from truegraph.tasks.classify.problem import open_problem
from truegraph.tasks.classify.recipes.refined_options import (
    RefinedOptions,
    round_degree,
)


def test_many_nodes_get_fewer_edges_each() -> None:
    points = np.zeros((12_000, 1))
    inputs = complete_inputs(points + 1.0, csr_array((12_000, 12_000)), 12_000)
    split = random_split(np.arange(12_000) % 3, 2, random_state=0)
    problem = open_problem(
        inputs, np.arange(12_000) % 3, [split], [0], classes=3, use_validation=False
    )
    assert round_degree(problem, RefinedOptions()) == 50
    assert round_degree(problem, RefinedOptions(degree=80)) == 80


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rounds": -1}, "rounds=-1"),
        ({"samples": 0}, "samples=0"),
        ({"scalings": ()}, r"scalings=\(\)"),
        ({"scalings": ("sum", "max")}, "one or both of sum, length"),
        ({"scalings": "sum"}, "scalings='sum'"),
        ({"graph": "knn"}, "must be one of learned, nearest"),
        ({"calibration": True}, "must be one of cross-fit, none"),
        ({"safeguard": True}, "safeguard=True must be two gains of confidence"),
        ({"safeguard": (0.05, 0.01)}, "the smaller one first"),
        ({"safeguard": (0.0, 0.01, 0.05)}, "must be two gains"),
        ({"embedding": "pca"}, "must be 'vgae', 'svd' or an array"),
        ({"embedding": "svd", "embedding_options": {"epochs": 3}}, "unknown entry 'epochs'"),
    ],
)
def test_bad_options_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        RefinedOptions(**changes)
