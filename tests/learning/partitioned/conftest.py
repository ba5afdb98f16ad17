"""Small cells and partitions, so that a few thousand points make a run in partitions."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sklearn.utils import check_random_state

from truegraph.learning.learner import GraphLearner
from truegraph.learning.partitioned.executors import InProcess
from truegraph.learning.partitioned.learn import PartitionedRun, check_parameters
from truegraph.learning.partitioned.plan import make_plan
from truegraph.learning.partitioned.sources import as_source
from truegraph.learning.search import approximate
from truegraph.progress import Progress

SIZES = (250, 40)

Prepared = Callable[..., PartitionedRun]


def prepare(
    storage: Path | None,
    *tables: Any,
    executor: InProcess | None = None,
    size: int = 400,
    progress: Progress | None = None,
    memory: float = 1e9,
    **options: Any,
) -> PartitionedRun:
    learner = GraphLearner(**{"graph_model": "paper", "random_state": 3, **options})
    sources = [as_source(f"table {number}", table) for number, table in enumerate(tables)]
    settings = check_parameters(learner)
    seed = int(check_random_state(learner.random_state).randint(2**31 - 1))
    folder = Path(tempfile.mkdtemp()) if storage is None else storage
    plan = make_plan(sources, settings, learner.metric, seed, memory, folder, SIZES, size)
    return PartitionedRun(
        plan, sources, settings, memory, executor or InProcess(), progress or Progress()
    )


@pytest.fixture(scope="session")
def prepared() -> Prepared:
    return prepare


@pytest.fixture
def small_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the learner in one process search in the same small cells."""
    monkeypatch.setattr(approximate, "SIZES", SIZES)
