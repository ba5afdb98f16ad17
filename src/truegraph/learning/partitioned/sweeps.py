"""Solving a problem in partitions: sweeps of blocks, a second level, and the wanted degree.

A sweep solves every block with its halo fixed, in four batches one after another (partition
number modulo 4); within a batch blocks see the same multipliers. What remains are nodes at the
borders, whose |lam d - 1| is large: these are solved together with their neighbours first. The
certificate is that of the whole problem, summed over the partitions at one set of multipliers.

Exact block solves shrink the error of lam by max_i h_i / (h_i + 2 / lam_i^2) at least, h_i the
pairs of node i that carry weight across a border. Where that is nearly 1 for many nodes, sweeps
are of no use: the problem is stiff.

For a wanted degree, theta follows the secant of the degree that the sweeps reach, and lam follows
theta as it would, were all nodes to move alike.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.data.storage import read_json, write_json
from truegraph.learning.partitioned import block_tasks
from truegraph.learning.partitioned.block_tasks import joined_blocks, largest
from truegraph.learning.partitioned.executors import InProcess
from truegraph.learning.partitioned.folder import Folder, damaged
from truegraph.learning.partitioned.plan import Plan
from truegraph.learning.partitioned.searching import Layout
from truegraph.learning.settings import Settings
from truegraph.learning.solve.density import CLOSE, NodesAlone, match_degree
from truegraph.learning.solve.solver import solve
from truegraph.progress import Progress

Floats = NDArray[np.float64]

_BATCHES = 4
_SAMPLE_ROWS = 200_000  # on which the first theta is found, at most
_SAMPLE_SHARE = 0.15
_MOST_THETAS = 15
_FIRST_SLOPE = 1.2  # of log theta over log degree
_STIFF_SHARE = 0.1  # of the nodes at borders
_FEW_SHARE = 0.1  # of all nodes, or half of those that fit: so few are worth no sweep
_RING_SIZE = 3  # times as many nodes, with the neighbours, at least
_RING_SHARE = 0.8  # of the nodes are kept, at most, while their neighbours are too many
_SMALL_RING, _MORE_RINGS = 5_000, 2  # nodes to which the next neighbours are added, so often
_MOST_POLISHES = 8  # in a row
# The degree of nodes alone, as if neighbours had their own multiplier, over that of the solution.
_ALONE_SHARE = 0.965


@dataclass(frozen=True)
class State:
    """Where the sweeps are; with the multipliers, all that is needed to go on."""

    sweep: int
    theta: float
    thetas: list[tuple[float, float]] = field(default_factory=list)
    steps: int = 0
    is_finished: bool = False
    is_stiff: bool = False


class Total:
    """The certificate of the whole problem at one set of multipliers.

    What `block_tasks.evaluate` told of the partitions, in their order; of the nodes that are high
    it keeps so many at most.
    """

    def __init__(self, parts: list[tuple[Any, ...]], n_nodes: int, most: int) -> None:
        sums, steepest, high, residuals = zip(*parts, strict=True)
        value, gap, self.edges, stiff, cut, stretch = (
            sum(column) for column in zip(*sums, strict=True)
        )
        self.dual = n_nodes - value
        self.primal = self.dual + gap
        self.steepest, self.stretch = max(steepest), stretch / n_nodes
        self.stiff_share = stiff / max(1, cut)
        everywhere = np.concatenate(residuals)
        kept = largest(everywhere, 0.0, most)
        self.high, self.residuals = np.concatenate(high)[kept], everywhere[kept]

    @property
    def relative_gap(self) -> float:
        """(primal - dual) / max(1, |primal|)."""
        if not math.isfinite(self.primal):
            return math.inf
        return max(0.0, self.primal - self.dual) / max(1.0, abs(self.primal))


class Sweeps:
    """The solve of one problem in partitions."""

    def __init__(
        self,
        plan: Plan,
        k: int,
        executor: InProcess,
        progress: Progress,
        settings: Settings,
        max_sweeps: int,
    ) -> None:
        self._plan, self._k = plan, k
        self._executor, self._progress = executor, progress
        self._settings, self._degree, self._tol = settings, settings.degree, settings.tol
        self._max_sweeps = max_sweeps
        self._folder = Folder(plan.folder)
        self._layout = Layout.load(self._folder)
        self._parts: dict[int, tuple[Any, ...]] = {}

    def run(self) -> tuple[State, Total]:
        """Sweep until optimal, stiff or out of sweeps; return where that ended."""
        state, lam = self._begin()
        while True:
            self._snapshot(lam)
            lam, total = self._polished(state, lam, self._evaluated(state))
            following = self._judged(state, total)
            if following.is_finished:
                self._save(following, lam)
                return following, total
            if following.theta != state.theta:
                lam = lam * (following.theta / state.theta) ** total.stretch
                self._snapshot(lam)
            elif state.sweep > 0 and total.high.size:
                lam, _ = self._second_level(following.theta, total, lam)
            lam, steps = self._batches(following.theta, lam, following.sweep)
            state = replace(following, sweep=state.sweep + 1, steps=state.steps + steps)
            self._save(state, lam)

    def _polished(self, state: State, lam: Floats, total: Total) -> tuple[Floats, Total]:
        """Solve the last few nodes together, where a sweep over all would be for them alone."""
        for _ in range(_MOST_POLISHES):
            few = total.high.size <= min(
                _FEW_SHARE * self._plan.n_nodes, 0.5 * self._plan.together_points
            )
            needed = total.relative_gap <= self._tol and total.steepest > math.sqrt(self._tol)
            if state.sweep == 0 or not (few and needed) or abs(self._degree_error(total)) > CLOSE:
                break
            lam, touched = self._second_level(state.theta, total, lam)
            total = self._evaluated(state, touched)
        return lam, total

    def solved_in_one(self, state: State) -> tuple[State, Total]:
        """Solve the whole problem in this process, and take that for the result."""
        candidates, settings = joined_blocks(self._plan, self._k), self._settings

        def on_step(iteration: int, gap: float) -> None:
            note = f"in one process, step {iteration}, gap {gap:.1e}"
            self._progress.update(iteration, None, note)

        newton = partial(solve, candidates, max_iter=settings.max_iter, on_step=on_step)
        if settings.theta is not None:
            solution = newton(theta=settings.theta, tol=settings.tol)
        else:
            degree, theta = settings.degree, state.theta
            solution = match_degree(candidates, degree, newton, settings.tol, first_theta=theta)
        state = replace(
            state,
            sweep=state.sweep + 1,
            theta=solution.theta,
            steps=state.steps + solution.iterations,
            is_stiff=True,
        )
        self._snapshot(solution.point.pairs)
        total = self._evaluated(state)
        self._save(state, solution.point.pairs)
        return state, total

    def _begin(self) -> tuple[State, Floats]:
        """Return the last complete state, or the first."""
        files = sorted(self._solve_folder.path.glob("state-*.json"), key=_number)
        if files:
            state, number = _state(files[-1]), _number(files[-1])
            name = f"solve-{self._k}/multipliers-{number}"
            return state, block_tasks.multipliers(self._plan, name, np.arange(self._plan.n_nodes))
        theta = self._settings.theta
        theta = self._first_theta() if theta is None else theta
        given = [(self._plan, p, self._k, theta) for p in range(len(self._layout))]
        found = self._executor.run(block_tasks.isolated, given, self._progress, "start")
        return State(0, theta), np.concatenate(found)

    @property
    def _solve_folder(self) -> Folder:
        return self._folder.below(f"solve-{self._k}")

    def _save(self, state: State, lam: Floats) -> None:
        folder = self._solve_folder
        folder.write(f"multipliers-{state.sweep}", lam)
        write_json(folder.path / f"state-{state.sweep}.json", asdict(state))
        for path in [*folder.path.glob("state-*.json"), *folder.path.glob("multipliers-*.npy")]:
            if _number(path) < state.sweep:
                path.unlink(missing_ok=True)

    def _snapshot(self, lam: Floats) -> None:
        self._folder.write("snapshot", lam)

    def _first_theta(self) -> float:
        """Return the theta that gives the wanted degree on a sample, every node alone."""
        assert self._degree is not None
        sizes = np.diff(self._layout.starts)
        share = min(_SAMPLE_SHARE, _SAMPLE_ROWS / self._plan.n_nodes)
        rows = np.minimum(sizes, np.maximum(2000, (share * sizes).astype(np.int64)))
        given = [(self._plan, p, self._k, int(rows[p])) for p in range(len(self._layout))]
        parts = self._executor.run(block_tasks.row_sample, given, self._progress, "first theta")
        lengths = np.concatenate([np.diff(part.indptr) for part in parts])
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        own = np.repeat(np.arange(lengths.size), lengths)
        distances = np.concatenate([part.data for part in parts])
        sample = csr_array((distances, own, indptr), shape=(lengths.size, lengths.size))
        return NodesAlone(sample).theta(_ALONE_SHARE * self._degree)

    def _evaluated(self, state: State, touched: NDArray[np.int64] | None = None) -> Total:
        """Evaluate all partitions, or those that changed since they all were."""
        touched = np.arange(len(self._layout)) if touched is None else touched
        given = [(self._plan, int(p), self._k, state.theta, self._tol) for p in touched]
        note = f"sweep {state.sweep}"
        found = self._executor.run(block_tasks.evaluate, given, self._progress, note)
        self._parts |= dict(zip(touched.tolist(), found, strict=True))
        parts = [self._parts[p] for p in range(len(self._layout))]
        total = Total(parts, self._plan.n_nodes, self._plan.together_points)
        degree = total.edges / self._plan.n_nodes
        note = f"sweep {state.sweep}, degree {degree:.4g}, gap {total.relative_gap:.1e}"
        self._progress.update(0, None, note)
        return total

    def _judged(self, state: State, total: Total) -> State:
        """Say whether the sweeps are at their end, and which theta comes next."""
        if total.stiff_share > _STIFF_SHARE and state.sweep >= 1:
            return replace(state, is_finished=True, is_stiff=True)
        error = self._degree_error(total)
        optimal = total.relative_gap <= self._tol and total.steepest <= math.sqrt(self._tol)
        if (optimal and abs(error) <= CLOSE) or state.sweep >= self._max_sweeps:
            return replace(state, is_finished=True)
        if state.sweep == 0 or abs(error) <= CLOSE or len(state.thetas) >= _MOST_THETAS:
            exhausted = len(state.thetas) >= _MOST_THETAS
            return replace(state, is_finished=optimal and exhausted)
        thetas = [*state.thetas, (math.log(state.theta), error)]
        return replace(state, thetas=thetas, theta=_following_theta(thetas))

    def _degree_error(self, total: Total) -> float:
        """Return by how much the degree is off, in logarithms; 0 if theta was given."""
        if self._degree is None:
            return 0.0
        return math.log(max(1, total.edges) / self._plan.n_nodes / self._degree)

    def _second_level(
        self, theta: float, total: Total, lam: Floats
    ) -> tuple[Floats, NDArray[np.int64]]:
        """Solve the nodes with a large |lam d - 1| together with their neighbours.

        Returns the multipliers, and the partitions that have one that changed, or see it.
        """
        ring = self._ring(theta, total, lam)
        rows = self._rows(ring)
        block_tasks.hand_over(self._plan, ring, rows)
        ((pairs, _),) = self._executor.run(
            block_tasks.solve_together,
            [(self._plan, theta, self._tol)],
            self._progress,
            "second level",
        )
        lam = lam.copy()
        lam[ring] = pairs
        self._snapshot(lam)
        seen = self._marked(ring, rows[1])
        return lam, np.flatnonzero(np.logical_or.reduceat(seen, self._layout.starts[:-1]))

    def _ring(self, theta: float, total: Total, lam: Floats) -> NDArray[np.int64]:
        """Return the high nodes with those they have edges to: of the highest, if too many.

        Without its neighbours, a node would push what is left of its error on to them. Of a few
        nodes, the neighbours' neighbours are taken as well, for the same reason.
        """
        most = self._plan.together_points
        high = total.high[largest(total.residuals, 0.0, most // _RING_SIZE)]
        rows, columns = self._edges(theta, high, lam)
        ring = np.flatnonzero(self._marked(high, columns))
        while ring.size > most and high.size > 1:
            kept = max(1, int(min(_RING_SHARE, most / ring.size) * high.size))
            high = total.high[largest(total.residuals, 0.0, kept)]
            ring = np.flatnonzero(self._marked(high, columns[self._marked(high)[rows]]))
        for _ in range(_MORE_RINGS):
            if ring.size <= _SMALL_RING:
                ring = np.flatnonzero(self._marked(ring, self._edges(theta, ring, lam)[1]))
        return ring

    def _marked(self, *positions: NDArray[Any]) -> NDArray[np.bool_]:
        """Return for every node whether it is among the positions: faster than to sort these."""
        marks = np.zeros(self._plan.n_nodes, dtype=np.bool_)
        for some in positions:
            marks[some] = True
        return marks

    def _edges(
        self, theta: float, nodes: NDArray[np.int64], lam: Floats
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return both ends of the edges of some nodes, ascending."""
        lengths, columns, distances = self._rows(nodes)
        rows = np.repeat(nodes, lengths)
        is_edge = 0.5 * (lam[rows, 0] + lam[columns, 0]) > theta * distances
        return rows[is_edge], columns[is_edge]

    def _rows(self, nodes: NDArray[np.int64]) -> tuple[Any, ...]:
        """Return the rows of some nodes, ascending, of all partitions."""
        bounds = np.searchsorted(nodes, self._layout.starts)
        given = [
            (self._plan, p, self._k, nodes[bounds[p] : bounds[p + 1]])
            for p in range(len(self._layout))
            if bounds[p] < bounds[p + 1]
        ]
        parts = self._executor.run(block_tasks.extract, given, self._progress, "second level")
        return tuple(np.concatenate([part[at] for part in parts]) for at in range(3))

    def _batches(self, theta: float, lam: Floats, sweep: int) -> tuple[Floats, int]:
        """Solve all blocks once; return the multipliers and the Newton steps."""
        steps = 0
        for batch in range(_BATCHES):
            members = list(range(batch, len(self._layout), _BATCHES))
            if not members:
                continue
            given = [(self._plan, p, self._k, theta, self._tol) for p in members]
            note = f"sweep {sweep + 1}, batch {batch + 1}"
            found = self._executor.run(block_tasks.solve_block, given, self._progress, note)
            lam = lam.copy()
            for p, (pairs, taken) in zip(members, found, strict=True):
                lam[self._layout.starts[p] : self._layout.starts[p + 1]] = pairs
                steps += taken
            if batch + 1 < _BATCHES:
                self._snapshot(lam)
        return lam, steps


def _state(path: Path) -> State:
    """Read where the sweeps were."""
    try:
        read = read_json(path)
        thetas = [(float(at), float(error)) for at, error in read.pop("thetas")]
        state = State(**read, thetas=thetas)
        if not (int(state.sweep) >= 0 and 0.0 < float(state.theta) < math.inf):
            raise ValueError(f"theta is {state.theta!r} in sweep {state.sweep!r}")
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise damaged(path, error) from error
    return state


def _following_theta(thetas: list[tuple[float, float]]) -> float:
    """Return the next theta on the secant of the last two, or on the usual slope."""
    at, error = thetas[-1]
    slope = _FIRST_SLOPE
    if len(thetas) > 1:
        before, error_before = thetas[-2]
        if error != error_before:
            slope = -(at - before) / (error - error_before)
        # Degrees were counted before all was solved: an odd slope is noise.
        if not 0.3 <= slope <= 4.0:
            slope = _FIRST_SLOPE
    return math.exp(at + min(1.0, max(-1.0, slope * error)))


def _number(path: Any) -> int:
    return int(path.stem.rpartition("-")[2])
