"""Files of one's own in an experiment: what is read, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from truegraph.errors import InputError
from truegraph.experiments import Experiment

CONTENT: dict[str, Any] = {
    "name": "own",
    "task": "classification",
    "datasets": ["mine", "cora"],
    "models": ["gcn"],
    "files": {"mine": {"edges": "/data/edges.csv", "labels": "/data/labels.csv"}},
}


def test_files_reach_the_cells_of_their_data_set() -> None:
    experiment = Experiment.from_dict(CONTENT)
    mine, cora = experiment.cells()
    assert mine.files == CONTENT["files"]["mine"]
    assert cora.files == {}
    assert Experiment.from_dict(experiment.to_dict()) == experiment
    assert experiment.select(datasets=["cora"]).files == {}


def test_paths_count_from_the_folder_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(
        'task = "recommendation"\ndatasets = ["mine"]\nmodels = ["ease"]\n'
        '[files.mine]\ninteractions = "ratings.csv"\nuser = "who"\nmin_per_user = 2\n'
    )
    [cell] = Experiment.from_toml(file).cells()
    assert cell.files == {
        "interactions": str(tmp_path / "ratings.csv"),
        "user": "who",
        "min_per_user": 2,
    }


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ("edges.csv", "must be a table of files for each data set"),
        ({"mine": "edges.csv"}, "must be a table of files for each data set"),
        ({"cora": {"edges": "e.csv"}}, "choose another name"),
        ({"mine": {"egdes": "e.csv"}}, "Did you mean 'edges'"),
        ({"yours": {"edges": "e.csv"}}, "unknown name of files 'yours'"),
    ],
)
def test_what_is_refused(files: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Experiment.from_dict(CONTENT | {"files": files})


def test_two_models_alike_are_refused() -> None:
    models = ["gcn", {"name": "gcn", "label": "again"}]
    with pytest.raises(InputError, match="remove one of them"):
        Experiment.from_dict(CONTENT | {"models": models})
