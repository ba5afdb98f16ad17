"""How much memory there is, and how much this process has used."""

from __future__ import annotations

import os
import sys


def peak_memory_mb() -> float | None:
    """Return the most memory this process has held so far, in 10^6 bytes; None if unknown."""
    try:
        import resource
    except ModuleNotFoundError:  # Windows
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6, 1)


def physical_memory() -> float | None:
    """Return the bytes of memory of this machine; None if unknown."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE")) * float(os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):  # Windows
        return None
