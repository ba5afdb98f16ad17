"""Algorithm 2: the combined graph J by hand, and the base model where nothing is learned."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph.errors import InputError
from truegraph.fit_log import FitLog
from truegraph.paper.algorithm2 import CHOICES, algorithm2, combined_graph
from truegraph.paper.autoencoders import LinkTask, network_options
from truegraph.paper.networks import AUTO_ENCODERS

OBSERVED = csr_array(np.array([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]], float))
LEARNED = csr_array(
    np.array([[0, 3, 0, 2], [3, 0, 0, 0], [0, 0, 0, 0.5], [2, 0, 0.5, 0]], dtype=float)
)


def test_observed_links_stay_and_learned_weights_fill_the_rest():
    graph, filling = combined_graph(OBSERVED, LEARNED)
    expected = OBSERVED.toarray()
    expected[0, 3] = expected[3, 0] = 2 / 3
    expected[2, 3] = expected[3, 2] = 0.5 / 3
    np.testing.assert_allclose(graph.toarray(), expected)
    assert filling == (
        "3 learned edges, 33% of them observed; 2 unobserved pairs get a weight, 0.42 on average"
    )


def test_only_the_pairs_asked_about_are_filled():
    pairs = np.array([[3, 2], [0, 2]])
    graph, filling = combined_graph(OBSERVED, LEARNED, pairs)
    expected = OBSERVED.toarray()
    expected[2, 3] = expected[3, 2] = 0.5 / 3
    np.testing.assert_allclose(graph.toarray(), expected)
    assert "1 unobserved pairs" in filling


def task_of(name: str, problem, **options) -> LinkTask:
    pairs = np.array([[0, 1], [2, 30], [4, 50]])
    return LinkTask(
        name,
        network_options(name, {"epochs": 15, "draws": 2, **options}, CHOICES),
        problem.features,
        True,
        problem.graph,
        (pairs[:1], pairs[1:]),
        csr_array(problem.graph.shape),
        seed=3,
    )


@pytest.mark.parametrize("name", AUTO_ENCODERS)
def test_an_empty_learned_graph_gives_the_base_model(name, problem):
    task = task_of(name, problem)
    combined, _ = combined_graph(problem.graph, csr_array(problem.graph.shape))
    base = task.train_on(FitLog(), problem.graph, problem.graph)
    again = task.train_on(FitLog(), combined, combined)
    for first, second in zip(base, again, strict=True):
        np.testing.assert_array_equal(first, second)


def test_errors_name_the_choice(problem):
    with pytest.raises(InputError, match="unobserved='edges' must be one of"):
        algorithm2(task_of("gae", problem, unobserved="edges"), FitLog())
    with pytest.raises(InputError, match="needs the pairs"):
        algorithm2(task_of("gae", problem, unobserved="pairs"), FitLog())
    with pytest.raises(InputError, match="unknown option 'degree'"):
        network_options("vgae", {"degree": 3}, {})
