"""The first run says why it takes long; later ones do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from truegraph.cli.common.compilation import announce_compilation


def test_the_first_run_says_that_it_compiles(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    for package in ("learning", "nn"):
        (tmp_path / package / "__pycache__").mkdir(parents=True)
        monkeypatch.setattr(f"truegraph.{package}.__path__", [str(tmp_path / package)])
    packages = ("truegraph.learning", "truegraph.nn")
    announce_compilation(*packages, seconds=15)
    assert "First run: compiling takes about 15 seconds" in capsys.readouterr().err
    (tmp_path / "learning" / "__pycache__" / "kernels.nbi").touch()
    announce_compilation(*packages, seconds=15)
    assert "First run" in capsys.readouterr().err
    (tmp_path / "nn" / "__pycache__" / "sparse.nbi").touch()
    announce_compilation(*packages, seconds=15)
    assert capsys.readouterr().err == ""
