"""Where answers go: checks before the work begins, what is written, and what is printed."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from truegraph.errors import AnswerWarning, ConvergenceWarning, InputError, InputWarning

if TYPE_CHECKING:
    import pandas as pd

    from truegraph.learning import LearnedGraph
    from truegraph.report.page import Entry, Part

GRAPHS = (".npz", ".csv", ".parquet", ".graphml")
PICTURES = (".png", ".svg", ".pdf")
OURS = InputWarning | AnswerWarning | ConvergenceWarning
_ESCAPE = "TRUEGRAPH_ESCAPE_FORMULAS"


@dataclass(frozen=True)
class Output:
    """Where one answer goes: files by their endings, a folder for the model, what is printed."""

    out: Sequence[Path] = ()
    save: Path | None = None
    as_json: bool = False
    quiet: bool = False

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
        targets: list[tuple[str, Path, Sequence[str]]] = [
            ("--out", path, known) for path in (*self.out, self.page) if path is not None
        ]
        targets += [
            (f"--{name.replace('_', '-')}", path, endings)
            for name, (path, endings) in more.items()
            if path is not None
        ]
        seen: dict[Path, str] = {}
        for option, path, endings in targets:
            check_target(option, path, endings, sources)
            if seen.setdefault(path.absolute(), option) != option:
                raise InputError(f"{seen[path.absolute()]} and {option} are both {path}; give two.")
        if kinds == ((".csv",),):
            _ = self.answers
        check_target_folder("--save", self.save)

    def say(self, *lines: str) -> None:
        """Print at once what is about to happen, or what was noticed, unless --quiet."""
        if not self.quiet:
            for line in lines:
                announce(line)

    @contextmanager
    def working(self, jobs: int | None, seconds: int = 30) -> Iterator[list[str]]:
        """Yield a list that collects the warnings of the work; `seconds` to compile at first."""
        self.say(*compilation_note(seconds))
        from truegraph.runtime.threads import use_threads

        with recorded_warnings() as heard, use_threads(jobs):
            yield heard

    def write_graph(self, graph: LearnedGraph, path: Path) -> None:
        """Write a learned graph: .npz with its certificate, others with the nodes' names."""
        from truegraph.data.graph_files import write_graph

        if path.suffix.lower() == ".npz":
            graph.save(path)
        else:
            write_graph(path, graph.adjacency, graph.names, escape=_escapes())

    def check_names(self, names: Any, path: Path | None) -> None:
        """Raise for names that the format of a graph cannot hold, before the work."""
        if path is not None and path.suffix.lower() != ".npz" and names is not None:
            from truegraph.data.graph_files import check_format

            check_format(path, names)

    def finish(
        self,
        document: dict[str, Any],
        *,
        title: str,
        headline: str,
        verdict: Mapping[str, str],
        learned: Mapping[str, Any],
        parts: Callable[[], Iterable[Part]],
        plan: Any = None,
        warnings: Sequence[str] = (),
        also: Sequence[Path | None] = (),
    ) -> None:
        """Write the page, and print the document or a summary; arguments as of `answer_page`.

        `also` are further files that were written.
        """
        from truegraph.runtime.memory import peak_memory_mb

        if self.page is not None:
            from truegraph.data.storage import write_text
            from truegraph.report.page import answer_page

            page = answer_page(
                title,
                headline,
                document,
                verdict=verdict,
                learned=learned,
                parts=list(parts()),
                plan=plan,
                warnings=warnings,
            )
            write_text(self.page, page.render())
        written = [*(path for path in self.out if path != self.page), *also, self.save, self.page]
        if self.as_json:
            paths = [str(path) for path in written if path is not None]
            memory = {"peak_memory_mb": peak_memory_mb(), "warnings": list(warnings)}
            print_json(document | {"verdict": dict(verdict)} | memory | {"written": paths})
        elif not self.quiet:
            typer.echo(headline)
            known = [(name, value) for name, value in verdict.items() if value]
            known += [(name, _shown(value)) for name, value in learned.items() if value is not None]
            known += [("note", note) for note in document["notes"]]
            known.append(("seconds", f"{document['seconds']:.2f}"))
            paths = [str(path) for path in written if path is not None]
            known.append(("written", ", ".join(paths) or "nothing; name a file with --out"))
            print_rows(known)


def _shown(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _escapes() -> bool:
    """Whether names that a spreadsheet would run as formulas get an apostrophe in .csv files."""
    return os.environ.get(_ESCAPE, "") not in ("", "0")


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Write a table as a .csv file."""
    from truegraph.data.tables import write_csv

    write_csv(table, path, escape=_escapes())


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


@contextmanager
def recorded_warnings() -> Iterator[list[str]]:
    """Yield a list that collects the warnings meant for users; they are shown as well."""
    heard: list[str] = []
    with warnings.catch_warnings():
        show = warnings.showwarning

        def record(message: Any, category: type[Warning], *more: Any, **named: Any) -> None:
            if issubclass(category, OURS):
                heard.append(str(message))
            show(message, category, *more, **named)

        warnings.showwarning = record
        for category in OURS.__args__:
            warnings.simplefilter("always", category)
        yield heard


def announce(text: str) -> None:
    """Print at once to standard error what is about to happen, before anything slow."""
    print(text, file=sys.stderr, flush=True)


def compilation_note(seconds: int) -> list[str]:
    """Return that numba will compile the loops, unless it has done so beside the code before."""
    learning = Path(__file__).parents[1] / "learning"
    can_keep = os.access(learning, os.W_OK) and not os.environ.get("NUMBA_CACHE_DIR")
    is_first = can_keep and not any(learning.rglob("*.nbi"))
    return [f"First run: compiling takes about {seconds} seconds, once."] if is_first else []


def print_json(document: Any) -> None:
    """Print one JSON document on standard output."""
    typer.echo(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False))


def print_rows(rows: Sequence[tuple[str, str]]) -> None:
    """Print facts under each other, their names in a column of their own."""
    width = max(len(name) for name, _ in rows)
    for name, fact in rows:
        typer.echo(f"  {name:<{width}}  {fact}")


def print_table(rows: Sequence[Sequence[str | Entry]]) -> None:
    """Print a table, cut between columns if it is wider than the terminal."""
    typer.echo(plain(rows, shutil.get_terminal_size().columns))


def plain(rows: Sequence[Sequence[Any]], width: int | None = None) -> str:
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


def _words(item: Any) -> str:
    text = item if isinstance(item, str) else item.text
    return " ".join(text.split()) + ("*" if getattr(item, "bold", False) else "")
