"""``truegraph recommend``: one's own file served, wrong usage told."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from truegraph import Recommender
from truegraph.data.interaction_sets import planted_interactions


@pytest.fixture(scope="module")
def ratings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of ratings: likes are 4 or 5, a few dislikes 1."""
    data, _ = planted_interactions(60, 48, 3, observed_share=0.5, random_state=0)
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("ratings") / "ratings.csv"
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["user_id", "item_id", "stars", "day"])
        for user, item in zip(data.users, data.items, strict=True):
            day = f"2022-01-{rng.integers(1, 29):02} 18:00"
            writer.writerow([f"u{user}", f"i{item}", rng.integers(4, 6), day])
        for user in range(60):
            writer.writerow([f"u{user}", f"i{(user + 1) % 48}", 1, "2022-02-01 09:30"])
    return path


def test_recommendations_for_ones_own_users(program, ratings: Path) -> None:
    done = program(
        *("recommend", "--interactions", ratings, "--user", "user_id", "--item", "item_id"),
        *("--rating", "stars=4", "--time", "day", "-k", 3, "--model", "ease"),
        *("--out", "r.csv", "--save", "model"),
    )
    assert done.code == 0, done.err
    table = pd.read_csv("r.csv")
    assert list(table.columns) == ["user", "rank", "item", "score", "probability", "popular"]
    assert table["rank"].tolist() == [1, 2, 3] * 60
    same = table["user"].str[1:].astype(int) % 3 == table["item"].str[1:].astype(int) % 3
    assert same.mean() > 0.6
    again = Recommender.load("model").recommend(["u0"], k=3)
    assert again["item"].tolist() == table[table["user"] == "u0"]["item"].tolist()
    assert "3 items for each of 60 users with ease" in done.out
    assert "of the listed items are taken next" in done.out


def test_the_default_says_what_it_chose(program, ratings: Path) -> None:
    words = ["--out", "r.csv", "--out", "page.html", "--json", "--quiet"]
    done = program("recommend", "--interactions", ratings, *words)
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert (document["model"], document["statistics"]["users"]) == ("auto", 60)
    assert document["validation_recall@20"] > 0.3
    page = Path("page.html").read_text()
    assert document["chosen"]["model"] in page
    for text in ("Because they took", "How probable", "rests on", "No warnings."):
        assert text in page


def test_sets_that_hold_the_next_item(program, ratings: Path) -> None:
    given = ("recommend", "--interactions", ratings, "--model", "ease", "--out", "r.csv")
    done = program(*given, "--coverage", 0.8, "--json", "--quiet")
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert document["coverage"] == 0.8
    assert document["recommendations"] <= 60 * document["k"]


def test_new_items_and_users_are_placed_by_their_features(program, ratings: Path) -> None:
    """Numbers as ids: text in the interactions, and in the tables of features."""
    pairs = pd.read_csv(ratings).query("stars > 1")
    ids = {"user": pairs["user_id"].str[1:], "item": pairs["item_id"].str[1:]}
    pd.DataFrame(ids).to_csv("pairs.csv", index=False)
    for what, known, new in (("item", 48, 54), ("user", 60, 63)):
        number = np.arange(new)
        kind = [f"kind {one % 3}" for one in number]
        table = pd.DataFrame({what: number, "kind": kind, "size": 10.0 * (number % 3)})
        table.to_csv(f"{what}s.csv", index=False)
        assert known < new
    done = program(
        *("recommend", "--interactions", "pairs.csv", "--items", "items.csv"),
        *("--users", "users.csv", "--model", "graph-ease", "-k", 30, "--out", "r.csv"),
        *("--out", "page.html", "--json", "--quiet", "--save", "model"),
    )
    assert done.code == 0, done.err
    document = json.loads(done.out)
    table = pd.read_csv("r.csv")
    assert document["files"]["items"] == "items.csv"
    assert "Because they took" in Path("page.html").read_text()
    assert document["new_items"] == table["new"].sum() > 0
    assert set(table.loc[table["new"], "item"]) <= set(range(48, 54))
    placed = table[(table["user"] >= 60) & (table["rank"] <= 5)]
    assert not placed["popular"].any()
    assert (placed["user"] % 3 == placed["item"] % 3).mean() > 0.9
    more = pd.DataFrame({"item": ["99"], "kind": ["kind 1"], "size": [10.0]})
    later = Recommender.load("model").add_items(more).recommend(["1"], k=1, only=["99"])
    assert later["new"].all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "nothing to learn from"),
        (["--interactions", "x.csv", "--out", "r.csv", "--model", "ngfc"], "mean 'ngcf'?"),
        (["ml100k"], "use: truegraph compare recommend ml100k --models ease,auto"),
        (["--interactions", "none.csv"], "--out is missing"),
        (["--interactions", "none.csv", "--out", "r.csv"], "no such file"),
        (["--interactions", "x.csv", "--trials", "2"], "--trials"),
        (["--interactions", "x.csv", "--out", "r.csv", "--rating", "stars"], "such as stars=4"),
        (["--interactions", "x.csv", "--out", "r.csv", "--coverage", "2"], "must be a share"),
        (["--interactions", "x.csv", "--out", "r.txt"], "let the name end in .csv"),
    ],
)
def test_wrong_usage(program, arguments: list[str], message: str) -> None:
    done = program("recommend", *arguments)
    assert done.code == 2
    assert message in done.err
