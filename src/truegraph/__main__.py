"""``python -m truegraph`` is the program ``truegraph``."""

from truegraph.cli import main

main()
