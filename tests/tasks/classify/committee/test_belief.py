"""What a committee says it believes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph.tasks.classify.committee.belief import agreement_across, believed, kind_of

EDGE = csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
APART = np.array([[1.0, 0.0], [0.0, 1.0]])


def test_a_graph_of_unlike_neighbours() -> None:
    belief = believed({"learned": 0.97, "observed": 0.03}, EDGE, APART)
    assert belief.alike == 0.0
    assert belief.observed_graph_weight == pytest.approx(0.03)
    assert belief.sentence == (
        "the observed graph has weight .03: neighbours mostly differ in class; predictions rest "
        "mostly on the graph learned from features (.97)"
    )


def test_a_good_graph_and_a_trained_recipe() -> None:
    belief = believed({"observed": 0.2, "refined": 0.8}, EDGE, np.array([[1.0, 0.0], [1.0, 0.0]]))
    assert list(belief.view_weights) == ["refined", "observed"]
    assert "weight 1.00: neighbours are mostly of one class" in belief.sentence
    assert kind_of("refined") == "both"


def test_no_graph() -> None:
    belief = believed({"features": 1.0}, None, APART)
    assert belief.alike is None
    assert belief.sentence == (
        "no graph was observed; predictions rest mostly on the features alone (1.00)"
    )
    assert believed({"features": 1.0}, csr_array((2, 2)), APART).alike == 0.0
    trained = believed({"refined": 1.0}, None, APART)
    assert trained.observed_graph_weight == 0.0
    assert "the graph learned from features (1.00)" in trained.sentence


def test_false_edges_are_said() -> None:
    belief = believed({"cleaned": 0.9, "features": 0.1}, EDGE, APART, false_share=0.53)
    assert belief.observed_graph_weight == pytest.approx(0.9)
    assert "about .53 of the edges look random; predictions rest mostly on the" in belief.sentence
    assert "the observed graph without edges that look random (.90)" in belief.sentence


@pytest.mark.parametrize(("step", "least", "most"), [(3, 0.9, 1.0), (1, 0.0, 0.0)])
def test_agreement_across_edges(step: int, least: float, most: float) -> None:
    """Of three classes in turn, every third node is alike and the next one differs."""
    nodes = np.arange(300)
    chances = np.eye(3)[nodes % 3] * 0.9 + 0.1 / 3
    upper = csr_array((np.ones(299 - step + 1), (nodes[:-step], nodes[step:])), shape=(300, 300))
    found = agreement_across(csr_array(upper + upper.T), chances)
    assert least <= found <= most


def test_agreement_is_silent_on_random_pairs_few_edges_and_empty_predictions() -> None:
    generator = np.random.default_rng(3)
    chances = generator.dirichlet(np.ones(4), size=200)
    ends = generator.integers(0, 200, (2, 2000))
    graph = csr_array((np.ones(2000), (ends[0], ends[1])), shape=(200, 200))
    assert agreement_across(csr_array(graph + graph.T), chances) < 0.05
    alike = np.array([[0.9, 0.1], [0.8, 0.2]])
    assert agreement_across(EDGE, alike) == 0.0
    assert agreement_across(csr_array(graph + graph.T), np.full((200, 4), 0.25)) == 0.0
