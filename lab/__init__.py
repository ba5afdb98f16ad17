"""The laboratory: experiments that measure truegraph, the paper's tables among them.

    python -m lab                       # list of experiments
    python -m lab table1 --trials 2     # run one, or go on with it
    python -m lab write table1          # put its trials into results/
    make paper                          # all of the paper's tables and figures

It is no part of the package and uses it as anybody does.
"""
