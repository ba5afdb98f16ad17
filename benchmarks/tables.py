"""Reading and vectorising a large table of mixed columns: seconds and memory.

    python benchmarks/tables.py                     # 1,000,000 rows
    python benchmarks/tables.py --rows 100000
    python benchmarks/tables.py --rows 100000 --skrub   # and skrub's TableVectorizer beside it

The table has an id, ten numbers on different scales (two with missing values), four categories, two
dates, a column of 5,000 different keywords, a flag, and a count: 20 columns. Each step runs in a
process of its own, so that peaks of memory do not hide one another.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd


def mixed_table(rows: int) -> pd.DataFrame:
    """Return the table; the same for the same number of rows."""
    rng = np.random.default_rng(0)
    columns: dict[str, object] = {"customer_id": rng.permutation(rows) + 10**6}
    for number in range(10):
        values = np.exp(rng.normal(number, 1, rows)).round(3)
        values[rng.random(rows) < (0.05 if number < 2 else 0.0)] = np.nan
        columns[f"number_{number}"] = values
    for number, levels in enumerate((3, 5, 8, 20)):
        columns[f"category_{number}"] = rng.choice([f"level {i}" for i in range(levels)], rows)
    for number in range(2):
        days = np.datetime64("2015-01-01") + rng.integers(0, 3650, rows)
        columns[f"date_{number}"] = days.astype(str)
    words = np.array([f"{a} {b}" for a, b in rng.integers(100, 999, (5000, 2))])
    columns["keyword"] = rng.choice(words, rows)
    columns["flag"] = rng.random(rows) < 0.3
    columns["visits"] = rng.poisson(4, rows)
    return pd.DataFrame(columns)


def read(path: Path) -> None:
    """Read the file and turn it into points; print seconds and memory of both."""
    from truegraph.data import read_features
    from truegraph.runtime.memory import peak_memory_mb

    start = time.perf_counter()
    before = peak_memory_mb() or 0.0
    features = read_features(path)
    middle = time.perf_counter()
    points = features.matrix()
    end = time.perf_counter()
    print(
        f"{path.suffix:9} read and plan {middle - start:.1f} s   to points {end - middle:.1f} s   "
        f"points {points.shape[0]:,} x {points.shape[1]} = {points.nbytes / 1e9:.2f} GB   "
        f"peak {(peak_memory_mb() or 0.0) / 1e3:.2f} GB (before {before / 1e3:.2f})"
    )
    print(features.notes[0].partition(": ")[2])


def compare(path: Path) -> None:
    """Print seconds and results of the column plan and of skrub on the same DataFrame."""
    from skrub import TableVectorizer

    from truegraph import ColumnPlan

    frame = pd.read_parquet(path)
    for name, vectoriser in (("ColumnPlan", ColumnPlan()), ("TableVectorizer", TableVectorizer())):
        start = time.perf_counter(), time.process_time()
        found = np.asarray(vectoriser.fit_transform(frame), dtype=np.float64)
        seconds, processor = time.perf_counter() - start[0], time.process_time() - start[1]
        spread = np.nanvar(found, axis=0)
        print(
            f"{name}: {seconds:.1f} s, {processor:.1f} of the processor, {found.shape[1]} columns, "
            f"{np.isnan(found).sum():,} values missing, the widest column has "
            f"{spread.max() / spread.sum():.1%} of the variance"
        )


def main() -> None:
    """Write the table as CSV and Parquet, and read each in a fresh process."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--skrub", action="store_true", help="compare with skrub")
    arguments = parser.parse_args()
    if arguments.read is not None:
        read(arguments.read)
        return
    with tempfile.TemporaryDirectory() as folder:
        table = mixed_table(arguments.rows)
        print(f"{table.shape[0]:,} rows x {table.shape[1]} columns")
        table.to_csv(Path(folder) / "table.csv", index=False)
        table.to_parquet(Path(folder) / "table.parquet")
        del table
        for name in ("table.csv", "table.parquet"):
            size = (Path(folder) / name).stat().st_size
            print(f"{name}: {size / 1e6:.0f} MB", flush=True)
            subprocess.run([sys.executable, __file__, "--read", Path(folder) / name], check=True)
        if arguments.skrub:
            compare(Path(folder) / "table.parquet")


if __name__ == "__main__":
    main()
