"""Learn the true graph behind a noisy, incomplete or missing one.

The public names are listed in ``__init__.pyi`` and loaded on first use, so ``import truegraph``
is quick and loads no torch.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["__version__"]
