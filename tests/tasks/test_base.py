"""The log of a run."""

from __future__ import annotations

import pytest

from truegraph.tasks.base import Run


def test_stages_add_up_and_notes_are_written_once() -> None:
    run = Run()
    for _ in range(2):
        with run.stage("training"):
            pass
        run.note("a choice")
        run.alarm("looks bad")
    assert list(run.seconds) == ["training"]
    assert run.notes == ["a choice", "looks bad"]
    assert run.alarms == ["looks bad"]


def test_a_stage_that_fails_is_timed_as_well() -> None:
    run = Run()
    with pytest.raises(KeyboardInterrupt), run.stage("training"):
        raise KeyboardInterrupt
    assert run.seconds["training"] >= 0.0
