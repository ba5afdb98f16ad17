"""Input: data sets, readers for users' files, leak-free splits, safe storage.

The names are listed in ``__init__.pyi`` and loaded on first use: the readers need pandas.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
