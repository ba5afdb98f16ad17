"""Seconds from Ctrl-C to the end of the process, in the middle of long compiled work.

    python benchmarks/interrupts.py
    python benchmarks/interrupts.py EASE walks    # cases that begin so

Claim: no computation ignores Ctrl-C. Each case compiles on a small input, says so, and starts work
that takes minutes; two seconds later it gets the signal of Ctrl-C, once. The process must end with
KeyboardInterrupt.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time

START = """
import numpy as np, sys, truegraph
from scipy.sparse import random_array
rng = np.random.default_rng(0)
def begin():
    print("ready", flush=True)
"""
CASES = {
    "exact search, 400,000 x 16": """
learn = lambda n: truegraph.learn_graph(
    np.random.default_rng(0).normal(size=(n, 16)), degree=10, graph_model="paper", scope="global")
learn(300); begin(); learn(400_000)
""",
    "iALS, 60,000 x 20,000": """
fit = lambda n, m, d, sweeps: truegraph.Recommender(
    "ials", options={"width": 256, "sweeps": sweeps, "penalty": 10.0, "confidence": 4.0}
).fit(random_array((n, m), density=d, format="csr", rng=rng))
fit(60, 50, 0.2, 1); begin(); fit(60_000, 20_000, 0.002, 500)
""",
    "EASE, 9,000 items": """
fit = lambda n, m, d: [truegraph.Recommender("ease", random_state=0).fit(
    random_array((n, m), density=d, format="csr", rng=rng)) for _ in range(10)]
fit(60, 50, 0.2); begin(); fit(20_000, 9_000, 0.005)
""",
    "walks of links, 300,000 nodes": """
from scipy.sparse import csr_array
def fit(n):
    ends = rng.integers(0, n, (2, 12 * n))
    A = csr_array((np.ones(12 * n), tuple(ends)), (n, n)); A = A + A.T; A.setdiag(0)
    A.eliminate_zeros(); A.data[:] = 1.0
    truegraph.LinkPredictor(random_state=0).fit(A)
fit(200); begin(); fit(300_000)
""",
}
WAIT = 2.0


def seconds_to_end(code: str) -> tuple[float, str]:
    """Return the seconds from the signal to the end, and how the process ended."""
    process = subprocess.Popen(
        [sys.executable, "-c", START + code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    if line.strip() != "ready":
        return float("nan"), process.communicate()[1].strip().rpartition("\n")[2]
    time.sleep(WAIT)
    if process.poll() is not None:
        return float("nan"), "was done before the signal"
    began = time.perf_counter()
    process.send_signal(signal.SIGINT)
    try:
        errors = process.communicate(timeout=60)[1]
    except subprocess.TimeoutExpired:
        process.kill()
        return float("inf"), "ignored the signal for a minute"
    return time.perf_counter() - began, errors.strip().rpartition("\n")[2]


def main() -> None:
    """Interrupt every case three times."""
    wanted = tuple(sys.argv[1:]) or ("",)
    for name, code in CASES.items():
        if not name.startswith(wanted):
            continue
        found = [seconds_to_end(code) for _ in range(3)]
        seconds = ", ".join(f"{seconds:.2f}" for seconds, _ in found)
        print(f"{name}: {seconds} s ({'; '.join(sorted({how for _, how in found}))})", flush=True)


if __name__ == "__main__":
    main()
