"""The wanted degree is met within 1 %, or the certificate says what was reached."""

from __future__ import annotations

import numpy as np
import pytest
from lab.known_problems import paper_graph, planted_clusters

from truegraph import learn_bipartite_graph, learn_graph
from truegraph.errors import InputError
from truegraph.learning.solve.density import NodesAlone


def points_of(kind: str) -> np.ndarray:
    rng = np.random.default_rng(11)
    if kind == "normal":
        return rng.normal(size=(600, 5))
    if kind == "clusters":
        return planted_clusters(6, 100, random_state=1)[0]
    if kind == "duplicates":
        return np.repeat(rng.normal(size=(200, 3)), 3, axis=0)
    if kind == "heavy tail":
        return rng.standard_t(1.5, size=(600, 4))
    if kind == "uneven density":
        return rng.normal(size=(600, 2)) * np.exp(rng.normal(size=(600, 1)))
    return np.concatenate([np.zeros((60, 3)), rng.normal(size=(540, 3))])  # many at one place


KINDS = ["normal", "clusters", "duplicates", "heavy tail", "uneven density", "one place"]


@pytest.mark.parametrize("degree", [3, 10, 24.5])
@pytest.mark.parametrize("kind", KINDS)
def test_the_degree_is_met_within_one_percent(kind: str, degree: float) -> None:
    graph = paper_graph(points_of(kind), degree=degree)
    reached = graph.adjacency.nnz / graph.n_nodes
    assert reached == pytest.approx(degree, rel=0.01)
    assert graph.certificate.degree == reached
    assert graph.certificate.wanted_degree == degree
    assert graph.certificate.converged


def test_the_degree_of_users_and_items_is_met() -> None:
    rng = np.random.default_rng(12)
    graph = learn_bipartite_graph(rng.normal(size=(150, 3)), rng.normal(size=(400, 3)), degree=6)
    assert graph.certificate.degree == pytest.approx(6.0, rel=0.01)


@pytest.mark.parametrize("degree", [2, 3, 4, 6, 10])
def test_on_a_grid_the_degree_reached_is_reported(degree: float) -> None:
    """All distances are integers: the degree jumps, and no theta may give the wanted one."""
    rows, columns = np.divmod(np.arange(400), 20)
    graph = paper_graph(np.column_stack([rows, columns]).astype(float), degree=degree)
    assert graph.certificate.degree == graph.adjacency.nnz / 400
    assert graph.certificate.wanted_degree == degree
    assert graph.certificate.converged
    assert degree / 2.0 <= graph.certificate.degree <= 2.0 * degree + 4.0


def test_on_a_grid_the_degree_is_the_nearest_that_exists() -> None:
    """Inside a torus every node is alike: the degrees are 4, 8, 12, ...; 5 is nearest to 4."""
    side = 12
    step = np.abs(np.subtract.outer(np.arange(side), np.arange(side)))
    apart = np.minimum(step, side - step) ** 2
    distances = (apart[:, None, :, None] + apart[None, :, None, :]).reshape(side**2, side**2)
    for wanted, reached in ((4, 4), (5, 4), (8, 8), (7, 8)):
        graph = paper_graph(distances.astype(float), wanted, metric="precomputed")
        assert graph.certificate.degree == reached
        assert graph.certificate.converged


def test_all_distances_equal() -> None:
    equal = 3.0 * (np.ones((30, 30)) - np.eye(30))
    graph = paper_graph(equal, degree=5, metric="precomputed")
    assert graph.certificate.degree == 29  # all weights are equal by symmetry
    assert graph.certificate.converged


def test_all_points_equal() -> None:
    graph = paper_graph(np.ones((40, 3)), degree=5)
    assert graph.certificate.converged
    assert np.isfinite(graph.adjacency.data).all()
    assert graph.certificate.degree == graph.adjacency.nnz / 40


def test_a_degree_that_no_theta_gives_is_given_up_soon() -> None:
    """Groups of equal points: pairs at distance zero keep their edges for any theta."""
    points = np.repeat(np.random.default_rng(16).normal(size=(20, 3)), 13, axis=0)
    graph = paper_graph(points, degree=5, candidate_ratio=8)
    assert graph.certificate.degree >= 12.0
    assert graph.certificate.converged
    assert graph.certificate.theta < 1000.0


@pytest.mark.parametrize("degree", [1, 1.05, 1.5])
def test_the_smallest_degrees(degree: float) -> None:
    """Every node keeps an edge, so that the mean degree has a lower bound above 1."""
    graph = paper_graph(np.random.default_rng(13).normal(size=(60, 2)), degree=degree)
    assert (graph.adjacency.sum(axis=1) > 0.0).all()
    assert graph.certificate.degree == graph.adjacency.nnz / 60
    assert graph.certificate.converged
    assert graph.certificate.degree < 2.0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("factor", [1e-3, 1.0, 1e3])
def test_the_degree_is_met_from_any_first_theta(kind: str, factor: float) -> None:
    points = points_of(kind)
    known = paper_graph(points, degree=8).certificate
    again = paper_graph(points, degree=8, first_theta=factor * known.theta).certificate
    assert again.converged
    assert again.degree == pytest.approx(8.0, rel=0.01)


def test_a_known_theta_saves_guessing(monkeypatch: pytest.MonkeyPatch) -> None:
    points = points_of("normal")
    known = paper_graph(points, degree=8).certificate
    monkeypatch.setattr(NodesAlone, "theta", None)  # no guess can be made
    again = paper_graph(points, degree=8, first_theta=known.theta).certificate
    assert again.theta == pytest.approx(known.theta, rel=0.02)


@pytest.mark.parametrize("density", [{"theta": 2.0}, {"alpha": 1.0, "beta": 1.0}])
def test_a_first_theta_needs_a_degree_to_search_for(density: dict[str, float]) -> None:
    with pytest.raises(InputError, match="leave out first_theta"):
        learn_graph(points_of("normal"), options={**density, "first_theta": 1.0})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("degree", [4.0, 15.0])
def test_nodes_alone_give_a_near_first_guess(kind: str, degree: float) -> None:
    graph = paper_graph(points_of(kind), degree=degree)
    alone = NodesAlone(graph.candidates)
    guess = alone.theta(degree)
    assert alone.degree(guess) == pytest.approx(degree, rel=0.01)
    assert 0.5 < guess / graph.certificate.theta < 2.0


def test_a_given_theta_asks_for_as_many_candidates_as_it_needs() -> None:
    """A small theta gives a dense graph; the first lists are too short for it."""
    points = np.random.default_rng(15).normal(size=(300, 3))
    dense = paper_graph(points, degree=60)
    graph = paper_graph(points, theta=dense.certificate.theta)
    assert graph.certificate.degree == pytest.approx(60.0, rel=0.02)
    assert np.diff(graph.candidates.indptr).min() >= 150


def test_ties_do_not_drive_theta_up() -> None:
    """Pairs at distance zero stay edges for every theta: the rest needs no extreme one."""
    rng = np.random.default_rng(9)
    points = np.minimum(rng.geometric(0.6, size=(3000, 4)), 5).astype(np.float64)
    tied = paper_graph(points, degree=5, candidate_ratio=6)
    distances = tied.candidates.data
    floor = np.count_nonzero(distances == 0.0) / 3000
    assert floor > 5.0
    assert tied.certificate.degree == pytest.approx(floor, rel=0.015)
    assert tied.certificate.theta * distances[distances > 0.0].min() < 20.0
    assert tied.certificate.iterations < 40
