"""The paper's figures are found where the paper prints them, and nowhere else."""

from __future__ import annotations

import pytest

from truegraph.report.paper import (
    PaperFigure,
    paper_tables,
    printed,
    put_forward,
    rivals,
)

RANDOM = {"labels": 5, "split": "random"}


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        (
            ("classification", "citeseer", "bgcn", RANDOM, "accuracy"),
            PaperFigure(0.649, 0.046, True),
        ),
        (
            ("classification", "cora", "sbm-gcn", RANDOM, "accuracy"),
            PaperFigure(0.46, 0.19, False),
        ),
        (
            ("classification", "pubmed", "gat", {"labels": 10, "split": "fixed"}, "accuracy"),
            PaperFigure(0.716, 0.009, False),
        ),
        (("links", "citeseer", "bdglfrm", {}, "ap"), PaperFigure(0.947, 0.007, True)),
        (("links", "pubmed", "vgae", {}, "auc"), PaperFigure(0.945, 0.007, False)),
        (
            ("recommendation", "amazon_books", "bngcf", {}, "ndcg_ngcf@20"),
            PaperFigure(0.196, None, True),
        ),
        (
            ("recommendation", "ml100k", "bngcf", {}, "overlap_test"),
            PaperFigure(0.621, None, False),
        ),
        (("datasets", "pubmed", "data", {}, "edges"), PaperFigure(44324, None, False)),
        (("datasets", "cora", "data", {}, "density"), PaperFigure(0.0004, None, False)),
        (("datasets", "yelp2018", "data", {}, "users"), PaperFigure(2799, None, False)),
    ],
)
def test_figures_as_printed(place: tuple, expected: PaperFigure) -> None:
    assert printed(*place) == expected


@pytest.mark.parametrize(
    "place",
    [
        ("classification", "pubmed", "dfnet-att", RANDOM, "accuracy"),  # left out by the paper
        ("classification", "cora", "gcn", {"labels": 5}, "accuracy"),  # of which split?
        ("classification", "cora", "gcn", RANDOM | {"labels": 6}, "accuracy"),
        ("classification", "cora", "gcn", RANDOM, "brier_score"),
        ("classification", "citation", "gcn", RANDOM, "accuracy"),
        ("links", "cora", "adamic-adar", {}, "auc"),
        ("unheard of", "cora", "gcn", {}, "accuracy"),
    ],
)
def test_nothing_where_the_paper_prints_nothing(place: tuple) -> None:
    assert printed(*place) is None


def test_further_conditions_do_not_matter() -> None:
    found = printed("classification", "cora", "gcn", RANDOM | {"component": "full"}, "accuracy")
    assert found is not None
    assert found.mean == 0.7


@pytest.mark.parametrize(
    ("task", "figures", "bold"),
    [("classification", 60 + 54, 5 + 9), ("links", 60, 20), ("recommendation", 64 + 8, 15)],
)
def test_nothing_is_left_out(task: str, figures: int, bold: int) -> None:
    found = [figure for table in paper_tables(task) for _, figure in table.figures]
    assert len(found) == figures
    assert sum(figure.bold for figure in found) == bold


def test_every_place_is_named_once() -> None:
    for task in ("classification", "links", "recommendation", "datasets"):
        places = [tuple(sorted(p.items())) for t in paper_tables(task) for p, _ in t.figures]
        assert len(set(places)) == len(places)


def test_who_is_compared_with_whom() -> None:
    assert put_forward("classification") == "bgcn"
    assert put_forward("links") is None
    assert rivals("classification") == {}
    assert rivals("links")["bgraphite-vae"] == "graphite-vae"
    assert rivals("recommendation") == {"bmgccf": "mgccf", "bngcf": "ngcf"}
