"""The estimators of the tasks keep scikit-learn's contract, as far as it reaches.

All of scikit-learn's checks are run. Those that an estimator cannot pass are listed with a reason,
and the list only shrinks: a check on it that passes fails the test, too.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
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

# predict takes numbers of nodes, or new nodes as X=: a row of X is a node of one graph.
_NUMBERS_OF_NODES = {
    "check_dict_unchanged",
    "check_dtype_object",
    "check_estimator_sparse_array",
    "check_estimator_sparse_matrix",
    "check_estimators_dtypes",
    "check_estimators_nan_inf",
    "check_estimators_pickle",
    "check_f_contiguous_array_estimator",
    "check_fit2d_predict1d",
    "check_fit_idempotent",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_n_features_in",
    "check_n_features_in_after_fitting",
}
# A table without columns is refused, in words of our own.
_WORDS = {"check_estimators_empty_data_messages"}
# fit takes a square graph, or users' interactions: no table of scikit-learn's is one.
_NO_TABLE = {
    "check_complex_data",
    "check_dont_overwrite_parameters",
    "check_estimator_sparse_tag",
    "check_estimators_fit_returns_self",
    "check_estimators_overwrite_params",
    "check_fit2d_1feature",
    "check_fit2d_1sample",
    "check_fit_check_is_fitted",
    "check_fit_score_takes_y",
    "check_pipeline_consistency",
    "check_positive_only_tag_during_fit",
    "check_readonly_memmap_input",
}
_NO_Y = {"check_fit1d"}  # fit takes no y
# Bayesian versions share fit and predict with these, which are quick.
QUICK: list[tuple[Any, set[str]]] = [
    (truegraph.NodeClassifier("logistic-regression"), _NUMBERS_OF_NODES | _WORDS),
    (truegraph.LinkPredictor("common-neighbours"), _NUMBERS_OF_NODES | _WORDS | _NO_TABLE),
    (truegraph.Recommender("popularity"), _NUMBERS_OF_NODES | _WORDS | _NO_TABLE | _NO_Y),
]


def _named(value: Any) -> str:
    return type(value).__name__


@pytest.mark.parametrize("name", CHECKS)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=_named)
def test_scikit_learns_checks_that_need_no_table(estimator: Any, name: str) -> None:
    check: Callable[[str, Any], None] = getattr(estimator_checks, name)
    check(type(estimator).__name__, estimator)


@pytest.mark.parametrize(("estimator", "exceptions"), QUICK, ids=_named)
def test_all_of_scikit_learns_checks_but_for_exceptions(
    estimator: Any, exceptions: set[str]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = estimator_checks.check_estimator(estimator, on_fail=None, on_skip=None)
    failed = {c["check_name"]: str(c["exception"]) for c in found if c["status"] == "failed"}
    new = {name: failed[name] for name in failed.keys() - exceptions}
    assert not new
    assert not exceptions - failed.keys(), "no longer needed: remove these exceptions"


RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {"size": RNG.normal(size=40), "kind": ["a", "b"] * 20, "seen": RNG.integers(0, 9, 40)}
)
GRAPH = csr_array(np.roll(np.eye(40), 2, axis=1) + np.roll(np.eye(40), -2, axis=1))
LABELS = np.where(np.arange(40) < 20, np.arange(40) % 2, -1)
# What each gives for a table of nodes; whoever takes tables of pandas takes those of polars.
OF_TABLES: dict[str, tuple[Any, Callable[[Any, Any], Any], Callable[[Any], Any]]] = {
    "GraphLearner": (
        truegraph.GraphLearner(degree=4),
        lambda made, table: made.fit(table),
        lambda made: made.adjacency_.toarray(),
    ),
    "NodeClassifier": (
        truegraph.NodeClassifier("logistic-regression", random_state=0),
        lambda made, table: made.fit(table, LABELS),
        lambda made: made.predict_proba(),
    ),
    "LinkPredictor": (
        truegraph.LinkPredictor("refined", random_state=0),
        lambda made, table: made.fit(GRAPH, table),
        lambda made: made.decision_function([[0, 5], [3, 9]]),
    ),
    "ColumnPlan": (
        truegraph.data.ColumnPlan(),
        lambda made, table: made.fit(table),
        lambda made: made.transform(TABLE),
    ),
}


@pytest.mark.parametrize("name", OF_TABLES)
def test_tables_keep_the_contract(name: str) -> None:
    estimator, fit, answer = OF_TABLES[name]
    before, parameters = TABLE.copy(), estimator.get_params()
    made = clone(estimator)
    assert fit(made, TABLE) is made
    pd.testing.assert_frame_equal(TABLE, before)
    assert made.get_params() == parameters
    first = answer(made)
    for again in (
        fit(clone(made), TABLE),  # a clone knows nothing of the first fit
        fit(made, TABLE),  # and a second fit forgets it
        fit(clone(made), pl.from_pandas(TABLE)),
        pickle.loads(pickle.dumps(made)),
    ):
        np.testing.assert_array_equal(answer(again), first)
