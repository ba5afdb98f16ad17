"""The command line: the program ``truegraph`` and its commands."""

from truegraph.cli.app import main

__all__ = ["main"]
