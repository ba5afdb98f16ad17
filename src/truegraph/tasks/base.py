"""What the three tasks share: how a model is run, and the log of the run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from truegraph.data.storage import PathLike
from truegraph.progress import Progress


class TakesSparse:
    """Tells scikit-learn that an estimator takes sparse matrices."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        return tags


@dataclass(eq=False)
class Run:
    """How to run, and the log of the run.

    Attributes
    ----------
    device : str
    cache : path-like or None
        Folder of embeddings computed before.
    progress : Progress
    keep_graphs, keep_weights : bool
        Whether results carry the learned graphs and the trained weights.
    seconds : dict of str to float
        Seconds spent per stage.
    notes : list of str
        What was chosen for the user.
    alarms : list of str
        Those of the notes that say that the answer looks bad.
    """

    device: str = "cpu"
    cache: PathLike | None = None
    progress: Progress = field(default_factory=Progress)
    keep_graphs: bool = False
    keep_weights: bool = False
    seconds: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    alarms: list[str] = field(default_factory=list)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Announce a stage and time it."""
        self.progress.stage(name)
        began = time.perf_counter()
        try:
            yield
        finally:
            spent = time.perf_counter() - began
            self.seconds[name] = self.seconds.get(name, 0.0) + spent

    def note(self, text: str) -> None:
        """Record a choice, once."""
        if text not in self.notes:
            self.notes.append(text)

    def alarm(self, text: str) -> None:
        """Record that the answer looks bad, and what to try; estimators warn about it."""
        self.note(text)
        if text not in self.alarms:
            self.alarms.append(text)
