"""The storage of a run: arrays that are mapped, and arrays that look like any other."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from truegraph.learning.partitioned.folder import Folder


def test_a_shared_array_is_that_of_the_file_and_what_is_written_stays_here(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.write("numbers", np.arange(5.0))
    shared = folder.shared("numbers")
    assert type(shared) is np.ndarray
    assert shared.flags.writeable
    shared[0] = 7.0
    np.testing.assert_array_equal(folder.read("numbers"), np.arange(5.0))
    folder.write("nothing", np.zeros((0, 2)))
    assert folder.shared("nothing").shape == (0, 2)
