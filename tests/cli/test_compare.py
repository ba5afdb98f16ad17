"""``truegraph compare``: the table, the folder, one's own files, stopping, and wrong usage."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from truegraph.runner import read_trials

CHEAP = ["--models", "label-propagation,nearest-neighbours", "--jobs", 1]


FILES = ["--edges", "edges.csv", "--features", "features.csv"]
LABELS = ["--labels", "most_labels.csv"]


@pytest.fixture(autouse=True)
def files(people: Path) -> Path:
    return people


def test_the_table_the_folder_and_the_winner(program) -> None:
    words = ["compare", "classify", *FILES, *LABELS, "--trials", 6, *CHEAP]
    done = program(*words, "--out", "out")
    assert done.code == 0, done.err
    rows = [line.split()[:2] for line in done.out.splitlines()[:3]]
    assert rows == [["model", "trials"], ["label-propagation", "6"], ["nearest-neighbours", "6"]]
    assert "o winner: " in done.out or "The winner is" in done.out
    names = {path.name for path in Path("out").iterdir()}
    assert {"report.html", "results.json", "table.csv", "trials.csv", "trials.jsonl"} <= names
    assert {"differences.png", "calibration.png"} <= names
    assert len(pd.read_csv("out/trials.csv")) == 12
    again = program(*words, "--out", "out", "--json", "--quiet")
    document = json.loads(again.out)
    assert document["leader"] in ("label-propagation", "nearest-neighbours")
    assert len(read_trials("out/trials.jsonl")) == 12
    assert program(*words, "--out", "out").out.count("0 just now") == 1


def test_links_and_recommendations(program) -> None:
    models = "adamic-adar,common-neighbours"
    words = ["--models", models, "--trials", 1, "--jobs", 1]
    done = program("compare", "links", *FILES, *words, "--json", "--quiet")
    assert done.code == 0, done.err
    assert set(json.loads(done.out)["models"]) == set(models.split(","))
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"user": rng.integers(0, 30, 600), "item": rng.integers(0, 20, 600)})
    table.drop_duplicates().to_csv("taken.csv", index=False)
    words = ["--interactions", "taken.csv", "--models", "popularity,ease", "--trials", 1]
    done = program("compare", "recommend", *words, "--jobs", 1, "--json", "--quiet")
    assert done.code == 0, done.err
    assert json.loads(done.out)["out"] == "runs/compare-recommend-taken"


def test_nodes_of_one_group_are_never_split(program) -> None:
    features = pd.read_csv("features.csv")
    features["ward"] = np.arange(60) // 3  # a node of each class
    features.to_csv("wards.csv", index=False)
    labels = np.array(["red", "green", "blue"])[np.arange(60) % 3]
    pd.DataFrame({"node": features["id"], "label": labels}).to_csv("all.csv", index=False)
    words = ["compare", "classify", "--features", "wards.csv", "--columns", "x,y,z"]
    words += ["--labels", "all.csv"]
    words += ["--groups", "ward", "--trials", 2, "--per-class", 2, "--json", "--quiet"]
    words += ["--models", "logistic-regression", "--jobs", 1]
    found = program(*words)
    assert found.code == 0, found.err
    document = json.loads(found.out)
    assert len(document["models"]["logistic-regression"]["accuracy"]) == 2
    assert document["groups"]
    wrong = program(*words, "--groups", "wart")
    assert wrong.code == 2
    assert "--groups wart: wards.csv has the columns id, x, y, z, ward" in wrong.err


def test_options_reach_the_model(program) -> None:
    words = ["compare", "classify", "cora", "--models", "nearest-neighbours", "--trials", 1]
    found = program(*words, "--option", "nearest-neighbours.n_neighbors=10000", "--jobs", 1)
    assert found.code == 1
    assert "failed: nearest-neighbours, seed 0: ValueError" in found.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["guess"], "TASK 'guess' must be one of classify, links, recommend"),
        (["classify"], "there is nothing to compare on; name a data set, such as cora"),
        (["classify", "corra"], "no data set is called 'corra'. Did you mean 'cora'?"),
        (["classify", "cora", "--edges", "e.csv"], "use one or the other"),
        (
            ["classify", "cora", "--models", "gcnn"],
            "no model is called 'gcnn'. Did you mean 'gcn'?",
        ),
        (["classify", "cora", "--split", "time"], "split='time' must be random or fixed"),
        (["links", "cora", "--time", "when"], "--time is not an option of compare links"),
        (["classify", *FILES[:2], *LABELS, "--groups", "ward"], "give --features"),
        (["links", "cora", "--per-class", 5], "--per-class is not an option of compare links"),
        (["links", "--labels", "l.csv"], "--labels is not an option of compare links"),
        (["recommend", "--interactions", "i.csv", "--rating", "stars"], "such as stars=4"),
        (["classify", "--labels", "l.csv"], "add --edges, --features or both"),
        (["classify", "cora", "--option", "degree=10"], "must be MODEL.NAME=VALUE"),
    ],
)
def test_wrong_usage(program, words: list[object], message: str) -> None:
    done = program("compare", *words)
    assert done.code == 2
    assert message in done.err
    assert not done.out


def test_two_workers_of_a_dask_cluster_give_the_same_figures(program) -> None:
    distributed = pytest.importorskip("distributed")
    words = ["compare", "classify", *FILES, *LABELS, "--trials", 2]
    words += ["--models", "label-propagation,mlp", "--json", "--quiet"]
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        far = program(*words, "--cluster", cluster.scheduler_address, "--out", "far")
    assert far.code == 0, far.err
    near = program(*words, "--jobs", 1, "--out", "near")
    assert json.loads(far.out)["models"] == json.loads(near.out)["models"]
