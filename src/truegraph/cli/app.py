"""The program ``truegraph``: its commands, and how errors are shown.

Exit codes: 0 when all went well, 2 for bad usage or input, 130 when interrupted, 143 when
terminated, 1 otherwise.
Heavy modules are imported inside the commands, so that help and errors come at once.
"""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Sequence
from typing import Annotated, Any

import typer

import truegraph
from truegraph.cli.classify import classify
from truegraph.cli.compare import compare
from truegraph.cli.data import data_commands
from truegraph.cli.explore import explore
from truegraph.cli.learn import learn
from truegraph.cli.links import links
from truegraph.cli.options import described
from truegraph.cli.output import OURS, announce, heard, show_warning
from truegraph.cli.predict import predict
from truegraph.cli.recommend import recommend
from truegraph.errors import TruegraphError
from truegraph.extras import with_remedy

_BAD_INPUT = 2
_ENDINGS = {130: "Interrupted.", 143: "Terminated."}
_WRONG_USAGE: Any = typer.BadParameter.__base__  # of click, wherever this typer keeps it

_COMPARABLE = {
    "classify": "gcn,bgcn,auto",
    "links": "vgae,bvgae,auto",
    "recommend": "ease,auto",
}
_EXAMPLES: dict[Any, str] = {
    learn: "learn points.csv --degree 10 --out graph.csv --out graph.png",
    classify: "classify --edges edges.csv --labels labels.csv --out classes.csv",
    predict: "predict model --features new.csv --out predictions.csv",
    links: "links --edges edges.csv --top 20 --out links.csv",
    recommend: "recommend --interactions ratings.csv --user user_id --item item_id --out lists.csv",
    explore: "explore graph.npz --predictions classes.csv --out explorer.html",
    compare: "compare classify cora --per-class 5 --models gcn,bgcn,auto",
}

app = typer.Typer(
    name="truegraph",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
for _command, _example in _EXAMPLES.items():
    app.command(epilog=f"Example: truegraph {_example}")(described(_command))
app.add_typer(data_commands, name="data")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"truegraph {truegraph.__version__}")
        raise typer.Exit


@app.callback(epilog="Example: truegraph learn points.csv --degree 10 --out graph.npz")
def _truegraph(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Learn the true graph behind a noisy, incomplete or missing one."""


def main() -> None:
    """Run the program on the arguments of the process and exit."""
    for place, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:  # closed by the caller: no file of ours may take its place
            stream = open(os.devnull, "r" if place == 0 else "w")  # noqa: SIM115
            setattr(sys, name, stream)
    signal.signal(signal.SIGTERM, _terminate)
    code = run(sys.argv[1:])
    try:
        sys.stdout.flush()
    except OSError as error:
        if not isinstance(error, BrokenPipeError):  # the reader, such as head, has had enough
            code = _failed(str(error), 1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def _terminate(number: int, frame: object) -> None:
    """End as an exception does, so that nothing is left half-written."""
    raise SystemExit(128 + number)


def run(arguments: Sequence[str]) -> int:
    """Run the program on the given arguments and return its exit code."""
    with warnings.catch_warnings():
        heard.clear()
        warnings.showwarning = show_warning
        for category in OURS.__args__:
            warnings.simplefilter("always", category)
        try:
            return _ended(app(list(arguments), prog_name="truegraph", standalone_mode=False))
        except SystemExit as end:  # how typer ends after --help, and when nobody reads on
            return 0 if isinstance(end.__context__, BrokenPipeError) else _ended(end.code)
        except _WRONG_USAGE as error:
            usage = "" if error.ctx is None else f"{error.ctx.get_usage()}\n"
            _failed(error.format_message(), _BAD_INPUT, usage)
            _hint_at_comparing(arguments)
            return int(error.exit_code)
        except TruegraphError as error:
            return _failed(str(error), _BAD_INPUT)
        except MemoryError:
            return _failed("out of memory. Ask for fewer candidates, or use a larger machine.", 1)
        except ImportError as error:
            return _failed(str(with_remedy(error)), 1)
        except OSError as error:  # a full disk: the text says it
            return _failed(str(error), 1)
        except Exception as error:
            if os.environ.get("TRUEGRAPH_TRACEBACK"):
                raise
            return _failed(
                f"unexpected {type(error).__name__}: {error}. This is a bug in truegraph; set "
                "TRUEGRAPH_TRACEBACK=1 to see where, and report it.",
                1,
            )


def _hint_at_comparing(arguments: Sequence[str]) -> None:
    """Name the right command to who gave a data set's name to one that takes files."""
    command, *words = arguments or [""]
    if command not in _COMPARABLE:
        return
    from truegraph.data.registry import INTERACTION_SETS, REGISTRY

    if any(word.lower() in {*REGISTRY, *INTERACTION_SETS} for word in words):
        more = [] if "--models" in words else ["--models", _COMPARABLE[command]]
        again = " ".join([command, *words, *more])
        announce(f"To compare models on a data set, use: truegraph compare {again}")


def _ended(found: object) -> int:
    """Return the exit code; None is how a command ends well."""
    code = found if isinstance(found, int) else int(found is not None)
    if code in _ENDINGS:
        announce(_ENDINGS[code])
    return code


def _failed(message: str, code: int, before: str = "") -> int:
    announce(f"{before}Error: {message}")
    return code
