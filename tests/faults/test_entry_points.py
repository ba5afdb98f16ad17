"""No public callable crashes on a faulty array, or gives a result as if nothing were wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "entry_points" / "walk.py"


def _outcomes() -> dict[str, str]:
    """Run all cases; one that ends the process is noted, and the next process goes on after it."""
    found: dict[str, str] = {}
    start = 0
    while True:
        run = subprocess.run(
            [sys.executable, str(PROGRAM), str(start)],
            capture_output=True,
            text=True,
            env=os.environ | {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            timeout=500,
        )
        lines = [line.split("\t", 2) for line in run.stdout.splitlines()]
        found |= {name: what for _, name, what in lines if what != "begins"}
        if run.returncode == 0:
            return found
        assert lines, run.stderr
        found[lines[-1][1]] = f"the process ended with {run.returncode}"
        start = int(lines[-1][0]) + 1


@pytest.fixture(scope="module")
def outcomes() -> dict[str, str]:
    return _outcomes()


def test_sound_input_is_taken(outcomes: dict[str, str]) -> None:
    refused = {k: v for k, v in outcomes.items() if k.endswith("/ sound") and v != "result"}
    assert not refused


def test_faulty_input_is_refused_by_name(outcomes: dict[str, str]) -> None:
    faulty = {k: v for k, v in outcomes.items() if not k.endswith("/ sound")}
    assert len(faulty) > 1500
    taken = {k: v for k, v in faulty.items() if not v.startswith("InputError: ")}
    assert not taken


# What a message may call an argument beside its own name.
OTHER_NAMES = {
    "adata": ("X",),
    "A": ("graph", "edge weights"),
    "matrix": ("graph", "edge weights"),
    "edges": ("sources",),
    "X": ("features",),
    "adjacency": ("distances",),
    "data": ("X",),
    "forbidden_pairs": ("fixed_pairs",),
    "fixed_pairs": ("forbidden_pairs",),
    "graph": ("edge weights",),
    "learned": ("graph", "edge weights"),
    "interactions": ("matrix",),
    "multipliers": ("distances",),
    "observed": ("graph", "edge weights"),
    "options": ("embedding",),
    "others": ("columns",),
    "users": ("items",),
    "validation": ("matrix",),
    "link_probabilities": ("links", "probabilities"),
    "non_link_probabilities": ("links", "probabilities"),
} | dict.fromkeys(
    ("correct", "labels", "predicted", "uncertainty"), ("two lists", "rows are expected")
)


def test_messages_name_the_argument(outcomes: dict[str, str]) -> None:
    nameless = []
    for case, message in outcomes.items():
        argument = case.split(" ")[0].split(":")[1]
        names = (argument, *OTHER_NAMES.get(argument, ()))
        if message.startswith("InputError") and not any(name in message for name in names):
            nameless.append(f"{case}: {message}")
    assert not nameless
