"""Nothing printed steers the terminal; signals and odd streams leave nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

from truegraph.cli.output import announce, plain, print_json, print_rows
from truegraph.errors import InputWarning

EVIL = "a\x1b]0;title\x07\x1b[2J\x9b31m\u202eb"
STEERING = ("\x1b", "\x07", "\x9b", "\u202e")
MAIN = "from truegraph.cli import main; main()"


def test_what_is_printed_cannot_steer_the_terminal(capsys) -> None:
    announce(EVIL)
    print_rows([("name", EVIL), ("two", "lines\nWarning: none")])
    print_json({"name": EVIL})
    print(plain([["head"], [EVIL]]))
    told = capsys.readouterr()
    for text in (told.out, told.err):
        assert not set(STEERING) & set(text)
        assert r"\x1b[2J" in text or r"\u001b[2J" in text
    assert "\nWarning" not in told.out


def test_names_in_files_are_spelt_out_in_messages(program, monkeypatch) -> None:
    Path("p.csv").write_text(f"{EVIL},x\n" + "".join(f"n{row},{row}\n" for row in range(8)))
    for words in (["--columns", EVIL[:-1]], ["--degree", "3", "--id", EVIL], [EVIL]):
        done = program("learn", "p.csv", *words)
        assert not set(STEERING) & set(done.out + done.err), words
    monkeypatch.setattr(
        "truegraph.cli.learn._read", lambda *_: warnings.warn(EVIL, InputWarning, stacklevel=1)
    )
    assert not set(STEERING) & set(program("learn", "p.csv").err)


@pytest.mark.parametrize("closed", ["1", "2"])
def test_a_closed_stream_is_no_error(closed: str) -> None:
    other = {"1": "2", "2": "1"}[closed]
    command = f'"$0" -c "$1" data list {closed}>&-'
    done = subprocess.run(
        ["sh", "-c", command, sys.executable, MAIN], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0
    assert "Traceback" not in {"1": done.stdout, "2": done.stderr}[other]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_behind_standard_output_is_an_error() -> None:
    command = '"$0" -c "$1" data list >/dev/full'
    done = subprocess.run(
        ["sh", "-c", command, sys.executable, MAIN], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 1
    assert done.stderr == "Error: [Errno 28] No space left on device\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_leaves_no_file(tmp_path: Path, number: signal.Signals) -> None:
    np.save(tmp_path / "points.npy", np.zeros((9, 2)))
    code = (  # the file is being written when the signal comes
        "import time, truegraph.cli.learn as learn; from truegraph.cli import main\n"
        "from truegraph.data.storage import atomic_write\n"
        "def read(*_):\n"
        "    with atomic_write('deep/graph.npz') as temporary:\n"
        "        print(temporary, flush=True); time.sleep(60)\n"
        "learn._read = read; main()"
    )
    command = [sys.executable, "-c", code, "learn", "points.npy", "--out", "deep/graph.npz"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=-1, stderr=-1, text=True) as process:
        assert process.stdout is not None
        assert (tmp_path / process.stdout.readline().strip()).exists()
        process.send_signal(number)
        _, told = process.communicate(timeout=30)
    assert process.returncode == 128 + number
    assert told.endswith({15: "Terminated.\n", 2: "Interrupted.\n"}[number])
    assert "Traceback" not in told
    left = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path.name for path in left] == ["points.npy"]


def test_devices_and_pipes_are_refused_before_the_work(program, tmp_path: Path) -> None:
    np.save("points.npy", np.random.default_rng(0).normal(size=(20, 2)))
    os.mkfifo("pipe.csv")
    Path("null.csv").symlink_to("/dev/null")
    began = time.perf_counter()
    for name in ("pipe.csv", "null.csv"):
        done = program("learn", "points.npy", "--degree", 3, "--out", name)
        assert (done.code, done.out) == (2, "")
        assert f"--out {name} is a device or a pipe" in done.err
    assert time.perf_counter() - began < 30  # a pipe without reader would wait for ever
