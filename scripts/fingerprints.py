"""SHA-256 of results with fixed seeds, to show that a rebuilding changed no bit of them.

    python scripts/fingerprints.py --out before.json
    python scripts/fingerprints.py --compare before.json

The cases are in `fingerprint_cases`. Each gives several named parts, and each part has its own
fingerprint: where only the calibration of links is meant to change, their logits can still be seen
to stay. A case that raises is kept as "error: ...", so that a renamed option shows. Exit code 1
says that something differs. Compare on one machine, with the same versions of the libraries and
the same number of threads. Loops that were compiled in the same process can round differently from
those read from numba's cache, so after a change of the code run this twice and take the second
answer.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from fingerprint_cases import Case, all_cases

import truegraph


def digest(value: Any) -> str:
    """Return the SHA-256 of a result."""
    found = hashlib.sha256()
    for piece in pieces(value):
        found.update(piece)
    return found.hexdigest()


def pieces(value: Any) -> Iterator[bytes]:
    """Yield the bytes that make a result what it is: of arrays also the type and the shape."""
    if hasattr(value, "tocsr"):
        matrix = value.tocsr()
        places = [matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)]
        yield from pieces([matrix.shape, *places, matrix.data])
    elif isinstance(value, pd.DataFrame):
        yield from pieces([list(value.columns), *(value[name].to_numpy() for name in value)])
    elif isinstance(value, np.ndarray) and value.dtype != object:
        yield f"{value.dtype.str}{value.shape}".encode()
        yield np.ascontiguousarray(value).tobytes()
    elif isinstance(value, list | tuple | np.ndarray):
        yield f"{len(value)}:".encode()
        for item in value:
            yield from pieces(item)
    elif isinstance(value, np.generic):
        yield repr(value.item()).encode()
    else:
        yield repr(value).encode()


def fingerprints(cases: Mapping[str, Case]) -> dict[str, str]:
    """Run all cases and return the fingerprint of every part of their results."""
    found: dict[str, str] = {}
    for name, case in cases.items():
        began = time.perf_counter()
        try:
            parts = {f"{name}: {part}": digest(value) for part, value in case().items()}
        except Exception as error:
            parts = {name: f"error: {type(error).__name__}: {error}"}
        found |= parts
        seconds = time.perf_counter() - began
        failed = next((text for text in parts.values() if text.startswith("error")), "")
        print(f"{seconds:6.1f} s  {name}  {failed}", file=sys.stderr, flush=True)
    return found


def differences(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Return a line for every name whose fingerprints differ, or that only one side has."""
    lines = []
    for name in sorted({*before, *after}):
        old, new = before.get(name, "missing"), after.get(name, "missing")
        if old != new:
            lines.append(f"{name}: {_short(old)} before, {_short(new)} now")
    return lines


def _short(text: str) -> str:
    return text if text.startswith(("error", "missing")) else text[:12]


def main() -> None:
    """Write the fingerprints to a file, compare them with those of a file, or both."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the fingerprints here")
    parser.add_argument("--compare", type=Path, metavar="FILE", help="what they were before")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose name has this text")
    asked = parser.parse_args()
    before = None if asked.compare is None else json.loads(asked.compare.read_text())
    print(f"truegraph of {truegraph.__file__}", file=sys.stderr)
    warnings.simplefilter("ignore")
    cases = {name: case for name, case in all_cases().items() if asked.only in name}
    found = fingerprints(cases)
    document = json.dumps(found, indent=1) + "\n"
    if asked.out is not None:
        asked.out.write_text(document)
    if before is None:
        if asked.out is None:
            print(document, end="")
        return
    ran = tuple(cases)
    wanted = {name: old for name, old in before.items() if not asked.only or name.startswith(ran)}
    changed = differences(wanted, found)
    same = sum(found.get(name) == old for name, old in wanted.items())
    print("\n".join([*changed, f"{same} fingerprints are the same, {len(changed)} differ"]))
    if changed:
        sys.exit("If loops were compiled in this run, run it again and take the second answer.")


if __name__ == "__main__":
    main()
