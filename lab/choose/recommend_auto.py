"""Recommendation: what a simpler model may be worse by, and how many pairs give a probability."""

from lab.choose import lists, sweep

SETS = ("ml100k", "amazon_cds")

if __name__ == "__main__":
    for target, values in (
        ("truegraph.recommend.choosing:_TOLERANCE", (0.0, 0.005, 0.02)),
        ("truegraph.recommend.calibration:_LEAST_PAIRS", (20, 100, 500)),
    ):
        sweep(target, values, lists(), datasets=SETS, trials=2)
