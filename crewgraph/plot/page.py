"""A flow as an HTML page of one file, to be looked at in a browser."""

from collections.abc import Iterator
from html import escape
from pathlib import Path
from string import Template

from crewgraph.plot.drawing import LEGEND, drawing, told
from crewgraph.plot.picture import Method, Picture

__all__ = ["inline", "page"]

_HERE = Path(__file__).parent
_PAGE = Template((_HERE / "page.html").read_text("utf-8"))
_STYLE = (_HERE / "page.css").read_text("utf-8")
_SCRIPT = (_HERE / "page.js").read_text("utf-8")
_HIGHEST = 640
"""How high a drawing may be in a notebook, in pixels; what is higher is scrolled."""

_LEAST = 0.6
"""How small it may get there."""

_PARAGRAPH = "\n\n"


def page(picture: Picture) -> str:
    """The page: nothing of it is loaded from elsewhere, and every text of the flow is escaped."""
    return _PAGE.substitute(
        title=escape(picture.name),
        text=f"<p>{escape(picture.text.partition(_PARAGRAPH)[0])}</p>" if picture.text else "",
        style=_STYLE,
        script=_SCRIPT,
        drawing=drawing(picture),
        legend="".join(f'<li><i class="{kind}"></i>{escape(words)}</li>' for kind, words in LEGEND),
        details="\n".join(_details(method) for method in picture.methods),
    )


def inline(picture: Picture) -> str:
    """The drawing for a notebook's cell: as wide as the cell at most, and to be scrolled where it would get too small."""
    return f'<div style="max-height:{_HIGHEST}px;overflow:auto">{drawing(picture, least=_LEAST)}</div>'


def _details(method: Method) -> str:
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{words}</dd>" for name, words in _rows(method))
    text = f"<pre>{escape(method.text)}</pre>" if method.text else ""
    return (
        f'<article data-name="{escape(method.name)}" aria-label="{escape(told(method))}" hidden>'
        f"<h2>{escape(method.name)}</h2>{text}<dl>{rows}</dl></article>"
    )


def _rows(method: Method) -> Iterator[tuple[str, str]]:
    kind = f"{method.kind}, a run begins with it" if method.begins else method.kind
    yield "Kind", escape(f"{kind}; calls a crew" if method.calls_crew else kind)
    yield "Signature", f"<code>{escape(method.signature)}</code>"
    if method.waits:
        yield "Waits for", escape(method.waits)
    if method.labels:
        yield "May return", ", ".join(f"<code>{escape(label)}</code>" for label in method.labels)
