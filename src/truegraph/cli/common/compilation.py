"""Why the first run takes long: numba compiles the loops and keeps them beside the code."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path


def announce_compilation(*packages: str, seconds: int) -> None:
    """Announce on standard error that loops will be compiled, unless all are in the cache.

    Parameters
    ----------
    packages : str
        Names of the packages with compiled loops.
    seconds : int
        About how long it takes.
    """
    folders = [Path(import_module(package).__path__[0]) for package in packages]
    is_here = all(os.access(folder, os.W_OK) for folder in folders)
    if not is_here or os.environ.get("NUMBA_CACHE_DIR"):
        return
    if not all(any(folder.rglob("*.nbi")) for folder in folders):
        print(f"First run: compiling takes about {seconds} seconds, once.", file=sys.stderr)
