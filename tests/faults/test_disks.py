"""A full disk and a read-only folder: a clear error, and nothing finished is lost."""

from __future__ import annotations

import json
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

TRIALS = 60


def mount(*arguments: object) -> None:
    done = subprocess.run(["mount", *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"nothing can be mounted here: {done.stderr.strip()}")


@pytest.fixture
def small_disk(tmp_path: Path, bench: Any) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount("-t", "tmpfs", "-o", "size=64k", "tmpfs", disk)
    bench.out = disk / "run"
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


def test_a_full_disk(bench: Any, small_disk: Path) -> None:
    bench.write(TRIALS)
    code, _, err = bench.run("--quiet", "--jobs", 1)
    assert code == 2
    assert f"{bench.out / 'trials.sqlite'}: the disk is full. Trials stored before are safe" in err
    assert "Traceback" not in err
    kept = [record.seed for record in bench.records()]
    assert 0 < len(kept) < TRIALS
    runs = {seed: bench.runs_of(seed) for seed in kept}

    mount("-o", "remount,size=4m", small_disk)
    code, out, _ = bench.run("--json", "--jobs", 1)
    assert code == 0
    assert json.loads(out)["trials"]["run"] == TRIALS - len(kept)
    assert [record.seed for record in bench.records()] == list(range(TRIALS))
    assert {seed: bench.runs_of(seed) for seed in kept} == runs


def test_a_file_that_may_not_grow(bench: Any) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (48 * 1024, 48 * 1024))

    bench.write(TRIALS)
    code, _, err = bench.run("--quiet", "--jobs", 1, preexec_fn=limit)
    assert code == 2
    assert f"{bench.out / 'trials.sqlite'}: the disk" in err
    kept = len(bench.records())
    assert 0 < kept < TRIALS
    code, out, _ = bench.run("--json", "--jobs", 1)
    assert code == 0
    assert json.loads(out)["trials"]["run"] == TRIALS - kept


def test_a_read_only_folder(bench: Any, small_disk: Path) -> None:
    bench.write(3)
    assert bench.run("--quiet", "--jobs", 1)[0] == 0
    before = bench.records()
    mount("-o", "remount,ro", small_disk)
    code, _, err = bench.run("--quiet", "--jobs", 1, "--trials", 5)
    assert code == 2
    assert str(bench.out) in err
    assert "Read-only file system" in err
    assert bench.records() == before
    mount("-o", "remount,rw", small_disk)
    code, out, _ = bench.run("--json", "--jobs", 1, "--trials", 5)
    assert code == 0
    assert json.loads(out)["trials"]["run"] == 2
