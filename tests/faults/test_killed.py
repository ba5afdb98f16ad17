"""Whatever is killed or interrupted, finished trials stay, and are not run again."""

from __future__ import annotations

import json
import random
import signal
import time
from typing import Any

import numpy as np
import psutil

TRIALS = 20


def wait_for(condition: Any, seconds: float = 300.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_kill_at_random_moments_loses_only_what_is_under_way(bench: Any) -> None:
    bench.write(TRIALS, seconds=0.2)
    moments = random.Random(0)
    runs_when_stored: dict[int, int] = {}
    slots = 0
    for attempt in range(10):
        jobs = 2 if attempt in (3, 7) else 1
        begun = len(bench.records())
        lock = bench.out / "trials.lock"
        lock.unlink(missing_ok=True)
        process = bench.start("--quiet", "--jobs", jobs)
        wait_for(lambda lock=lock, process=process: lock.exists() or process.poll() is not None)
        time.sleep(moments.uniform(0.0, 0.6 * jobs**2))
        workers = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        wait_for(lambda workers=workers: not any(is_alive(worker) for worker in workers), 60)
        slots += jobs
        stored = [record.seed for record in bench.records()]
        assert len(stored) == len(set(stored)) >= begun
        for seed in stored:
            runs_when_stored.setdefault(seed, bench.runs_of(seed))
    assert 0 < len(runs_when_stored) < TRIALS
    code, out, _ = bench.run("--json", "--jobs", 2)
    assert code == 0
    assert json.loads(out)["trials"]["run"] == TRIALS - len(runs_when_stored)
    records = bench.records()
    assert [record.seed for record in records] == list(range(TRIALS))
    for seed, runs in runs_when_stored.items():
        assert bench.runs_of(seed) == runs
    assert sum(bench.runs_of(seed) for seed in range(TRIALS)) <= TRIALS + slots
    for record in records:
        assert record.metrics["score"] == np.random.default_rng([record.seed, 1]).random()


def test_interrupting_keeps_what_is_finished_and_says_how_to_go_on(bench: Any) -> None:
    bench.write(8, seconds=0.3)
    process = bench.start("--jobs", 2, process_group=0)
    wait_for(lambda: len(bench.records()) >= 2)
    workers = psutil.Process(process.pid).children(recursive=True)
    # as a terminal does it: to every process of the group
    psutil.Process(process.pid).send_signal(signal.SIGINT)
    for worker in workers:
        if is_alive(worker):
            worker.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 130
    assert f"Finished trials are kept in {bench.out}. Run the same command to continue." in err
    assert "Traceback" not in err
    kept = len(bench.records())
    assert 2 <= kept < 8
    code, out, _ = bench.run("--json", "--quiet")
    assert code == 0
    assert json.loads(out)["trials"]["run"] == 8 - kept


def test_four_processes_on_one_store_run_every_trial_once(bench: Any) -> None:
    bench.write(12, seconds=0.25)
    processes = [bench.start("--json", "--jobs", 1) for _ in range(4)]
    summaries = []
    for process in processes:
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        summaries.append(json.loads(out)["trials"])
    assert sum(summary["run"] for summary in summaries) == 12
    assert sum(summary["run"] > 0 for summary in summaries) > 1
    assert [record.seed for record in bench.records()] == list(range(12))
    assert [bench.runs_of(seed) for seed in range(12)] == [1] * 12
