"""Learning one graph in partitions: the stages, from the points to the certificate."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from truegraph.data.storage import read_json, write_json
from truegraph.errors import ConvergenceWarning, InputError, WriteError, warn
from truegraph.learning import inputs
from truegraph.learning.learned import Certificate
from truegraph.learning.learner import GraphLearner
from truegraph.learning.partitioned import searching, spreading
from truegraph.learning.partitioned.block_tasks import build_block
from truegraph.learning.partitioned.executors import InProcess, OnCluster
from truegraph.learning.partitioned.folder import Folder, damaged
from truegraph.learning.partitioned.graph import PartitionedGraph, write_graph
from truegraph.learning.partitioned.plan import (
    Plan,
    bytes_per_node,
    check_disk,
    make_plan,
    memory_bytes,
    one_process_bytes,
)
from truegraph.learning.partitioned.sources import Source, as_source
from truegraph.learning.partitioned.sweeps import State, Sweeps, Total
from truegraph.learning.search.approximate import (
    FIRST_WIDTH,
    LargeCells,
    Rounding,
    SmallCells,
    recalls,
    sampled_rows,
)
from truegraph.learning.search.candidates import low_quantile
from truegraph.learning.search.cells import padded
from truegraph.learning.search.neighbours import RECALL_SAMPLE
from truegraph.learning.search.points import check_range
from truegraph.learning.settings import OPTIONS, Settings, check_settings
from truegraph.progress import Progress, console_progress
from truegraph.runtime.threads import thread_limit

#: Options of the learner that a graph in partitions has.
KNOWN_OPTIONS = ("theta", "candidate_ratio", "tol", "n_jobs")
_ENGINES = ("auto", "ivf")
_MAX_SWEEPS = 60
_DATA = "data.json"  # digests of all rows, chunk by chunk


def learn_graph(
    X: Any,
    degree: float | str = "auto",
    *,
    client: Any = None,
    memory: str | float = "8GB",
    storage: str | PathLike[str] | None = None,
    progress: bool | Progress = False,
    graph_model: str = "paper",
    **parameters: Any,
) -> PartitionedGraph:
    """Learn the most probable graph of points that need not fit into memory.

    Candidates and certificate are those of `truegraph.learn_graph` with candidates="ivf"; weights
    differ within the gap. They do not depend on the number of workers.

    Parameters
    ----------
    X : path-like, memory map, Dask array, zarr array or ndarray of shape (n_nodes, n_features)
        A path names a .npy file, a folder of Parquet files or a zarr array. Workers of a cluster
        must be able to open it.
    degree : float or "auto", default="auto"
        Wanted average number of edges per node; "auto" is 8.
    client : distributed.Client, optional
        A Dask client on whose workers to run; default: in this process.
    memory : str or float, default="8GB"
        What a process, this one or a worker, may hold. With the number of points it decides the
        number of partitions.
    storage : path-like, optional
        A folder for everything on the way, on a disk that all workers see. A run that was killed
        continues when it is called again with the same storage. Default: a temporary folder,
        which is removed with the graph.
    progress : bool or Progress, default=False
        Whether to draw progress bars on standard error.
    graph_model : {"paper"}, default="paper"
        The model with plain distances; the other needs all candidate pairs at once.
    **parameters
        metric, random_state and the options theta, candidate_ratio, tol and n_jobs of
        `truegraph.GraphLearner`; metric is "sqeuclidean" or "cosine".

    Returns
    -------
    graph : PartitionedGraph
    """
    learner = GraphLearner(degree, graph_model=graph_model, **parameters)
    return _learn([("X", X)], learner, client, memory, storage, progress)


def learn_bipartite_graph(
    users: Any,
    items: Any,
    degree: float | str = "auto",
    *,
    client: Any = None,
    memory: str | float = "8GB",
    storage: str | PathLike[str] | None = None,
    progress: bool | Progress = False,
    graph_model: str = "paper",
    **parameters: Any,
) -> PartitionedGraph:
    """Learn the most probable graph between users and items that need not fit into memory.

    Parameters
    ----------
    users, items : path-like, memory map, Dask array, zarr array or ndarray
        Of shape (n_users, n_features) and (n_items, n_features).
    degree, client, memory, storage, progress, graph_model, **parameters
        As of `learn_graph`.

    Returns
    -------
    graph : PartitionedGraph
        Nodes 0 .. n_users - 1 are users, the others items.
    """
    learner = GraphLearner(degree, graph_model=graph_model, **parameters)
    given = [("users", users), ("items", items)]
    return _learn(given, learner, client, memory, storage, progress)


def _learn(
    given: list[tuple[str, Any]],
    learner: GraphLearner,
    client: Any,
    memory: str | float,
    storage: str | PathLike[str] | None,
    progress: bool | Progress,
) -> PartitionedGraph:
    settings = check_parameters(learner)
    sources = [as_source(name, X) for name, X in given]
    counts = [source.shape[0] for source in sources]
    most = inputs.most_edges(sum(counts), counts[0] if len(counts) == 2 else None)
    settings = settings.within(most, "that many nodes")
    executor = InProcess() if client is None else OnCluster(client)
    folder = None if storage is None else Folder(storage)
    is_own = isinstance(progress, Progress)
    listener: Any = nullcontext(progress) if is_own else console_progress(bool(progress))
    held = nullcontext() if folder is None else folder.held()
    with held, listener as shown, thread_limit(settings.n_jobs):
        place = Path(tempfile.mkdtemp(prefix="truegraph-")) if folder is None else folder.path
        seed = _seed(learner.random_state, folder)
        plan = make_plan(sources, settings, learner.metric, seed, memory_bytes(memory), place)
        run = PartitionedRun(plan, sources, settings, memory_bytes(memory), executor, shown)
        shown.stage(run.disk_note)
        return run.run(is_temporary=folder is None)


def _seed(random_state: Any, folder: Folder | None) -> int:
    """Return the seed of a run: without a random state, that of the run that is continued."""
    begun = folder.claimed() if folder is not None and random_state is None else None
    if isinstance(begun, dict) and isinstance(begun.get("random_state"), int):
        return int(begun["random_state"])
    return int(check_random_state(random_state).randint(2**31 - 1))


def check_parameters(learner: GraphLearner) -> Settings:
    """Check the parameters of a run in partitions, which has not all of the learner's."""
    inputs.check_choice("metric", learner.metric, ("sqeuclidean", "cosine"))
    if learner.scope == "global":
        raise InputError(
            "scope='global' needs an exact search among all pairs, whose cost grows with the "
            "square of the points, but a graph in partitions is searched approximately; use "
            "scope='candidates', or truegraph.learn_graph on fewer points."
        )
    settings = check_settings(learner.get_params(deep=False))
    given = {"graph_model": learner.graph_model != "paper", "plan": learner.plan is not None}
    given |= {"candidates": learner.candidates not in _ENGINES}
    options = learner.options or {}
    given |= {name: options.get(name, OPTIONS[name]) != OPTIONS[name] for name in OPTIONS}
    refused = [name for name, differs in given.items() if differs and name not in KNOWN_OPTIONS]
    if refused:
        raise InputError(
            f"{refused[0]} is not there for a graph in partitions; leave it out, or use "
            "truegraph.learn_graph on fewer points."
        )
    return settings


class PartitionedRun:
    """One run of the learner in partitions."""

    def __init__(
        self,
        plan: Plan,
        sources: list[Source],
        settings: Settings,
        memory: float,
        executor: InProcess,
        progress: Progress,
    ) -> None:
        self.settings, self._memory, self._plan = settings, memory, plan
        self._sources, self._executor, self._progress = sources, executor, progress
        self._folder = Folder(plan.folder)
        self._seconds: dict[str, float] = {}
        self._widths = [FIRST_WIDTH] * len(sources)
        self._began = time.perf_counter()
        options = ("degree", "theta", "tol", "candidate_ratio")
        self._folder.claim(
            {
                "data": [source.description() for source in sources],
                "metric": plan.metric,
                **{name: getattr(settings, name) for name in options},
                "random_state": plan.seed,
                "partition size (memory)": plan.partition_points,
                "nodes solved together (memory)": plan.together_points,
            }
        )
        self.disk_note = check_disk(plan)

    def run(self, is_temporary: bool = False) -> PartitionedGraph:
        """Learn the graph, or go on where a run with this storage stopped."""
        try:
            self._check_data()
            if not self._folder.has("graph.json"):
                self._learn()
        except WriteError as error:
            raise WriteError(
                f"{error} What is in {self._folder.path} is kept: run the same again to continue."
            ) from error
        graph = PartitionedGraph(self._folder.path, is_temporary=is_temporary)
        if not graph.certificate.converged:
            warn(graph.certificate.shortfall(), ConvergenceWarning)
        return graph

    def _learn(self) -> None:
        # The same random numbers in the same order as in one process, for the same candidates.
        rng = np.random.default_rng(self._plan.seed)
        seeds, samples = self._drawn(rng)
        with self._stage("cells"):
            self._make_cells(seeds)
        with self._stage("points"):
            layout = self._spread()
        k = self._plan.k
        while True:
            with self._stage("search"):
                searched = self._search(layout, k, samples)
            with self._stage("candidates"):
                given = [(self._plan, p, k) for p in range(len(layout))]
                entries = sum(self._executor.run(build_block, given, self._progress, "pairs"))
                self._folder.below(f"lists-{k}").remove("*.npy")
                self.settings.within(entries / self._plan.n_nodes, "the candidate pairs")
            with self._stage("solve"):
                state, total = self._solve(k)
            longer = self._too_few(total, k)
            if longer is None:
                break
            k, samples = longer, [_sample(rng, count) for count in self._plan.counts]
        self._finish(k, state, total, searched, entries)

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        self._progress.stage(name)
        began = time.perf_counter()
        yield
        spent = time.perf_counter() - began
        self._seconds[name] = self._seconds.get(name, 0.0) + spent

    def _drawn(self, rng: np.random.Generator) -> tuple[list[int], list[NDArray[np.int64]]]:
        """Return the seed of each side's cells, and whose lists are compared with the truth.

        The sample is of positions in one set of points, of row numbers between users and items.
        """
        counts = self._plan.counts
        if len(counts) == 1:
            seed = int(rng.integers(2**31))
            return [seed], [_sample(rng, counts[0])]
        users = _sample(rng, counts[0])
        item_seed = int(rng.integers(2**31))
        items = _sample(rng, counts[1])
        return [int(rng.integers(2**31)), item_seed], [users, items]

    def _chunks(self, side: int) -> list[tuple[int, int]]:
        count, step = self._plan.counts[side], self._plan.chunk_rows
        return [(first, min(count, first + step)) for first in range(0, count, step)]

    def _make_cells(self, seeds: list[int]) -> None:
        """Check all points and find the centres of the large cells of each side."""
        sides = range(len(self._sources))
        if all(self._folder.has(f"cells-{side}.npz") for side in sides):
            return
        scans = [self._scan(side, seeds[side]) for side in sides]
        write_json(self._folder.path / _DATA, [digests for *_, digests in scans])
        plan, is_cosine = self._plan, self._plan.metric == "cosine"
        has_zero_rows = is_cosine and any(largest[-1] > 0.0 for _, largest, *_ in scans)
        kept = slice(None) if has_zero_rows or not is_cosine else slice(0, -1)
        for side, (smallest, largest, sample, _) in enumerate(scans):
            if not is_cosine:
                check_range(max(float(largest.max()), -float(smallest.min())), plan.columns)
            rounding = Rounding.of(sample[:, kept], smallest[kept], largest[kept])
            rounded = padded(rounding(sample[:, kept]))
            large = LargeCells.of(rounded, plan.counts[side], plan.sizes, seeds[side])
            spreading.SideCells(large, rounding, has_zero_rows).save(self._folder, side)

    def _scan(self, side: int, seed: int) -> tuple[Any, Any, Any, list[str]]:
        """Return the bounds of a side's points, the sample for its cells, and digests."""
        plan, source = self._plan, self._sources[side]
        wanted = sampled_rows(plan.counts[side], plan.sizes, seed)
        arguments = []
        for first, last in self._chunks(side):
            inside = wanted[(wanted >= first) & (wanted < last)] - first
            arguments.append((plan, self._executor.rows(source, first, last), inside))
        parts = self._executor.run(spreading.scan, arguments, self._progress, "checking")
        smallest, largest, samples, digests = zip(*parts, strict=True)
        bounds = np.min(smallest, axis=0), np.max(largest, axis=0)
        return *bounds, np.concatenate(samples), list(digests)

    def _check_data(self) -> None:
        """Raise if the storage is that of other data, all of which are read for it."""
        if not self._folder.has(_DATA):
            if self._folder.has("cells-0.npz") or self._folder.has("graph.json"):
                raise damaged(self._folder.path / _DATA, "it is missing")
            return
        known = read_json(self._folder.path / _DATA)
        for side, source in enumerate(self._sources):
            given = [(self._executor.rows(source, *rows),) for rows in self._chunks(side)]
            found = self._executor.run(spreading.digest, given, self._progress, "comparing")
            if not isinstance(known, list) or len(known) <= side or known[side] != found:
                raise self._folder.foreign("data")

    def _spread(self) -> searching.Layout:
        """Put the points into the order of the cells, by partition."""
        if not self._folder.has("layout.npz"):
            starts: list[int] = [0]
            sides: list[int] = []
            for side in range(len(self._sources)):
                for size in self._gathered(side, first=len(sides)):
                    starts.append(starts[-1] + size)
                    sides.append(side)
            self._folder.write_table("layout", starts=starts, sides=sides)
            layout = searching.Layout.load(self._folder)
            for side in range(len(self._sources)):
                names = [f"small-{p}" for p in layout.of_side(side)]
                parts = [searching.saved_cells(self._folder, name) for name in names]
                small = SmallCells.joined(parts)
                self._folder.write_table(f"small-side-{side}", **vars(small))
        self._folder.below("spread").remove("*.npy")
        return searching.Layout.load(self._folder)

    def _gathered(self, side: int, first: int) -> list[int]:
        """Return the sizes of the partitions of a side, numbered from `first` on."""
        plan, source = self._plan, self._sources[side]
        chunks = self._chunks(side)
        arguments = [
            (plan, side, number, self._executor.rows(source, *rows))
            for number, rows in enumerate(chunks)
        ]
        run = self._executor.run
        counts = np.sum(run(spreading.spread, arguments, self._progress, "reading"), axis=0)
        cuts = spreading.cut_into_partitions(counts, plan.partition_points)
        parts = [
            (plan, first + number, side, int(cuts[number]), int(cuts[number + 1]), len(chunks))
            for number in range(len(cuts) - 1)
        ]
        return [int(size) for size in run(spreading.gather, parts, self._progress, "sorting")]

    def _search(
        self, layout: searching.Layout, k: int, samples: list[NDArray[np.int64]]
    ) -> dict[str, Any]:
        """List all points' neighbours; return the recall on the sample, the worse of two sides."""
        record = self._folder.path / f"search-{k}.json"
        if not record.exists():
            found = [
                self._search_side(layout, side, k, sample) for side, sample in enumerate(samples)
            ]
            widths, shares = zip(*found, strict=True)
            document = {
                "widths": widths,
                "recall": min(float(np.mean(share)) for share in shares),
                "low_recall": min(low_quantile(share) for share in shares),
            }
            write_json(record, document)
        document = read_json(record)
        self._widths = document["widths"]
        return document

    def _search_side(
        self, layout: searching.Layout, side: int, k: int, sample: NDArray[np.int64]
    ) -> tuple[int, NDArray[np.float64]]:
        """List the neighbours of one side's points; return width and recalls (sample,)."""
        plan, run = self._plan, self._executor.run
        positions, points = self._sampled(layout, side, sample)
        answering = side if len(plan.counts) == 1 else 1 - side
        length = min(k, plan.counts[answering] - (len(plan.counts) == 1))
        asked = [(plan, int(p), points, positions, length) for p in layout.of_side(answering)]
        truth = searching.merged_truth(
            run(searching.nearest_in, asked, self._progress, "sample"), length
        )
        width = searching.tuned_width(plan, answering, points, truth, self._widths[side])
        given = [(plan, int(p), k, width, np.sort(positions)) for p in layout.of_side(side)]
        parts = run(searching.search_partition, given, self._progress, "lists")
        lists = np.concatenate([part[1] for part in parts])
        order = np.argsort(positions, kind="stable")
        return width, recalls(lists, truth[order])

    def _sampled(
        self, layout: searching.Layout, side: int, sample: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return positions and points of the sampled nodes of a side."""
        if len(self._plan.counts) == 1:
            points = layout.rows(self._folder, "points", sample)
            return sample, points.astype(np.float64)
        arguments = [(self._plan, int(p), sample) for p in layout.of_side(side)]
        parts = self._executor.run(searching.find_ids, arguments, self._progress, "sample")
        order = np.argsort(np.concatenate([part[0] for part in parts]))
        return (
            np.concatenate([part[1] for part in parts])[order],
            np.concatenate([part[2] for part in parts])[order],
        )

    def _solve(self, k: int) -> tuple[State, Total]:
        """Solve by sweeps, or in one process what is stiff and fits."""
        settings = self.settings
        sweeps = Sweeps(self._plan, k, self._executor, self._progress, settings, _MAX_SWEEPS)
        state, total = sweeps.run()
        missed = total.relative_gap > settings.tol
        if not (missed or state.is_stiff):
            return state, total
        needed = one_process_bytes(self._plan.n_nodes, self._plan.columns, k)
        if needed > max(self._memory, bytes_per_node(k, self._plan.columns)):
            return state, total
        return sweeps.solved_in_one(state)

    def _too_few(self, total: Total, k: int) -> int | None:
        """Return the list length that a given theta asks for, if it is more than there is."""
        if self.settings.theta is None:
            return None
        degree = total.edges / self._plan.n_nodes
        wanted = math.ceil(self.settings.candidate_ratio * degree)
        most = max(self._plan.counts) - (len(self._plan.counts) == 1)
        return min(wanted, most) if min(wanted, most) > k else None

    def _finish(
        self, k: int, state: State, total: Total, searched: dict[str, Any], entries: int
    ) -> None:
        """Store the certificate: with it, the run is a graph."""
        plan, settings = self._plan, self.settings
        certificate = Certificate(
            relative_gap=total.relative_gap,
            scope="candidates",
            converged=total.relative_gap <= settings.tol,
            tolerance=settings.tol,
            primal=total.primal,
            dual=total.dual,
            theta=state.theta,
            scale=1.0,
            degree=total.edges / plan.n_nodes,
            wanted_degree=settings.degree,
            candidate_pairs=entries // 2,
            search="ivf",
            recall=float(searched["recall"]),
            low_recall=searched.get("low_recall"),
            solver="newton",
            iterations=state.sweep,
            inner_iterations=state.steps,
            stalled=state.is_stiff,
            seconds={**self._seconds, "total": time.perf_counter() - self._began},
        )
        multipliers = f"solve-{k}/multipliers-{state.sweep}"
        write_graph(plan, k, multipliers, certificate, total.edges // 2)


def _sample(rng: np.random.Generator, count: int) -> NDArray[np.int64]:
    return np.sort(rng.choice(count, size=min(count, RECALL_SAMPLE), replace=False))
