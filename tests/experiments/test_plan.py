"""Batches: small enough to keep every worker busy, ordered so that models can be compared."""

from __future__ import annotations

from truegraph.experiments import Cell, Source, find_task
from truegraph.experiments.plan import Share, batches

TASK = find_task("classification")
SOURCE = Source("f", "s")


def share(model: str, trials: int, labels: int = 5, dataset: str = "cora") -> Share:
    cell = Cell("classification", dataset, model, model, {}, {"labels": labels})
    return Share(cell, SOURCE, tuple(range(trials)))


def sizes(shares: list[Share], **options: int) -> list[int]:
    return [len(batch.seeds) for batch in batches(shares, TASK, **options)]


def test_every_trial_is_in_one_batch() -> None:
    found = batches([share("gcn", 50), share("bgcn", 50)], TASK, slots=2)
    for model in ("gcn", "bgcn"):
        seeds = [seed for b in found if b.cell.model == model for seed in b.seeds]
        assert seeds == list(range(50))


def test_sizes() -> None:
    assert sizes([share("gcn", 50)], slots=1) == [8] * 6 + [2]
    assert sizes([share("bgcn", 9, dataset="pubmed")], slots=1) == [4, 4, 1]
    assert sizes([share("gcn", 6)], slots=2) == [3, 3]  # nobody is idle
    assert sizes([share("gcn", 3)], slots=8) == [1, 1, 1]
    assert sizes([share("gcn", 5)], slots=1, largest=2) == [2, 2, 1]
    assert sizes([share("gcn", 0)], slots=2) == []


def test_order() -> None:
    shares = [share("gcn", 4), share("bgcn", 4), share("gcn", 4, labels=10)]
    found = batches(shares, TASK, slots=1, largest=2)
    assert [(b.cell.conditions["labels"], b.seeds[0], b.cell.model) for b in found] == [
        (5, 0, "gcn"),
        (5, 0, "bgcn"),
        (5, 2, "gcn"),
        (5, 2, "bgcn"),
        (10, 0, "gcn"),
        (10, 2, "gcn"),
    ]
