"""Where compiled loops are kept, in containers whose folders may not be written to.

numba keeps machine code beside the package or in the user's cache folder, and refuses to compile
where both are read-only. Then a private temporary folder serves, which costs the compilation at
every start. The files are pickles, which run when they are read: a cache folder must not be
writable by others.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
import warnings
from pathlib import Path


def choose_cache_folder() -> None:
    """Give numba a private folder if it would find none; call it before numba is imported."""
    if os.environ.get("NUMBA_CACHE_DIR") or _is_usable(Path(__file__).parent / "__pycache__"):
        return
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if _is_usable(Path(home) / "numba"):
        return
    try:
        folder = tempfile.mkdtemp(prefix="truegraph-")  # readable by its owner only
    except OSError:
        return
    atexit.register(_remove, folder, os.getpid())
    os.environ["NUMBA_CACHE_DIR"] = folder  # also for the processes that this one starts
    if "numba" in sys.modules:
        sys.modules["numba"].config.CACHE_DIR = folder
    warnings.warn(
        "neither truegraph's folder nor the home folder can be written to: compiled code is kept "
        "in a temporary folder, and made anew at every start. Set NUMBA_CACHE_DIR to a folder that "
        "only you can write to, to keep it.",
        RuntimeWarning,
        stacklevel=2,
    )


def _is_usable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def _remove(folder: str, process: int) -> None:
    if os.getpid() == process:  # a forked child leaves it to its parent
        shutil.rmtree(folder, ignore_errors=True)
