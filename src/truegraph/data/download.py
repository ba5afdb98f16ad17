"""Fetch Planetoid files over HTTP and check each against its known SHA-256."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from truegraph.data.archive import write_node_dataset
from truegraph.data.planetoid import read_planetoid
from truegraph.errors import DataError

PLANETOID_URL = "https://github.com/kimiyoung/planetoid/raw/master/data/"


def fetch_planetoid(
    name: str,
    sha256: Mapping[str, str],
    target: str | os.PathLike[str],
    *,
    base_url: str | None = None,
) -> Path:
    """Download the Planetoid files of a data set, check them and store them as one npz file.

    `sha256` has the checksum of each file by its ending ("x", "graph", "test.index", ...). Nothing
    is left in the folder of `target` when the download fails.
    """
    address = (base_url or os.environ.get("TRUEGRAPH_DOWNLOAD_URL") or PLANETOID_URL).rstrip("/")
    target = Path(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=target.parent, prefix=".download-") as folder:
        for part, digest in sha256.items():
            file = Path(folder, f"ind.{name}.{part}")
            _retrieve(f"{address}/{file.name}", file, digest)
        write_node_dataset(target, read_planetoid(folder, name))
    return target


def _retrieve(url: str, file: Path, sha256: str) -> None:
    import pooch

    try:
        pooch.HTTPDownloader(timeout=30)(url, str(file), None)
    except OSError as error:  # every error of requests is one
        raise DataError(
            f"{url}: download failed ({error}); check the connection and try again, or put the "
            "data set's files into the folder named by TRUEGRAPH_DATA."
        ) from error
    if pooch.file_hash(str(file)) != sha256:
        raise DataError(
            f"{url}: the file is not the expected one (its SHA-256 is not {sha256}). It was "
            "deleted; try again, or check for a proxy between you and the server."
        )
