"""The posterior of the graph that ``truegraph learn`` learned: asked for, written and summed up."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truegraph.errors import InputError

if TYPE_CHECKING:
    from truegraph.learning import GraphPosterior, LearnedGraph

LEVEL = 0.9  # of the intervals
_CERTAIN = 0.95


def check_posterior(wanted: bool, options: Mapping[str, Any], out: Path | None) -> None:
    """Check the options samples, concentration and excess together with the others."""
    given = next((name for name, value in options.items() if value is not None), None)
    if not wanted and given is not None:
        raise InputError(f"--{given} is an option of the posterior; add --posterior.")
    if options["concentration"] is not None and options["excess"] is not None:
        raise InputError("--concentration and --excess both decide the spread; give one of them.")
    if wanted and out is not None and out.suffix.lower() != ".csv":
        raise InputError(
            f"--out {out}: the posterior is written to .csv only. Let the name end in .csv; of a "
            "graph in an .npz file, LearnedGraph.load(...).posterior() gives it later."
        )


def infer(graph: LearnedGraph, options: Mapping[str, Any], **how: Any) -> GraphPosterior:
    """Return the posterior that was asked for; `how` is for draws, see `LearnedGraph.posterior`."""
    if options["samples"] is None:
        spread = {name: options[name] for name in ("concentration", "excess")}
        return graph.posterior(**spread)
    return graph.posterior("gibbs", **options, **how)


def write_table(posterior: GraphPosterior, out: Path, *, escape: bool) -> None:
    """Write a row for every candidate pair to a .csv file, atomically."""
    from truegraph.data.spreadsheets import write_csv

    write_csv(posterior.to_pandas(LEVEL), out, escape=escape)


def posterior_document(posterior: GraphPosterior) -> dict[str, Any]:
    """Return what ``--json`` says of the posterior."""
    inclusion = posterior.inclusion().data
    diagnostics = getattr(posterior, "diagnostics", None)
    return {
        "method": posterior.method,
        "concentration": posterior.concentration,
        "candidate_pairs": inclusion.size // 2,
        "threshold": posterior.threshold,
        "level": LEVEL,
        "expected_edges": float(inclusion.sum()) / 2.0,
        "certain_edges": int((inclusion > _CERTAIN).sum()) // 2,
        "open_pairs": int(((inclusion >= 1.0 - _CERTAIN) & (inclusion <= _CERTAIN)).sum()) // 2,
        "weight_ratio": float(posterior.mean.sum() / posterior.graph.adjacency.sum()),
        "diagnostics": None if diagnostics is None else dataclasses.asdict(diagnostics),
    }


def posterior_rows(posterior: GraphPosterior) -> list[tuple[str, str]]:
    """Return the lines of the summary: no probability without what it depends on."""
    facts = posterior_document(posterior)
    given = f"concentration {facts['concentration']:.4g}, {facts['candidate_pairs']:,} candidates"
    rows = [
        ("posterior", f"{facts['method']}; {given}; not calibrated to data"),
        (
            "edges",
            f"{facts['expected_edges']:,.0f} expected with a weight above "
            f"{facts['threshold']:.3g}; {facts['certain_edges']:,} certain (probability above "
            f"{_CERTAIN:g}), {facts['open_pairs']:,} open",
        ),
        ("mean weights", f"{facts['weight_ratio']:.3f} times those of the learned graph in all"),
    ]
    mixing = facts["diagnostics"]
    if mixing is not None:
        rows.append(
            (
                "draws",
                f"{mixing['draws']} from {mixing['chains']} chains of {mixing['sweeps']} sweeps, "
                f"{mixing['seconds']:.1f} s; R-hat {mixing['r_hat']:.3f}, effective sample size "
                f"{mixing['ess']:.0f}, at least {mixing['ess_min']:.0f}",
            )
        )
    return rows
