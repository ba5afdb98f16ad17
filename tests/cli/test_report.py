"""The command that puts a run on a page."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest


@pytest.fixture
def run_folder(made_up_run: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made_up_run, tmp_path / "run"))


def test_the_page_lies_in_the_run_unless_told_otherwise(program, run_folder, tmp_path) -> None:
    done = program("report", run_folder)
    assert done.code == 0, done.err
    assert "46 trials of 3 models on cora, 2 failed." in done.out
    first = (run_folder / "report.html").read_text()
    assert "<title>Three models &amp; &lt;Cora&gt;</title>" in first
    other = tmp_path / "deep" / "page.html"
    assert program("report", run_folder / "trials.sqlite", "--out", other).code == 0
    assert other.read_text() == first


def test_several_runs(program, run_folder, made_up_run, tmp_path) -> None:
    done = program("report", run_folder, made_up_run, "--out", tmp_path / "both.html")
    assert done.code == 0, done.err
    assert (tmp_path / "both.html").read_text().count(">mine: Accuracy %</h2>") == 2


def test_errors_say_what_is_wrong(program, run_folder, tmp_path) -> None:
    done = program("report", tmp_path)
    assert done.code == 2
    assert "there is no run here" in done.err
    done = program("report", run_folder, "--out", tmp_path / "page.pdf")
    assert done.code == 2
    assert "let the name end in .html" in done.err
    (tmp_path / "odd.sqlite").write_text("this is no database, but it is long enough to be read")
    assert program("report", tmp_path / "odd.sqlite", "--out", tmp_path / "p.html").code == 2
    assert not (tmp_path / "p.html").exists()
