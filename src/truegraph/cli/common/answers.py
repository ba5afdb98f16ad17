"""What `classify`, `links` and `recommend` have in common: options, and the course of an answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import typer

from truegraph.cli.common import options as cli
from truegraph.cli.common.options import OUTPUT, option
from truegraph.cli.common.outputs import (
    announce,
    check_target,
    check_target_folder,
    print_json,
    print_rows,
    report_target,
    write_page,
)
from truegraph.errors import InputError
from truegraph.runtime.memory import peak_memory_mb

if TYPE_CHECKING:
    import pandas as pd

    from truegraph.report.page import Page


@dataclass(frozen=True, kw_only=True)
class AnswerOptions:
    """Where an answer goes, and how it is found."""

    answers: ClassVar[str]  # what is in the file

    context: typer.Context
    out: Path | None = option(OUTPUT, "Answers, a .csv file (required).", metavar="FILE")
    save: Path | None = option(
        OUTPUT, "Folder to keep the trained model in, for load in Python.", metavar="FOLDER"
    )
    escape_formulas: bool = cli.ESCAPE_FORMULAS
    report: Path | None = option(
        OUTPUT,
        "Page with the answer and how it came about, an .html file; none: no page.",
        metavar="FILE",
        default="beside --out",
    )
    as_json: bool = cli.JSON
    jobs: int | None = cli.THREADS
    quiet: bool = cli.QUIET

    @property
    def file(self) -> Path:
        """The file of the answers."""
        if self.out is None:
            raise InputError(f"--out is missing; name the .csv file for the {self.answers}.")
        return self.out

    @cached_property
    def page(self) -> Path | None:
        """The file of the page, if there is to be one."""
        return report_target(self.report, self.file)

    def check_targets(self, *sources: Path | None) -> None:
        """Raise an InputError unless everything can be written later, and over no source."""
        for path in sources:
            if path is not None:
                check_target("--out", self.file, (".csv",), str(path))
        check_target_folder("--save", self.save)
        report_target(self.report, self.file)

    def say(self, *lines: str) -> None:
        """Print at once what is about to happen, or what was noticed, unless --quiet."""
        if not self.quiet:
            for line in lines:
                announce(line)

    def write_table(self, table: pd.DataFrame) -> None:
        """Write the answers."""
        from truegraph.data.spreadsheets import write_csv

        write_csv(table, self.file, escape=self.escape_formulas)

    def facts(self) -> dict[str, Any]:
        """Return the end of the JSON document: the memory used, and what was written."""
        return {
            "peak_memory_mb": peak_memory_mb(),
            "out": str(self.file),
            "save": None if self.save is None else str(self.save),
            "report": None if self.page is None else str(self.page),
        }

    def show(
        self, document: dict[str, Any], page: Callable[[], Page], summary: Callable[[], None]
    ) -> None:
        """Write the page, and print the document or the summary."""
        if self.page is not None:
            write_page(page(), self.page)
        if self.as_json:
            print_json(document)
        elif not self.quiet:
            summary()

    def print_facts(
        self, rows: list[tuple[str, str]], notes: list[str], *more: Path | None
    ) -> None:
        """Print the rows of a summary, the notes, and what was written."""
        paths = [self.file, *more, self.save, self.page]
        written = ", ".join(str(path) for path in paths if path is not None)
        print_rows([*rows, *(("note", note) for note in notes), ("written", written)])
