"""How much memory there is, and how much this process has used."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def peak_memory_mb() -> float | None:
    """Return the most memory this process has held so far, in 10^6 bytes; None if unknown."""
    try:  # Linux: getrusage counts what the process that started this one held, too
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return round(int(line.split()[1]) * 1024 / 1e6, 1)
    except OSError:
        pass
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
