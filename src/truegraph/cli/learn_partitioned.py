"""``truegraph learn`` of more points than fit into memory: in partitions, here or on a cluster."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from truegraph.cli.common.compilation import announce_compilation
from truegraph.cli.common.options import LARGE, option
from truegraph.cli.common.outputs import announce, print_json, print_rows
from truegraph.errors import DataError, InputError
from truegraph.extras import import_extra
from truegraph.runtime.memory import peak_memory_mb, physical_memory

if TYPE_CHECKING:
    from truegraph.learning.partitioned.graph import PartitionedGraph

_SHARE = 0.8  # of the machine's memory, that a graph may take without a word
_FIRST_DEGREE = 10.0
_TIMEOUT = 15  # seconds to reach the scheduler


@dataclass(frozen=True, kw_only=True)
class LargeOptions:
    """The options of points that need not fit into memory."""

    memory: str | None = option(
        LARGE,
        "What a process may hold, such as 8GB; points that need more are learned in partitions.",
        metavar="SIZE",
        default="80 % of this machine's",
    )
    cluster: str | None = option(
        LARGE, "Run on the workers of a Dask scheduler.", metavar="ADDRESS"
    )
    storage: Path | None = option(
        LARGE,
        "Folder for what is kept on the way, on a disk that all workers see; with it, a killed "
        "run continues.",
        metavar="FOLDER",
        default="beside --out",
    )


#: What a graph in partitions cannot have, and its value when it is not asked for.
_WITHOUT = {
    "posterior": False,
    "picture": None,
    "report": None,
    "mutual": False,
    "local_scaling": "auto",
    "min_degree": 1,
    "connected": "auto",
    "solver": "newton",
    "max_iter": None,
}


@dataclass(frozen=True)
class Request:
    """A graph that is to be learned in partitions of so many bytes."""

    source: str
    limit: float
    large: LargeOptions
    out: Path

    @property
    def folder(self) -> Path:
        """Where everything on the way is kept."""
        return self.large.storage or self.out.with_name(f"{self.out.name}.work")


def _request(
    source: str, large: LargeOptions, out: Path | None, asked: dict[str, Any]
) -> Request | None:
    """Return what to learn in partitions, or None if the graph fits into memory."""
    from truegraph.learning.partitioned.plan import memory_bytes

    memory, cluster, storage = large.memory, large.cluster, large.storage
    limit = _SHARE * (physical_memory() or 8e9) if memory is None else memory_bytes(memory)
    if not _in_parts(source):
        if cluster is not None or storage is not None:
            raise InputError(
                f"{source}: --cluster and --storage need points that are read in parts; give a "
                ".npy file, a .zarr array or a folder of Parquet files."
            )
        return None
    if cluster is None and storage is None and not Path(source).is_dir():
        try:
            if _needed(source, asked) <= limit:
                return None
        except InputError:
            return None  # the reader of ordinary tables says what is wrong with this one
    _check_asked(asked)
    if out is None or out.suffix.lower() != ".parquet":
        raise InputError(
            f"--out {out or 'is missing'}: a graph in partitions is written as a folder of Parquet "
            "files. Give --out graph.parquet, or raise --memory."
        )
    return Request(source, limit, large, out)


def _in_parts(source: str) -> bool:
    return Path(source).suffix.lower() in (".npy", ".zarr") or Path(source).is_dir()


def _needed(source: str, asked: dict[str, Any]) -> float:
    """Return the memory that one process would need, in bytes."""
    if asked["metric"] == "precomputed":
        return 0.0
    from truegraph.learning.partitioned.plan import one_process_bytes
    from truegraph.learning.partitioned.sources import as_source

    rows, columns = as_source(source, source).shape
    degree = asked["degree"]
    length = asked["candidate_ratio"] * (
        degree if isinstance(degree, int | float) else _FIRST_DEGREE
    )
    return one_process_bytes(rows, columns, int(length))


def _check_asked(asked: dict[str, Any]) -> None:
    """Refuse options that a graph in partitions has not."""
    for name, usual in _WITHOUT.items():
        if asked[name] != usual:
            raise InputError(
                f"--{name.replace('_', '-')} is not there for a graph in partitions; leave it out, "
                "or raise --memory."
            )
    if asked["candidates"] not in ("auto", "ivf"):
        raise InputError(
            f"--candidates {asked['candidates']} is not there for a graph in partitions; leave it "
            "out, or raise --memory."
        )


def learned_in_partitions(
    source: str, large: LargeOptions, out: Path | None, asked: dict[str, Any]
) -> bool:
    """Learn the graph in partitions if that is asked for or needed; return whether it was.

    Parameters
    ----------
    asked : dict
        The other options of the command by name.
    """
    request = _request(source, large, out, asked)
    if request is None:
        return False
    _learn(request, asked)
    return True


def _learn(request: Request, asked: dict[str, Any]) -> None:
    """Learn the graph, write it and say how good it is."""
    if not asked["quiet"]:
        announce_compilation("truegraph.learning", seconds=30)
        announce(f"Learning in partitions, in {request.folder} ...")
        if asked["degree"] is None and asked["theta"] is None:
            announce("Taking --degree 10 and plain distances; auto is for graphs in one process.")
    from truegraph.learning.partitioned.one_call import learn_graph

    names = ("degree", "theta", "metric", "scope", "candidate_ratio", "tol", "random_state")
    cluster = request.large.cluster
    client = None if cluster is None else _client(cluster)
    try:
        graph = learn_graph(
            request.source,
            **{name: asked[name] for name in names},
            n_jobs=asked["n_jobs"],
            client=client,
            memory=request.limit,
            storage=request.folder,
            progress=not asked["quiet"],
        )
    finally:
        if client is not None:
            client.close()
    graph.write_parquet(request.out)
    if request.large.storage is None:
        shutil.rmtree(request.folder, ignore_errors=True)
    if asked["as_json"]:
        print_json(_document(graph, request, asked))
    elif not asked["quiet"]:
        _print_summary(graph, request)


def _client(address: str) -> Any:
    distributed = import_extra("distributed")
    try:
        return distributed.Client(address, timeout=_TIMEOUT, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise DataError(
            f"cluster {address!r} cannot be reached ({error}). Give the address that "
            "`dask scheduler` prints, such as tcp://10.0.0.5:8786."
        ) from error


def _document(graph: PartitionedGraph, request: Request, asked: dict[str, Any]) -> dict[str, Any]:
    certificate = graph.certificate
    return {
        "input": request.source,
        "metric": asked["metric"],
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "partitions": graph.n_partitions,
        "mean_degree": certificate.degree,
        "wanted_degree": certificate.wanted_degree,
        "relative_gap": certificate.relative_gap,
        "converged": certificate.converged,
        "theta": certificate.theta,
        "recall": certificate.recall,
        "candidate_pairs": certificate.candidate_pairs,
        "sweeps": certificate.iterations,
        "seconds": certificate.seconds,
        "peak_memory_mb": peak_memory_mb(),
        "out": str(request.out),
    }


def _print_summary(graph: PartitionedGraph, request: Request) -> None:
    c = graph.certificate
    typer.echo(
        f"Learned a graph of {graph.n_nodes:,} nodes and {graph.n_edges:,} edges in "
        f"{graph.n_partitions} partitions; mean degree {c.degree:.4g}"
    )
    ended = "converged" if c.converged else "NOT converged"
    print_rows(
        [
            ("optimality", f"relative gap {c.relative_gap:.1e} among the candidate pairs"),
            ("solver", f"{c.iterations} sweeps, {ended} (tolerance {c.tolerance:g})"),
            ("candidates", f"{c.candidate_pairs:,} pairs, recall {c.recall:.3f}"),
            ("seconds", ", ".join(f"{name} {s:.2f}" for name, s in c.seconds.items())),
            ("written", str(request.out)),
        ]
    )
