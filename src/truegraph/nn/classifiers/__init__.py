"""The node classifiers, one file each; ``registry`` has them by name."""
