"""RESULTS.md: its tables are those of the committed runs, and nobody typed a figure."""

from __future__ import annotations

import csv
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
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
def test_the_document_shows_every_run(name: str) -> None:
    text = (ROOT / "RESULTS.md").read_text(encoding="utf-8")
    assert f"<!-- table {name} -->\n**" in text or f"<!-- table {name} -->\n<details>" in text


def test_a_table_goes_into_its_place(tmp_path: Path) -> None:
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
    document = tmp_path / "RESULTS.md"
    document.write_text(
        "before\n<!-- table small -->\nold\n<!-- end small -->\n"
        "<!-- part small: Time and memory -->\nold\n<!-- end part -->\n"
        "<!-- part small: How far confidence can be trusted -->\nold\n<!-- end part -->\n"
        "<!-- part small: Something else -->\nkept\n<!-- end part -->\nafter\n"
    )
    (tmp_path / "benchmarks").mkdir()
    digest = tmp_path / "benchmarks" / "README.md"
    digest.write_text("<!-- table small -->\n<!-- end small -->\n")
    script = str(ROOT / "scripts" / "write_results.py")
    command = [sys.executable, script, str(tmp_path / "run"), "--root", str(tmp_path)]
    subprocess.run(command, check=True)
    text = document.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "label-propagation" in text
    assert "old" not in text
    assert "kept" in text
    assert "seconds per trial" in text
    assert "](results/small-1.png)" in text
    assert (tmp_path / "results" / "small-1.png").is_file()
    assert (tmp_path / "results" / "small.csv").is_file()
    assert digest.read_text().count("label-propagation") == 1
