"""Recommenders of large catalogues: how the low-pass part weighs popular items."""

from lab.choose import lists, sweep

if __name__ == "__main__":
    sweep(
        "truegraph.recommend.ease:_POPULARITY",
        (0.5, 0.6, 0.7, 0.8, 1.0),
        lists(),
        datasets=("amazon_cds", "yelp2018"),
        trials=1,
    )
