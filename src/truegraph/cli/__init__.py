"""The command line: ``truegraph learn`` and ``truegraph data``."""

from truegraph.cli.app import main

__all__ = ["main"]
