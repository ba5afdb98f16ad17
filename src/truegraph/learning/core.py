"""The graph of a distance: search, candidates, solve, proof. Everything that comes in is trusted.

Public functions check their arguments, make a distance and `Settings` of them, and add advice and
names to the graph. Inside the library, `learn` is called as it is::

    graph = learn(EmbeddingDistance(points), Settings(degree=10))
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils import check_random_state

from truegraph.errors import ConvergenceWarning, InputError, warn
from truegraph.learning.completion import Completed, Completion, joining_pairs
from truegraph.learning.growth import grown_candidates, warm_start
from truegraph.learning.inputs import check_two_nodes, most_edges, require_candidates
from truegraph.learning.learned import Certificate, LearnedGraph
from truegraph.learning.search.approximate import CellSearch
from truegraph.learning.search.candidates import (
    NeighbourLists,
    bipartite_lists,
    candidate_graph,
    choose_engine,
    completeness,
    local_scales,
    missing_pairs,
    mutual_lists,
    nearest_lists,
    scaled,
    unproved_nodes,
)
from truegraph.learning.search.distances import Distance
from truegraph.learning.search.pairs import restored_matrix
from truegraph.learning.search.sketch import SketchSearch
from truegraph.learning.settings import DEFAULT_MAX_ITER, Settings
from truegraph.learning.solve.density import match_degree
from truegraph.learning.solve.primal_dual import solve as solve_primal_dual
from truegraph.learning.solve.solver import Solution, primal_value
from truegraph.learning.solve.solver import solve as solve_newton
from truegraph.progress import Progress
from truegraph.runtime.threads import thread_limit

Floats = NDArray[np.float64]

_FEW_NODES = 2000  # waking threads costs more than they save
_FIRST_DEGREE = 10.0  # expected to begin with when theta, not the degree, is given


def learn(
    distance: Distance | csr_array,
    settings: Settings,
    *,
    n_users: int | None = None,
    fixed: csr_array | None = None,
    forbidden: csr_array | None = None,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
) -> LearnedGraph:
    """Learn the most probable graph; warn if it is not proved to the tolerance."""
    run = _Run(settings, n_users, generator(0) if rng is None else rng, progress or Progress())
    nodes = int(distance.shape[0]) if isinstance(distance, csr_array) else distance.n_nodes
    with thread_limit(1 if nodes <= _FEW_NODES else settings.n_jobs):
        if isinstance(distance, csr_array):
            return run.on_given(distance)
        return run.on_distance(distance, fixed, forbidden)


def grow(
    graph: LearnedGraph,
    distance: Distance,
    settings: Settings,
    *,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
) -> LearnedGraph:
    """Add the nodes of a distance beyond those of a graph to it, at the same theta."""
    run = _Run(settings, None, generator(0) if rng is None else rng, progress or Progress())
    with thread_limit(1 if distance.n_nodes <= _FEW_NODES else settings.n_jobs):
        return run.on_growth(graph, distance)


def generator(random_state: Any) -> np.random.Generator:
    """Return the random numbers of the learner for a `random_state`."""
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))


class _Run:
    """One run of the learner: its settings, its clock and its listener."""

    def __init__(
        self, settings: Settings, n_users: int | None, rng: np.random.Generator, progress: Progress
    ) -> None:
        self.settings, self.n_users = settings, n_users
        self.rng, self.progress = rng, progress
        self.seconds = {"search": 0.0, "candidates": 0.0, "solve": 0.0, "proof": 0.0}
        self._cells: CellSearch | SketchSearch | None = None
        self._order: NDArray[np.int64] | None = None
        self._began = time.perf_counter()

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        self.progress.stage(name)
        began = time.perf_counter()
        yield
        self.seconds[name] += time.perf_counter() - began

    def on_given(self, candidates: csr_array) -> LearnedGraph:
        """Learn on candidate pairs that were given."""
        require_candidates(candidates)
        nodes, available = candidates.shape[0], candidates.nnz / candidates.shape[0]
        is_complete = available == most_edges(nodes, self.n_users)
        if self.settings.scope == "global" and not is_complete:
            raise InputError(
                "scope='global' needs the distances of all pairs, but X stores only "
                f"{candidates.nnz // 2}; use scope='candidates', or give points."
            )
        self.settings = self.settings.within(available, "the stored pairs")
        candidates, _ = self._scaled(candidates)
        solution = self._solve(candidates, None)
        scope = "global" if is_complete and not self.settings.local_scaling else "candidates"
        completed = self._completed(candidates, solution, None, None)
        return self._result(completed, solution, scope, search="given", recall=1.0)

    def on_distance(
        self, distance: Distance, fixed: csr_array | None, forbidden: csr_array | None
    ) -> LearnedGraph:
        """Search candidate pairs of a distance and solve, in an order that is quick to read."""
        nodes = distance.n_nodes
        check_two_nodes(nodes)
        self.settings = self.settings.within(most_edges(nodes, self.n_users), "that many nodes")
        plain = self.n_users is None and fixed is None and forbidden is None
        engine = self._engine(distance)
        if plain and engine == "sketch":
            with self._stage("search"):
                sketch = SketchSearch(distance.base, int(self.rng.integers(2**31)), self._length)
            if self.settings.engine == "auto" and sketch.is_hopeless:
                engine, self.settings = "ivf", replace(self.settings, engine="ivf")
            else:
                self._order, distance = sketch.order, distance.permuted(sketch.order)
                self._cells = sketch.in_order().on(distance.base)
        if plain and engine == "ivf":
            with self._stage("search"):
                cells = CellSearch(distance.base, int(self.rng.integers(2**31)))
            self._cells, self._order = cells.in_order(), cells.order
            distance = distance.permuted(cells.order)
        return self._search_and_solve(distance, fixed, forbidden)

    @property
    def _length(self) -> int:
        """Return the length of the lists of neighbours to begin with."""
        settings = self.settings
        k = math.ceil(settings.candidate_ratio * (settings.degree or _FIRST_DEGREE))
        return max(k, settings.min_degree)

    def on_growth(self, graph: LearnedGraph, distance: Distance) -> LearnedGraph:
        """Add the nodes of a distance beyond those of a graph to it, at the same theta."""
        settings = self.settings
        with self._stage("search"):
            candidates, recall = grown_candidates(
                graph,
                distance,
                settings.candidate_ratio,
                settings.engine,
                settings.local_scaling is not None,
                self.rng,
                self.progress,
            )
            candidates, scales = self._scaled(candidates)
        with self._stage("solve"):
            start = warm_start(graph, candidates, settings.tol)
            solution = solve_newton(
                candidates,
                graph.certificate.theta,
                tol=settings.tol,
                max_iter=settings.max_iter,
                start=start,
                on_step=self._on_step,
            )
        completed = self._completed(candidates, solution, distance, scales)
        engine = self._engine(distance)
        return self._result(completed, solution, "candidates", search=engine, recall=recall)

    def _search_and_solve(
        self, distance: Distance, fixed: csr_array | None, forbidden: csr_array | None
    ) -> LearnedGraph:
        """Search candidate pairs and solve, until no more pairs are needed."""
        settings = self.settings
        lists = self._search(distance, self._length)
        solution: Solution | None = None
        while True:
            with self._stage("candidates"):
                offered = mutual_lists(lists) if settings.mutual else lists
                candidates = candidate_graph(offered, distance, fixed, forbidden)
                candidates, scales = self._scaled(candidates)
            available = candidates.nnz / distance.n_nodes
            self.settings = self.settings.within(available, "the pairs that are not forbidden")
            solution = self._solve(candidates, solution)
            longer = self._too_few(solution, lists)
            if longer is not None:
                lists = self._search(distance, longer)
                continue
            missing = self._missing(lists, distance, candidates, solution, forbidden)
            if missing is None or not missing.nnz:
                break
            fixed = missing if fixed is None else csr_array(fixed.maximum(missing))
        plain = self.n_users is None and forbidden is None
        found: dict[str, Any] = {"search": lists.engine, "recall": lists.recall}
        if plain and lists.engine != "exact" and not settings.mutual:
            cells, lam, theta = self._cells, solution.multipliers, solution.theta
            known = None
            if isinstance(cells, SketchSearch):
                known, found["axes"] = (cells.sample, cells.truth), cells.axes
            with self._stage("proof"):
                low, missed = completeness(lists, distance, candidates, lam, theta, scales, known)
            found["low_recall"] = low
            found["missed_objective"] = missed / max(1.0, abs(solution.primal))
        completed = self._completed(candidates, solution, distance if plain else None, scales)
        scope = "candidates" if missing is None else "global"
        return self._result(completed, solution, scope, **found)

    def _search(self, distance: Distance, k: int) -> NeighbourLists:
        engine = self._engine(distance)
        how: dict[str, Any] = {"random_state": self.rng, "progress": self.progress}
        with self._stage("search"):
            if self.n_users is None:
                return nearest_lists(distance, k, engine=engine, search=self._cells, **how)
            return bipartite_lists(distance, self.n_users, k, engine=engine, **how)

    def _engine(self, distance: Distance) -> str:
        if self.settings.scope == "global":
            return "exact"
        return choose_engine(self.settings.engine, distance.n_nodes, distance)

    def _scaled(self, candidates: csr_array) -> tuple[csr_array, Floats | None]:
        """Return the candidates with distances scaled locally, and the scales, if that is asked."""
        if self.settings.local_scaling is None:
            return candidates, None
        scales = local_scales(candidates, self.settings.local_scaling)
        return scaled(candidates, scales), scales

    def _solve(self, candidates: csr_array, before: Solution | None) -> Solution:
        """Solve for the given theta, or for the theta that meets the wanted degree.

        The density search is Newton's in either case: the paper's iteration is too slow to be
        repeated, and its unconverged graphs are too dense to be counted.
        """
        settings, tol = self.settings, self.settings.tol
        is_newton = settings.solver == "newton"
        steps = settings.max_iter if is_newton else DEFAULT_MAX_ITER["newton"]
        newton = partial(solve_newton, candidates, max_iter=steps, on_step=self._on_step)
        with self._stage("solve"):
            theta = settings.theta
            if theta is None:
                solution = match_degree(
                    candidates, settings.degree, newton, tol, before, settings.first_theta
                )
                theta = solution.theta
            elif is_newton:
                solution = newton(theta=theta, tol=tol, start=before)
            if is_newton:
                return solution
            return solve_primal_dual(
                candidates, theta, tol=tol, max_iter=settings.max_iter, on_step=self._on_step
            )

    def _on_step(self, iteration: int, gap: float) -> None:
        self.progress.update(iteration, None, f"step {iteration}, gap {gap:.1e}")

    def _too_few(self, solution: Solution, lists: NeighbourLists) -> int | None:
        """Return the list length that a given theta asks for, if it is more than there is.

        With a wanted degree the length is known beforehand; with theta the degree turns out.
        """
        if self.settings.theta is None or lists.complete.all():
            return None
        wanted = math.ceil(self.settings.candidate_ratio * solution.degree)
        return wanted if wanted > lists.lengths.max() else None

    def _missing(
        self,
        lists: NeighbourLists,
        distance: Distance,
        candidates: csr_array,
        solution: Solution,
        forbidden: csr_array | None,
    ) -> csr_array | None:
        """Return the pairs that optimality among all pairs still needs; None if not known.

        No pair is needed where the test in O(nodes) proves so; only at the nodes where it does
        not, and only if scope is "global", are all pairs looked at.
        """
        theta, multipliers = solution.theta, solution.multipliers
        if self.settings.mutual or self.settings.local_scaling:
            return None
        with self._stage("proof"):
            unproved = unproved_nodes(lists, distance, theta, multipliers)
            if unproved.size and self.settings.scope == "candidates":
                return None
            found = missing_pairs(distance, candidates, multipliers, theta, unproved, self.n_users)
            return found if forbidden is None else csr_array(found > forbidden)

    def _completed(
        self,
        candidates: csr_array,
        solution: Solution,
        distance: Distance | None,
        scales: Floats | None,
    ) -> Completed:
        """Return the solution with the edges that min_degree and connected ask for.

        Components are joined by pairs of the distance, if there is one.
        """
        least, connected = self.settings.min_degree, self.settings.connected
        if least <= 1 and not connected:
            return candidates, solution.weights, 0
        with self._stage("candidates"):
            multipliers, theta = solution.multipliers, solution.theta
            completion = Completion(candidates, solution.weights, multipliers, theta)
            if least > 1:
                completion.raise_degrees(least)
            if not connected:
                return completion.result()
            if distance is None:
                return completion.connect(None)
            exact = self._engine(distance) == "exact"
            near = partial(joining_pairs, distance, scales, exact, self.rng, self.progress)
            return completion.connect(near)

    def _result(
        self, completed: Completed, solution: Solution, scope: str, **found: Any
    ) -> LearnedGraph:
        """Return the graph in the order of the caller, with its certificate."""
        (candidates, weights, added), settings = completed, self.settings
        gap_with_added = None
        if added:
            primal = primal_value(candidates, solution.theta, weights)
            gap_with_added = max(0.0, primal - solution.dual) / max(1.0, abs(primal))
        parts = (settings.scale * weights, candidates.indices, candidates.indptr)
        adjacency = csr_array(parts, shape=candidates.shape, copy=True)
        adjacency.eliminate_zeros()
        multipliers, degree = solution.multipliers, adjacency.nnz / adjacency.shape[0]
        if self._order is not None:
            with self._stage("candidates"):
                adjacency = restored_matrix(adjacency, self._order)
                candidates = restored_matrix(candidates, self._order)
                multipliers = np.empty_like(solution.multipliers)
                multipliers[self._order] = solution.multipliers
        self.seconds["total"] = time.perf_counter() - self._began
        certificate = Certificate(
            relative_gap=solution.relative_gap,
            scope=scope,
            converged=solution.converged,
            tolerance=settings.tol,
            primal=solution.primal,
            dual=solution.dual,
            theta=solution.theta,
            scale=settings.scale,
            degree=degree,
            wanted_degree=settings.degree,
            candidate_pairs=candidates.nnz // 2,
            solver=settings.solver,
            iterations=solution.iterations,
            inner_iterations=solution.inner_iterations,
            stalled=solution.stalled,
            seconds=self.seconds,
            added_edges=added,
            gap_with_added=gap_with_added,
            **found,
        )
        if not certificate.converged:
            warn(certificate.shortfall(), ConvergenceWarning)
        return LearnedGraph.trusted(adjacency, certificate, multipliers, candidates, self.n_users)
