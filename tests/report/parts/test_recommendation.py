"""The page of a recommendation run: tests over users, removed pairs, curves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from truegraph.experiments import Experiment
from truegraph.experiments.runner import run_experiment
from truegraph.report.page import Picture
from truegraph.report.parts.recommendation import recommendation_parts
from truegraph.report.run_page import run_page
from truegraph.report.runs import Run
from truegraph.report.tables import Table

QUICK = {"width": 8, "learning_rate": 0.01, "batch": 512, "epochs": 4}


def test_one_model_is_tested_against_the_others_user_by_user(tmp_path: Path) -> None:
    experiment = Experiment.from_dict(
        {
            "name": "small",
            "task": "recommendation",
            "datasets": ["planted"],
            "models": [{"name": "ease"}, {"name": "popularity"}],
            "trials": 2,
            "keep": ["users"],
            "compare": "ease",
        }
    )
    run_experiment(experiment, tmp_path, jobs=1, cache=tmp_path / "cache")
    found = Run.read(tmp_path)
    (table,) = recommendation_parts(found)
    assert isinstance(table, Table)
    recall, _ = table.rows[1:]
    assert [str(entry) for entry in recall[:5]] == [
        "planted",
        "popularity",
        "recall@20",
        "2",
        "240",
    ]
    means = {
        label: np.mean([r.metrics["recall@20"] for r in found.done if r.label == label])
        for label in ("ease", "popularity")
    }
    assert float(str(recall[5])) == pytest.approx(
        100 * (means["ease"] - means["popularity"]), abs=0.006
    )
    assert float(str(recall[6])) < 1e-10


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    experiment = Experiment.from_dict(
        {
            "name": "small",
            "task": "recommendation",
            "datasets": ["planted"],
            "models": [
                {"name": "bpr-mf", "label": "MF", **QUICK},
                {"name": "bbpr-mf", "label": "BMF", "fractions": [0.1], **QUICK},
            ],
            "trials": 2,
            "keep": ["curve"],
        }
    )
    folder = tmp_path_factory.mktemp("run")
    run_experiment(experiment, folder, jobs=1, cache=folder / "cache")
    return Run.read(folder)


def test_tables_and_curves(run: Run) -> None:
    tests, removed, picture = recommendation_parts(run)
    assert len(tests.rows) == 1 + 2 * 6
    assert [row[2] for row in removed.rows[1:]] == ["BMF", "BMF"]
    assert removed.rows[1][3] == "10"
    assert isinstance(picture, Picture)
    assert len(picture.panels) == 4  # two seeds, validation and test
    assert "MF: 4 epochs" in picture.panels[0].alternative
    lines = picture.panels[0].figure.axes[0].get_lines()
    assert [line.get_label() for line in lines[::2]] == ["MF", "BMF"]
    assert lines[0].get_xdata().tolist() == [0, 1, 2, 3, 4]


def test_the_whole_page_holds_them(run: Run, tmp_path: Path) -> None:
    text = run_page([run]).render()
    for part in ("user by user", "Pairs taken out of the negatives", "Continued training"):
        assert part in text
