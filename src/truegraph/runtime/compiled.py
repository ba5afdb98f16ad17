"""Compiled loops: numba's, kept in a cache that several processes can share.

numba numbers the files of a function's machine code after reading its index. Two processes that
compile different signatures at the same time, as the workers of a first run do, can choose one
number, and the index then names code of the other signature: calling it crashes. Here the file has
the signature's own name, so whoever comes last, no index names foreign code. Where no folder can be
written to, or what it holds is damaged, loops are compiled anew.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from contextlib import nullcontext, suppress
from functools import wraps
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache, IndexDataCacheFile

from truegraph.runtime.threads import prepare

_DAMAGE = (OSError, EOFError, ValueError, TypeError, AttributeError, pickle.UnpicklingError)


def compiled(
    function: Callable[..., Any] | None = None, *, parallel: bool = False, **options: Any
) -> Any:
    """Compile a function when it is first called, without Python's lock; `options` are numba's.

    Parallel functions are called from Python only, and one after another where numba's threads
    cannot serve two callers. None may reduce an array: numba would split the sum among its
    threads, and its last bits would depend on them.
    """

    def decorate(plain: Callable[..., Any]) -> Any:
        dispatcher = njit(nogil=True, parallel=parallel, **options)(plain)
        with suppress(RuntimeError):  # no folder for the cache
            dispatcher._cache = _SharedCache(plain)
        if not parallel:
            return dispatcher

        @wraps(plain)
        def guarded(*arguments: Any) -> Any:
            with prepare() or nullcontext():
                return dispatcher(*arguments)

        return guarded

    return decorate if function is None else decorate(function)


class CacheFile(IndexDataCacheFile):
    """The machine code of one function, each signature in a file of its own name."""

    def save(self, key: Any, data: Any) -> None:
        """Keep the code of a signature, if that is possible."""
        with suppress(OSError):  # a full disk
            about = repr((key, self._source_stamp)).encode()
            stem = self._index_name.removesuffix(".nbi")
            name = f"{stem}.{hashlib.sha256(about).hexdigest()[:16]}.nbc"
            self._save_data(name, data)
            self._save_index({**self._known(), key: name})

    def load(self, key: Any) -> Any:
        """Return the code of a signature; None if there is none, or it is damaged."""
        name = self._known().get(key)
        with suppress(*_DAMAGE):
            return None if name is None else self._load_data(name)

    def _known(self) -> dict[Any, str]:
        try:
            return dict(self._load_index())
        except _DAMAGE:
            return {}


class _SharedCache(FunctionCache):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        numbas = self._cache_file
        name = numbas._index_name.removesuffix(".nbi")
        self._cache_file = CacheFile(numbas._cache_path, name, numbas._source_stamp)
