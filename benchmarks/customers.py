"""A table of mixed columns needs no preparation by hand.

    python benchmarks/customers.py                      # tables 0 to 9, as the README shows
    python benchmarks/customers.py --first 1000         # the tables used during development

Claim: the table of customers in `examples/customers`, given as it is, does as well in `learn`,
`classify` and `links` as after preparation by hand (means for missing numbers, standardised
columns, 0/1 columns for categories, days for dates), and classifies as well as the best of three
standard classifiers on columns that skrub vectorised. Each seed makes another table of 600
customers with other labels (10 per segment) and other friendships.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from skrub import TableVectorizer

from truegraph import BayesianNodeClassifier, LinkPredictor, learn_graph
from truegraph.data import merge_edges

sys.path.append(str(Path(__file__).parent.parent / "examples" / "customers"))
from make_customers import customers, friendships, labelled

HELD_OUT = 0.1  # of the friendships, to score links


def by_hand(table: pd.DataFrame) -> np.ndarray:
    """Prepare the table as a careful person would."""
    days = pd.to_datetime(table["signup_date"]).astype("datetime64[s]")
    numbers = table[["age", "income", "visits_per_month", "basket"]].assign(days=days)
    numbers["days"] = np.where(days.notna(), days.astype("int64") / 86400, np.nan)
    filled = numbers.fillna(numbers.mean())
    categories = pd.get_dummies(table[["plan", "channel", "region"]], dtype=float)
    return np.hstack([StandardScaler().fit_transform(filled), categories.to_numpy()])


def within(graph, segment: np.ndarray) -> float:
    """Return the share of the edges within a segment."""
    edges = graph.adjacency.tocoo()
    return float(np.mean(segment[edges.row] == segment[edges.col]))


def accuracies(table: pd.DataFrame, segment: np.ndarray, seed: int) -> dict[str, float]:
    """Return accuracy on the customers without a label, by method."""
    known = labelled(pd.Series(segment), seed)
    rest = np.setdiff1d(np.arange(len(segment)), known)
    y = np.full(len(segment), None, dtype=object)
    y[known] = segment[known]
    found = {}
    for name, X in (("classify, as it is", table), ("classify, by hand", by_hand(table))):
        classifier = BayesianNodeClassifier(random_state=seed).fit(X, y)
        found[name] = float(np.mean(classifier.predict(rest) == segment[rest]))
    prepare = make_pipeline(TableVectorizer(), SimpleImputer(), StandardScaler())
    features = prepare.fit_transform(table.drop(columns="customer_id"))
    for name, model in (
        ("logistic regression", LogisticRegression(max_iter=1000)),
        ("random forest", RandomForestClassifier(random_state=seed)),
        ("10 nearest neighbours", KNeighborsClassifier(10)),
    ):
        model.fit(features[known], segment[known])
        found[name] = float(model.score(features[rest], segment[rest]))
    return found


def link_scores(table: pd.DataFrame, segment: np.ndarray, seed: int) -> dict[str, float]:
    """Return the area under the curve for held-out friendships against random pairs."""
    rng = np.random.default_rng(seed)
    number = pd.Series(np.arange(len(table)), index=table["customer_id"])
    friends = friendships(table, pd.Series(segment), seed)
    pairs = np.column_stack([number[friends["customer"]], number[friends["friend"]]])
    hidden = rng.random(len(pairs)) < HELD_OUT
    graph, _ = merge_edges(*pairs[~hidden].T, None, len(table))
    everyone, _ = merge_edges(*pairs.T, None, len(table))
    others = rng.integers(0, len(table), (20 * int(hidden.sum()), 2))
    strangers = (others[:, 0] != others[:, 1]) & (everyone[others[:, 0], others[:, 1]] == 0)
    others = others[strangers][: int(hidden.sum())]
    asked, truth = (
        np.vstack([pairs[hidden], others]),
        np.repeat([1, 0], [hidden.sum(), len(others)]),
    )
    found = {}
    for name, X in (("links, as it is", table), ("links, by hand", by_hand(table))):
        predictor = LinkPredictor(random_state=seed).fit(graph, X)
        found[name] = float(roc_auc_score(truth, predictor.decision_function(asked)))
    return found


def scores(seed: int) -> dict[str, float]:
    table, answer = customers(seed)
    segment = answer.to_numpy(str)
    raw = table[["age", "income", "visits_per_month", "basket"]].fillna(0).to_numpy()
    return {
        "learn, as it is": within(learn_graph(table), segment),
        "learn, by hand": within(learn_graph(by_hand(table)), segment),
        "learn, raw numbers": within(learn_graph(raw), segment),
        **accuracies(table, segment, seed),
        **link_scores(table, segment, seed),
    }


def main() -> None:
    """Print means and standard errors over the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--tables", type=int, default=10)
    arguments = parser.parse_args()
    seeds = range(arguments.first, arguments.first + arguments.tables)
    table = pd.DataFrame([scores(seed) for seed in seeds], index=list(seeds)) * 100
    summary = pd.DataFrame({"mean": table.mean(), "standard error": table.sem()})
    print(summary.round(2).to_string())


if __name__ == "__main__":
    main()
