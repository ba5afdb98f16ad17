"""The explorer's page: one HTML file that fetches nothing and lets nothing be fetched.

Data stand in one block of JSON, in which no character can end the block, and reach the page as text
only.
"""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Iterator
from importlib import resources
from typing import TYPE_CHECKING, Any

from truegraph.data.storage import write_text
from truegraph.report.explorer.content import ALL_EDGES, ALL_NODES, check_known, content
from truegraph.report.page import Part, embedded, notes, script_hash
from truegraph.report.plots.style import COLOURS

if TYPE_CHECKING:
    from truegraph.learning import LearnedGraph

# In this order: each file uses what those before it define.
_SCRIPTS = ("data.js", "view.js", "styling.js", "panel.js", "controls.js")
_PAGE = ("explorer.html", "explorer.css")


class Explorer:
    """An interactive page of a learned graph; made by `LearnedGraph.explore`.

    A notebook displays it; `save` writes one file that any browser opens offline.

    Attributes
    ----------
    html : str
        The page.
    """

    def __init__(self, shown: dict[str, Any]) -> None:
        self._title = str(shown["title"])
        self._size = f"{shown['count']} {shown['unit']}s, {shown['edges']['count']} edges"
        self.html = render(shown)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to an .html file, atomically."""
        write_text(path, self.html)

    def __repr__(self) -> str:
        return f"Explorer({self._size}; save it with .save('explorer.html'))"

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" title="{html.escape(self._title)}" '
            'style="width: 100%; height: 640px; border: 1px solid #888"></iframe>'
        )


def explore(graph: LearnedGraph, centre: Any = None, title: Any = None, **known: Any) -> Explorer:
    """Return the explorer of a graph; the arguments are those of `LearnedGraph.explore`."""
    shown = title or f"Learned graph: {graph.n_nodes:,} nodes, {graph.n_edges:,} edges"
    return Explorer(content(graph, check_known(graph, **known), centre, shown))


def explorer_part(graph: LearnedGraph, **known: Any) -> Iterator[Part]:
    """Yield the explorer as a part of a page, or for a large graph how to open it."""
    heading = "The graph, to walk through"
    if graph.n_nodes > ALL_NODES or graph.n_edges > ALL_EDGES:
        told = (
            f"With more than {ALL_NODES:,} nodes or {ALL_EDGES:,} edges the explorer has a page of "
            "its own: save the graph as .npz, then: truegraph explore graph.npz"
        )
        yield notes(heading, [told])
        return
    caption = (
        "Search a name or click a node to see its neighbours, how sure each edge is, and what both "
        "ends share; every neighbour is a link to walk on."
    )
    yield embedded(heading, caption, explore(graph, **known).html, script_hash(page_script()))


def page_script() -> str:
    """Return the script of the page; it is the same for every graph."""
    assets = resources.files("truegraph.report.explorer") / "assets"
    joined = "\n".join((assets / name).read_text(encoding="utf-8") for name in _SCRIPTS)
    return f'(function () {{\n"use strict";\n{joined}\n}})();'


def render(shown: dict[str, Any]) -> str:
    """Return the page of what `content` found."""
    assets = resources.files("truegraph.report.explorer") / "assets"
    texts = {name: (assets / name).read_text(encoding="utf-8") for name in _PAGE}
    script = page_script()
    light = "".join(f"--{name}: {colour[0]};" for name, colour in COLOURS.items())
    dark = "".join(f"--{name}: {colour[1]};" for name, colour in COLOURS.items())
    parts = {
        "TITLE": html.escape(str(shown["title"])),
        "POLICY": "default-src 'none'; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{script_hash(script)}'; base-uri 'none'; form-action 'none'",
        "STYLE": texts["explorer.css"]
        .replace("LIGHT_COLOURS", light)
        .replace("DARK_COLOURS", dark),
        "CONTENT": _json(shown),
        "SCRIPT": script,
    }
    # the template is cut once, so that what is put in is never searched for places
    pieces = re.split(r"\[\[([A-Z]+)\]\]", texts["explorer.html"])
    return "".join(parts[piece] if at % 2 else piece for at, piece in enumerate(pieces))


def _json(shown: dict[str, Any]) -> str:
    """Return JSON in which nothing can end the block of script that it stands in."""
    text = json.dumps(shown, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
