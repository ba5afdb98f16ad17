"""``python -m truegraph`` is the program ``truegraph``."""

from truegraph.cli import main

if __name__ == "__main__":
    main()
