"""Graph neural networks: many trials at once, on fixed sparse products.

``training`` says how a classifier is trained, ``registry`` which ones there are; every model has
a file of its own name. ``sparse``, ``dense`` and ``noise`` are what they are built from.
"""
