"""Bayesian auto-encoders: what the decoder reconstructs, and the degree of the learned graph."""

from lab.choose import links, sweep

if __name__ == "__main__":
    for model in ("bvgae", "bgae"):
        sweep(
            ("target", "degree"),
            [(t, d) for t in ("combined", "observed") for d in (None, 3.0, 6.0, 12.0)],
            links(model),
            datasets=("cora", "citeseer"),
        )
