"""What a run in partitions is asked for, and how much memory and disk it takes."""

from __future__ import annotations

import math
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from truegraph.errors import InputError
from truegraph.learning.partitioned.sources import Source, is_single
from truegraph.learning.search.approximate import SIZES
from truegraph.learning.settings import Settings

_UNITS = {"": 1, "B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
_FIRST_DEGREE = 10.0  # expected to begin with when theta, not the degree, is given
_OWN_MEMORY = 0.25e9  # bytes of a process that holds nothing yet
_LEAST_MEMORY = 0.4e9
_CHUNK_BYTES = 64e6  # of input read at a time
_MOST_NODES = 2**31 - 2  # numbers of nodes are int32 in the lists
_LISTED_TWICE = 1.6  # candidate entries of a node per entry of its own list, both directions
_KEPT_BYTES = 2**25  # of an array, up to which the C library keeps its memory for the next one
_FEWEST_TOGETHER = 50_000


@dataclass(frozen=True)
class Plan:
    """A run in partitions: the data, the options that decide the result, and its sizes."""

    folder: str
    counts: tuple[int, ...]  # points of one side, or of users and items
    columns: int  # of the input
    is_single: bool  # whether points are stored as float32, as they came
    metric: str
    k: int  # length of a list of neighbours
    seed: int
    sizes: tuple[int, int]  # of a large and a small cell
    partition_points: int
    together_points: int  # most nodes of several partitions that are solved together

    @property
    def n_nodes(self) -> int:
        """Nodes of the graph."""
        return sum(self.counts)

    @property
    def n_users(self) -> int | None:
        """Users of a graph between users and items."""
        return self.counts[0] if len(self.counts) == 2 else None

    @property
    def chunk_rows(self) -> int:
        """Rows of input read at a time; the same for every number of workers."""
        return int(max(1024, _CHUNK_BYTES // (8 * self.columns)))

    def side_of(self, partition_sides: list[int], partition: int) -> int:
        """Return the side that answers a partition: the other one of users and items."""
        own = partition_sides[partition]
        return own if len(self.counts) == 1 else 1 - own


def bytes_per_node(k: int, columns: int) -> float:
    """Return the memory that a node takes while its partition is searched and solved."""
    return 100.0 * k + 32.0 * columns + 200.0


def one_process_bytes(n_nodes: int, columns: int, k: int) -> float:
    """Return the memory that the learner in one process takes for so many nodes."""
    return _OWN_MEMORY + n_nodes * (70.0 * k + 40.0 * columns + 100.0)


def points_in_memory(memory: float, k: int, columns: int) -> int:
    """Return how many points may be searched or solved together for a memory in bytes."""
    if memory < _LEAST_MEMORY:
        raise InputError(
            f"memory={memory / 1e9:g} GB is too little for a process; give at least "
            f"{_LEAST_MEMORY / 1e9:g} GB."
        )
    return int((memory - _OWN_MEMORY) / bytes_per_node(k, columns))


def partition_points(fitting: int, k: int, sizes: tuple[int, int]) -> int:
    """Return how many points a partition has, where so many would fit into memory.

    Larger ones are no faster: what the system takes back after each task, it must give anew.
    """
    kept = int(_KEPT_BYTES / (8 * _LISTED_TWICE * k))
    return max(sizes[0], min(fitting, kept))


def memory_bytes(memory: Any) -> float:
    """Return the number of bytes that "8GB", "500 MB" or a number stands for."""
    if isinstance(memory, int | float) and not isinstance(memory, bool):
        found, unit = float(memory), ""
    else:
        match = re.fullmatch(r"\s*([0-9.]+)\s*([A-Za-z]*)\s*", str(memory))
        try:
            found = float(match.group(1)) if match else np.nan
        except ValueError:
            found = np.nan
        unit = match.group(2).upper() if match else "?"
    if unit not in _UNITS or not 0.0 < found < np.inf:
        raise InputError(f"memory={memory!r} is no size; give for example '8GB' or '500MB'.")
    return found * _UNITS[unit]


def check_nodes(count: int) -> None:
    """Raise for more nodes than the lists can number."""
    if count > _MOST_NODES:
        raise InputError(f"{count} points are too many; at most {_MOST_NODES} can be numbered.")


def check_disk(plan: Plan) -> str:
    """Return a line about the disk space that is needed; raise where there is too little."""
    folder, item = Path(plan.folder), 4 if plan.is_single else 8
    points = 2 * item * plan.columns + 24  # spread and gathered, with their numbers
    lists = 4 * plan.k + 8 * plan.k  # own, and what others must know
    blocks = 12 * _LISTED_TWICE * plan.k
    needed = float(plan.n_nodes) * (points + lists + blocks + 64)
    held = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    free = shutil.disk_usage(folder).free + held
    said = f"about {_size(needed)} of disk space in {folder} ({_size(free)} free)"
    if needed > free:
        raise InputError(
            f"storage={str(folder)!r} is too small: the run needs {said}. Free some space, or give "
            "a storage on a larger disk."
        )
    return f"The run needs {said}."


def _size(count: float) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


def make_plan(
    sources: list[Source],
    settings: Settings,
    metric: str,
    seed: int,
    memory: float,
    folder: Path,
    sizes: tuple[int, int] = SIZES,
    points: int | None = None,
) -> Plan:
    """Return the plan of a run, after checking that the sources go together."""
    columns = sources[0].shape[1]
    if sources[-1].shape[1] != columns:
        raise InputError(
            f"users has {columns} features and items has {sources[1].shape[1]}; "
            "both must have the same"
        )
    counts = tuple(source.shape[0] for source in sources)
    check_nodes(sum(counts))
    k = math.ceil(settings.candidate_ratio * (settings.degree or _FIRST_DEGREE))
    k = min(k, max(counts) - (len(counts) == 1))
    fitting = points if points is not None else points_in_memory(memory, k, columns)
    return Plan(
        folder=str(folder.absolute()),
        counts=counts,
        columns=columns,
        is_single=metric != "cosine" and all(is_single(source.dtype) for source in sources),
        metric=metric,
        k=k,
        seed=seed,
        sizes=sizes,
        partition_points=points or partition_points(fitting, k, sizes),
        together_points=max(_FEWEST_TOGETHER, fitting),
    )
