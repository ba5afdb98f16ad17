"""The page of an answer shows what came in, the columns, the answer and the warnings."""

from __future__ import annotations

import pandas as pd

from truegraph import ColumnPlan
from truegraph.report.answer_page import answer_page, files_and_sizes, table_of


def test_everything_is_on_the_page_and_escaped() -> None:
    plan = ColumnPlan().fit(pd.DataFrame({"id": ["x", "y", "z"], "<age>": [1.0, None, 3.0]}))
    frame = pd.DataFrame({"node": ["x", "y"], "probability": [0.5, 0.75]})
    html = answer_page(
        "Classes",
        "2 nodes labelled.",
        came_in={"features": "f.csv", "edges": None, "nodes": 1234},
        learned={"edges": 56},
        sure={"mean probability": 0.6252},
        look_at=table_of("Least sure", "Ask for their labels first.", frame),
        plan=plan,
        notes=["decimal commas recognised"],
        warnings=["all nodes get one class"],
    ).render()
    for text in ("Classes", "1,234", "&lt;age&gt;", "names of the rows", "0.6252", "0.75"):
        assert text in html
    for text in ("Least sure", "decimal commas recognised", "all nodes get one class"):
        assert text in html
    assert "<age>" not in html
    assert '<p class="summary">2 nodes labelled. 1 thing should be looked at first' in html
    assert html.index("all nodes get one class") < html.rindex("What came in")


def test_nothing_is_shown_that_is_not_known() -> None:
    html = answer_page("T", "S", came_in={"edges": None}, learned={}, sure={}).render()
    assert "How sure" not in html
    assert "What was learned" not in html
    assert "Nothing looks bad." in html
    assert "The columns" not in html


def test_files_stand_beside_the_sizes_of_what_they_hold() -> None:
    files, sizes = {"edges": "e.csv", "features": None}, {"nodes": 4, "edges": 3, "unlabelled": 4}
    found = files_and_sizes(files, sizes | {"classes": 0})
    assert found == {"file of edges": "e.csv", "file of features": None, "nodes": 4, "edges": 3}
    assert files_and_sizes(files, sizes | {"classes": 2})["unlabelled"] == 4
