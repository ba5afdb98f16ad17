"""Give a PyTorch Geometric data set the learned graph. Needs: pip install '.[pyg]'.

Run with: python examples/pyg_transform.py
"""

from torch_geometric.transforms import Compose, NormalizeFeatures

from truegraph import load_dataset
from truegraph.data import to_pyg
from truegraph.pyg import LearnGraph


def main() -> None:
    cora = load_dataset("cora")
    data = to_pyg(cora.graph, cora.features, cora.labels)
    transform = Compose([NormalizeFeatures(), LearnGraph(degree=10, metric="cosine")])
    print(transform)
    print("before", data)
    print("after ", transform(data))


if __name__ == "__main__":
    main()
