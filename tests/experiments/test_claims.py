"""A claim holds against other processes and ends with its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from truegraph.experiments import Cell
from truegraph.experiments.claims import Claims

CELL = Cell("t", "d", "m", "m")
OTHER = """
import sys
from pathlib import Path
from truegraph.experiments import Cell
from truegraph.experiments.claims import Claims
claims = Claims(Path(sys.argv[1]))
print(*(claims.take(Cell("t", "d", "m", "m"), "f", seed) for seed in (0, 1)), flush=True)
sys.stdin.readline()
"""


def test_claims_exclude_other_processes(tmp_path: Path) -> None:
    path = tmp_path / "trials.lock"
    with Claims(path) as claims:
        assert claims.take(CELL, "f", 0)
        words = [sys.executable, "-c", OTHER, str(path)]
        pipe = subprocess.PIPE
        with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True) as other:
            assert other.stdout is not None
            assert other.stdout.readline().split() == ["False", "True"]
            assert not claims.take(CELL, "f", 1)
            assert claims.take(CELL, "other data", 1)
            other.kill()
            other.wait()
        assert claims.take(CELL, "f", 1)
        claims.release(CELL, "f", 1)
    assert path.stat().st_size == 0
