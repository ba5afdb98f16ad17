"""Learning a graph in partitions in one call."""

from __future__ import annotations

from contextlib import nullcontext
from os import PathLike
from typing import Any

from sklearn.utils import check_random_state

from truegraph.errors import InputError
from truegraph.learning import inputs
from truegraph.learning.learner import GraphLearner
from truegraph.learning.partitioned.executors import InProcess, OnCluster
from truegraph.learning.partitioned.folder import Folder
from truegraph.learning.partitioned.graph import PartitionedGraph
from truegraph.learning.partitioned.learn import PartitionedRun
from truegraph.learning.partitioned.plan import memory_bytes
from truegraph.learning.partitioned.sources import as_source
from truegraph.learning.settings import OPTIONS, Settings, check_settings
from truegraph.progress import Progress, console_progress
from truegraph.runtime.threads import thread_limit

#: Options of the learner that a graph in partitions has.
KNOWN_OPTIONS = ("theta", "candidate_ratio", "tol", "n_jobs")
_ENGINES = ("auto", "ivf")


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
        run = PartitionedRun(
            sources,
            settings,
            metric=learner.metric,
            seed=_seed(learner.random_state, folder),
            memory=memory_bytes(memory),
            storage=None if folder is None else folder.path,
            executor=executor,
            progress=shown,
        )
        shown.stage(run.disk_note)
        return run.run()


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
