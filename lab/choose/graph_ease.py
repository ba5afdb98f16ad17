"""Recommendation: the graph-augmented EASE and its defaults."""

from lab.choose import lists, sweep

SETS = ("ml100k", "amazon_cds")
SCORE = lists("graph-ease")

if __name__ == "__main__":
    values = (0.0, 0.5, 1.0, 2.0)
    sweep("truegraph.recommend.ease:_DIAGONAL_SHARE", values, SCORE, datasets=SETS)
    for option, tried in (
        ("degree", (5.0, 10.0, 20.0, 40.0, 80.0)),
        ("strength", (0.25, 0.5, 1.0, 2.0)),
        ("user_power", (0.0, 0.25, 0.5, 1.0)),
        ("penalty", (5.0, 20.0, 50.0, 120.0, 300.0)),
        ("rank", (32, 64, 128)),
        ("graph", ("map", "soft-knn", "knn", None)),
    ):
        sweep(option, tried, SCORE, datasets=SETS)
    large = {"dense_items": 0}  # as catalogues are solved that are too large for one matrix
    for option, tried in (("neighbours", (50, 100, 200)), ("low_pass", (0.0, 0.25, 0.5, 1.0))):
        sweep(option, tried, SCORE, datasets=SETS, **large)
