"""
A table of customers
====================

Numbers, categories, a date and gaps; segments show up as groups.
"""

from pathlib import Path

import pandas as pd

import truegraph

folder = Path(truegraph.__file__).parents[2] / "examples" / "customers"
customers = pd.read_csv(folder / "customers.csv")
segments = pd.read_csv(folder / "answers.csv").set_index("customer_id")["segment"]
graph = truegraph.learn_graph(customers, degree=10)
codes, names = pd.factorize(segments.loc[list(graph.names)], sort=True)
figure = graph.plot(labels=codes, class_names=list(names))
