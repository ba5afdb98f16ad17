"""A table of mixed columns as it is, against preparation by hand and scikit-learn's classifiers.

    python benchmarks/customers.py                      # tables 0 to 9
    python benchmarks/customers.py --first 1000         # the tables used during development

Claim: the table of customers in `examples/customers`, given as a file to the commands `learn`,
`classify` and `links` without any option, does as well as after preparation by hand (means for
missing numbers, standardised columns, 0/1 columns for categories, days for dates; given as an
array), and classifies as well as the best of three standard classifiers on columns that skrub
vectorised. Each seed makes another table of 600 customers with other labels (10 per segment) and
other friendships, a tenth of which are hidden and must be told from pairs of strangers (area under
the curve).
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
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

from truegraph import LinkPredictor
from truegraph.cli.app import run

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


def command(*arguments: str) -> pd.DataFrame:
    """Run a command of the program, and return the table that it writes."""
    code = run([*arguments, "--out", "answer.csv", "--quiet"])
    if code:
        raise SystemExit(f"truegraph {' '.join(arguments)} ended with {code}")
    return pd.read_csv("answer.csv", dtype={"source": str, "target": str, "node": str})


def within(features: str, segment: pd.Series) -> float:
    """Return the share of the learned edges within a segment."""
    edges = command("learn", features)
    return float(
        (segment[edges["source"]].to_numpy() == segment[edges["target"]].to_numpy()).mean()
    )


def accuracy(features: str, segment: pd.Series) -> float:
    """Return the accuracy on the customers without a label."""
    found = command("classify", "--features", features, "--labels", "labels.csv")
    rest = found[~found["given"]]
    return float((rest["label"].to_numpy() == segment[rest["node"]].to_numpy()).mean())


def link_score(features: str, judged: tuple[np.ndarray, np.ndarray]) -> float:
    """Return the area under the curve of hidden friendships against random pairs."""
    call = ["links", "--edges", "friends.csv", "--features", features, "--save", "model"]
    command(*call)
    pairs, truth = judged
    return float(roc_auc_score(truth, LinkPredictor.load("model").decision_function(pairs)))


def hidden_pairs(
    friends: np.ndarray, shown: np.ndarray, count: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return hidden friendships and as many pairs of strangers, with the truth about each."""
    hidden = friends[~shown]
    known = {frozenset(pair) for pair in friends.tolist()}
    others = rng.integers(0, count, (20 * len(hidden), 2)).tolist()
    strangers = [pair for pair in others if len(set(pair)) == 2 and frozenset(pair) not in known]
    truth = np.repeat([1, 0], len(hidden))
    return np.vstack([hidden, strangers[: len(hidden)]]), truth


def standard_classifiers(
    table: pd.DataFrame, segment: np.ndarray, known: np.ndarray, seed: int
) -> dict[str, float]:
    """Return the accuracy of three standard classifiers on vectorised columns."""
    prepare = make_pipeline(TableVectorizer(), SimpleImputer(), StandardScaler())
    features = prepare.fit_transform(table.drop(columns="customer_id"))
    rest = np.setdiff1d(np.arange(len(segment)), known)
    models = {
        "logistic regression": LogisticRegression(max_iter=1000),
        "random forest": RandomForestClassifier(random_state=seed),
        "10 nearest neighbours": KNeighborsClassifier(10),
    }
    return {
        name: float(model.fit(features[known], segment[known]).score(features[rest], segment[rest]))
        for name, model in models.items()
    }


def scores(seed: int) -> dict[str, float]:
    """Write the files of one table, and return what becomes of them, by method."""
    table, answer = customers(seed)
    names = table["customer_id"].astype(str)
    segment = pd.Series(answer.to_numpy(str), index=names)
    known = labelled(answer, seed)
    friends = friendships(table, answer, seed)
    rng = np.random.default_rng(seed)
    shown = rng.random(len(friends)) >= HELD_OUT
    table.to_csv("customers.csv", index=False)
    table.iloc[known].assign(segment=segment.to_numpy()[known])[["customer_id", "segment"]].to_csv(
        "labels.csv", index=False
    )
    friends[shown].to_csv("friends.csv", index=False)
    np.savez("hand.npz", x=by_hand(table), ids=names.to_numpy(str))
    number = pd.Series(np.arange(len(table)), index=table["customer_id"])
    numbers = np.column_stack([number[friends["customer"]], number[friends["friend"]]])
    pairs = hidden_pairs(numbers, shown, len(table), rng)
    judged = (
        ("learn", within, segment),
        ("classify", accuracy, segment),
        ("links", link_score, pairs),
    )
    found = {
        f"{verb}, {how}": score(file, truth)
        for verb, score, truth in judged
        for how, file in (("as it is", "customers.csv"), ("by hand", "hand.npz"))
    }
    return found | standard_classifiers(table, segment.to_numpy(), known, seed)


def main() -> None:
    """Print means and standard errors over the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--tables", type=int, default=10)
    arguments = parser.parse_args()
    seeds = range(arguments.first, arguments.first + arguments.tables)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        rows = []
        for seed in seeds:
            rows.append(scores(seed))
            print(f"table {seed} done", file=sys.stderr, flush=True)
    table = pd.DataFrame(rows, index=list(seeds)) * 100
    summary = pd.DataFrame({"mean": table.mean(), "standard error": table.sem()})
    print(summary.round(2).to_string())


if __name__ == "__main__":
    main()
