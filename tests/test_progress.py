"""Progress bars: one per stage, full at the end, on standard error only."""

from __future__ import annotations

import re

import pytest

from truegraph.progress import ConsoleProgress, Progress, console_progress


def test_a_bar_per_stage_and_all_full_at_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    with console_progress() as progress:
        assert isinstance(progress, ConsoleProgress)
        for stage in ("searching", "solving"):
            progress.stage(stage)
            progress.update(3, 10, "gap 0.1")
        display = progress._display
    assert [task.description for task in display.tasks] == ["searching", "solving"]
    assert all(task.finished for task in display.tasks)
    told = capsys.readouterr()
    assert told.out == ""
    assert "searching" in told.err


def test_updates_before_a_stage_are_ignored_and_silence_is_silent(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with console_progress() as progress:
        progress.update(1, 2)
        assert not progress._display.tasks
    capsys.readouterr()
    with console_progress(enabled=False) as silent:
        assert type(silent) is Progress
        silent.stage("anything")
        silent.update(1, 2)
    assert capsys.readouterr() == ("", "")


def test_a_notebook_gets_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    class Handle:
        def update(self, content: dict[str, str], raw: bool) -> None:
            shown.append(content["text/plain"])

    monkeypatch.setattr("truegraph.progress._is_in_notebook", lambda: True)
    monkeypatch.setattr("IPython.display.display", lambda *_, **__: Handle())
    with console_progress() as progress:
        progress.stage("search")
        progress.stage("solve")
        progress.update(1, 2)
    assert "search ..." in shown
    assert re.fullmatch(r"search \d+\.\d s, solve \d+\.\d s", shown[-1])
