"""Long computations that Ctrl-C ends: compiled code hears no signal until it returns."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

_SECONDS = 0.25  # between two looks at signals
_POLL = 0.05
_FASTEST_GROWTH = 8.0

Result = TypeVar("Result")


def in_parts(count: int, run: Callable[[int, int], None], *, least: int = 1) -> None:
    """Call ``run(first, last)`` for parts of 0 to count, each of about a quarter of a second.

    What is computed must not depend on the parts: they differ from run to run.
    """
    first, size = 0, least
    while first < count:
        last = min(count, first + size)
        began = time.perf_counter()
        run(first, last)
        growth = _SECONDS / max(time.perf_counter() - began, 1e-9)
        size = max(least, int(size * min(growth, _FASTEST_GROWTH)))
        first = last


def interruptible(call: Callable[..., Result], *arguments: Any, **named: Any) -> Result:
    """Return what a call returns that cannot be divided, such as one of LAPACK.

    It runs in a thread of its own. An interrupt is passed on at once; the call then goes on until
    it is done, and its result is dropped.
    """
    if threading.current_thread() is not threading.main_thread():
        return call(*arguments, **named)  # signals go to the main thread
    outcome: dict[str, Any] = {}

    def work() -> None:
        try:
            outcome["result"] = call(*arguments, **named)
        except BaseException as error:
            outcome["error"] = error

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(_POLL)
    if "error" in outcome:
        raise outcome["error"]
    result: Result = outcome["result"]
    return result
