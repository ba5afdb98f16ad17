"""Learning a graph in partitions in one call."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from os import PathLike
from pathlib import Path
from typing import Any

from sklearn.utils import check_random_state

from truegraph.errors import InputError
from truegraph.learning import inputs
from truegraph.learning.automatic import plain_options
from truegraph.learning.partitioned.executors import InProcess, OnCluster
from truegraph.learning.partitioned.graph import PartitionedGraph
from truegraph.learning.partitioned.learn import PartitionedRun
from truegraph.learning.partitioned.plan import memory_bytes
from truegraph.learning.partitioned.sources import as_source
from truegraph.progress import Progress, console_progress
from truegraph.runtime.threads import thread_limit

_METRICS = ("sqeuclidean", "cosine")


def learn_graph(
    X: Any,
    degree: float | str | None = None,
    *,
    client: Any = None,
    memory: str | float = "8GB",
    storage: str | PathLike[str] | None = None,
    theta: float | None = None,
    metric: str = "sqeuclidean",
    candidate_ratio: float = 3.0,
    scope: str = "candidates",
    tol: float = 1e-6,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool | Progress = False,
) -> PartitionedGraph:
    """Learn the most probable graph of points that need not fit into memory.

    Candidates and certificate are those of `truegraph.learn_graph` with candidates="ivf"; weights
    differ within the gap. They do not depend on the number of workers.

    Parameters
    ----------
    X : path-like, memory map, Dask array, zarr array or ndarray of shape (n_nodes, n_features)
        A path names a .npy file, a folder of Parquet files or a zarr array. Workers of a cluster
        must be able to open it.
    degree : float or "auto", optional
        Wanted average number of edges per node; default 10.
    client : distributed.Client, optional
        A Dask client on whose workers to run; default: in this process.
    memory : str or float, default="8GB"
        What a process, this one or a worker, may hold. With the number of points it decides the
        number of partitions.
    storage : path-like, optional
        A folder for everything on the way, on a disk that all workers see. A run that was killed
        continues when it is called again with the same storage. Default: a temporary folder,
        which is removed with the graph.
    scope : {"candidates"}
        "global" needs an exact search among all pairs and is refused.
    theta, metric, candidate_ratio, tol, random_state, n_jobs
        As of `GraphLearner`; metric is "sqeuclidean" or "cosine".
    progress : bool or Progress, default=False
        Whether to draw progress bars on standard error.

    Returns
    -------
    graph : PartitionedGraph
    """
    options = dict(locals())  # the arguments, and nothing else as yet
    return _learn([("X", options.pop("X"))], **options)


def learn_bipartite_graph(
    users: Any,
    items: Any,
    degree: float | str | None = None,
    *,
    client: Any = None,
    memory: str | float = "8GB",
    storage: str | PathLike[str] | None = None,
    theta: float | None = None,
    metric: str = "sqeuclidean",
    candidate_ratio: float = 3.0,
    scope: str = "candidates",
    tol: float = 1e-6,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool | Progress = False,
) -> PartitionedGraph:
    """Learn the most probable graph between users and items that need not fit into memory.

    Parameters
    ----------
    users, items : path-like, memory map, Dask array, zarr array or ndarray
        Of shape (n_users, n_features) and (n_items, n_features).
    degree, client, memory, storage, theta, metric, candidate_ratio, scope, tol, random_state, \
n_jobs, progress
        As of `learn_graph`.

    Returns
    -------
    graph : PartitionedGraph
        Nodes 0 .. n_users - 1 are users, the others items.
    """
    options = dict(locals())
    return _learn([(name, options.pop(name)) for name in ("users", "items")], **options)


def _learn(
    given: list[tuple[str, Any]],
    client: Any,
    memory: str | float,
    storage: str | PathLike[str] | None,
    progress: bool | Progress,
    **options: Any,
) -> PartitionedGraph:
    settings = check_options(options)
    sources = [as_source(name, X) for name, X in given]
    counts = [source.shape[0] for source in sources]
    most = inputs.most_edges(sum(counts), counts[0] if len(counts) == 2 else None)
    settings = inputs.check_degree(settings, most, "that many nodes")
    seed = int(check_random_state(options["random_state"]).randint(2**31 - 1))
    executor = InProcess() if client is None else OnCluster(client)
    with _shown(progress) as shown, thread_limit(options["n_jobs"]):
        run = PartitionedRun(
            sources,
            settings,
            metric=options["metric"],
            seed=seed,
            memory=memory_bytes(memory),
            storage=None if storage is None else Path(storage),
            executor=executor,
            progress=shown,
        )
        shown.stage(run.disk_note)
        return run.run()


def _shown(progress: bool | Progress) -> AbstractContextManager[Progress]:
    return nullcontext(progress) if isinstance(progress, Progress) else console_progress(progress)


def check_options(options: dict[str, Any]) -> inputs.Settings:
    """Check the options of a run in partitions."""
    inputs.check_choice("metric", options["metric"], _METRICS)
    if options["scope"] == "global":
        raise InputError(
            "scope='global' needs an exact search among all pairs, whose cost grows with the "
            "square of the points, but a graph in partitions is searched approximately; use "
            "scope='candidates', or truegraph.learn_graph on fewer points."
        )
    unused = {
        "alpha": None,
        "beta": None,
        "candidates": "ivf",
        "solver": "newton",
        "max_iter": None,
        "first_theta": None,
        "mutual": False,
        "local_scaling": None,
        "min_degree": 1,
        "connected": False,
    }
    return inputs.check_settings(plain_options({**unused, **options}))
