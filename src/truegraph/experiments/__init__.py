"""Experiments of many trials: described as data, run in parallel, stored one by one."""

from truegraph.experiments.experiment import (
    Experiment,
    ModelEntry,
    builtin_experiments,
    find_experiment,
)
from truegraph.experiments.store import TrialRecord, TrialStore
from truegraph.experiments.tasks.base import (
    Cell,
    Condition,
    Context,
    Source,
    Task,
    TrialResult,
    find_task,
)

__all__ = [
    "Cell",
    "Condition",
    "Context",
    "Experiment",
    "ModelEntry",
    "Source",
    "Task",
    "TrialRecord",
    "TrialResult",
    "TrialStore",
    "builtin_experiments",
    "find_experiment",
    "find_task",
]
