"""Parts of the page for recommendation: tests over users, removed pairs, training curves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from truegraph.data.storage import read_npz
from truegraph.evaluation import paired_wilcoxon
from truegraph.experiments.store import TrialRecord
from truegraph.report.page import Panel, Part, Picture
from truegraph.report.plots.training import training_curves
from truegraph.report.runs import Run
from truegraph.report.tables import Entry, Table
from truegraph.wording import counted

_LOOKS = {"validation_recall": "validation recall@20 %", "test_recall": "test recall@20 %"}


def recommendation_parts(run: Run) -> Iterator[Part]:
    """Yield what the trials of recommenders hold beside their metrics."""
    tested = [record for record in run.done if "against_base" in record.details]
    if tested:
        yield _tests(tested)
        yield _removed(tested)
    kept = [record for record in run.done if "users_file" in record.details]
    compared = run.experiment.compare
    if compared is not None and any(record.label == compared for record in kept):
        yield _user_tests(run, compared, kept)
    with_curve = [record for record in run.done if "curve" in record.details.get("training", {})]
    panels = list(_curves(run, with_curve))
    if panels:
        yield Picture(
            heading="Continued training",
            caption="All models go on from the same base model, which is epoch 0. A dot marks the "
            "epoch that was kept, the best on the validation interactions. Test recall was "
            "recorded and not used.",
            panels=panels,
        )


def _user_tests(run: Run, compared: str, records: Sequence[TrialRecord]) -> Table:
    """Test one model against each other, user by user, over the seeds that both have."""
    kept: dict[tuple[str, str], dict[int, dict[str, np.ndarray]]] = {}
    for record in records:
        arrays = read_npz(run.folder / record.details["users_file"])
        kept.setdefault((record.dataset, record.label), {})[record.seed] = arrays
    rows: list[list[str | Entry]] = [
        ["data set", "against", "metric", "seeds", "users", "difference", "p"]
    ]
    for (dataset, label), theirs in kept.items():
        ours = kept.get((dataset, compared), {})
        seeds = sorted(set(ours) & set(theirs))
        if label == compared or not seeds:
            continue
        for metric in ("recall@20", "ndcg@20"):
            gains = _mean_gain([(ours[seed], theirs[seed]) for seed in seeds], metric)
            test = paired_wilcoxon(gains, np.zeros(len(gains)))
            difference, p = f"{100 * test.mean_difference:+.2f}", f"{test.p_value:.2g}"
            users = f"{len(gains):,}"
            rows.append([dataset, label, metric, str(len(seeds)), users, difference, p])
    caption = (
        f"{compared} less each other model, in points: the mean over users of a user's mean over "
        "the seeds that both have, and the p-value of Wilcoxon's signed-rank test over the users, "
        "two-sided."
    )
    return Table(f"{compared} against each other model, user by user", caption, rows)


def _mean_gain(
    pairs: Sequence[tuple[dict[str, np.ndarray], dict[str, np.ndarray]]], metric: str
) -> np.ndarray:
    """Return the mean difference of every user who has held-out items in all trials."""
    users = pairs[0][0]["users"]
    for ours, theirs in pairs:
        users = np.intersect1d(np.intersect1d(users, ours["users"]), theirs["users"])
    gains = [
        ours[metric][np.searchsorted(ours["users"], users)]
        - theirs[metric][np.searchsorted(theirs["users"], users)]
        for ours, theirs in pairs
    ]
    mean: np.ndarray = np.mean(gains, axis=0)
    return mean


def _tests(records: Sequence[TrialRecord]) -> Table:
    rows: list[list[str | Entry]] = [["data set", "seed", "model", "metric", "difference", "p"]]
    for record in records:
        for metric, test in record.details["against_base"].items():
            rows.append(
                [
                    record.dataset,
                    str(record.seed),
                    record.label,
                    metric,
                    f"{100 * test['mean_difference']:+.2f}",
                    f"{test['p_value']:.2g}",
                ]
            )
    caption = (
        "The Bayesian model less its base, trained on as long with the original negatives: mean "
        "over the users of a trial, in points, and the p-value of Wilcoxon's signed-rank test over "
        "these users, two-sided."
    )
    return Table("Bayesian models against their bases, user by user", caption, rows)


def _removed(records: Sequence[TrialRecord]) -> Table:
    heading = ["data set", "seed", "model", "pairs removed %", "pairs removed", "test pairs among"]
    rows: list[list[str | Entry]] = [
        [*heading, "validation pairs among", "held out %", "edges of the graph", "rank correlation"]
    ]
    for record in records:
        removed, graph = record.details["removed"], record.details["learned_graph"]
        correlation = graph["rank_correlation"]
        rows.append(
            [
                record.dataset,
                str(record.seed),
                record.label,
                f"{100 * removed['fraction']:g}",
                f"{removed['pairs']:,}",
                _percent(record.metrics.get("overlap_test")),
                _percent(record.metrics.get("overlap_validation")),
                _percent(record.metrics.get("removal_precision")),
                f"{graph['edges']:,}",
                "" if correlation is None else f"{correlation:.2f}",
            ]
        )
    caption = (
        "What the learned graph took out of the negatives: the share of all pairs chosen on the "
        "validation interactions, how many pairs that is without training pairs, the share of "
        "test and of validation pairs among them in per cent, and the share of them that is held "
        "out. The rank correlation is that of the learned weights with closeness."
    )
    return Table("Pairs taken out of the negatives", caption, rows)


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f}"


def _curves(run: Run, records: Sequence[TrialRecord]) -> Iterator[Panel]:
    groups: dict[tuple[str, int], list[TrialRecord]] = {}
    for record in records:
        groups.setdefault((record.dataset, record.seed), []).append(record)
    for (dataset, seed), members in groups.items():
        for look, metric in _LOOKS.items():
            trained: dict[str, Any] = {r.label: r.details["training"] for r in members}
            curves = {
                label: (facts["curve"]["epoch"], 100.0 * np.array(facts["curve"][look]))
                for label, facts in trained.items()
            }
            best = {label: facts["best_epoch"] + 1 for label, facts in trained.items()}
            title = f"{dataset}, seed {seed}"
            figure = training_curves(
                curves, best=best, metric=metric, title=title, order=run.labels
            )
            told = "; ".join(
                f"{label}: {counted(len(values) - 1, 'epoch')}, highest {np.max(values):.1f}, last "
                f"{values[-1]:.1f}, kept epoch {best[label]}"
                for label, (_, values) in curves.items()
            )
            yield Panel(figure, f"{title}: {metric} against the epoch. {told}.")
