"""The explorer within a report page: there up to a size, and the only script that it adds."""

from __future__ import annotations

import re

import numpy as np
import pytest

from truegraph import learn_graph
from truegraph.report.explorer import embedded
from truegraph.report.explorer.embedded import explorer_part
from truegraph.report.page import Embedded, Notes, Page


def test_a_small_graph_is_shown_and_its_script_allowed() -> None:
    graph = learn_graph(np.random.default_rng(0).normal(size=(40, 3)), degree=4)
    (part,) = explorer_part(graph, "Look", features=graph.adjacency)
    assert isinstance(part, Embedded)
    page = Page("A title", "", [part]).render()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert f"'sha256-{part.script_hash}'" in policy[1].replace("&#39;", "'")
    assert part.script_hash not in Page("A title", "").render()
    assert '<iframe class="embedded" srcdoc="&lt;!doctype html&gt;' in page


def test_a_large_graph_gets_a_page_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "ALL_NODES", 30)
    graph = learn_graph(np.random.default_rng(0).normal(size=(40, 3)), degree=4)
    (part,) = explorer_part(graph)
    assert isinstance(part, Notes)
    assert "truegraph explore graph.npz" in part.notes[0]
