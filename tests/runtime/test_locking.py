"""One at a time, and no lock outlives its holder."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

from truegraph.runtime.locking import file_lock

HOLDER = """
import sys, time
from truegraph.runtime.locking import file_lock
with file_lock(sys.argv[1]):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_second_one_waits_until_the_holder_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "work.lock"
    words = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        entered: list[float] = []

        def enter() -> None:
            with file_lock(path):
                entered.append(time.monotonic())

        waiting = threading.Thread(target=enter)
        waiting.start()
        time.sleep(0.2)
        assert not entered
        killed = time.monotonic()
        holder.kill()
        waiting.join(timeout=30)
        assert entered[0] >= killed


def test_where_there_can_be_no_lock_the_work_is_done(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = False
    with file_lock(tmp_path / "file" / "work.lock"):
        done = True
    assert done
