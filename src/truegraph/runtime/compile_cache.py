"""Let several processes share numba's cache of compiled loops.

numba numbers the files of a function's signatures after reading its index. Two processes that
compile different signatures at the same time, as the workers of a first experiment do, can choose
the same number: the index then names machine code of the other signature, and calling it crashes.
A lock around reading and writing an entry rules that out.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from numba.core.caching import IndexDataCacheFile

from truegraph.runtime.locking import file_lock


def share_cache() -> None:
    """Lock numba's cache files while an entry is read or written; calling it twice is harmless."""
    for name in ("load", "save"):
        method = getattr(IndexDataCacheFile, name)
        if not hasattr(method, "__wrapped__"):
            setattr(IndexDataCacheFile, name, _locked(method))


def _locked(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def alone(self: Any, *arguments: Any) -> Any:
        with file_lock(f"{self._index_path}.lock"):
            return method(self, *arguments)

    return alone
