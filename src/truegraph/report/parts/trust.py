"""Parts of a page that say what not to trust: strange nodes, and edges that look false."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from truegraph.report.answer_page import table_of
from truegraph.report.tables import Table
from truegraph.wording import counted

SUSPECT = 0.5  # probability of being real up to which an edge is shown as false


def strangest_nodes(predictions: pd.DataFrame) -> Iterator[Table]:
    """Yield the table of the strangest nodes, if any are without a label.

    Parameters
    ----------
    predictions : DataFrame
        One row per node, with the columns novelty and given.
    """
    rest = predictions[predictions["given"] == "false"]
    if len(rest):
        yield table_of(
            "Strangest nodes",
            "Least like what was learned from: no class fits, or features unlike those of their "
            "neighbours or of all labelled nodes. Are they what you think they are?",
            rest.sort_values("novelty", ascending=False, kind="stable"),
        )


def suspect_edges(judged: pd.DataFrame | None) -> Iterator[Table]:
    """Yield the table of edges that look false, if there are any.

    Parameters
    ----------
    judged : DataFrame or None
        One row per edge, the falsest first, with the column probability.
    """
    if judged is None:
        return
    found = judged[judged["probability"] <= SUSPECT]
    if len(found):
        yield table_of(
            "Edges that look false",
            f"{counted(len(found), 'observed edge')} of {len(judged):,} look more like random "
            "pairs of nodes than like the other edges: by their features, their other neighbours "
            "and the predicted classes of both ends. The probability is that of being real.",
            found.rename(columns=lambda name: name.replace("_", " ")),
        )
