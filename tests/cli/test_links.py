"""``truegraph links``: one's own files, reasons and bounds, wrong usage told."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

COLUMNS = ["source", "target", "probability", "uncertainty"]
COLUMNS += ["common_neighbours", "through", "shared_features"]


@pytest.fixture(autouse=True)
def files(people: Path) -> Path:
    return people


def test_own_files(program) -> None:
    table = pd.read_csv("features.csv")
    table.assign(town=["Rome", "Oslo", "Lima"] * 20).to_csv("features.csv", index=False)
    words = ("--edges", "edges.csv", "--features", "features.csv", "--top", 20)
    done = program("links", *words, "--out", "new/l.csv", "--out", "page.html")
    assert done.code == 0, done.err
    table = pd.read_csv("new/l.csv")
    assert list(table.columns) == COLUMNS
    assert len(table) == 20
    assert table["probability"].is_monotonic_decreasing
    assert table["through"].dropna().str.split("; ").explode().str.startswith("person ").all()
    kinds = table[["source", "target"]].apply(
        lambda column: column.str.removeprefix("person ").astype(int) % 3
    )
    assert (kinds["source"] == kinds["target"]).mean() > 0.8
    known = set(pd.read_csv("edges.csv").itertuples(index=False, name=None))
    pairs = set(table[["source", "target"]].itertuples(index=False, name=None))
    assert not known & pairs
    assert not known & {pair[::-1] for pair in pairs}
    assert "Suggested 20 links for 60 nodes" in done.out
    assert "% of these 20 suggestions are links (" in done.out
    page = Path("page.html").read_text()
    for text in ("through", "shared features", "rests on", "No warnings."):
        assert text in page


def test_partners_of_one_node(program) -> None:
    given = ("links", "--edges", "edges.csv", "--top", 5, "--out", "l.csv")
    done = program(*given, "--node", "person 7", "--model", "adamic-adar", "--save", "model")
    assert done.code == 0, done.err
    table = pd.read_csv("l.csv")
    assert table["source"].tolist() == ["person 7"] * 5
    assert table["target"].is_unique
    assert Path("model/model.npz").exists()
    done = program(*given, "--node", "person 700")
    assert (done.code, "no node has this name" in done.err) == (2, True)


def test_few_false_suggestions(program) -> None:
    given = ("links", "--edges", "edges.csv", "--option", "missing=0.5", "--quiet")
    assert program(*given, "--out", "few.csv", "--false-share", 0.3).code == 0
    assert program(*given, "--out", "all.csv").code == 0
    few, everything = pd.read_csv("few.csv"), pd.read_csv("all.csv")
    assert 0 < len(few) < len(everything)
    assert few.equals(everything.head(len(few)))
    done = program("links", "--edges", "edges.csv", "--out", "none.csv", "--false-share", 0.001)
    assert done.code == 0, done.err
    assert "Warning: no list of suggestions" in done.err
    assert "1 warning" in Path("none.html").read_text()


OUT = ["--edges", "edges.csv", "--out", "l.csv"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "nothing to learn from"),
        ([*OUT, "--model", "vgea"], "Did you mean 'vgae'"),
        ([*OUT, "--option", "foldz=3"], "foldz"),
        (["cora"], "use: truegraph compare links cora --models vgae,bvgae,auto"),
        (["--edges", "edges.csv"], "--out is missing"),
        (["--edges", "edges.csv", "--out", "edges.csv"], "would overwrite INPUT"),
        ([*OUT, "--trials", "3"], "--trials"),
        ([*OUT, "--option", "missing=2"], "between 0 and 1"),
        ([*OUT, "--false-share", "2"], "between 0 and 1"),
        ([*OUT, "--false-share", ".1", "--node", "a"], "remove it or --node"),
        ([*OUT, "--ends", "source"], "must name two columns"),
        (["--edges", "none.csv", "--out", "l.csv"], "none.csv"),
    ],
)
def test_bad_usage_is_named(program, arguments: list[str], message: str) -> None:
    done = program("links", *arguments)
    assert done.code == 2, done.err
    assert message in done.err
    assert not done.out
