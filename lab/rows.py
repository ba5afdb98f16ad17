"""A trial on the rows of a table: classes or numbers, from those of a few rows.

"auto" gets the table as it is; ``given`` may also be "array" (its numbers as they are),
"standardised" (the same, column by column) or "cleaned" (by hand, of the made table). The rivals
get skrub's columns: TableVectorizer fitted to all rows, gaps filled with the mean; all but trees
get them standardised. Labels are drawn at random after one of each class, so that a table of more
classes than labels gets one label per class, or ("per class") so many of each.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import SVC

from lab.tables import NUMBERS, Rows, drawn_labels, load_rows
from truegraph import NodeClassifier, NodeRegressor
from truegraph.evaluation import class_metrics

TREES = ("random-forest", "gradient-boosting")
MODELS = ("auto", *TREES, "logistic-regression", "svc", "label-spreading", "ridge", "k-nn")
_METRICS = ("accuracy", "macro_f1", "negative_log_likelihood", "expected_calibration_error")

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


def open_data(job: Mapping[str, Any]) -> Rows:
    """Return the table of a job; the made one with seed 0, whatever the seed of the trial."""
    return load_rows(job["dataset"])


def run(data: Rows, job: Mapping[str, Any]) -> dict[str, Any]:
    """Fit the model of a job to what is known, and score it on the other rows."""
    data = load_rows(job["dataset"], job["seed"])
    score = _score_numbers if job["dataset"] in NUMBERS else _score_classes
    return {"metrics": score(data, job)}


def _score_classes(data: Rows, job: Mapping[str, Any]) -> dict[str, float]:
    truth = np.unique(data.target, return_inverse=True)[1]
    known = _known_rows(truth, job)
    rest = np.setdiff1d(np.arange(len(truth)), known)
    labels = np.full(len(truth), -1)
    labels[known] = truth[known]
    if job["model"] == "auto":
        given = _given(data, job["options"])
        found = NodeClassifier(random_state=job["seed"]).fit(given, labels).predict_proba()
    else:
        points = _columns(job)
        found = _rival_chances(job["model"], points, labels, job["seed"])
    metrics = class_metrics(truth[rest], found[rest])
    return {name: metrics[name] for name in _METRICS}


def _known_rows(truth: Places, job: Mapping[str, Any]) -> Places:
    """Return the rows whose labels are known."""
    count, seed = job["conditions"]["labels"], job["seed"]
    if job["conditions"]["drawn"] == "in all":
        return drawn_labels(truth, count, seed)
    rng = np.random.default_rng([seed, count])
    members = [np.flatnonzero(truth == one) for one in np.unique(truth)]
    return np.concatenate([rng.choice(own, count, replace=False) for own in members])


def _given(data: Rows, options: Mapping[str, Any]) -> Any:
    given = options.get("given", "table")
    if given == "cleaned":
        return data.cleaned
    if given == "table":
        return data.frame
    array = data.frame.to_numpy()
    return StandardScaler().fit_transform(array) if given == "standardised" else array


def _columns(job: Mapping[str, Any]) -> Floats:
    """Return the columns (n, d) that a rival gets."""
    given = job["options"].get("given", "table")
    return skrub_columns(job["dataset"], job["seed"], given, job["model"] not in TREES)


@lru_cache(maxsize=4)
def skrub_columns(name: str, seed: int, given: str, is_standardised: bool) -> Floats:
    """Return skrub's columns (n, d) of a table."""
    from skrub import TableVectorizer

    columns = TableVectorizer().fit_transform(_given(load_rows(name, seed), {"given": given}))
    filled = SimpleImputer().fit_transform(columns)
    return np.asarray(StandardScaler().fit_transform(filled) if is_standardised else filled)


def _rival_chances(model: str, points: Floats, labels: Places, seed: int) -> Floats:
    """Return the class probabilities (n, C) of a rival; every class has a label."""
    if model == "label-spreading":
        with np.errstate(invalid="ignore"):  # no label reaches some rows
            spread = LabelSpreading("knn", n_neighbors=10).fit(points, labels)
        return np.nan_to_num(spread.label_distributions_, nan=1.0 / len(spread.classes_))
    made: dict[str, Any] = {
        "logistic-regression": lambda: LogisticRegression(max_iter=1000),
        "random-forest": lambda: RandomForestClassifier(random_state=seed),
        "gradient-boosting": lambda: HistGradientBoostingClassifier(random_state=seed),
        "svc": SVC,
    }
    known = labels >= 0
    fitted = made[model]().fit(points[known], labels[known])
    if model == "svc":  # without probabilities
        return np.eye(len(fitted.classes_))[fitted.predict(points)]
    return np.asarray(fitted.predict_proba(points))


def _score_numbers(data: Rows, job: Mapping[str, Any]) -> dict[str, float]:
    truth, seed = data.target.astype(np.float64), job["seed"]
    count = job["conditions"]["labels"]
    order = np.random.default_rng([seed, count]).permutation(len(truth))
    known, rest = order[:count], order[count:]
    if job["model"] != "auto":
        points = _columns(job)
        fitted = _rival_of_numbers(job["model"], seed).fit(points[known], truth[known])
        return _errors(fitted.predict(points[rest]), truth[rest])
    values = np.full(len(truth), np.nan)
    values[known] = truth[known]
    regressor = NodeRegressor(random_state=seed).fit(_given(data, job["options"]), values)
    found, ends = regressor.predict(return_interval=0.9)
    held = (ends[rest, 0] <= truth[rest]) & (truth[rest] <= ends[rest, 1])
    width = np.ptp(ends[rest], axis=1).mean() / truth.std()
    return _errors(found[rest], truth[rest]) | {
        "interval_coverage": float(held.mean()),
        "interval_width": float(width),
    }


def _rival_of_numbers(model: str, seed: int) -> Any:
    return {
        "ridge": RidgeCV(np.logspace(-2, 4, 13)),
        "random-forest": RandomForestRegressor(random_state=seed),
        "k-nn": KNeighborsRegressor(5),
    }[model]


def _errors(found: Floats, truth: Floats) -> dict[str, float]:
    """Return the error and the explained share of the variance."""
    error = float(np.sqrt(np.mean((found - truth) ** 2)))
    return {"rmse": error, "r2": 1.0 - error**2 / float(truth.var())}
