"""RESULTS.md and results/: their tables are those of the trials, and nobody typed a figure."""

from __future__ import annotations

import csv
import importlib
import re
import shutil
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent
SCRIPT = str(ROOT / "scripts" / "write_results.py")
RUNS = sorted(path.stem for path in (ROOT / "results").glob("*.csv") if "_trials" not in path.stem)


def _rows(name: str) -> list[dict[str, str]]:
    with (ROOT / "results" / f"{name}.csv").open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize("name", RUNS)
def test_every_mean_is_that_of_the_trials(name: str) -> None:
    cells, trials = _rows(name), _rows(f"{name}_trials")
    known = {"task", "dataset", "label"}
    conditions = [key for key in cells[0] if key in trials[0] and key not in known | {"model"}]
    values: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for trial in trials:
        place = (trial["dataset"], trial["label"], *(trial[key] for key in conditions))
        for metric in {cell["metric"] for cell in cells}:
            if trial["status"] == "done" and trial[metric]:
                values[*place, metric].append(float(trial[metric]))
    for cell in cells:
        place = (cell["dataset"], cell["label"], *(cell[key] for key in conditions))
        found = values[*place, cell["metric"]]
        assert int(cell["trials"]) == len(found)
        if found:
            assert float(cell["mean"]) == pytest.approx(statistics.fmean(found), rel=1e-8)


@pytest.mark.parametrize("name", RUNS)
def test_every_experiment_has_a_page_with_a_verdict_and_its_tables(name: str) -> None:
    text = (ROOT / "results" / f"{name}.md").read_text(encoding="utf-8")
    title, _, asked, found, limits = text.splitlines()[:5]
    assert title.startswith("# ")
    for line, begin in ((asked, "Asked"), (found, "Found"), (limits, "Where it does not hold")):
        assert line.startswith(f"- **{begin}:** ")
    assert f"<!-- table {name} -->\n**" in text or f"<!-- table {name} -->\n<details>" in text
    assert f"](results/{name}.md)" in (ROOT / "RESULTS.md").read_text(encoding="utf-8")


def test_the_summary_is_short() -> None:
    assert len((ROOT / "RESULTS.md").read_bytes()) < 18_000


def test_short_tables_and_figures_are_those_of_the_trials(digests: ModuleType) -> None:
    for path in digests.documents(ROOT):
        text = path.read_text(encoding="utf-8")
        assert digests.refreshed(text, ROOT) == text, f"run scripts/digests.py: {path.name}"


@pytest.fixture
def digests(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return importlib.import_module("digests")


def test_a_digest_shows_the_cells_that_it_names(digests: ModuleType) -> None:
    known = {
        (row["label"], row["labels"]): row
        for row in _rows("table1")
        if row["dataset"] == "cora" and row["metric"] == "accuracy"
    }
    text = (
        "a\n<!-- digest accuracy: cora labels 5 = few; cora labels 20\ntable1/GCN\n"
        "paper:table1/GCN = theirs\n-->\nold\n<!-- end digest -->\n"
        "Then 0<!--=table1/GAT - table1/GCN/cora labels 5/accuracy--> points.\n"
    )
    few, many = known["GCN", "5"], known["GCN", "20"]
    new = digests.refreshed(text, ROOT)
    assert "| accuracy % | few | cora labels 20 | trials |" in new
    means = [f"{100 * float(row['mean']):.1f}" for row in (few, many)]
    assert f"| GCN | {means[0]} | {means[1]} | 50 |" in new
    assert f"| theirs | {100 * float(few['paper_mean']):.1f} |" in new
    gain = 100 * (float(known["GAT", "5"]["mean"]) - float(few["mean"]))
    assert f"Then {gain:+.1f}<!--=" in new
    assert "old" not in new
    with pytest.raises(SystemExit, match="no label 'GNN'"):
        digests.refreshed(text.replace("table1/GCN\n", "table1/GNN\n"), ROOT)


def test_a_table_goes_into_its_page(tmp_path: Path) -> None:
    from truegraph.experiments import Experiment
    from truegraph.experiments.runner import run_experiment

    experiment = Experiment.from_dict(
        {
            "name": "small",
            "task": "classification",
            "datasets": ["cora"],
            "models": ["label-propagation", "mlp"],
            "trials": 1,
            "metrics": ["accuracy"],
        }
    )
    run_experiment(experiment, tmp_path / "run", jobs=1)
    (tmp_path / "results").mkdir()
    document = tmp_path / "results" / "small.md"
    document.write_text(
        "before\n<!-- table small -->\nold\n<!-- end small -->\n"
        "<!-- part small: Time and memory -->\nold\n<!-- end part -->\n"
        "<!-- part small: How far confidence can be trusted -->\nold\n<!-- end part -->\n"
        "<!-- part small: Something else -->\nkept\n<!-- end part -->\nafter\n"
    )
    (tmp_path / "benchmarks").mkdir()
    digest = tmp_path / "benchmarks" / "README.md"
    digest.write_text("<!-- table small -->\n<!-- end small -->\n")
    summary = tmp_path / "RESULTS.md"
    summary.write_text(
        "<!-- digest accuracy: cora\nsmall/label-propagation\n-->\n<!-- end digest -->\n"
    )
    command = [sys.executable, SCRIPT, str(tmp_path / "run"), "--root", str(tmp_path)]
    subprocess.run(command, check=True)
    text = document.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "label-propagation" in text
    assert "old" not in text
    assert "kept" in text
    assert "seconds per trial" in text
    assert "](small-1.png)" in text
    assert (tmp_path / "results" / "small-1.png").is_file()
    assert (tmp_path / "results" / "small.csv").is_file()
    assert digest.read_text().count("label-propagation") == 1
    assert "| label-propagation | " in summary.read_text()


def test_a_page_is_made_from_the_committed_trials(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    folder.mkdir()
    for name in ("links_full.toml", "links_full_trials.csv"):
        shutil.copy(ROOT / "results" / name, folder)
    page = (ROOT / "results" / "links_full.md").read_text(encoding="utf-8")
    spoilt = re.sub(r"(<!-- table .*? -->).*?(<!-- end )", r"\1\n\2", page, flags=re.S)
    (folder / "links_full.md").write_text(spoilt)
    (folder / "other.md").write_text("- **Asked:** nothing\n")
    command = [sys.executable, SCRIPT, "links_full", "--root", str(tmp_path)]
    subprocess.run(command, check=True, cwd=tmp_path)
    assert (folder / "links_full.md").read_text(encoding="utf-8") == page
    unknown = [sys.executable, SCRIPT, "nothing", "--root", str(tmp_path)]
    assert (
        "neither the folder of a run"
        in subprocess.run(unknown, capture_output=True, text=True).stderr
    )
