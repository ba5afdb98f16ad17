"""Work on the trials in small groups, several groups at a time.

The compiled loops release the interpreter lock, so a few Python threads keep the cores busy
without the barriers of parallel loops; a group is small enough for its activations to stay in
the cache. Since a trial's bits do not depend on its group, neither the size of the groups nor
the number of threads shows in a result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TypeVar

import numpy as np
import torch

Item = TypeVar("Item")
Result = TypeVar("Result")


def trial_groups(trials: int, largest: int, place: torch.device) -> list[np.ndarray]:
    """Return the indices of T trials in groups; one group on devices with their own threads."""
    if place.type != "cpu":
        return [np.arange(trials)]
    size = min(largest, -(-trials // torch.get_num_threads()))
    return [np.arange(start, min(start + size, trials)) for start in range(0, trials, size)]


@contextmanager
def worker_threads(groups: int) -> Iterator[Executor | None]:
    """Yield as many threads as torch may use, or None when one will do."""
    allowed = torch.get_num_threads()
    workers = min(groups, allowed)
    if workers < 2:
        yield None
        return
    try:
        # a worker that let torch start threads of its own would only get in its neighbours' way
        with ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            yield pool
    finally:
        torch.set_num_threads(allowed)


def run_all(
    pool: Executor | None, function: Callable[[Item], Result], items: Sequence[Item]
) -> list[Result]:
    """Apply a function to every item, in order; no call is left running when this raises."""
    if pool is None:
        return [function(item) for item in items]
    futures: list[Future[Result]] = []
    try:
        for item in items:
            futures.append(pool.submit(function, item))  # noqa: PERF401 - keep what is submitted
        wait(futures)
    except BaseException:
        for future in futures:
            future.cancel()
        wait(futures)
        raise
    return [future.result() for future in futures]
