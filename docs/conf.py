"""Sphinx configuration of the documentation site; `make docs` builds it into docs/_build/html."""

from __future__ import annotations

import re
import shutil
import sys
import warnings
from collections.abc import Iterator
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
templates_path = ["_templates"]
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
# Of scikit-learn's classes the members that users call, without the routing of metadata.
_ROUTING = "set_fit_request,set_predict_request,set_predict_proba_request,set_score_request"
_ROUTING += ",set_transform_request,get_metadata_routing"
autodoc_default_options = {
    "members": True,
    "inherited-members": "BaseEstimator,dict,tuple,Exception",
    "exclude-members": _ROUTING,
}
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
    "../README.md": "index.md",
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
    shutil.rmtree(GENERATED / "api", ignore_errors=True)  # pages of names that are gone
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
    (GENERATED / "models.md").write_text(models_page())


def models_page() -> str:
    """Return the options of every model, with their defaults, as Markdown."""
    text = (
        '# Options of the models\n\nPass them as a mapping: `NodeClassifier("gcn", '
        'options={"epochs": 100})`, or on the command line `--option epochs=100`.\n'
    )
    for estimator, models in _defaults().items():
        text += f"\n## {estimator}\n\n| Model | Options and defaults |\n|---|---|\n"
        for name, options in models.items():
            told = ", ".join(f"`{option}` {value!r}" for option, value in options.items())
            text += f"| `{name}` | {told or 'none'} |\n"
    return text


def _defaults() -> dict[str, dict[str, dict[str, Any]]]:
    """Return the options of every model of every estimator, as the code has them."""
    from truegraph.classify.models import MODELS, find_model
    from truegraph.learning.settings import OPTIONS
    from truegraph.links import estimator, names, pair_model
    from truegraph.paper import algorithm2, algorithm3, autoencoders
    from truegraph.paper.networks import network_class
    from truegraph.recommend import names as recommenders
    from truegraph.recommend.choosing import AUTO, CLOSED_FORMS

    links: dict[str, Any] = {"auto": pair_model.DEFAULTS}
    for name in names.AUTO_ENCODERS:
        links[name] = network_class(name).DEFAULTS | autoencoders.TRAINING | estimator._HELD_OUT
    for name in names.BAYESIAN:
        links[name] = links[name[1:]] | algorithm2.CHOICES
    links |= dict.fromkeys(names.HEURISTICS, estimator._HELD_OUT)
    ranked: dict[str, Any] = {"auto": AUTO}
    ranked |= {name: CLOSED_FORMS[name].DEFAULTS for name in recommenders.CLOSED_FORM}
    ranked |= {name: network_class(name).DEFAULTS for name in recommenders.NETWORKS}
    ranked |= {name: ranked[name[1:]] | algorithm3.CHOICES for name in recommenders.BAYESIAN}
    return {
        "learn_graph and GraphLearner": {"all": dict(OPTIONS)},
        "NodeClassifier": {name: dict(find_model(name).defaults) for name in MODELS},
        "LinkPredictor": links,
        "Recommender": ranked,
    }


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
    whole = dict(_summaries(command))
    # typer cuts summaries after a few words
    text = re.sub(
        r"^\* `(\w+)`: .*\.\.\.$", lambda one: f"* `{one[1]}`: {whole[one[1]]}", text, flags=re.M
    )
    text = re.sub(r"\[/?[a-z ]+\]", "", text)
    # Two dashes would become a long one; options and examples are code.
    text = re.sub(r"(?<=Example: )truegraph .*", r"`\g<0>`", text)
    return re.sub(
        r"(?<![`\w-])(--[a-z][\w-]*)(?=[^`]*(?:`[^`\n]*`[^`\n]*)*$)", r"`\1`", text, flags=re.M
    )


def _summaries(command: Any) -> Iterator[tuple[str, str]]:
    """Yield the names of commands and of those below them, each with its first sentence."""
    for name, own in getattr(command, "commands", {}).items():
        yield name, " ".join((own.help or "").split("\n\n")[0].split())
        yield from _summaries(own)


TASKS = {
    "Learn a graph": ["learn_graph", "learn_bipartite_graph", "GraphLearner", "LearnedGraph"],
    "Classify and predict numbers": ["NodeClassifier", "NodeRegressor", "GraphLabelSpreading"],
    "Predict links": ["LinkPredictor"],
    "Recommend": ["Recommender", "Interactions"],
    "Compare models": ["compare", "Comparison"],
    "Data and columns": ["ColumnPlan", "load_dataset", "list_datasets"],
}
MODULES = ("truegraph.data", "truegraph.learning", "truegraph.evaluation", "truegraph.distributed")
MODULES += ("truegraph.anndata", "truegraph.umap", "truegraph.pyg")
MODULES += ("truegraph.errors",)


def _api() -> str:
    """Return the page of all public names, by task, then by module."""
    import importlib

    text = "# API\n\nEvery public name, by task and then by module.\n"
    for title, names in TASKS.items():
        text += _listed(title, "truegraph", names)
    seen = {id(getattr(truegraph, name)) for names in TASKS.values() for name in names}
    for module in ("truegraph", *MODULES):
        home = importlib.import_module(module)
        found = {name: getattr(home, name) for name in sorted(_public(home), key=str.lower)}
        names = [name for name, thing in found.items() if callable(thing) and id(thing) not in seen]
        seen |= {id(thing) for thing in found.values()}
        if names:
            text += _listed(module, module, names)
    return text


def _listed(title: str, module: str, names: list[str]) -> str:
    listed = "\n".join(f"   {name}" for name in names)
    return (
        f"\n## {title}\n\n```{{eval-rst}}\n.. currentmodule:: {module}\n\n.. autosummary::\n"
        f"   :toctree: api\n   :nosignatures:\n\n{listed}\n```\n"
    )


def _public(home: ModuleType) -> list[str]:
    """Return the names that a module lists, or else defines."""
    own = [name for name, thing in vars(home).items() if _home(thing) == home.__name__]
    return list(getattr(home, "__all__", [name for name in own if not name.startswith("_")]))


def _home(thing: object) -> str | None:
    return getattr(thing, "__module__", None)


def _rewrite(app: Any, page: str, source: list[str]) -> None:
    source[0] = on_site(source[0]).replace("```csv\n", "```text\n")  # Pygments knows no csv


def _keep_underscores(
    app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]
) -> None:
    """Keep the last letter of fitted attributes: in reStructuredText ``classes_`` is a link."""
    lines[:] = [re.sub(r"^(:(?:ivar|vartype) [^:]*\w)_(?=[,:])", r"\1\\_", line) for line in lines]


def setup(app: Any) -> None:
    """Write the generated pages and hook into the reading of the others."""
    write_pages()
    app.connect("source-read", _rewrite)
    app.connect("autodoc-process-docstring", _keep_underscores, priority=900)  # after napoleon
