"""What every command promises: help with an example, exit codes, errors without a traceback."""

from __future__ import annotations

import warnings

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


def test_warnings_are_one_line(program, monkeypatch: pytest.MonkeyPatch) -> None:
    def warn(*_: object, **__: object) -> None:
        warnings.simplefilter("always")
        warnings.warn("stopped early", ConvergenceWarning, stacklevel=1)
        warnings.warn("rename this", DeprecationWarning, stacklevel=1)
        raise truegraph.InputError("enough")

    monkeypatch.setattr(learn_module, "_read", warn)
    assert program("learn", "p.csv", "--quiet").err == "Warning: stopped early\nError: enough\n"


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
