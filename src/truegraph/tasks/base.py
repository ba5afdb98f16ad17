"""What the three tasks share: how a model is run, and the options it takes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Any

from truegraph.data.storage import PathLike
from truegraph.errors import InputError
from truegraph.progress import Progress
from truegraph.suggestions import suggestion


@dataclass(eq=False)
class Run:
    """How to run, and the diary of the run.

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
        """Write down a choice, once."""
        if text not in self.notes:
            self.notes.append(text)

    def alarm(self, text: str) -> None:
        """Write down that the answer looks bad, and what to try; estimators warn of it."""
        self.note(text)
        if text not in self.alarms:
            self.alarms.append(text)


def options_from(given: Any, kind: type) -> Any:
    """Return options of a dataclass `kind` from None, a mapping or such options."""
    if given is None:
        return kind()
    if isinstance(given, kind):
        return given
    if not isinstance(given, Mapping):
        raise InputError(
            f"options has type {type(given).__name__}. Give None, a dict or {kind.__name__}."
        )
    known = [entry.name for entry in fields(kind)]
    for name in given:
        if name not in known:
            raise InputError(f"unknown option {name!r}.{suggestion(name, known)}")
    return kind(**given)
