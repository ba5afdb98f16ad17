"""Strange nodes and false edges on a page."""

from __future__ import annotations

import pandas as pd

from truegraph.report.parts.trust import strangest_nodes, suspect_edges


def test_the_strangest_unlabelled_nodes_come_first() -> None:
    table = pd.DataFrame(
        {"node": list("abcd"), "novelty": [9.0, 1.0, 3.0, 2.0], "given": ["true", *["false"] * 3]}
    )
    (found,) = strangest_nodes(table)
    assert [row[0].text for row in found.rows[1:]] == ["c", "d", "b"]
    assert not list(strangest_nodes(table[:1]))


def test_only_edges_that_look_false_are_shown() -> None:
    edges = pd.DataFrame({"source": list("ab"), "target": list("cd"), "probability": [0.2, 0.9]})
    (found,) = suspect_edges(edges)
    assert len(found.rows) == 2
    assert "1 observed edge of 2 look" in found.caption
    assert not list(suspect_edges(edges[1:]))
    assert not list(suspect_edges(None))
