"""A task whose trials only sleep, fail or die, and write down that they ran.

Processes that have this folder on their PYTHONPATH know it as "pretend" (see sitecustomize.py).
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from truegraph.errors import InputError
from truegraph.evaluation import Metric
from truegraph.experiments.tasks.base import Cell, Condition, Context, Source, TrialResult

SETTINGS = {"seconds", "log", "fail_on", "die_on", "die_once"}


class PretendTask:
    """Model "sleeper" with settings: how long, where to write, which seeds fail or kill."""

    name = "pretend"
    metrics = {"score": Metric("score", "higher"), "noise": Metric("noise", "lower")}  # noqa: RUF012
    conditions = {"level": Condition((1,), int, least=0)}  # noqa: RUF012
    models = ("sleeper",)
    keeps = ("dream",)
    files = ("dreams",)

    def check(self, cell: Cell) -> None:
        for name in set(cell.settings) - SETTINGS:
            raise InputError(f"unknown setting {name!r}")

    def open(self, cell: Cell) -> Source:
        content = os.environ.get("PRETEND_CONTENT", "content")
        return Source(f"{content} of {cell.dataset}", "nowhere", ("it is invented",))

    def batch_size(self, cell: Cell) -> int:
        return 4

    def run(self, cell: Cell, seeds: Sequence[int], context: Context) -> list[TrialResult]:
        return [self._trial(cell, seed, context) for seed in seeds]

    def _trial(self, cell: Cell, seed: int, context: Context) -> TrialResult:
        settings = cell.settings
        if "log" in settings:
            with open(settings["log"], "a", encoding="utf-8") as log:
                log.write(f"{os.getpid()} {cell.conditions['level']} {seed} {context.threads}\n")
        if seed in settings.get("die_on", []) and self._is_time(settings):
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(settings.get("seconds", 0.0))
        if seed in settings.get("fail_on", []):
            raise ArithmeticError(f"seed {seed} is unlucky")
        value = np.random.default_rng([seed, cell.conditions["level"]]).random()
        details = {"pid": os.getpid()}
        if "dream" in context.keep:
            file = f"dreams/{cell.key[:8]}-{seed}.npz"
            details["dream"] = context.keep_arrays(file, {"value": np.array([value])})
        return TrialResult(seed, {"score": float(value), "noise": None}, details)

    def _is_time(self, settings: dict[str, Any]) -> bool:
        """Whether to die: always, or if this file is not there yet."""
        once = settings.get("die_once")
        if once is None:
            return True
        try:
            os.close(os.open(once, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True
