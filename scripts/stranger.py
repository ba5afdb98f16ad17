"""Walk a stranger's path from a wheel to a first graph of their own table, and time every step.

    python scripts/stranger.py dist/truegraph-0.2.0-py3-none-any.whl

A fresh virtual environment gets the wheel and what it asks for, at the versions of constraints.txt,
and nothing else. Then the README's commands run on a table of 600 customers, outside the clone.
The first graph includes the compiling of the loops. Ends with an error where a step fails or all of
them take longer than five minutes.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 300.0  # seconds


def steps(wheel: Path, folder: Path) -> dict[str, list[str]]:
    """Return the commands by what they do."""
    binaries = folder / "environment" / "bin"
    truegraph = str(binaries / "truegraph")
    install = [str(binaries / "python"), "-m", "pip", "install", "--quiet"]
    return {
        "virtual environment": [sys.executable, "-m", "venv", str(folder / "environment")],
        "install the wheel": [*install, "-c", str(ROOT / "constraints.txt"), str(wheel.resolve())],
        "say the version": [truegraph, "--version"],
        "first graph": [truegraph, "learn", "customers.csv", "--out", "graph.npz", "--quiet"],
        "explorer": [truegraph, "explore", "graph.npz", "--features", "customers.csv"],
        "second graph": [truegraph, "learn", "customers.csv", "--out", "again.npz", "--quiet"],
    }


def walk(wheel: Path, folder: Path) -> float:
    """Run the steps, print the seconds of each, and return their sum."""
    shutil.copy(ROOT / "examples" / "customers" / "customers.csv", folder)
    # nothing of this clone may be found by chance
    hidden = {"PYTHONPATH", "VIRTUAL_ENV", "NUMBA_CACHE_DIR"}
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    environment["TRUEGRAPH_CACHE"] = str(folder / "cache")
    total = 0.0
    for name, command in steps(wheel, folder).items():
        began = time.perf_counter()
        subprocess.run(command, check=True, cwd=folder, env=environment)
        seconds = time.perf_counter() - began
        total += seconds
        print(f"{seconds:7.1f} s  {name}", flush=True)
    for written in ("graph.npz", "graph.html", "explorer.html"):
        if not (folder / written).is_file():
            raise SystemExit(f"{written} was not written.")
    return total


def main() -> None:
    """Do it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        total = walk(options.wheel, Path(folder))
    print(f"{total:7.1f} s  in all")
    if total > LIMIT:
        raise SystemExit(f"The path took longer than {LIMIT:.0f} s.")


if __name__ == "__main__":
    main()
