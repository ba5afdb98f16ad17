"""How many threads the compiled loops use. It never changes a result."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numba

from truegraph.errors import InputError
from truegraph.learning.compile_cache import share_cache

share_cache()


@contextmanager
def thread_limit(n_jobs: int | None) -> Iterator[None]:
    """Run the block with n_jobs threads; None keeps the present number, -1 means all cores."""
    before = numba.get_num_threads()
    most = int(numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
    if n_jobs is None:
        wanted = before
    elif n_jobs == 0:
        raise InputError("n_jobs must not be 0; give a number of threads, or -1 for all cores")
    else:
        wanted = n_jobs if n_jobs > 0 else most + 1 + n_jobs
    numba.set_num_threads(min(max(1, wanted), most))
    try:
        yield
    finally:
        numba.set_num_threads(before)
