"""Where answers go: checks before the work begins, what is written, and what is printed.

Whatever is printed passes `printable`: names and cells of a file cannot steer the terminal.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from truegraph.errors import AnswerWarning, ConvergenceWarning, InputError, InputWarning

if TYPE_CHECKING:
    import pandas as pd

    from truegraph.learning import LearnedGraph

GRAPHS = (".npz", ".csv", ".parquet", ".graphml")
PICTURES = (".png", ".svg", ".pdf")
OURS = InputWarning | AnswerWarning | ConvergenceWarning
_ESCAPE = "TRUEGRAPH_ESCAPE_FORMULAS"
_LAST_CONTROL = "\x9f"
heard: list[str] = []  # the warnings of the running command


class Output:
    """Where one answer goes: files by their endings, a folder for the model, what is printed."""

    def __init__(
        self,
        out: Sequence[Path] | None = None,
        save: Path | None = None,
        as_json: bool = False,
        quiet: bool = False,
    ) -> None:
        self.out, self.save, self.as_json, self.quiet = out or (), save, as_json, quiet
        self.written: list[Path] = []
        self._began = time.perf_counter()

    def file(self, *endings: str) -> Path | None:
        """Return the file of --out with one of these endings, if there is one."""
        found = [path for path in self.out if path.suffix.lower() in endings]
        if len(found) > 1:
            raise InputError(f"--out {found[0]} and {found[1]} are of one kind; give one of them.")
        return found[0] if found else None

    @property
    def answers(self) -> Path:
        """The .csv file of the answers, which must be given."""
        found = self.file(".csv")
        if found is None:
            raise InputError("--out is missing; name the .csv file for the answers.")
        return found

    @property
    def page(self) -> Path | None:
        """The file of the page: named, or beside the answers unless JSON is asked for."""
        named = self.file(".html")
        if named is not None or not self.out or self.as_json:
            return named
        return self.out[0].with_suffix(".html")

    def check(
        self,
        sources: Iterable[Path | None],
        kinds: Sequence[Sequence[str]] = ((".csv",),),
        **more: tuple[Path | None, Sequence[str]],
    ) -> None:
        """Raise an InputError unless everything can be written later, and over no source.

        `kinds` are groups of endings, of each of which --out may name one file; `more` are further
        files by their options, with the endings that each may have.
        """
        known = [ending for kind in (*kinds, (".html",)) for ending in kind]
        for kind in kinds:
            self.file(*kind)
        targets: Any = [("--out", path, known) for path in (*self.out, self.page)]
        targets += [(f"--{name.replace('_', '-')}", *target) for name, target in more.items()]
        seen: dict[Path, str] = {}
        for option, path, endings in targets:
            if path is None:
                continue
            check_target(option, path, endings, sources)
            if seen.setdefault(path.absolute(), option) != option:
                raise InputError(f"{seen[path.absolute()]} and {option} are both {path}; give two.")
        if kinds == ((".csv",),):
            _ = self.answers
        check_target_folder("--save", self.save)

    def say(self, *lines: str) -> None:
        """Print at once what is about to happen, or what was noticed, unless --quiet."""
        for line in () if self.quiet else lines:
            announce(line)

    @contextmanager
    def working(self, jobs: int | None, seconds: int = 30) -> Iterator[None]:
        """Time the work and set its threads; `seconds` to compile at first."""
        self.say(*compilation_note(seconds))
        from truegraph.runtime.threads import use_threads

        self._began = time.perf_counter()
        with use_threads(jobs):
            yield

    def write_table(self, table: pd.DataFrame, path: Path | None = None) -> None:
        """Write a table as a .csv file, by default that of the answers."""
        from truegraph.data.tables import write_csv

        write_csv(table, path or self.answers, escape=_escapes())
        self.written.append(path or self.answers)

    def write_graph(self, graph: LearnedGraph | None, names: Any, path: Path | None) -> None:
        """Write a learned graph: .npz with its certificate, others with the nodes' names."""
        from truegraph.data.graph_files import write_graph

        if graph is None and path is not None:  # "auto" may have no use for one
            self.say(f"No graph was learned: {path} is not written.")
        if graph is None or path is None:
            return
        graph = graph.named(names)
        if path.suffix.lower() == ".npz":
            graph.save(path)
        else:
            write_graph(path, graph.adjacency, graph.names, escape=_escapes())
        self.written.append(path)

    def save_model(self, estimator: Any) -> None:
        """Save a fitted estimator, if --save asks for it."""
        if self.save is not None:
            estimator.save(self.save)
            self.written.append(self.save)

    def check_names(self, names: Any, path: Path | None) -> None:
        """Raise for names that the format of a graph cannot hold, before the work."""
        if path is not None and path.suffix.lower() != ".npz" and names is not None:
            from truegraph.data.graph_files import check_format

            check_format(path, names)

    def finish(
        self,
        document: dict[str, Any],
        headline: str,
        *,
        title: str,
        answer: Mapping[str, str],
        learned: Mapping[str, Any],
        parts: Callable[[], Iterable[Any]] = list,
        plan: Any = None,
    ) -> None:
        """Write the page, and print the document or a summary; arguments as of `answer_page`."""
        document.setdefault("seconds", round(time.perf_counter() - self._began, 3))
        if self.page is not None:
            from truegraph.data.storage import write_text
            from truegraph.report.page import answer_page

            heads = (title, headline, document, answer, learned)
            text = answer_page(*heads, list(parts()), plan=plan, warnings=heard)
            write_text(self.page, text)
            self.written.append(self.page)
        paths = [str(path) for path in self.written]
        if self.as_json:
            from truegraph.runtime.memory import peak_memory_mb

            more = {"answer": dict(answer), "peak_memory_mb": peak_memory_mb()}
            print_json(document | more | {"warnings": heard, "written": paths})
        elif not self.quiet:
            tell(headline)
            facts = [(name, value) for name, value in answer.items() if value]
            facts += [(name, _shown(fact)) for name, fact in learned.items() if fact is not None]
            facts += [("note", note) for note in document["notes"]]
            facts.append(("seconds", f"{document['seconds']:.2f}"))
            print_rows([*facts, ("written", ", ".join(paths) or "nothing; name a file with --out")])


def answered(files: Mapping[str, Any], data: Any, **settings: Any) -> dict[str, Any]:
    """Return the beginning of a document: what was asked for, and what came in."""
    paths = {name: None if path is None else str(path) for name, path in files.items()}
    came_in = {"statistics": data.statistics(), "fingerprint": data.fingerprint}
    return {"files": paths, **settings, **came_in}


def fitted(
    kind: type, document: Mapping[str, Any], output: Output, *data: Any, **named: Any
) -> Any:
    """Return an estimator with the model, the options and the seed of a document, fitted."""
    from truegraph.options import estimator_arguments

    own = {"random_state": document["seed"], "progress": not output.quiet}
    own["model"] = document["model"]
    return kind(**estimator_arguments(kind, document["options"], **own)).fit(*data, **named)


def _shown(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _escapes() -> bool:
    """Whether names that a spreadsheet would run as formulas get an apostrophe in .csv files."""
    return os.environ.get(_ESCAPE, "") not in ("", "0")


# --- checks before the work -----------------------------------------------------------------------


def check_target(
    option: str, path: Path, endings: Sequence[str], sources: Iterable[Path | None]
) -> None:
    """Raise an InputError unless `path`, given by an option, can be written over no source."""
    if path.suffix.lower() not in endings:
        *others, last = endings
        known = f"{', '.join(others)} or {last}" if others else last
        raise InputError(
            f"{option} {path}: cannot write {path.suffix or 'a file without an ending'}; "
            f"let the name end in {known}."
        )
    if path.is_dir():
        raise InputError(f"{option} {path} is a folder; give the name of a file in it.")
    if path.exists() and not path.is_file():
        raise InputError(f"{option} {path} is a device or a pipe; give the name of a file.")
    for source in sources:
        if source is not None and path.exists() and source.exists() and path.samefile(source):
            raise InputError(f"{option} {path} would overwrite INPUT; choose another name.")
    _check_folder(option, path)


def check_target_folder(option: str, folder: Path | None) -> None:
    """Raise an InputError unless files can be written to `folder` later; None passes."""
    if folder is None:
        return
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{option} {folder} is a file; give the name of a folder.")
    _check_folder(option, folder / "results.json")


def _check_folder(option: str, path: Path) -> None:
    """Try to write where the file will be, or where its missing folders will be made."""
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(
            f"{option} {path}: cannot write to {folder} ({error.strerror}); "
            "choose a folder that you may write to."
        ) from error


# --- what is printed ------------------------------------------------------------------------------


def show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    """Print and keep a warning of ours; those of other packages are for programmers."""
    if issubclass(category, OURS):
        heard.append(str(message))
        announce(f"Warning: {message}")


def printable(text: str) -> str:
    r"""Return a text in which characters that steer a terminal are spelt out.

    >>> print(printable("red: \x1b[31m, backwards: \u202e, letters: é, 中"))
    red: \x1b[31m, backwards: \u202e, letters: é, 中
    """
    return "".join(one if _is_harmless(one) else repr(one)[1:-1] for one in text)


def _is_harmless(one: str) -> bool:
    return one.isprintable() or one in "\n\t" or (one.isspace() and one > _LAST_CONTROL)


def announce(text: str) -> None:
    """Print at once to standard error what is about to happen, before anything slow."""
    print(printable(text), file=sys.stderr, flush=True)


def tell(text: str) -> None:
    """Print to standard output."""
    typer.echo(printable(text))


def compilation_note(seconds: int) -> list[str]:
    """Return that numba will compile the loops, unless it has done so beside the code before."""
    learning = Path(__file__).parents[1] / "learning"
    can_keep = os.access(learning, os.W_OK) and not os.environ.get("NUMBA_CACHE_DIR")
    is_first = can_keep and not any(learning.rglob("*.nbi"))
    return [f"First run: compiling takes about {seconds} seconds, once."] if is_first else []


def print_json(document: Any) -> None:
    """Print one JSON document on standard output."""
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    typer.echo(
        re.sub("[\x7f-\x9f\u202a-\u202e\u2066-\u2069]", lambda at: f"\\u{ord(at[0]):04x}", text)
    )


def print_rows(rows: Sequence[tuple[str, str]]) -> None:
    """Print facts under each other, their names in a column of their own."""
    width = max(len(name) for name, _ in rows)
    for name, fact in rows:
        tell(f"  {name:<{width}}  {' '.join(fact.split(chr(10)))}")


def print_table(rows: Sequence[Sequence[str]]) -> None:
    """Print a table, cut between columns if it is wider than the terminal."""
    typer.echo(plain(rows, shutil.get_terminal_size().columns))


def plain(rows: Sequence[Sequence[str]], width: int | None = None) -> str:
    """Lay out rows, the headings first, in columns; an asterisk marks bold entries.

    A table wider than `width` is cut into several, each with the first column.
    """
    texts = [[_words(item) for item in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    blocks = [[0]]
    for column in range(1, len(widths)):
        used = sum(widths[place] + 2 for place in blocks[-1])
        if width is not None and len(blocks[-1]) > 1 and used + widths[column] > width:
            blocks.append([0])
        blocks[-1].append(column)
    return "\n".join(
        "".join("  ".join(row[c].ljust(widths[c]) for c in block).rstrip() + "\n" for row in texts)
        for block in blocks
    )


def _words(item: str) -> str:
    return printable(" ".join(item.split())) + ("*" if getattr(item, "bold", False) else "")
