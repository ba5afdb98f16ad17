"""Figures as SVG elements that stand inside a page: small, in the page's font, light or dark."""

from __future__ import annotations

import html
import io
import re
from typing import TYPE_CHECKING

from truegraph.report.plots.style import COLOURS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NAME_OF = {light: name for name, (light, _) in COLOURS.items()}
_NOISE = re.compile(r"<metadata>.*?</metadata>|<style[ >].*?</style>|<!--.*?-->", re.DOTALL)
_FONT = re.compile(r"font: ([\d.]+px) [^;\"]*|font-family: [^;\"]*(?:; )?")


def inline_svg(figure: Figure, alternative: str, prefix: str) -> str:
    """Return a figure as an ``<svg>`` element whose identifiers begin with `prefix`.

    Colours of the house become CSS variables, so that the page decides between light and dark;
    text stays text; `alternative` is for those who cannot see the picture.
    """
    from matplotlib import rc_context

    stream = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "truegraph"}):
        figure.savefig(stream, format="svg", transparent=True, metadata={"Date": None})
    text = _NOISE.sub("", stream.getvalue())
    opening = re.search(r"<svg [^>]*?viewBox=\"([^\"]*)\"[^>]*>", text)
    assert opening is not None  # matplotlib writes one
    body = text[opening.end() :]
    body = re.sub(r"#[0-9a-f]{6}\b", _variable, body)
    body = _FONT.sub(lambda at: f"font-size: {at[1]}" if at[1] else "", body)
    body = re.sub(r"-?\d+\.\d{3,}", lambda at: f"{float(at[0]):.2f}", body)
    body = re.sub(r"( id=\"|url\(#|href=\"#)", rf"\1{prefix}-", body)
    body = re.sub(r">\s+<", "><", body)
    return (
        f'<svg viewBox="{opening[1]}" class="plot" role="img" '
        f'aria-label="{html.escape(alternative)}" '
        f'style="max-width: {1.3 * figure.get_figwidth():.2f}in">{body}'
    )


def _variable(colour: re.Match[str]) -> str:
    name = _NAME_OF.get(colour[0])
    return colour[0] if name is None else f"var(--plot-{name}, {colour[0]})"
