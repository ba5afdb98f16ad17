"""The stages of learning a graph: search, candidates, solve, proof."""

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

from truegraph.errors import InputError
from truegraph.learning.completion import Completed, Completion, NearestPairs
from truegraph.learning.growth import grown_candidates, warm_start
from truegraph.learning.inputs import (
    DEFAULT_MAX_ITER,
    Settings,
    check_degree,
    check_two_nodes,
    most_edges,
    require_candidates,
)
from truegraph.learning.joining import near_pairs
from truegraph.learning.learned import Certificate, LearnedGraph
from truegraph.learning.search.approximate import CellSearch
from truegraph.learning.search.candidates import (
    NeighbourLists,
    bipartite_lists,
    candidate_graph,
    choose_engine,
    missing_pairs,
    mutual_lists,
    nearest_lists,
    unproved_nodes,
)
from truegraph.learning.search.completeness import completeness
from truegraph.learning.search.distances import Distance
from truegraph.learning.search.local_scaling import local_scales, scaled
from truegraph.learning.search.neighbours import all_neighbours
from truegraph.learning.search.order import restored
from truegraph.learning.solve.density import match_degree
from truegraph.learning.solve.primal_dual import solve as solve_primal_dual
from truegraph.learning.solve.solver import Solution, primal_value
from truegraph.learning.solve.solver import solve as solve_newton
from truegraph.progress import Progress

_MANY_NODES = 50_000  # from here on the order of the nodes shows in the time of other searches
_FIRST_DEGREE = 10.0  # expected to begin with when theta, not the degree, is given


class Run:
    """One run of the learner: its settings, its clock and its listener."""

    def __init__(self, settings: Settings, rng: np.random.Generator, progress: Progress) -> None:
        self.settings = settings
        self.rng = rng
        self.progress = progress
        self.seconds = {"search": 0.0, "candidates": 0.0, "solve": 0.0, "proof": 0.0}
        self._cells: CellSearch | None = None
        self._began = time.perf_counter()

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        self.progress.stage(name)
        began = time.perf_counter()
        yield
        self.seconds[name] += time.perf_counter() - began

    def on_given(self, candidates: csr_array, n_users: int | None) -> LearnedGraph:
        """Learn on candidate pairs that the user gave."""
        require_candidates(candidates)
        nodes, available = candidates.shape[0], candidates.nnz / candidates.shape[0]
        is_complete = available == most_edges(nodes, n_users)
        if self.settings.scope == "global" and not is_complete:
            raise InputError(
                "scope='global' needs the distances of all pairs, but X stores only "
                f"{candidates.nnz // 2}; use scope='candidates', or give points."
            )
        self.settings = check_degree(self.settings, available, "the stored pairs")
        candidates, _ = self._scaled(candidates)
        solution = self._solve(candidates, None)
        scope = "global" if is_complete and not self.settings.local_scaling else "candidates"
        completed = self._completed(candidates, solution, None)
        return self._result(completed, solution, scope, "given", 1.0, n_users)

    def on_distance(
        self,
        distance: Distance,
        n_users: int | None,
        fixed: csr_array | None,
        forbidden: csr_array | None,
    ) -> LearnedGraph:
        """Learn the graph of a distance, of which users and items are told apart by n_users."""
        check_two_nodes(distance.n_nodes)
        most = most_edges(distance.n_nodes, n_users)
        self.settings = check_degree(self.settings, most, "that many nodes")
        plain = n_users is None and fixed is None and forbidden is None
        engine = self._engine(distance)
        in_cells = engine == "ivf" or (engine == "hnsw" and distance.n_nodes >= _MANY_NODES)
        if not plain or not in_cells:
            return self._search_and_solve(distance, n_users, fixed, forbidden)
        with self._stage("search"):
            cells = CellSearch(distance.base, int(self.rng.integers(2**31)))
            self._cells = cells.in_order() if engine == "ivf" else None
        graph = self._search_and_solve(distance.permuted(cells.order), None, None, None)
        with self._stage("candidates"):
            graph = restored(graph, cells.order)
        self.seconds["total"] = time.perf_counter() - self._began
        return graph

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
        completed = self._completed(
            candidates, solution, partial(self._nearest_pairs, distance, scales)
        )
        engine = self._engine(distance)
        return self._result(completed, solution, "candidates", engine, recall, None)

    def _search_and_solve(
        self,
        distance: Distance,
        n_users: int | None,
        fixed: csr_array | None,
        forbidden: csr_array | None,
    ) -> LearnedGraph:
        """Search candidate pairs and solve, until no more pairs are needed."""
        k = math.ceil(self.settings.candidate_ratio * (self.settings.degree or _FIRST_DEGREE))
        lists = self._search(distance, n_users, k)
        solution: Solution | None = None
        while True:
            with self._stage("candidates"):
                offered = mutual_lists(lists) if self.settings.mutual else lists
                candidates = candidate_graph(offered, distance, fixed, forbidden)
                candidates, scales = self._scaled(candidates)
            available = candidates.nnz / distance.n_nodes
            self.settings = check_degree(
                self.settings, available, "the pairs that are not forbidden"
            )
            solution = self._solve(candidates, solution)
            longer = self._too_few(solution, lists)
            if longer is not None:
                lists = self._search(distance, n_users, longer)
                continue
            missing = self._missing(lists, distance, candidates, solution, n_users, forbidden)
            if missing is not None and missing.nnz:
                fixed = missing if fixed is None else csr_array(fixed.maximum(missing))
                continue
            scope = "candidates" if missing is None else "global"
            plain = n_users is None and forbidden is None
            between = partial(self._nearest_pairs, distance, scales) if plain else None
            measured: dict[str, Any] = {}
            if plain and lists.engine != "exact" and not self.settings.mutual:
                measured = self._measured(lists, distance, candidates, solution, scales)
            completed = self._completed(candidates, solution, between)
            graph = self._result(completed, solution, scope, lists.engine, lists.recall, n_users)
            return replace(graph, certificate=replace(graph.certificate, **measured))

    def _measured(
        self,
        lists: NeighbourLists,
        distance: Distance,
        candidates: csr_array,
        solution: Solution,
        scales: NDArray[np.float64] | None,
    ) -> dict[str, Any]:
        """Return what the certificate says about pairs that an approximate search missed."""
        with self._stage("proof"):
            found = completeness(
                lists, distance, candidates, solution.multipliers, solution.theta, scales
            )
        missed = found.missed / max(1.0, abs(solution.primal))
        return {"low_recall": found.low_recall, "missed_objective": missed}

    def _scaled(self, candidates: csr_array) -> tuple[csr_array, NDArray[np.float64] | None]:
        """Return the candidates with distances scaled locally, and the scales, if that is asked."""
        if self.settings.local_scaling is None:
            return candidates, None
        scales = local_scales(candidates, self.settings.local_scaling)
        return scaled(candidates, scales), scales

    def _completed(
        self, candidates: csr_array, solution: Solution, between: NearestPairs | None
    ) -> Completed:
        """Return the solution with the edges that min_degree and connected ask for."""
        least, connected = self.settings.min_degree, self.settings.connected
        if least <= 1 and not connected:
            return Completed(candidates, solution.weights, 0)
        with self._stage("candidates"):
            completion = Completion(
                candidates, solution.weights, solution.multipliers, solution.theta
            )
            if least > 1:
                completion.raise_degrees(least)
            return completion.connect(between) if connected else completion.result()

    def _nearest_pairs(
        self, distance: Distance, scales: NDArray[np.float64] | None, component: NDArray[Any]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Return the nearest pair of each component, but the largest, with the others.

        Where the search for neighbours is approximate, this one is, too.
        """
        if self._engine(distance) != "exact":
            pairs = near_pairs(distance, component, self.rng)
        else:
            largest = int(np.bincount(component).argmax())
            pairs = {
                self._nearest_pair(distance, component == other)
                for other in range(int(component.max()) + 1)
                if other != largest
            }
        rows, columns = np.array(sorted(pairs)).T
        values = distance.pair_values(rows, columns)
        if scales is not None:
            values = values / (scales[rows] * scales[columns])
        return rows, columns, values

    def _nearest_pair(self, distance: Distance, inside: NDArray[np.bool_]) -> tuple[int, int]:
        """Return the nearest pair of a node inside and one outside, the smaller number first."""
        nodes, others = np.flatnonzero(inside), np.flatnonzero(~inside)
        queries, base = distance.queries[nodes], distance.base[others]
        found, _ = all_neighbours(queries, base, 1, progress=self.progress)
        partners = others[found[:, 0]]
        at = int(distance.pair_values(nodes, partners).argmin())
        first, second = sorted((int(nodes[at]), int(partners[at])))
        return first, second

    def _missing(
        self,
        lists: NeighbourLists,
        distance: Distance,
        candidates: csr_array,
        solution: Solution,
        n_users: int | None,
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
            missing = missing_pairs(distance, candidates, multipliers, theta, unproved, n_users)
            return missing if forbidden is None else csr_array(missing > forbidden)

    def _too_few(self, solution: Solution, lists: NeighbourLists) -> int | None:
        """Return the list length that a given theta asks for, if it is more than there is.

        With a wanted degree the length is known beforehand; with theta the degree turns out.
        """
        if self.settings.theta is None or lists.complete.all():
            return None
        wanted = math.ceil(self.settings.candidate_ratio * solution.degree)
        return wanted if wanted > lists.lengths.max() else None

    def _engine(self, distance: Distance) -> str:
        if self.settings.scope == "global":
            return "exact"
        return choose_engine(self.settings.engine, distance.n_nodes)

    def _search(self, distance: Distance, n_users: int | None, k: int) -> NeighbourLists:
        engine = self._engine(distance)
        how: dict[str, Any] = {"random_state": self.rng, "progress": self.progress}
        with self._stage("search"):
            if n_users is None:
                return nearest_lists(distance, k, engine=engine, search=self._cells, **how)
            return bipartite_lists(distance, n_users, k, engine=engine, **how)

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

    def _result(
        self,
        completed: Completed,
        solution: Solution,
        scope: str,
        engine: str,
        recall: float,
        n_users: int | None,
    ) -> LearnedGraph:
        candidates = completed.candidates
        weights = self.settings.scale * completed.weights
        adjacency = csr_array(
            (weights, candidates.indices.copy(), candidates.indptr.copy()), shape=candidates.shape
        )
        adjacency.eliminate_zeros()
        self.seconds["total"] = time.perf_counter() - self._began
        certificate = Certificate(
            relative_gap=solution.relative_gap,
            scope=scope,
            converged=solution.converged,
            tolerance=self.settings.tol,
            primal=solution.primal,
            dual=solution.dual,
            theta=solution.theta,
            scale=self.settings.scale,
            degree=adjacency.nnz / adjacency.shape[0],
            wanted_degree=self.settings.degree,
            candidate_pairs=candidates.nnz // 2,
            search=engine,
            recall=recall,
            solver=self.settings.solver,
            iterations=solution.iterations,
            inner_iterations=solution.inner_iterations,
            stalled=solution.stalled,
            seconds=self.seconds,
            added_edges=completed.added,
            gap_with_added=_gap_with_added(completed, solution),
        )
        return LearnedGraph(adjacency, certificate, solution.multipliers, candidates, n_users)


def _gap_with_added(completed: Completed, solution: Solution) -> float | None:
    """Return the relative gap of the graph with the added edges; None if there are none."""
    if not completed.added:
        return None
    primal = primal_value(completed.candidates, solution.theta, completed.weights)
    return max(0.0, primal - solution.dual) / max(1.0, abs(primal))
