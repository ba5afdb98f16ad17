"""Regression: how much wider intervals get because penalties and weights saw the same values.

Judged by the coverage of intervals of 90 % on rows without a value, with few known values.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from lab.choose import Scores, sweep

KNOWN = (10, 20, 40)


def intervals(dataset: str, seed: int, options: Mapping[str, Any]) -> Scores:
    """Return coverage and mean width, in standard deviations, by the number of known values."""
    from sklearn.datasets import load_diabetes, make_friedman1

    from truegraph import NodeRegressor

    made = make_friedman1(400, noise=1.0, random_state=1)
    X, y = load_diabetes(return_X_y=True) if dataset == "diabetes" else made
    found = {}
    for known in KNOWN:
        order = np.random.default_rng([seed, known]).permutation(len(y))
        given = np.full(len(y), np.nan)
        given[order[:known]] = y[order[:known]]
        regressor = NodeRegressor(options=dict(options) or None, random_state=seed).fit(X, given)
        _, ends = regressor.predict(return_interval=0.9)
        rest = order[known:]
        held = (ends[rest, 0] <= y[rest]) & (y[rest] <= ends[rest, 1])
        found[f"coverage {known}"] = float(held.mean())
        found[f"width {known}"] = float(np.ptp(ends[rest], axis=1).mean() / y.std())
    return found


if __name__ == "__main__":
    sweep(
        "truegraph.classify.regressor:_CHOSEN",
        (0.0, 1.0, 2.0, 4.0),
        intervals,
        datasets=("diabetes", "friedman"),
        trials=10,
    )
