"""``truegraph recommend``: one's own file served, wrong usage told."""

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
        (["--interactions", "x.csv", "--model", "ngfc"], "Did you mean 'ngcf'?"),
        (["--interactions", "x.csv", "--model", "ease", "--epochs", "3"], "ease is not trained"),
        (["--interactions", "x.csv", "--fractions", "0.1"], "is an option of the Bayesian"),
        (["--interactions", "x.csv", "--model", "bngcf", "--fractions", "2"], "between 0 and 1"),
        (["--interactions", "x.csv", "--model", "bngcf", "--fractions", "a"], "must be numbers"),
        (["ml100k"], "use: truegraph compare recommend ml100k --models ngcf,bngcf"),
        (["--interactions", "none.csv"], "--out is missing"),
        (["--interactions", "none.csv", "--out", "r.csv"], "no such file"),
        (["--interactions", "x.csv", "--trials", "2"], "no option '--trials'"),
        (["--interactions", "x.csv", "--min-rating", "4"], "--min-rating needs --rating"),
        (["--interactions", "x.csv", "--out", "r.txt"], "let the name end in .csv"),
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


def test_the_default_chooses_by_time_and_says_what(program, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [
        (f"u{user}", f"i{item}", int(rng.integers(1, 6)), int(rng.integers(1000)))
        for user in range(40)
        for item in range(30)
        if (user - item) % 3 == 0 and rng.random() < 0.7
    ]
    file = tmp_path / "timed.csv"
    lines = ["user,item,rating,at", *(",".join(map(str, row)) for row in rows)]
    file.write_text("\n".join(lines) + "\n")
    done = program(
        "recommend", "--interactions", file, "--time", "at", "--out", tmp_path / "r.csv", "--json",
        "--quiet",
    )  # fmt: skip
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert document["model"] == "refined"
    assert document["chosen"]["graph"] == "map"
    assert document["fitted_to"].startswith("all interactions")
    assert document["validation_recall@20"] > 0.3
    assert any("'rating' was not read" in note for note in document["notes"])
    page = Path(document["report"]).read_text()
    for heading in ("Because they took", "How probable", "The learned graph of the items"):
        assert heading in page


def test_sets_that_hold_the_next_item(program, ratings: Path, tmp_path: Path) -> None:
    given = ("recommend", "--interactions", ratings, "--model", "ease", "--out", tmp_path / "r.csv")
    done = program(*given, "--coverage", 0.8, "--json", "--quiet")
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert document["coverage"] == 0.8
    assert document["recommendations"] <= 60 * document["k"]
    shown = program(*given, "--coverage", 0.8)
    assert "hold the next item of 80% of the users" in shown.out
    assert program(*given, "--coverage", 1.5).code == 2
