"""What every command promises: help with an example, exit codes, errors without a traceback."""

from __future__ import annotations

import signal
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import typer

import truegraph
from truegraph.cli import learn as learn_module
from truegraph.cli.app import app
from truegraph.errors import ConvergenceWarning


def test_version(program) -> None:
    done = program("--version")
    assert (done.code, done.out) == (0, f"truegraph {truegraph.__version__}\n")


@pytest.mark.parametrize(
    "command",
    [
        *([], ["learn"], ["classify"], ["links"], ["recommend"], ["predict"], ["compare"]),
        *(["explore"], *(["data", name] for name in ("export", "list", "info", "fetch"))),
    ],
)
def test_help_has_an_example_and_fits_80_columns(
    program, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    done = program(*command, "--help")
    assert done.code == 0
    assert f"Example: truegraph {' '.join(command)}".strip() in " ".join(done.out.split())
    assert max(map(len, done.out.splitlines())) <= 80
    assert "[[" not in done.out
    assert "..." not in done.out.replace(",...", "").replace("[ARGS]...", "").replace("RUN}...", "")


@pytest.mark.parametrize(
    "arguments",
    [["learn"], ["learn", "p.csv", "--degre", "3"], ["lern", "p.csv"], ["data", "info"]],
)
def test_bad_usage_is_2(program, arguments: list[str]) -> None:
    done = program(*arguments)
    assert (done.code, done.out) == (2, "")
    assert "Error" in done.err


@pytest.mark.parametrize(
    ("failure", "code", "message"),
    [
        (OSError(28, "No space left on device"), 1, "No space left on device"),
        (MemoryError(), 1, "out of memory"),
        (ImportError("install truegraph[parquet]"), 1, "install truegraph[parquet]"),
        (KeyError("x"), 1, "unexpected KeyError: 'x'. This is a bug in truegraph"),
        (KeyboardInterrupt(), 130, "Interrupted."),
    ],
)
def test_other_failures(
    program, monkeypatch: pytest.MonkeyPatch, failure: BaseException, code: int, message: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise failure

    monkeypatch.setattr(learn_module, "_read", fail)
    done = program("learn", "p.csv")
    assert done.code == code
    assert not done.out
    assert message in done.err
    assert "Traceback" not in done.err


def test_a_fault_of_ours_can_be_traced(program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learn_module, "_read", lambda *_, **__: 1 / 0)
    monkeypatch.setenv("TRUEGRAPH_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        program("learn", "p.csv")


def test_warnings_are_one_line(program, monkeypatch: pytest.MonkeyPatch) -> None:
    def warn(*_: object, **__: object) -> None:
        warnings.simplefilter("always")
        warnings.warn("stopped early", ConvergenceWarning, stacklevel=1)
        warnings.warn("rename this", DeprecationWarning, stacklevel=1)
        raise truegraph.InputError("enough")

    monkeypatch.setattr(learn_module, "_read", warn)
    assert program("learn", "p.csv", "--quiet").err == "Warning: stopped early\nError: enough\n"


def test_an_interrupt_leaves_no_file(tmp_path: Path) -> None:
    np.save(tmp_path / "points.npy", np.random.default_rng(0).normal(size=(60_000, 60)))
    code = (  # a first graph, so that the signal meets the search and not the compiler
        "import os, signal, threading; import numpy as np; import truegraph; "
        "from truegraph.cli import main; "
        "points = np.random.default_rng(0).normal(size=(300, 60)); "
        "truegraph.learn_graph(points, candidates='exact'); "
        "threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGINT)).start(); main()"
    )
    out = tmp_path / "deep" / "graph.npz"
    arguments = ["learn", tmp_path / "points.npy", "--option", "candidates=exact", "--out", out]
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 128 + signal.SIGINT
    assert done.stderr.endswith("Interrupted.\n")
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["points.npy"]


def test_something_is_said_before_heavy_modules_are_loaded(process, tmp_path: Path) -> None:
    np.save(tmp_path / "p.npy", np.zeros((3, 2)))
    code = (
        "import sys, truegraph.cli.learn as learn\n"
        "heavy = lambda: {'numpy', 'numba', 'pandas', 'torch'} & set(sys.modules)\n"
        "learn.Output.say = lambda self, text: (print(text, sorted(heavy())), sys.exit(7))\n"
        "from truegraph.cli.app import run; sys.exit(run(sys.argv[1:]))"
    )
    done = process("learn", tmp_path / "p.npy", code=code)
    assert (done.code, done.out) == (7, f"Reading {tmp_path / 'p.npy'} ... []\n"), done.err


def test_the_commands_have_few_options() -> None:
    commands = [typer.main.get_command(app)]
    options = []
    while commands:
        command = commands.pop()
        commands += getattr(command, "commands", {}).values()
        options += [one.name for one in command.params if one.param_type_name == "option"]
    known = [name for name in options if name != "help"]
    assert 50 < len(known) <= 110


def test_help_is_quick(process) -> None:
    assert min(process("learn", "--help").cpu_seconds for _ in range(3)) < 0.5
