"""The command line: ``truegraph learn``, ``classify`` and ``data``."""

from truegraph.cli.app import main

__all__ = ["main"]
