"""The classifiers keep scikit-learn's contract, with its own tools and checks.

All of scikit-learn's checks are run. Those that an estimator cannot pass are listed with a reason,
and the list only shrinks: a check on it that passes fails the test, too.
"""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks

from truegraph import GraphLabelSpreading, NodeClassifier

EXCEPTIONS = {
    # It takes -1 and 1 for classes, and -1 says that a label is unknown.
    "check_classifiers_classes",
    # It repeats a row in place of a weight of two: a node more changes the graph.
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
}
LOW = NodeClassifier(effort="low", random_state=0)
X, Y = load_iris(return_X_y=True)


@pytest.mark.parametrize(
    "estimator",
    [NodeClassifier("logistic-regression", random_state=0), GraphLabelSpreading()],
    ids=lambda one: type(one).__name__,
)
def test_all_of_scikit_learns_checks_but_for_exceptions(estimator: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = estimator_checks.check_estimator(estimator, on_fail=None, on_skip=None)
    failed = {c["check_name"]: str(c["exception"]) for c in found if c["status"] == "failed"}
    assert failed.keys() == EXCEPTIONS, failed


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name",
    [
        "check_classifiers_one_label",
        "check_classifiers_regression_target",
        "check_dict_unchanged",
        "check_estimators_dtypes",
        "check_estimators_nan_inf",
        "check_estimators_pickle",
        "check_fit2d_1sample",
        "check_fit2d_predict1d",
        "check_fit_idempotent",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
        "check_n_features_in_after_fitting",
        "check_dataframe_column_names_consistency",
    ],
)
def test_checks_of_the_recommended_model(name: str) -> None:
    getattr(estimator_checks, name)("NodeClassifier", clone(LOW))


def test_what_a_fitted_classifier_has() -> None:
    assert is_classifier(NodeClassifier())
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    y = np.where(np.arange(150) % 5 == 0, Y, -1)
    fitted = clone(LOW).fit(frame, y)
    assert fitted.n_features_in_ == 4
    assert fitted.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    assert np.array_equal(fitted.transduction_, fitted.predict())
    assert fitted.score(None, Y) == np.mean(fitted.transduction_ == Y) > 0.85
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict_proba(frame), fitted.predict_proba(frame))


@pytest.mark.filterwarnings("ignore")
def test_cross_validation_and_search() -> None:
    assert cross_val_score(clone(LOW), X, Y, cv=3).mean() > 0.93
    names = np.array(["setosa", "versicolor", "virginica"])[Y]
    grid = {"model": ["logistic-regression", "label-spreading"]}
    search = GridSearchCV(NodeClassifier(random_state=0), grid, cv=2).fit(X, names)
    assert search.best_score_ > 0.9
    assert search.predict(X[:2]).tolist() == ["setosa", "setosa"]


@pytest.mark.filterwarnings("ignore")
def test_pipelines_votes_and_calibration() -> None:
    piped = make_pipeline(StandardScaler(), clone(LOW)).fit(X[::2], Y[::2])
    assert piped.score(X[1::2], Y[1::2]) > 0.9
    quick = NodeClassifier("logistic-regression", random_state=0)
    votes = VotingClassifier(
        [("nodes", quick), ("plain", LogisticRegression(max_iter=500))], voting="soft"
    )
    assert votes.fit(X[::2], Y[::2]).score(X[1::2], Y[1::2]) > 0.9
    calibrated = CalibratedClassifierCV(clone(LOW), cv=2).fit(X[::2], Y[::2])
    assert calibrated.score(X[1::2], Y[1::2]) > 0.9


@pytest.mark.parametrize("changes", [{}, {"model": "bgcn", "degree": 5, "options": {"samples": 3}}])
def test_parameters_come_back(changes: dict[str, Any]) -> None:
    estimator = NodeClassifier(**changes)
    assert clone(estimator).get_params() == estimator.get_params()
    given = ", ".join(f"{name}={value!r}" for name, value in changes.items())
    assert repr(estimator).replace("\n", "").replace("  ", "").startswith("NodeClassifier(")
    assert all(part in repr(estimator) for part in given.split(", ")[:1])
