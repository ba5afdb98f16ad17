"""Predicted classes as a table, one row per node, and the parts of a page about them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from truegraph.report.page import Part, first_rows, table
from truegraph.wording import counted

if TYPE_CHECKING:
    from truegraph.classify.estimator import NodeClassifier

SUSPECT = 0.5  # probability of being real up to which an edge is shown as false
_DIGITS = 6  # of float32 hold


def prediction_table(
    classifier: NodeClassifier, names: Any, labels: Any, coverage: float | None
) -> pd.DataFrame:
    """Return a row per fitted node; with a `coverage` also its set of classes.

    The label is the given one where there is one, else the predicted one. Predictions, their
    probabilities and scores have columns of their own.
    """
    given = pd.Series(labels, dtype=object)
    chances, predicted = classifier.predict_proba(), classifier.predict()
    information = classifier.mutual_information_
    found = pd.DataFrame(
        {
            "node": names,
            "label": given.fillna(pd.Series(predicted, dtype=object)),
            "given": np.where(given.notna(), "true", "false"),
            "prediction": predicted,
            "probability": _rounded(chances.max(axis=1)),
            "predictive_entropy": _rounded(classifier.predictive_entropy_),
            "mutual_information": np.nan if information is None else _rounded(information),
            "novelty": classifier.novelty_.round(3),
        }
    )
    if coverage is not None:
        members = classifier.predict_set(coverage=coverage).members
        found["set"] = ["; ".join(map(str, classifier.classes_[row])) for row in members]
        found["set_size"] = members.sum(axis=1)
    return found


def _rounded(values: Any) -> Any:
    return np.asarray(values, dtype=np.float64).round(_DIGITS)


def class_parts(
    found: pd.DataFrame, rated: pd.DataFrame | None, coverage: float | None
) -> Iterator[Part]:
    """Yield the parts of a page about a table of predictions and one of rated edges."""
    rest = found[found["given"] == "false"]
    if len(rest):
        by = rest["mutual_information"].fillna(1.0 - rest["probability"])
        least = rest.loc[by.sort_values(ascending=False, kind="stable").index]
        told = (
            "Label these next: mutual information is high, or where it is unknown the probability"
        )
        yield first_rows("Least sure", f"{told} of the prediction is low.", least)
    if coverage is not None and len(rest):
        yield _set_sizes(rest["set_size"], coverage)
    doubtful = found[(found["given"] == "true") & (found["label"] != found["prediction"])]
    if len(doubtful):
        yield first_rows(
            "Given labels that the model contradicts",
            "They were kept as given. Check whether they are right.",
            doubtful.sort_values("probability", ascending=False, kind="stable"),
        )
    if len(rest):
        yield first_rows(
            "Most novel nodes",
            "Least like the nodes learned from: no class fits, or features unlike those of their "
            "neighbours or of all labelled nodes. Check whether they belong to the data.",
            rest.sort_values("novelty", ascending=False, kind="stable"),
        )
    suspect = None if rated is None else rated[rated["probability"] <= SUSPECT]
    if rated is not None and suspect is not None and len(suspect):
        yield first_rows(
            "Edges that look false",
            f"{counted(len(suspect), 'observed edge')} of {len(rated):,} look more like random "
            "pairs of nodes than like the other edges: by their features, their other neighbours "
            "and the predicted classes of both ends. The probability is that of being real.",
            suspect,
        )


def _set_sizes(sizes: pd.Series, coverage: float) -> Part:
    counts = sizes.value_counts().sort_index()
    rows = [[str(size), f"{n:,}", f"{n / len(sizes):.1%}"] for size, n in counts.items()]
    return table(
        "Sets of classes",
        f"Each node without a label has a set of classes; {coverage:.0%} of the sets should hold "
        "the true one. A node with one class in its set is settled at this level; the sets "
        f"have {sizes.mean():.2f} classes on average.",
        [["classes in the set", "nodes", "share"], *rows],
    )
