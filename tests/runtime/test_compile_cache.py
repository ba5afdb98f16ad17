"""Processes that compile at the same time do not take one another's machine code."""

from __future__ import annotations

import multiprocessing
from pathlib import Path
from typing import Any

import numba.core.caching as caching

from truegraph.runtime.compile_cache import share_cache

PROCESSES, ROUNDS = 4, 25


def _cache(folder: Path, number: int) -> Any:
    return caching.IndexDataCacheFile(str(folder), f"function{number}", ("stamp", 1))


def _save(folder: Path, process: int, barrier: Any) -> None:
    share_cache()
    for number in range(ROUNDS):
        barrier.wait()  # all at once
        _cache(folder, number).save(("signature", process), f"code of {process}")


def test_every_signature_keeps_its_own_code(tmp_path: Path) -> None:
    share_cache()
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(PROCESSES)
    workers = [
        context.Process(target=_save, args=(tmp_path, process, barrier))
        for process in range(PROCESSES)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for number in range(ROUNDS):
        cache = _cache(tmp_path, number)
        for process in range(PROCESSES):
            assert cache.load(("signature", process)) == f"code of {process}"
