"""The estimators of the tasks keep scikit-learn's contract, as far as it reaches.

They learn from a graph, from partly labelled nodes or from interactions, not from a table X alone,
so that scikit-learn's checks that fit a table of its own cannot be asked of them. All checks that
do not fit are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sklearn.utils import estimator_checks

import truegraph

ESTIMATORS = [
    truegraph.NodeClassifier(),
    truegraph.BayesianNodeClassifier(),
    truegraph.LinkPredictor(),
    truegraph.BayesianLinkPredictor(),
    truegraph.Recommender(),
    truegraph.BayesianRecommender(),
]
CHECKS = (
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_get_params_invariance",
    "check_set_params",
)


@pytest.mark.parametrize("name", CHECKS)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
def test_scikit_learns_checks_that_need_no_table(estimator: Any, name: str) -> None:
    check: Callable[[str, Any], None] = getattr(estimator_checks, name)
    check(type(estimator).__name__, estimator)
