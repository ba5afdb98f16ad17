"""Where a number comes from: versions, platform, commit and time."""

from __future__ import annotations

import platform
import shutil
import subprocess
from datetime import UTC, datetime
from functools import lru_cache
from importlib import metadata
from pathlib import Path

import truegraph

_PACKAGES = ("truegraph", "torch", "numpy", "scipy", "numba", "faiss-cpu", "scikit-learn")


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """Return the versions of the packages that can change a number, and the platform."""
    found = {name: metadata.version(name) for name in _PACKAGES}
    return found | {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processor": platform.processor() or platform.machine(),
    }


@lru_cache(maxsize=1)
def commit() -> str | None:
    """Return the commit of the checkout that the package runs from, or None if it runs from none.

    "-dirty" is added when files of the package differ from the commit.
    """
    package = Path(truegraph.__file__).parent
    # Tracked, or else the checkout is merely one that the package was installed into.
    if shutil.which("git") is None or _git(package, "ls-files", "__init__.py") != "__init__.py":
        return None
    found = _git(package, "rev-parse", "HEAD")
    changed = _git(package, "status", "--porcelain", "--", ".")
    return f"{found}-dirty" if found and changed else found


def _git(folder: Path, *arguments: str) -> str | None:
    # Without locks: killed in the middle, git would leave one behind that blocks the checkout.
    command = ["git", "--no-optional-locks", "-C", str(folder), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def now() -> str:
    """Return the time in UTC, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
