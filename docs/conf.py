"""Sphinx configuration of the documentation site; `make docs` builds it into docs/_build/html."""

from __future__ import annotations

import re
import sys
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import matplotlib as mpl

import truegraph

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))

from gallery_figures import own_figures  # noqa: E402

ROOT = DOCS.parent
GENERATED = DOCS / "generated"

project = "truegraph"
author = "The truegraph maintainers"
release = version = truegraph.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery", "generated/gallery/*.ipynb"]
html_theme = "pydata_sphinx_theme"
html_title = "truegraph"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {
    "show_prev_next": False,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
}
html_show_sourcelink = False

myst_enable_extensions = ["dollarmath", "attrs_inline"]
myst_heading_anchors = 4
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True

autosummary_generate = True
autodoc_default_options = {"members": True, "inherited-members": False}
autodoc_typehints = "none"  # the docstrings name types and shapes
napoleon_numpy_docstring = True
napoleon_use_rtype = False
napoleon_use_ivar = True

# Tables and folded parts of the results hold raw HTML, and their headings do not all nest.
# Types in docstrings such as n_nodes are words, and scikit-learn's own docstrings link to its site.
suppress_warnings = ["myst.header", "config.cache", "ref.python", "ref.ref", "ref.term"]

mpl.use("Agg")
warnings.filterwarnings("ignore", category=UserWarning, message=".*non-interactive.*")


sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "generated/gallery",
    "filename_pattern": "/plot_",
    "image_scrapers": (own_figures,),
    "download_all_examples": False,
    "show_memory": False,
    "within_subsection_order": "FileNameSortKey",
    "capture_repr": ("_repr_html_",),
    "abort_on_example_error": True,
}

# Links of pages that are also read outside the site.
LINKS = {
    "../README.md": "start.md",
    "../RESULTS.md": "generated/research/index.md",
    "../benchmarks/README.md": "generated/benchmarks.md",
    "../CHANGELOG.md": "generated/changelog.md",
}


def on_site(text: str, folder: str = "") -> str:
    """Turn links to files of the repository into links of the site, or into plain text."""

    def replaced(found: re.Match[str]) -> str:
        label, target = found[1], found[2]
        path = target.partition("#")[0]
        if path in LINKS:
            return f"[{label}](/{LINKS[path]})"
        if (found_page := re.fullmatch(r"(?:\.\./)?results/([\w-]+\.md)", path)) is not None:
            return f"[{label}](/generated/research/{found_page[1]})"
        if path.startswith(("../", "results", "docs/")):
            page = path.removeprefix("../").removeprefix("docs/")
            is_page = "docs/" in path and (DOCS / page).is_file()
            return f"[{label}](/{page})" if is_page and page.endswith(".md") else label
        return found[0]

    return re.sub(r"(?<!!)\[([^\]\[]*)\]\(([^)\s]+)\)", replaced, text)


def write_pages() -> None:
    """Write the pages that are made of other files: results, benchmarks, changes, commands."""
    research = GENERATED / "research"
    research.mkdir(parents=True, exist_ok=True)
    listed = []
    for page in sorted((ROOT / "results").glob("*.md")):
        listed.append(page.stem)
        (research / page.name).write_text(on_site(_with_pictures(page.read_text())))
    toctree = "\n```{toctree}\n:hidden:\n:maxdepth: 1\n\n" + "\n".join(listed) + "\n```\n"
    summary = (ROOT / "RESULTS.md").read_text().replace("# Results", "# Research", 1)
    (research / "index.md").write_text(on_site(summary) + toctree)
    for name, path in (("benchmarks", "benchmarks/README.md"), ("changelog", "CHANGELOG.md")):
        text = (ROOT / path).read_text().replace("](../docs/", "](docs/")
        (GENERATED / f"{name}.md").write_text(on_site(text))
    (GENERATED / "commands.md").write_text(_commands())
    (GENERATED / "api.md").write_text(_api())


def _with_pictures(text: str) -> str:
    return re.sub(r"(!\[[^\]]*\])\(([^)/]+\.png)\)", r"\1(/../results/\2)", text)


def _commands() -> str:
    """Return the help of every command as Markdown."""
    import typer.main
    from typer.cli import get_docs_for_click

    from truegraph.cli.app import app

    command = typer.main.get_command(app)
    text = get_docs_for_click(
        obj=command, ctx=typer.Context(command), name="truegraph", title="Command line"
    )
    return re.sub(r"\[/?[a-z ]+\]", "", text)


API = ("truegraph", "truegraph.data", "truegraph.learning", "truegraph.evaluation")
API += ("truegraph.experiments", "truegraph.distributed", "truegraph.anndata", "truegraph.umap")
API += ("truegraph.pyg", "truegraph.testing", "truegraph.errors")


def _api() -> str:
    """Return the page of all public names, by module."""
    import importlib

    text = "# API\n\nEvery public name, generated from the code.\n"
    seen: set[int] = set()
    for module in API:
        home = importlib.import_module(module)
        found = {name: getattr(home, name) for name in sorted(_public(home), key=str.lower)}
        names = [name for name, thing in found.items() if callable(thing) and id(thing) not in seen]
        seen |= {id(thing) for thing in found.values()}
        listed = "\n".join(f"   {name}" for name in names)
        text += (
            f"\n## {module}\n\n```{{eval-rst}}\n.. currentmodule:: {module}\n\n.. autosummary::\n"
            f"   :toctree: api\n   :nosignatures:\n\n{listed}\n```\n"
        )
    return text


def _public(home: ModuleType) -> list[str]:
    """Return the names that a module lists, or else defines."""
    own = [name for name, thing in vars(home).items() if _home(thing) == home.__name__]
    return list(getattr(home, "__all__", [name for name in own if not name.startswith("_")]))


def _home(thing: object) -> str | None:
    return getattr(thing, "__module__", None)


def _rewrite(app: Any, page: str, source: list[str]) -> None:
    source[0] = on_site(source[0]).replace("```csv\n", "```text\n")  # Pygments knows no csv


def setup(app: Any) -> None:
    """Write the generated pages and hook into the reading of the others."""
    write_pages()
    app.connect("source-read", _rewrite)
