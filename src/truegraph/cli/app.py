"""The program ``truegraph``: its commands, and what becomes of errors.

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
from truegraph.cli.common.options import LET_THROUGH
from truegraph.cli.compare import compare_commands
from truegraph.cli.data import data_commands
from truegraph.cli.explore import explore
from truegraph.cli.learn import learn
from truegraph.cli.links import links
from truegraph.cli.recommend import recommend
from truegraph.cli.report import report
from truegraph.cli.reproduce import reproduce
from truegraph.errors import TruegraphError
from truegraph.extras import with_remedy

_BAD_INPUT = 2
_INTERRUPTED = 130
_WRONG_USAGE: Any = typer.BadParameter.__base__  # of click, wherever this typer keeps it

app = typer.Typer(
    name="truegraph",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.command(
    epilog="Example: truegraph learn points.csv --degree 10 --out graph.csv --picture graph.png"
)(learn)
app.command(
    context_settings=LET_THROUGH,
    epilog="Example: truegraph classify --edges edges.csv --labels labels.csv --out classes.csv",
)(classify)
app.command(
    context_settings=LET_THROUGH,
    epilog="Example: truegraph links --edges edges.csv --top 20 --out links.csv",
)(links)
app.command(
    context_settings=LET_THROUGH,
    epilog="Example: truegraph recommend --interactions ratings.csv --user user_id "
    "--item item_id --out recommendations.csv",
)(recommend)
app.command(
    epilog="Example: truegraph explore graph.npz --predictions classes.csv --out explorer.html"
)(explore)
app.add_typer(compare_commands, name="compare")
app.command(epilog="Example: truegraph reproduce table1 --datasets cora --labels 5 --trials 10")(
    reproduce
)
app.command(epilog="Example: truegraph report runs/table1 --out table1.html")(report)
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
    """Print a warning meant for users; the others are for programmers."""
    if issubclass(category, UserWarning):
        print(f"Warning: {message}", file=sys.stderr)
