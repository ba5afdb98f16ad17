"""The command of the laboratory: ``python -m lab NAME``, ``write``, ``paper``, ``same_science``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from lab.experiment import Experiment, experiments, load
from lab.running import run
from truegraph.errors import TruegraphError
from truegraph.progress import console_progress
from truegraph.runner import Outcome

PAPER = ("datasets", "table1", "fixed", "figure1", "figure2", "links", "links_oracle")
PAPER += ("recommendation", "overlap", "figure3")


def main(given: Sequence[str] | None = None) -> int:
    """Do what the command line asks for; return 1 if a trial failed, 2 for a mistake."""
    options = _parser().parse_args(given)
    try:
        return _done(options)
    except TruegraphError as error:
        print(f"lab: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nStopped. Finished trials are kept; the same command goes on.", file=sys.stderr)
        return 130


def _done(options: argparse.Namespace) -> int:
    if not options.names:
        for name in experiments():
            print(f"{name:28}{load(name).title}")
        return 0
    first, rest = options.names[0], options.names[1:]
    if first == "write":
        from lab.write import write, write_all

        changed = [write(name) for name in rest] if rest else write_all()
        print(f"Written: {', '.join(sorted({str(path) for paths in changed for path in paths}))}")
        return 0
    if first == "same_science":
        from lab import same_science

        return same_science.main(
            rest or list(same_science.SETS), jobs=options.jobs, is_report=options.report
        )
    names = (rest or PAPER) if first == "paper" else options.names
    failed = 0
    for name in names:
        chosen = load(name).only(
            models=_listed(options.models),
            datasets=_listed(options.datasets),
            labels=[int(count) for count in _listed(options.labels) or ()],
            trials=options.trials,
        )
        failed += _run(chosen, options)
    return 1 if failed else 0


def _run(experiment: Experiment, options: argparse.Namespace) -> int:
    """Run an experiment and say what became of it; return how many trials failed."""
    print(f"{experiment.name}: {experiment.title}", flush=True)
    with console_progress(sys.stderr.isatty()) as progress:
        outcomes = run(
            experiment,
            jobs=options.jobs,
            cluster=options.cluster,
            retry_failed=options.retry_failed,
            progress=progress,
        )
    return sum(_told(outcome) for outcome in outcomes)


def _told(outcome: Outcome) -> int:
    failed = outcome.failed
    print(
        f"  {outcome.wanted:,} trials wanted, {outcome.wanted - outcome.run:,} kept from before, "
        f"{outcome.run:,} run in {outcome.seconds:,.0f} s, {len(failed):,} failed"
    )
    for record in failed[:3]:
        print(f"  {record['model']} on {record['dataset']}, seed {record['seed']}: "
              f"{record['error']}")  # fmt: skip
    return len(failed)


def _listed(text: str | None) -> list[str] | None:
    return None if text is None else [part.strip() for part in text.split(",")]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m lab",
        description="Run experiments: by name, by the path of a TOML file, or `paper` for all of "
        "the paper's. `write [NAME ...]` puts trials into results/. `same_science [SET ...]` "
        "compares fresh trials with committed ones.",
    )
    parser.add_argument("names", nargs="*", help="experiments; none lists them")
    parser.add_argument("--models", help="of these only, by name or label: gcn,bgcn")
    parser.add_argument("--datasets", help="on these only: cora,citeseer")
    parser.add_argument("--labels", help="with these labels per class only: 5,10")
    parser.add_argument("--trials", type=int, help="per cell")
    parser.add_argument("--jobs", type=int, help="processes; default: one per core")
    parser.add_argument("--cluster", help="address of a Dask scheduler whose workers run trials")
    parser.add_argument("--retry-failed", action="store_true", help="run failed trials again")
    parser.add_argument("--report", action="store_true", help="of same_science: run nothing")
    return parser


if __name__ == "__main__":
    sys.exit(main())
