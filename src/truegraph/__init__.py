"""Learn the true graph behind a noisy, incomplete or missing one.

The public names are listed in ``__init__.pyi`` and loaded on first use, so ``import truegraph``
is quick and loads no torch.
"""

from typing import Any

import lazy_loader

from truegraph.extras import with_remedy
from truegraph.runtime.cache_folder import choose_cache_folder

__version__ = "0.2.0"

choose_cache_folder()

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["__version__"]


def __getattr__(name: str) -> Any:
    """Load a public name, or say which extra of the installation it needs."""
    try:
        return _load(name)
    except ModuleNotFoundError as error:
        raise with_remedy(error) from error
