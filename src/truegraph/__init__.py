"""Learn the true graph behind a noisy, incomplete or missing one.

The public names are listed in ``__init__.pyi`` and loaded on first use, so ``import truegraph``
is quick and loads no torch. What a call chooses and how far it is goes to the log "truegraph",
which is silent until `logging` is told otherwise: ``logging.basicConfig(level="INFO")``.
"""

import logging
from threading import RLock
from typing import Any

import lazy_loader

from truegraph.extras import with_remedy

__version__ = "0.3.0"

logging.getLogger(__name__).addHandler(logging.NullHandler())

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["__version__"]
_loading = RLock()  # two threads in one cycle of imports would meet half a module


def __getattr__(name: str) -> Any:
    """Load a public name, or say which extra of the installation it needs."""
    try:
        with _loading:
            return _load(name)
    except ModuleNotFoundError as error:
        raise with_remedy(error) from error
