"""What a worker does with a batch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from truegraph.errors import DataError
from truegraph.experiments import Experiment, Source
from truegraph.experiments.jobs import Job, run_job

Pretend = Callable[..., Experiment]


def test_another_version_is_refused(tmp_path: Path, pretend: Pretend) -> None:
    cell = pretend().cells()[0]
    job = Job(cell, (0,), Source("content of nights", "nowhere"), str(tmp_path), version="9.9")
    with pytest.raises(DataError, match=r"the run was started with 9.9; install the same"):
        run_job(job)
