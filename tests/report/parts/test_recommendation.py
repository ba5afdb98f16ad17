"""The page of a recommendation run: tests over users, removed pairs, curves."""

from __future__ import annotations

from pathlib import Path

import pytest

from truegraph.errors import InputError
from truegraph.experiments import Experiment
from truegraph.experiments.runner import run_experiment
from truegraph.report.page import Picture
from truegraph.report.parts.recommendation import recommendation_parts
from truegraph.report.plots.training import training_curves
from truegraph.report.run_page import run_page
from truegraph.report.runs import Run

QUICK = {"width": 8, "learning_rate": 0.01, "batch": 512, "epochs": 4}


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


def test_uneven_curves_are_refused() -> None:
    with pytest.raises(InputError, match=r"curves\['a'\]"):
        training_curves({"a": ([1, 2], [0.1])})
