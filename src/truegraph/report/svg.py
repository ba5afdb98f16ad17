"""Figures as SVG elements that stand inside a page: small, without outside names, light or dark.

matplotlib writes a document of its own; here it becomes one element of the page. Colours of the
house (`plots.style.COLOURS`) turn into CSS variables, so that the page decides between light and
dark; text stays text in the font of the page; identifiers are made unique; the picture scales.
"""

from __future__ import annotations

import base64
import io
import re
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from truegraph.report.plots.style import COLOURS

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

Element = ElementTree.Element

_NAME_OF = {light: name for name, (light, _) in COLOURS.items()}
_LEVELS = 6  # shades of a density
_MOST_RUNS = 40_000  # of a density as vectors: some 400 kB
_NOISE = {"metadata", "style"}
_NUMBER = re.compile(r"-?\d+\.\d{3,}")


def inline_svg(figure: Figure, alternative: str, prefix: str) -> str:
    """Return a figure as an ``<svg>`` element for an HTML page.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    alternative : str
        What the picture shows, for those who cannot see it.
    prefix : str
        Begins every identifier; give each figure of a page its own.
    """
    images = [image for axes in figure.axes for image in axes.get_images()]
    for number, image in enumerate(images):
        image.set_gid(f"density-{number}")
    root = _document(figure)
    _drop_noise(root)
    _insert_densities(root, images)
    for element in root.iter():
        if isinstance(element.tag, str):  # and is no comment
            _restyle(element)
    _rename(root, prefix)
    root.attrib = {
        "viewBox": root.attrib["viewBox"],
        "class": "plot",
        "role": "img",
        "aria-label": alternative,
        "style": f"max-width: {1.3 * figure.get_figwidth():.2f}in",
    }
    return ElementTree.tostring(root, encoding="unicode")


def _document(figure: Figure) -> Element:
    from matplotlib import rc_context

    stream = io.BytesIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "truegraph"}):
        figure.savefig(stream, format="svg", transparent=True, metadata={"Date": None})
    root = ElementTree.fromstring(stream.getvalue())
    for element in root.iter():  # inside HTML the parser knows the namespaces
        element.tag = _local(element.tag)
        element.attrib = {_local(name): value for name, value in element.attrib.items()}
    return root


def _local(name: Any) -> Any:
    return name.rpartition("}")[2] if isinstance(name, str) else name  # comments have no name


def _drop_noise(root: Element) -> None:
    for parent in list(root.iter()):
        for child in list(parent):
            empty_group = child.tag in ("g", "defs") and len(child) == 0
            if child.tag in _NOISE or not isinstance(child.tag, str) or empty_group:
                parent.remove(child)


def _insert_densities(root: Element, images: list[AxesImage]) -> None:
    """Put each density in the place of matplotlib's picture of it, which is blurred."""
    width, height = (float(size) for size in root.attrib["viewBox"].split()[2:])
    parents = {child: parent for parent in root.iter() for child in parent}
    for element in list(root.iter("image")):
        image = images[int(element.attrib["id"].removeprefix("density-"))]
        assert image.axes is not None
        box = image.axes.get_position()
        darkness = np.asarray(image.get_array())
        rows, columns = darkness.shape
        group = density(darkness)
        group.attrib["transform"] = (
            f"translate({box.x0 * width:.2f} {(1 - box.y1) * height:.2f}) "
            f"scale({box.width * width / columns:.6f} {box.height * height / rows:.6f})"
        )
        siblings = parents[element]
        siblings[list(siblings).index(element)] = group


def density(darkness: NDArray[np.float64]) -> Element:
    """Return a grid of shades as an SVG group, one unit of length per cell.

    Parameters
    ----------
    darkness : ndarray of float, shape (n_rows, n_columns)
        0 for nothing to 1 for the full ink.

    Returns
    -------
    group : Element
        Vectors, one path per shade; above 40,000 runs of cells a PNG with one pixel per cell.
    """
    group = Element("g", {"class": "density"})
    level = np.ceil(np.clip(darkness, 0, 1) * _LEVELS).astype(np.int64)
    runs = _runs(level)
    if len(runs) > _MOST_RUNS:
        # As vectors this would take megabytes; the lines and names around it stay vectors.
        group.append(ElementTree.Comment(f" a PNG, for {len(runs)} runs of cells are too many "))
        group.append(_raster(level))
        return group
    for shade in np.unique(runs[:, 3]):
        path = "".join(f"M{x} {y}.5h{n}" for x, y, n, _ in runs[runs[:, 3] == shade].tolist())
        style = f"stroke-opacity: {shade / _LEVELS:.3g}"
        group.append(Element("path", {"d": path, "style": style}))
    return group


def _runs(level: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return column, row, length and level of the runs of equal, non-zero cells in each row."""
    before = np.pad(level, ((0, 0), (1, 0)), constant_values=-1)[:, :-1]
    rows, starts = np.nonzero(level != before)
    values = level[rows, starts]
    columns = level.shape[1]
    ends = np.append(starts[1:], columns)
    ends[np.append(np.diff(rows) > 0, True)] = columns  # the last run of a row
    runs = np.column_stack([starts, rows, ends - starts, values])
    return runs[values > 0]


def _raster(level: NDArray[np.int64]) -> Element:
    from matplotlib.image import imsave

    rows, columns = level.shape
    pixels = np.zeros((rows, columns, 4))  # black, more or less transparent; the page may invert it
    pixels[..., 3] = level / _LEVELS
    stream = io.BytesIO()
    imsave(stream, pixels, format="png")
    address = "data:image/png;base64," + base64.b64encode(stream.getvalue()).decode("ascii")
    return Element("image", {"href": address, "width": str(columns), "height": str(rows)})


def _restyle(element: Element) -> None:
    element.tail = None  # matplotlib's indentation
    element.text = element.text if element.tag in ("text", "tspan") else None
    if "style" in element.attrib:
        element.attrib["style"] = _themed(element.attrib["style"])
    for name in ("d", "transform", "x", "y", "width", "height", "points"):
        if name in element.attrib and not element.attrib.get("class"):
            short = _NUMBER.sub(_rounded, element.attrib[name])
            element.attrib[name] = " ".join(short.split())


def _themed(style: str) -> str:
    """Name the colours of the house, and leave the font to the page."""
    style = re.sub(r"#[0-9a-f]{6}", _variable, style)
    style = re.sub(r"font: ([\d.]+px) [^;]*", r"font-size: \1", style)
    return re.sub(r"font-family: [^;]*(; )?", "", style)


def _variable(match: re.Match[str]) -> str:
    colour = match.group()
    return f"var(--plot-{_NAME_OF[colour]}, {colour})" if colour in _NAME_OF else colour


def _rounded(match: re.Match[str]) -> str:
    return f"{float(match.group()):.2f}".rstrip("0").rstrip(".")


def _rename(root: Element, prefix: str) -> None:
    """Keep the identifiers that are referred to, and make them unique to this figure."""
    text = " ".join(
        value for element in root.iter() for name, value in element.attrib.items() if name != "id"
    )
    used = set(re.findall(r"#([\w-]+)\)", text)) | {
        element.attrib["href"][1:] for element in root.iter("use")
    }
    for element in root.iter():
        if element.attrib.get("id") not in used:
            element.attrib.pop("id", None)
        for name, value in element.attrib.items():
            if name == "id":
                element.attrib[name] = f"{prefix}-{value}"
            elif name == "href" and value.startswith("#"):
                element.attrib[name] = f"#{prefix}-{value[1:]}"
            elif "url(#" in value:
                element.attrib[name] = value.replace("url(#", f"url(#{prefix}-")
