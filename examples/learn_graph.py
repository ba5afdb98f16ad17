"""Learn a graph of handwritten digits and see that its edges join equal digits.

Run with: python examples/learn_graph.py
"""

from truegraph import learn_graph, load_dataset


def main() -> None:
    digits = load_dataset("digits")  # 1797 images of 8 x 8 pixels; no graph comes with them
    graph = learn_graph(digits.features, degree=10, graph_model="paper", scope="global")
    print(graph)

    certificate = graph.certificate
    print(f"relative gap {certificate.relative_gap:.0e}, proved over all pairs")

    edges = graph.to_pandas()  # source, target, weight
    same = digits.labels[edges["source"]] == digits.labels[edges["target"]]
    print(f"{same.mean():.1%} of the edges join images of the same digit")

    graph.save("digits.npz")  # with the certificate; LearnedGraph.load reads it back


if __name__ == "__main__":
    main()
