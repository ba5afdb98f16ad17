"""Compiled loops in forked processes: a pool of workers must not hang or be killed.

numba's threads over GNU OpenMP end a process that was forked after they ran. Those over TBB do
not, so TBB is loaded where it is installed; pip puts it where the system's loader does not look.
A forked child uses one thread, in every library: those of the parent are not there. Where there is
no TBB (it has wheels for x86-64 only), a child that would be killed is told what to do instead.
"""

from __future__ import annotations

import ctypes
import os
import sys
from contextlib import suppress
from importlib import metadata
from typing import Any

import numba
from numba.np.ufunc.parallel import threading_layer

from truegraph.errors import TruegraphError

_LIBRARIES = ("libtbb.so.12", "libtbb.12.dylib", "tbb12.dll")
_is_doomed = False


def load_tbb() -> None:
    """Load TBB from where pip installed it, so that numba finds it."""
    with suppress(metadata.PackageNotFoundError, OSError):
        for file in metadata.files("tbb") or ():
            if file.name in _LIBRARIES:
                ctypes.CDLL(os.fspath(file.locate()), mode=ctypes.RTLD_GLOBAL)


def check_child() -> None:
    """Raise in a forked process whose compiled loops would be ended by the system."""
    if _is_doomed:
        raise TruegraphError(
            "this process was forked after compiled loops had run with GNU OpenMP, which cannot go "
            "on here; start processes with multiprocessing's 'spawn' or 'forkserver', or install "
            "TBB (pip install tbb)."
        )


def _in_child() -> None:
    global _is_doomed
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


def survive_forks() -> None:
    """Prepare this process for being forked."""
    load_tbb()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_in_child)
