"""How many threads torch, the compiled loops and the libraries use. It never changes a result.

numba's threads over GNU OpenMP end a process that was forked after they ran. Those over TBB do
not, so TBB is loaded where it is installed; pip puts it where the system's loader does not look.
A forked child uses one thread, in every library: those of the parent are not there. Where there is
no TBB (it has wheels for x86-64 only), a child that would be killed is told what to do instead.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import lru_cache
from importlib import metadata
from importlib.util import find_spec
from threading import Lock, RLock
from typing import Any

import numba
from numba.np.ufunc.parallel import threading_layer
from threadpoolctl import ThreadpoolController

from truegraph.errors import InputError, TruegraphError

_LIBRARIES = ("libtbb.so.12", "libtbb.12.dylib", "tbb12.dll")
_is_ready = _is_doomed = False
_one_at_a_time = RLock()
_blas_lock = Lock()
_blas_wanted: list[int] = []  # by the blocks that run now
_blas_limits: list[Any] = []  # set since none ran


@contextmanager
def thread_limit(n_jobs: int | None) -> Iterator[None]:
    """Run the block with n_jobs threads in the compiled loops.

    None keeps the present number, -1 means all cores. Where numba's threads cannot serve two
    callers, blocks of different threads run one after another.
    """
    with prepare() or nullcontext():
        before = numba.get_num_threads()
        if n_jobs is not None:
            most = int(numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
            numba.set_num_threads(min(max(1, _count(n_jobs, most)), most))
        try:
            yield
        finally:
            numba.set_num_threads(before)


def thread_count() -> int:
    """Return how many threads the compiled loops use at present."""
    prepare()
    return int(numba.get_num_threads())


def one_blas_thread() -> AbstractContextManager[None]:
    """Run the block with one thread in BLAS, whose last bits depend on their number."""
    return _blas_threads(1)


@contextmanager
def _blas_threads(count: int) -> Iterator[None]:
    """Run the block with so many threads in BLAS, or fewer where another block asks for fewer.

    BLAS has one number for all threads of the process: the last block to end restores it.
    """
    with _blas_lock:
        _blas_limits.append(_limited("blas", min([count, *_blas_wanted])))
        _blas_wanted.append(count)
    try:
        yield
    finally:
        with _blas_lock:
            _blas_wanted.remove(count)
            if _blas_wanted:
                _blas_limits.append(_limited("blas", min(_blas_wanted)))
            else:  # the first one last: it knows the number before all of them
                while _blas_limits:
                    _blas_limits.pop().restore_original_limits()


def _limited(kind: str, threads: int) -> Any:
    """Limit the libraries of one kind: a limit on all would restore what other threads have set."""
    return _libraries(len(sys.modules)).select(user_api=kind).limit(limits=threads)


@lru_cache(maxsize=1)
def _libraries(modules: int) -> ThreadpoolController:
    """Look through all loaded libraries, which takes a while, where modules have come since."""
    return ThreadpoolController()


@contextmanager
def use_threads(n_jobs: int | None) -> Iterator[None]:
    """Run the block with n_jobs threads in torch, the compiled loops and the libraries.

    None keeps the present numbers, -1 means all cores.
    """
    if n_jobs is None:
        yield
        return
    threads = max(1, _count(n_jobs, os.cpu_count() or 1))
    with (
        thread_limit(n_jobs),
        _limited("openmp", threads),  # of the calling thread, and some BLAS
        _blas_threads(threads),
        _torch_threads(threads),
    ):
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


def prepare() -> RLock | None:
    """Make this process ready for compiled loops in parallel, at the first call.

    Returns the lock to hold while they run, where numba's threads cannot serve two callers, or it
    is not known yet whose threads they are; else None.
    """
    if _is_doomed:
        raise TruegraphError(
            "this process was forked after compiled loops had run with GNU OpenMP, which cannot go "
            "on here; start processes with multiprocessing's 'spawn' or 'forkserver', or install "
            "TBB (pip install tbb)."
        )
    if not _is_ready:
        _make_ready()
    return _one_at_a_time if _layer() in (None, "workqueue") else None


def _make_ready() -> None:
    global _is_ready
    with _one_at_a_time:  # a second thread waits until TBB is loaded
        if not _is_ready:
            _load_tbb()
            if hasattr(os, "register_at_fork"):
                os.register_at_fork(after_in_child=_in_child)
            _is_ready = True


def _load_tbb() -> None:
    """Load TBB from where pip installed it, so that numba finds it."""
    with suppress(metadata.PackageNotFoundError, OSError):
        for file in metadata.files("tbb") or ():
            if file.name in _LIBRARIES:
                ctypes.CDLL(os.fspath(file.locate()), mode=ctypes.RTLD_GLOBAL)


def _in_child() -> None:
    global _is_doomed, _one_at_a_time
    _one_at_a_time = RLock()  # a thread that is not here may hold the parent's
    _is_doomed = _layer() == "omp" and sys.platform.startswith("linux")
    if not _is_doomed:
        numba.set_num_threads(1)
    for name, threads in (("faiss", "omp_set_num_threads"), ("torch", "set_num_threads")):
        module: Any = sys.modules.get(name)
        if hasattr(module, threads):
            getattr(module, threads)(1)


def _layer() -> str | None:
    try:
        return str(threading_layer())
    except ValueError:  # no parallel loop has run yet
        return None
