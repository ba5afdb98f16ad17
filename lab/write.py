"""Put the trials of experiments into results/: the table of trials, the page, short tables.

results/NAME.md holds the words; its tables stand between ``<!-- table NAME -->`` and
``<!-- end NAME -->``, its pictures between ``<!-- picture NAME -->`` and ``<!-- end picture -->``,
and are replaced by those that the trials give now. Nobody types a figure of a table. A picture that
needs more than the table of trials holds stays as it is unless the trials were run here.
"""

from __future__ import annotations

import re
from pathlib import Path

from lab.digests import refresh
from lab.experiment import Experiment, experiments, load
from lab.pictures import pictures
from lab.store import ROOT, committed, fresh, results, trials_of, write_table
from lab.summary import Findings, tables
from truegraph.data.storage import write_text


def write(name: str) -> list[Path]:
    """Write the table of trials and the page of an experiment; return what changed."""
    experiment = load(name)
    name = experiment.name
    changed = []
    if fresh(name):
        merged = {t.key: t for t in (*committed(name, experiment.task), *fresh(name))}
        changed.append(write_table(experiment, merged.values()))
    findings = Findings(experiment, trials_of(experiment))
    page = results() / f"{name}.md"
    text = page.read_text(encoding="utf-8") if page.is_file() else _blank(experiment)
    new = replaced(text, f"<!-- table {name} -->", f"<!-- end {name} -->", tables(findings))
    drawn = pictures(findings, results())
    if drawn:
        new = replaced(new, f"<!-- picture {name} -->", "<!-- end picture -->", drawn)
    if new != text or not page.is_file():
        write_text(page, new)
        changed.append(page)
    if results() == ROOT / "results":
        changed += refresh(ROOT)
    return changed


def write_all() -> list[list[Path]]:
    """Write the pages of all experiments that have trials."""
    known = [load(name) for name in experiments()]
    return [write(one.name) for one in known if Findings(one, trials_of(one)).cells]


def replaced(text: str, begin: str, end: str, content: str) -> str:
    """Return a text with what stands between two marks replaced."""
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    return pattern.sub(lambda _: f"{begin}\n{content}\n{end}", text)


def _blank(experiment: Experiment) -> str:
    begin, end = f"<!-- table {experiment.name} -->", f"<!-- end {experiment.name} -->"
    return f"# {experiment.title}\n\n`python -m lab {experiment.name}`\n\n{begin}\n{end}\n"
