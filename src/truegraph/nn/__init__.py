"""Graph neural networks: many trials at once, on fixed sparse products.

``training`` trains classifiers, and every model has a file of its own name, listed in its folder's
``registry``. All are built from ``sparse``, ``dense`` and ``dropout``.
"""
