"""``truegraph links``: usage, and one's own files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from truegraph.tasks.links.names import AUTO_ENCODERS


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three groups that edges and features tell apart."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRUEGRAPH_CACHE", str(tmp_path / "cache"))
    rng = np.random.default_rng(0)
    kind = np.arange(60) % 3
    names = np.array([f"person {i}" for i in range(60)])
    points = pd.DataFrame(3 * np.eye(3)[kind] + 0.5 * rng.random((60, 3)))
    points.insert(0, "id", names)
    points.to_csv("features.csv", index=False)
    chance = np.where(kind[:, None] == kind, 0.3, 0.01)
    first, second = np.nonzero(np.triu(rng.random((60, 60)) < chance, k=1))
    pd.DataFrame({"source": names[first], "target": names[second]}).to_csv("edges.csv", index=False)
    return tmp_path


@pytest.mark.parametrize("files", [["--edges", "edges.csv", "--features", "features.csv"], None])
def test_own_files(program, people: Path, files: list[str] | None) -> None:
    done = program("links", *(files or ["--edges", "edges.csv"]), "--top", 20, "--out", "new/l.csv")
    assert done.code == 0, done.err
    table = pd.read_csv("new/l.csv")
    reasons = ["common_neighbours", "through", "shared_features", "slack"]
    assert list(table.columns) == ["source", "target", "probability", "uncertainty", *reasons]
    shared = table["through"].dropna().str.split("; ").explode()
    assert shared.str.startswith("person ").all()
    assert len(table) == 20
    assert table["probability"].is_monotonic_decreasing
    assert table["probability"].between(0, 1).all()
    assert (table["uncertainty"] >= 0).all()
    numbers = table[["source", "target"]].apply(
        lambda column: column.str.removeprefix("person ").astype(int)
    )
    same = numbers["source"] % 3 == numbers["target"] % 3
    assert same.mean() > 0.8
    known = set(pd.read_csv("edges.csv").itertuples(index=False, name=None))
    for pair in table[["source", "target"]].itertuples(index=False, name=None):
        assert pair not in known
        assert pair[::-1] not in known
    assert "Suggested 20 links for 60 nodes" in done.out
    assert "pairs: up to" in done.out
    assert ("eigenvectors" in done.out) == (files is None)


def test_the_page_says_why(program, people: Path) -> None:
    given = ("--edges", "edges.csv", "--top", 30, "--out", "l.csv", "--report", "page.html")
    table = pd.read_csv("features.csv")
    table.assign(town=["Rome", "Oslo", "Lima"] * 20).to_csv("features.csv", index=False)
    assert program("links", *given, "--features", "features.csv").code == 0
    page = Path("page.html").read_text()
    for heading in ("common neighbours", "through", "shared features", "slack"):
        assert f">{heading}<" in page
    assert pd.read_csv("l.csv")["through"].dropna().iloc[0] in page
    assert "searched" in page
    assert program("links", *given, "--model", "katz").code == 0
    page = Path("page.html").read_text()
    assert ">common neighbours<" in page
    assert ">shared features<" not in page
    assert ">slack<" not in page


def test_partners_of_one_node(program, people: Path) -> None:
    given = ("links", "--edges", "edges.csv", "--top", 5, "--out", "l.csv")
    done = program(*given, "--node", "person 7")
    assert done.code == 0, done.err
    table = pd.read_csv("l.csv")
    assert table["source"].tolist() == ["person 7"] * 5
    assert table["target"].is_unique
    done = program(*given, "--node", "person 700")
    assert done.code == 2
    assert "--node person 700: no node has this name" in done.err


def test_own_files_as_json_and_a_base_model(program, people: Path) -> None:
    done = program(
        *("links", "--edges", "edges.csv", "--model", "gae", "--missing", 0.2),
        *("--top", 3, "--out", "l.csv", "--json", "--quiet"),
    )
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert document["model"] == "gae"
    assert document["missing"] == 0.2
    assert document["suggested"] == 3
    assert document["learned_edges"] is None
    assert document["mean_uncertainty"] > 0.0  # of the count of right suggestions
    assert document["searched"].startswith("all ")
    assert done.err == ""


@pytest.mark.parametrize("model", ["refined", "adamic-adar"])
def test_what_is_missing_moves_probabilities_but_not_the_links(
    program, people: Path, model: str
) -> None:
    tables = []
    for missing in ((), ("--missing", 0.15)):
        given = ("--edges", "edges.csv", "--model", model, *missing, "--out", "l.csv")
        assert program("links", *given).code == 0
        tables.append(pd.read_csv("l.csv"))
    assert (tables[0]["source"] == tables[1]["source"]).all()
    first, second = (table["probability"] for table in tables)
    assert (first <= second).all()
    assert (first < second).any()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "nothing to learn from"),
        (["--features", "features.csv"], "nothing to learn from"),
        (["--edges", "edges.csv", "--model", "vgea"], "Did you mean 'vgae'"),
        (["--edges", "edges.csv", "--degree", "3"], "such as bvgae"),
        (
            ["--edges", "edges.csv", "--model", "bvgae", "--degree", "-1"],
            "must be a finite number above 0",
        ),
        (
            ["--edges", "edges.csv", "--model", "bvgae", "--decoder-target", "both"],
            "must be one of combined, observed",
        ),
        (["cora"], "use: truegraph compare links cora --models vgae,bvgae"),
        (["cora", "--model", "vgae", "--trials", "3"], "truegraph compare links cora --trials 3"),
        (["--edges", "edges.csv"], "--out is missing"),
        (["--edges", "edges.csv", "--out", "l.txt"], "let the name end in .csv"),
        (["--edges", "edges.csv", "--out", "edges.csv"], "would overwrite INPUT"),
        (["--edges", "edges.csv", "--out", "l.csv", "--trials", "3"], "no option '--trials'"),
        (["--edges", "edges.csv", "--out", "l.csv", "--model", "gae,vgae"], "names 2 models"),
        (["--edges", "edges.csv", "--out", "l.csv", "--model", "pagerank"], "no model is called"),
        (["--edges", "edges.csv", "--out", "l.csv", "--missing", "2"], "between 0 and 1"),
        (["--edges", "edges.csv", "--out", "l.csv", "--false-share", "2"], "between 0 and 1"),
        (
            ["--edges", "edges.csv", "--out", "l.csv", "--false-share", ".1", "--node", "a"],
            "remove it or --node",
        ),
        (["--edges", "none.csv", "--out", "l.csv"], "none.csv"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_usage_is_named(program, people: Path, arguments: list[str], message: str) -> None:
    done = program("links", *arguments)
    assert done.code == 2, done.err
    assert message in done.err
    assert "Traceback" not in done.err


def test_too_small_and_too_dense_graphs_are_refused(program, people: Path) -> None:
    pd.DataFrame({"source": ["a", "b"], "target": ["b", "c"]}).to_csv("tiny.csv", index=False)
    done = program("links", "--edges", "tiny.csv", "--out", "l.csv")
    assert (done.code, "too few to learn from" in done.err) == (2, True)
    names = [f"n{i}" for i in range(12)]
    pairs = [(a, b) for i, a in enumerate(names) for b in names[:i]]
    pd.DataFrame(pairs, columns=["source", "target"]).to_csv("full.csv", index=False)
    done = program("links", "--edges", "full.csv", "--out", "l.csv")
    assert (done.code, "pairs without a link" in done.err) == (2, True)


def test_help_names_the_models(program) -> None:
    text = program("links", "--help").out
    assert all(name in text for name in AUTO_ENCODERS)


def test_few_false_suggestions(program, people: Path) -> None:
    given = ("links", "--edges", "edges.csv", "--missing", 0.5, "--json", "--quiet")
    done = program(*given, "--out", "few.csv", "--false-share", 0.3)
    assert done.code == 0, done.err
    assert json.loads(done.out)["false_share"] == 0.3
    assert program(*given, "--out", "all.csv").code == 0
    few, everything = pd.read_csv("few.csv"), pd.read_csv("all.csv")
    assert 0 < len(few) < len(everything)
    assert few.equals(everything.head(len(few)))
    done = program("links", "--edges", "edges.csv", "--out", "none.csv", "--false-share", 0.001)
    assert done.code == 0, done.err
    assert "Suggested 0 links" in done.out
    assert "at most 0% of these" in done.out
    assert "Warning: no list of suggestions has a share of false ones bounded by 0.001" in done.err
    assert "Nothing looks bad" not in Path("none.html").read_text()
