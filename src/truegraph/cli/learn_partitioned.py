"""``truegraph learn`` of more points than fit into memory: in partitions, here or on a cluster."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from truegraph.cli.output import Output, compilation_note
from truegraph.errors import DataError, InputError

_SHARE = 0.8  # of the machine's memory, that a graph may take
_TIMEOUT = 15  # seconds to reach the scheduler
_PARAMETERS = ("degree", "metric", "scope", "random_state")  # the others are options


def learned_in_partitions(
    source: str,
    settings: Mapping[str, Any],
    large: Mapping[str, Any],
    posterior: bool,
    output: Output,
) -> bool:
    """Learn the graph in partitions if that is asked for or needed; return whether it was.

    `settings` are parameters and options of the learner, `large` are memory, cluster and storage.
    """
    limit = _limit(source, settings, large)
    if limit is None:
        return False
    _check(settings, posterior)
    out = output.file(".parquet")
    if out is None or len(output.out) > 1:
        raise InputError(
            f"--out {', '.join(map(str, output.out)) or 'is missing'}: a graph in partitions is "
            "written as a folder of Parquet files. Give --out graph.parquet alone, or raise "
            "--memory."
        )
    folder = large["storage"] or out.with_name(f"{out.name}.work")
    parameters = {name: settings[name] for name in _PARAMETERS if name in settings}
    options = {name: settings[name] for name in settings if name not in parameters}
    output.say(*compilation_note(20), f"Learning in partitions, in {folder} ...")
    from truegraph.learning.partitioned.folder import Folder
    from truegraph.learning.partitioned.learn import learn_graph

    # Held until the edges are written: nobody else learns into the folder.
    with _client(large["cluster"]) as client, Folder(folder).held():
        where = {"client": client, "memory": limit, "storage": folder}
        shown = not output.quiet
        graph = learn_graph(source, **parameters, options=options, **where, progress=shown)
        graph.write_parquet(out)
        output.written.append(out)
        if large["storage"] is None:
            shutil.rmtree(folder, ignore_errors=True)
    _finish(graph, source, settings["metric"], output)
    return True


def _finish(graph: Any, source: str, metric: str, output: Output) -> None:
    from truegraph.cli.learn import expected_gap, graph_document, mean_degree

    parts = {"partitions": graph.n_partitions, "notes": []}
    output.finish(
        graph_document(source, metric, graph) | parts,
        f"Learned a graph of {graph.n_nodes:,} nodes and {graph.n_edges:,} edges in "
        f"{graph.n_partitions} partitions; {mean_degree(graph.certificate)}",
        title=f"Graph of {Path(source).name}",
        answer=expected_gap(graph.certificate),
        learned={},
    )


def _limit(source: str, settings: Mapping[str, Any], large: Mapping[str, Any]) -> float | None:
    """Return the bytes that a partition may have, or None if the graph fits into memory."""
    is_folder = Path(source).is_dir()
    in_parts = is_folder or Path(source).suffix.lower() in (".npy", ".zarr")
    is_asked = large["cluster"] is not None or large["storage"] is not None
    if not in_parts and is_asked:
        raise InputError(
            f"{source}: --cluster and --storage need points that are read in parts; give a "
            ".npy file, a .zarr array or a folder of Parquet files."
        )
    from truegraph.learning.partitioned.plan import memory_bytes, one_process_bytes
    from truegraph.learning.partitioned.sources import as_source
    from truegraph.runtime.memory import physical_memory

    memory = large["memory"]
    limit = _SHARE * (physical_memory() or 8e9) if memory is None else memory_bytes(memory)
    if not in_parts or (settings["metric"] == "precomputed" and not is_asked):
        return None
    if is_asked or is_folder:
        return limit
    degree = settings.get("degree")
    length = settings.get("candidate_ratio", 3.0) * (degree if isinstance(degree, float) else 10.0)
    try:
        needed = one_process_bytes(*as_source(source, source).shape, int(length))
    except InputError:
        return None  # the reader of ordinary tables says what is wrong with this one
    return None if needed <= limit else limit


def _check(settings: Mapping[str, Any], posterior: bool) -> None:
    """Raise an InputError for options that a graph in partitions does not have."""
    from truegraph.learning.partitioned.learn import KNOWN_OPTIONS

    known = (*_PARAMETERS, *KNOWN_OPTIONS)
    names = ["--posterior"] if posterior else []
    names += [f"--option {name}" for name in settings if name not in known]
    if names:
        raise InputError(
            f"{names[0]} is not available for a graph in partitions; leave it out, or raise "
            "--memory."
        )


@contextmanager
def _client(address: str | None) -> Iterator[Any]:
    if address is None:
        yield None
        return
    from truegraph.extras import import_extra

    distributed = import_extra("distributed")
    try:
        client = distributed.Client(address, timeout=_TIMEOUT, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise DataError(
            f"cluster {address!r} cannot be reached ({error}). Give the address that "
            "`dask scheduler` prints, such as tcp://10.0.0.5:8786."
        ) from error
    try:
        yield client
    finally:
        client.close()
