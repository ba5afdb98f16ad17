"""How many threads torch, the compiled loops and the libraries use. It never changes a result."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

import numba

from truegraph.errors import InputError
from truegraph.runtime.compile_cache import share_cache
from truegraph.runtime.forking import check_child, survive_forks

share_cache()
survive_forks()


@contextmanager
def thread_limit(n_jobs: int | None) -> Iterator[None]:
    """Run the block with n_jobs threads in the compiled loops.

    None keeps the present number, -1 means all cores.
    """
    check_child()
    before = numba.get_num_threads()
    most = int(numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
    wanted = before if n_jobs is None else _count(n_jobs, most)
    numba.set_num_threads(min(max(1, wanted), most))
    try:
        yield
    finally:
        numba.set_num_threads(before)


@contextmanager
def use_threads(n_jobs: int | None) -> Iterator[None]:
    """Run the block with n_jobs threads in torch, the compiled loops and the libraries.

    None keeps the present numbers, -1 means all cores.
    """
    if n_jobs is None:
        yield
        return
    from threadpoolctl import threadpool_limits

    threads = max(1, _count(n_jobs, os.cpu_count() or 1))
    with thread_limit(n_jobs), threadpool_limits(threads), _torch_threads(threads):
        yield


@contextmanager
def _torch_threads(threads: int) -> Iterator[None]:
    if find_spec("torch") is None:
        yield
        return
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _count(n_jobs: int, cores: int) -> int:
    if n_jobs == 0:
        raise InputError("n_jobs=0 runs nothing; give a number of threads, or -1 for all cores.")
    return n_jobs if n_jobs > 0 else cores + 1 + n_jobs
