"""Figures of gallery scripts that are not pyplot's, for sphinx-gallery."""

from __future__ import annotations

from typing import Any


def own_figures(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the variable `figure` of a block, and return how it is shown."""
    from matplotlib.figure import Figure
    from sphinx_gallery.scrapers import figure_rst

    found = block_vars["example_globals"].pop("figure", None)
    if not isinstance(found, Figure):
        return ""
    path = next(block_vars["image_path_iterator"])
    found.savefig(path, dpi=110)
    return str(figure_rst([path], gallery_conf["src_dir"]))
