"""Experiments as data: strict keys, clear errors, cells in order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from truegraph.errors import InputError
from truegraph.experiments import Experiment, builtin_experiments, find_experiment


def test_cells_are_ordered_by_data_set_conditions_model(mine: Experiment) -> None:
    cells = mine.cells()
    assert [(cell.conditions["labels"], cell.label) for cell in cells] == [
        (5, "label-propagation"),
        (5, "short MLP"),
        (10, "label-propagation"),
        (10, "short MLP"),
    ]
    assert cells[1].settings == {"epochs": 5}
    assert cells[0].conditions == {"labels": 5, "split": "random", "component": "full"}
    assert str(cells[1]) == "short MLP on cora (labels 5, split random, component full)"


def test_what_is_written_is_read_again(mine: Experiment) -> None:
    assert Experiment.from_dict(mine.to_dict()) == mine


def test_seeds_follow_the_first(content: dict[str, Any]) -> None:
    assert Experiment.from_dict(content | {"seed": 7}).seeds == [7, 8, 9]


def test_settings_for_one_data_set(content: dict[str, Any]) -> None:
    entry = {"name": "gat", "epochs": 3, "hidden": 4, "on": {"cora": {"hidden": 2}}}
    changed = content | {"models": [entry], "datasets": ["cora", "citeseer"], "labels": 5}
    cells = Experiment.from_dict(changed).cells()
    assert [cell.settings for cell in cells] == [
        {"epochs": 3, "hidden": 2},
        {"epochs": 3, "hidden": 4},
    ]


def test_a_model_may_be_left_out_on_a_data_set(content: dict[str, Any]) -> None:
    models = ["mlp", {"name": "gcn", "datasets": ["citeseer"]}]
    changed = content | {"models": models, "datasets": ["cora", "citeseer"], "labels": 5}
    cells = Experiment.from_dict(changed).cells()
    assert [(cell.dataset, cell.model) for cell in cells] == [
        ("cora", "mlp"),
        ("citeseer", "mlp"),
        ("citeseer", "gcn"),
    ]


def test_toml(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(
        'task = "classification"\ndatasets = ["cora"]\nlabels = 20\ntrials = 2\n'
        'models = ["gcn", {name = "gat", label = "endless GAT", patience = "none", epochs = 7}]\n'
    )
    experiment = Experiment.from_toml(file)
    assert experiment.name == "own"
    assert experiment.models[1].settings == {"patience": None, "epochs": 7}
    assert find_experiment(str(file)) == experiment


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"trails": 5}, r"unknown key 'trails'. Did you mean 'trials'\?"),
        ({"label": 5}, r"Did you mean 'labels'\?"),
        ({"task": "classify"}, r"task 'classify' is not known. Did you mean 'classification'\?"),
        ({"models": ["gatt"]}, r"unknown model 'gatt'. Did you mean 'gat'\?"),
        ({"models": []}, r"models=\[\] must be a list of names or tables"),
        ({"models": [{"label": "x"}]}, "a table with a name"),
        ({"models": ["gcn", {"name": "gcn", "label": "again"}]}, "same name and settings"),
        ({"models": [{"name": "gcn", "epochs": 1}, "gcn"]}, "two models are labelled 'gcn'"),
        ({"models": [{"name": "gcn", "dropout": float("nan")}]}, "finite numbers"),
        ({"models": [{"name": "gcn", "on": {"core": {}}}]}, r"'core'. Did you mean 'cora'\?"),
        ({"models": [{"name": "gcn", "datasets": ["digits"]}]}, "unknown data set of model 'gcn'"),
        ({"labels": 0}, "labels=0 must be at least 1"),
        ({"labels": "5"}, "labels='5' must be of type int"),
        ({"labels": True}, "type int"),
        ({"labels": [5, 5]}, "list of different ones"),
        ({"labels": []}, "must be one value"),
        ({"split": "public"}, "split='public' must be one of random, fixed"),
        ({"trials": 0}, "trials=0 must be a whole number of at least 1"),
        ({"trials": 2.5}, "trials=2.5"),
        ({"seed": -1}, "seed=-1"),
        ({"batch": 0}, "batch=0"),
        ({"metrics": ["acuracy"]}, r"Did you mean 'accuracy'\?"),
        ({"keep": ["weights"]}, "unknown entry of keep 'weights'"),
        ({"compare": "bgnc"}, "unknown model to compare 'bgnc'"),
        ({"datasets": ["cora", "cora"]}, "list of different names"),
        ({"datasets": 3}, "datasets=3"),
    ],
)
def test_bad_content_is_named(content: dict[str, Any], change: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Experiment.from_dict(content | change)


def test_missing_keys_are_named(content: dict[str, Any]) -> None:
    for key in ("task", "name", "datasets", "models"):
        with pytest.raises(InputError, match=f"'{key}' is missing"):
            Experiment.from_dict({k: v for k, v in content.items() if k != key})


@pytest.mark.parametrize(
    ("text", "message"), [("task = ", "not valid TOML"), ('task = "x"', "task 'x' is not known")]
)
def test_a_bad_file_is_named(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "own.toml"
    file.write_text(text)
    with pytest.raises(InputError, match=f"own.toml: {message}"):
        find_experiment(str(file))
    with pytest.raises(InputError, match=r"missing\.toml: cannot be read"):
        find_experiment(str(tmp_path / "missing.toml"))


def test_unknown_names_are_told_the_nearest() -> None:
    with pytest.raises(InputError, match=r"Did you mean 'table1'.*ends in \.toml"):
        find_experiment("tabel1")


def test_a_part_of_an_experiment(mine: Experiment) -> None:
    part = mine.select(models=["mlp"], labels=[10], trials=7)
    assert [(cell.label, cell.conditions["labels"]) for cell in part.cells()] == [("short MLP", 10)]
    assert part.trials == 7
    assert [entry.label for entry in mine.select(models=["short MLP"]).models] == ["short MLP"]
    assert mine.select() == mine
    for wrong in ({"models": ["gcn"]}, {"labels": [7]}, {"datasets": ["pubmed"]}):
        with pytest.raises(InputError, match="is not part of experiment 'mine'"):
            mine.select(**wrong)
    with pytest.raises(InputError, match=r"runs none of the models DFNET-ATT on pubmed"):
        find_experiment("table1").select(models=["dfnet-att"], datasets=["pubmed"])
    with pytest.raises(InputError, match="has no condition 'degree'; remove it"):
        mine.select(degree=[3])


def test_the_paper_is_built_in() -> None:
    found = builtin_experiments()
    assert {"datasets", "figure1", "figure2", "fixed", "table1"} <= set(found)
    assert [experiment.name for experiment in found.values()] == list(found)
    assert find_experiment("table1") == found["table1"]
    table1, fixed = found["table1"], found["fixed"]
    assert [entry.name for entry in table1.models] == [
        "chebynet",
        "gcn",
        "gat",
        "dfnet-att",
        "sbm-gcn",
        "bgcn-parametric",
        "bgcn",
    ]
    assert table1.trials == fixed.trials == 50
    assert table1.conditions["labels"] == fixed.conditions["labels"] == (5, 10, 20)
    assert len(table1.cells()) == 3 * (7 + 7 + 6)
    assert len(fixed.cells()) == 3 * 3 * 6
    gat = {c.dataset: c.settings for c in table1.cells() if c.model == "gat"}
    assert gat["cora"] == {}
    assert gat["pubmed"] == {"output_heads": 8, "learning_rate": 0.01, "weight_decay": 0.001}
    assert not any(c.model == "dfnet-att" and c.dataset == "pubmed" for c in table1.cells())
    assert found["figure2"].keep == ("graph",)


def test_a_part_can_be_written_and_read_again() -> None:
    part = find_experiment("table1").select(datasets=["cora"], trials=3)
    again = Experiment.from_dict(part.to_dict())
    assert again.cells() == part.cells()
    assert again.trials == 3


def test_a_label_names_its_model_alone_and_a_name_all_that_have_it() -> None:
    beyond = find_experiment("beyond")
    assert [entry.label for entry in beyond.select(models=["auto"]).models] == ["auto"]
    assert len(beyond.select(models=["refined", "fast"]).models) == 2
    content = beyond.to_dict() | {"models": _two_gcns("wide", "narrow")}
    del content["compare"]
    both = Experiment.from_dict(content).select(models=["gcn"])
    assert [entry.label for entry in both.models] == ["wide", "narrow"]
    content["models"] = _two_gcns("wide", "gcn")
    one = Experiment.from_dict(content).select(models=["gcn"])
    assert [entry.label for entry in one.models] == ["gcn"]


def _two_gcns(first: str, second: str) -> list[dict[str, Any]]:
    return [{"name": "gcn", "label": first, "hidden": 64}, {"name": "gcn", "label": second}]


def test_a_part_without_the_compared_model_compares_nothing() -> None:
    beyond = find_experiment("beyond")
    assert Experiment.from_dict(beyond.to_dict()).compare == "auto"
    assert beyond.select(models=["auto", "GCN"]).compare == "auto"
    part = beyond.select(models=["GCN", "APPNP"])
    assert part.compare is None
    assert Experiment.from_dict(part.to_dict()) == part
