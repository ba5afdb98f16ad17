"""``truegraph recommend``: a data set compared, one's own file served, wrong usage told."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from truegraph import BayesianRecommender
from truegraph.testing import planted_interactions


@pytest.fixture(scope="module")
def ratings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of ratings: likes are 4 or 5, a few dislikes 1."""
    data = planted_interactions(60, 48, 3, observed_share=0.5, random_state=0).observed
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("ratings") / "ratings.csv"
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["user_id", "item_id", "stars"])
        for user, item in zip(data.users, data.items, strict=True):
            writer.writerow([f"u{user}", f"i{item}", rng.integers(4, 6)])
        for user in range(60):
            writer.writerow([f"u{user}", f"i{(user + 1) % 48}", 1])
    return path


def test_a_data_set_is_split_trained_and_compared(program, tmp_path: Path) -> None:
    done = program(
        "recommend", "planted", "--model", "bpr-mf", "--trials", 2, "--epochs", 15,
        "--fractions", "0.05,0.2", "--references", "--json", "--quiet", "--out", tmp_path,
    )  # fmt: skip
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert list(document["models"]) == ["bpr-mf", "bbpr-mf", "popularity", "itemknn", "ease"]
    for values in document["models"].values():
        for metric in ("recall@10", "recall@20", "ndcg@20", "ndcg_ngcf@20", "coverage@20"):
            assert len(values[metric]) == 2
            assert 0.0 <= min(values[metric]) <= max(values[metric]) <= 1.0
    assert document["models"]["bpr-mf"]["recall@20"][0] > 0.3
    assert set(document["removed_fraction"]) <= {0.05, 0.2}
    assert len(document["overlap_test"]) == 2
    assert document["mask"] == ["train"]
    assert document["split"] == {"train": 3802, "validation": 678, "test": 1248}
    assert 0.0 <= document["comparisons"]["bbpr-mf"]["p_value"][0] <= 1.0
    kept = json.loads((tmp_path / "results.json").read_text())
    assert kept["models"] == document["models"]
    rows = (tmp_path / "users.csv").read_text().splitlines()
    assert rows[0].startswith("seed,model,user,recall@10")
    assert len(rows) == 1 + 2 * 5 * 240


def test_the_summary_says_what_was_removed(program) -> None:
    done = program("recommend", "planted", "--model", "bpr-mf", "--epochs", 5)
    assert done.code == 0, done.err
    assert "bbpr-mf" in done.out
    assert "of the pairs" in done.out
    assert "masked: train" in done.out


def test_a_model_without_negatives_has_no_bayesian_version(program) -> None:
    document = json.loads(program("recommend", "planted", "--model", "ease", "--json").out)
    assert list(document["models"]) == ["ease"]
    assert document["removed_fraction"] is None
    assert document["overlap_test"] is None


def test_recommendations_for_ones_own_users(program, ratings: Path, tmp_path: Path) -> None:
    out, folder = tmp_path / "recommendations.csv", tmp_path / "model"
    done = program(
        "recommend", "--interactions", ratings, "--user", "user_id", "--item", "item_id",
        "--rating", "stars", "--min-rating", 4, "-k", 3, "--model", "bbpr-mf", "--epochs", 200,
        "--out", out, "--save", folder, "--json", "--quiet",
    )  # fmt: skip
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert document["statistics"]["users"] == 60
    assert document["removed_fraction"] in (0.01, 0.02, 0.05, 0.1, 0.2)
    with out.open() as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == document["recommendations"] == 180
    assert list(rows[0]) == ["user", "rank", "item", "score", "probability", "popular"]
    assert [row["rank"] for row in rows[:3]] == ["1", "2", "3"]
    same = [int(row["user"][1:]) % 3 == int(row["item"][1:]) % 3 for row in rows]
    assert np.mean(same) > 0.6
    loaded = BayesianRecommender.load(folder)
    again = loaded.recommend([rows[0]["user"]], k=3)
    assert again["item"].tolist() == [row["item"] for row in rows[:3]]


def test_summary_of_ones_own_file(program, ratings: Path, tmp_path: Path) -> None:
    done = program(
        "recommend", "--interactions", ratings, "--model", "itemknn", "--min-per-user", 2,
        "--min-per-item", 2, "--out", tmp_path / "r.csv",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "10 items for each of 60 users with itemknn" in done.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "nothing to learn from"),
        (["planted", "--interactions", "x.csv"], "Give one of them"),
        (["planted", "--model", "ngfc"], "Did you mean 'ngcf'?"),
        (["planted", "--model", "bngcf"], "no model is called 'bngcf'"),
        (["planted", "-k", "3"], "-k does not go with a data set's name"),
        (["planted", "--model", "ease", "--epochs", "3"], "--epochs does not go with --model ease"),
        (["planted", "--fractions", "2"], "must lie between 0 and 1"),
        (["planted", "--fractions", "a"], "must be numbers"),
        (["planted", "--mask", "test"], "--mask 'test'"),
        (["ml100"], "Did you mean 'ml100k'?"),
        (["ml100k"], "set TRUEGRAPH_DATA"),
        (["--interactions", "none.csv"], "--out is missing"),
        (["--interactions", "none.csv", "--out", "r.csv"], "no such file"),
        (["--interactions", "x.csv", "--trials", "2"], "--trials does not go with a file"),
        (["--interactions", "x.csv", "--min-rating", "4"], "--min-rating needs --rating"),
        (["--interactions", "x.csv", "--out", "r.txt"], "Let the name end in .csv"),
    ],
)
def test_wrong_usage(program, arguments: list[str], message: str) -> None:
    done = program("recommend", *arguments)
    assert done.code == 2
    assert message in done.err


def test_too_high_thresholds_leave_nothing(program, ratings: Path, tmp_path: Path) -> None:
    done = program(
        "recommend", "--interactions", ratings, "--min-per-user", 1000, "--out", tmp_path / "r.csv"
    )
    assert done.code == 2
    assert "no interactions are left" in done.err
