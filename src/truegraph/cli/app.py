"""The program ``truegraph``: its commands, and how errors are shown.

Exit codes: 0 when all went well, 2 for bad usage or input, 130 when interrupted, 1 otherwise.
Heavy modules are imported inside the commands, so that help and errors come at once.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from typing import Annotated, Any, TextIO

import typer

import truegraph
from truegraph.cli.classify import classify
from truegraph.cli.compare import compare
from truegraph.cli.data import data_commands
from truegraph.cli.explore import explore
from truegraph.cli.learn import learn
from truegraph.cli.links import links
from truegraph.cli.output import OURS
from truegraph.cli.predict import predict
from truegraph.cli.recommend import recommend
from truegraph.errors import TruegraphError
from truegraph.extras import with_remedy

_BAD_INPUT = 2
_INTERRUPTED = 130
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
    app.command(epilog=f"Example: truegraph {_example}")(_command)
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
    code = run(sys.argv[1:])
    try:
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as head, has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run the program on the given arguments and return its exit code."""
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            return _ended(app(list(arguments), prog_name="truegraph", standalone_mode=False))
        except SystemExit as end:  # how typer ends after --help, and when nobody reads on
            return 0 if isinstance(end.__context__, BrokenPipeError) else _ended(end.code)
        except _WRONG_USAGE as error:  # wrong usage: the line of usage, then the error
            error.show()
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
        print(f"To compare models on a data set, use: truegraph compare {again}", file=sys.stderr)


def _ended(found: object) -> int:
    """Return the exit code; None is how a command ends well."""
    code = found if isinstance(found, int) else int(found is not None)
    if code == _INTERRUPTED:
        print("Interrupted.", file=sys.stderr)
    return code


def _failed(message: str, code: int) -> int:
    print(f"Error: {message}", file=sys.stderr)
    return code


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print a warning of ours; those of other packages are for programmers."""
    if issubclass(category, OURS):
        print(f"Warning: {message}", file=sys.stderr)
