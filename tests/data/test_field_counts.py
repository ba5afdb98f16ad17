"""Fields are counted across blocks; whatever is odd is left to a closer look."""

from __future__ import annotations

from pathlib import Path

import pytest

from truegraph.data import field_counts
from truegraph.data.field_counts import is_plainly_even
from truegraph.data.tables import CsvTable
from truegraph.errors import InputError


@pytest.mark.parametrize("block", [1, 2, 7, 1000])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_fields_are_counted_across_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int, end: str
) -> None:
    monkeypatch.setattr(field_counts, "BLOCK", block)
    sound = ["u,i", "a,x", "bb,yy", "c,z"]
    path = tmp_path / "t.csv"
    path.write_bytes(end.join(sound).encode())  # no end of line at the end of the file
    assert is_plainly_even(path, ",", 2, 1)
    assert len(CsvTable(path).columns([0, 1], [], header=True)) == 3
    path.write_bytes(end.join([*sound, "d,e,f", "g,h"]).encode())
    assert not is_plainly_even(path, ",", 2, 1)
    with pytest.raises(InputError, match="line 5: 3 fields instead of 2"):
        CsvTable(path).columns([0, 1], [], header=True)
