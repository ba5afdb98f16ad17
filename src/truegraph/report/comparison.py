"""The page of a comparison: which model is best, by how much, and whether that is chance."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from truegraph.errors import InputError
from truegraph.report.page import Entry, Part, facts, first_rows, notes, page_html, picture, table
from truegraph.report.plots import paired_differences, reliability
from truegraph.wording import alike_once, counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from truegraph.comparison import Comparison
    from truegraph.runner import Record


_ERROR = "expected_calibration_error"


def comparison_page(found: Comparison) -> str:
    """Return the page of a comparison, the answer first, as HTML."""
    return page_html(_title(found), found.conclusion, list(_parts(found)))


def _title(found: Comparison) -> str:
    return f"{found.task} on {found.name}: {', '.join(found.models)}"


def _parts(found: Comparison) -> Iterator[Part]:
    failed = found.outcome.failed
    if failed:
        rows = [[record["model"], str(record["seed"]), record["error"]] for record in failed]
        caption = "No table counts them. The same command tries them again."
        heading = f"{counted(len(failed), 'trial')} failed"
        yield table(heading, caption, [["model", "seed", "error"], *rows], alarm=True)
    if found.leader is None:
        return
    caption = (
        f"Mean ± standard deviation over {counted(len(found.seeds), 'split')}, the same for all "
        "models. Bold: the best mean."
    )
    yield table("Models", caption, metrics_rows(found))
    if found.tests:
        yield _tests(found)
    yield from _pictures(found)
    never = found.never_right() if found.task == "classify" else pd.DataFrame()
    if len(never):
        yield first_rows(
            "Nodes that no model ever got right",
            "Check their labels: every model was wrong about them in every split that tested "
            "them. Predicted is the most frequent prediction.",
            never,
        )
    yield facts("Data and settings", _facts(found))
    if found.notes:
        yield notes("Notes", alike_once(found.notes))


def metrics_rows(found: Comparison, wanted: Sequence[str] | None = None) -> list[list[Entry]]:
    """Return the means over the trials, the best ones bold; of all metrics or some."""
    names = [name for name in wanted or found.metrics if found.means(name)]
    best = {name: _best(found, name) for name in names}
    heads = ["model", "trials", *(found.metrics[name].heading for name in names)]
    rows = [[Entry(head) for head in heads]]
    for model in found.models:
        count = len(found.records(model))
        cells = [_mean(found, model, name, model in best[name]) for name in names]
        rows.append([Entry(model), Entry(str(count), float(count)), *cells])
    return rows


def _mean(found: Comparison, model: str, name: str, is_best: bool) -> Entry:
    metric, summary = found.metrics[name], found.summary(model, name)
    if summary is None:
        return Entry("-")
    spread = f" ± {metric.shown(summary.std)}" if summary.n > 1 else ""
    return Entry(f"{metric.shown(summary.mean)}{spread}", summary.mean, is_best)


def _best(found: Comparison, name: str) -> list[str]:
    better, means = found.metrics[name].better, found.means(name)
    if better == "neither" or len(means) < 2:
        return []
    end = (max if better == "higher" else min)(means.values())
    return [model for model, mean in means.items() if mean == end]


def _tests(found: Comparison) -> Part:
    metric = found.metrics[found.main_metric]
    rows: list[list[str]] = [["against", "pairs", f"difference, {metric.heading}", "p"]]
    for model, test in found.tests.items():
        difference = Entry(metric.signed(test.mean_difference), test.mean_difference)
        p_value = Entry(f"{test.p_value:.2g}", test.p_value, test.p_value < 0.05)
        rows.append([model, f"{test.n:,}", difference, p_value])
    over = "users" if found.users else "splits"
    return table(
        f"{found.leader} against each other model",
        f"Mean difference over the same {over}, and the p-value of Wilcoxon's signed-rank test, "
        "two-sided. Bold: significant at 5 %, not corrected for the number of tests.",
        rows,
    )


# --- pictures -------------------------------------------------------------------------------------


def figures(found: Comparison) -> dict[str, Figure]:
    """Return the pictures that a comparison has, by name: differences, calibration."""
    drawn: dict[str, Figure] = {}
    if found.leader is None:
        return drawn
    if any(len(differences) > 1 for differences in _differences(found).values()):
        drawn["differences"] = draw(found)
    curves = {model: _reliability(found.records(model)) for model in found.models}
    known = {model: curve for model, curve in curves.items() if curve is not None}
    if known:
        errors = found.means(_ERROR)
        drawn["calibration"] = reliability(known, order=found.models, errors=errors)
    return drawn


def draw(found: Comparison, *, title: str | None = None) -> Figure:
    """Draw the leader's values less those of each other model, split by split."""
    if not found.tests:
        raise InputError("this comparison has nothing to draw: a picture needs two models.")
    metric = found.metrics[found.main_metric]
    unit = metric.heading.removesuffix(" %") + (", points" if metric.percent else "")
    unit += f": {found.leader} less each other model"
    return paired_differences(_differences(found), unit=unit, title=title)


def _pictures(found: Comparison) -> Iterator[Part]:
    drawn = figures(found)
    if "differences" in drawn:
        told = [
            f"{model}: mean {values.mean():+.2f}, positive on {np.sum(values > 0)} of "
            f"{counted(len(values), 'split')}."
            for model, values in _differences(found).items()
        ]
        yield picture(
            "Differences on the same splits",
            "A dot is a split. The bar is the mean, its whiskers its 95 % interval.",
            drawn["differences"],
            " ".join(told),
        )
    if "calibration" in drawn:
        told = [f"{model} {error:.1%}" for model, error in found.means(_ERROR).items()]
        yield picture(
            "Confidence and accuracy",
            "All test predictions in 15 bins of confidence; bins with less than 0.5 % of them are "
            "left out. Below the dashed line a model is overconfident, above it underconfident. "
            "The legend gives the mean expected calibration error of the trials.",
            drawn["calibration"],
            f"Share of right predictions against confidence. Calibration error: {'; '.join(told)}.",
        )


def _differences(found: Comparison) -> dict[str, np.ndarray]:
    """Return the leader's values less those of each other model, split by split."""
    assert found.leader is not None
    ours = found.values(found.leader)
    unit = 100.0 if found.metrics[found.main_metric].percent else 1.0
    differences = {}
    for model in found.models:
        theirs = found.values(model)
        shared = [seed for seed in ours if seed in theirs]
        if model != found.leader and shared:
            differences[model] = unit * np.array([ours[seed] - theirs[seed] for seed in shared])
    return differences


def _reliability(records: Sequence[Record]) -> pd.DataFrame | None:
    """Return the reliability of the predictions of all trials together; None without any."""
    parts = [r["details"]["reliability"] for r in records if "reliability" in r["details"]]
    if not parts:
        return None
    bins = pd.concat([pd.DataFrame(part).fillna(0.0).rename_axis("bin") for part in parts])
    sums = bins[["confidence", "accuracy"]].mul(bins["count"], axis=0).groupby("bin").sum()
    count = bins["count"].groupby("bin").sum()
    return sums.div(count.where(count > 0), axis=0).assign(count=count)


def _facts(found: Comparison) -> dict[str, str]:
    sizes = found.data.statistics().items()
    told = ", ".join(f"{value:,.6g} {name}" for name, value in sizes if value is not None)
    known = {"data": f"{found.name} ({found.data.source}): {told}"}
    known |= {"fingerprint": found.data.fingerprint}
    known |= {name.replace("_", " "): str(value) for name, value in found.settings.items()}
    known["seeds"] = f"{found.seeds[0]} to {found.seeds[-1]}"
    for model in found.models:
        records = found.records(model)
        seconds = sum(record["seconds"] for record in records)
        options = next((str(r["options"]) for r in records if r["options"]), "default options")
        known[f"model {model}"] = f"{options}; {seconds:.1f} s"
    versions = sorted({record["version"] for record in found.outcome.done})
    return known | {"truegraph": ", ".join(versions)}


def few_lines(found: Comparison) -> str:
    """Return what a notebook shows: title, conclusion and table, escaped."""
    rows = metrics_rows(found)
    head = "".join(f"<th>{html.escape(entry)}</th>" for entry in rows[0])
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows[1:])
    return (
        f"<b>{html.escape(_title(found))}</b><p>{html.escape(found.conclusion)}</p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def _cell(entry: Entry) -> str:
    text = html.escape(entry)
    return f"<td><b>{text}</b></td>" if entry.bold else f"<td>{text}</td>"
