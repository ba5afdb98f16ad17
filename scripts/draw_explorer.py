"""Draw the explorer of the digits' graph into docs/images/explorer.png, by a browser.

    python scripts/draw_explorer.py

Needs Chromium and playwright.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from truegraph import learn_graph, load_dataset

TARGET = Path(__file__).resolve().parent.parent / "docs" / "images" / "explorer.png"


def main() -> None:
    """Learn the graph, write the page and take its picture with one node selected."""
    digits = load_dataset("digits")
    graph = learn_graph(digits.features, graph_model="paper", degree=10)
    names = [f"image {number}" for number in range(digits.n_nodes)]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder) / "explorer.html"
        graph.explore(labels=digits.labels, names=names, title="1,797 images of digits").save(file)
        program = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1180, "height": 680})
        page.goto(file.as_uri() + "#node=image%20200")
        page.wait_for_timeout(500)
        page.screenshot(path=TARGET)
        browser.close()


if __name__ == "__main__":
    main()
