"""The paper's contribution: learning the most probable graph, with a certificate; no torch.

The names are listed in ``__init__.pyi`` and loaded on first use: the compiled loops take a second
to import, the checks of what users pass in (`truegraph.learning.inputs`) do not need them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
