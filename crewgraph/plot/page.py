"""A flow as an HTML page of one file, to be looked at in a browser.

A flow as SVG.
"""

import hashlib
from collections.abc import Iterator
from html import escape
from pathlib import Path
from string import Template

from crewgraph.plot.layout import LINE, Box, Layout, Route, label_lines, laid_out, lines_of
from crewgraph.plot.picture import Method, Picture, Way

__all__ = ["LEGEND", "drawing", "inline", "page", "told"]


_DRAWING_STYLE = (Path(__file__).parent / "drawing.css").read_text("utf-8")

LEGEND: tuple[tuple[str, str], ...] = (
    ("start", "start"),
    ("listener", "listener"),
    ("router", "router"),
    ("crew", "calls a crew"),
    ("or", "alone, or one of several"),
    ("and", "waits for all"),
    ("routed", "a router's label"),
)
"""What is explained: its class in the style, and the words."""

_KINDS = {"start": "start method", "listener": "listener", "router": "router"}


def drawing(picture: Picture, least: float | None = None) -> str:
    """A flow as an `svg` element with its style inside, free of scripts; texts are escaped.

    Args:
        picture: the flow.
        least: as wide as what is around it, but no smaller than this part of its size, and no larger than that; None: its
            size.
    """
    layout = laid_out(picture)
    area = layout.area
    mark = hashlib.md5(repr(picture).encode("utf-8", "replace"), usedforsecurity=False).hexdigest()[:8]
    fit = f"width:clamp({_number(area.width * least)}px,100%,{_number(area.width)}px);height:auto" if least else ""
    view = " ".join(_number(one) for one in (area.left, area.top, area.width, area.height))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="crewgraph-flow" viewBox="{view}" '
            f'style="{fit}" width="{_number(area.width)}" height="{_number(area.height)}" '
            f'role="group" aria-labelledby="title-{mark} desc-{mark}">',
            f'<title id="title-{mark}">Flow {escape(picture.name)}</title>',
            f'<desc id="desc-{mark}">{escape(_about(picture))}</desc>',
            f"<style>{_DRAWING_STYLE}</style>",
            f"<defs>{''.join(_arrow(kind, mark) for kind in ('or', 'and', 'router'))}</defs>",
            '<g class="scene">',
            *_ways(picture, layout, mark),
            *(_node(method, layout.boxes[method.name]) for method in picture.methods),
            "</g>",
            "</svg>",
        ]
    )


def told(method: Method) -> str:
    """A method in a sentence, for people who hear the drawing."""
    words = [f"{method.name}: {_KINDS[method.kind]}"]
    if method.begins and method.kind != "start":
        words.append("a run begins with it")
    if method.calls_crew:
        words.append("calls a crew")
    if method.waits:
        words.append(f"waits for {method.waits}")
    return ", ".join(words)


def _about(picture: Picture) -> str:
    return f"{len(picture.methods)} methods and {len(picture.ways)} ways between them, from left to right."


def _arrow(kind: str, mark: str) -> str:
    return (
        f'<marker id="arrow-{kind}-{mark}" class="{kind}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="9" '
        'markerHeight="9" markerUnits="userSpaceOnUse" orient="auto"><path d="M0 1 L10 5 L0 9 Z"/></marker>'
    )


def _ways(picture: Picture, layout: Layout, mark: str) -> Iterator[str]:
    """First all curves, then all labels, which are to be read."""
    for way, route in zip(picture.ways, layout.routes, strict=True):
        yield (
            f'<path class="way {way.kind}{" joined" if way.joined else ""}" {_ends(way)} '
            f'd="{_curves(route)}" marker-end="url(#arrow-{way.kind}-{mark})"/>'
        )
    for way, route in zip(picture.ways, layout.routes, strict=True):
        if route.label is not None:
            yield _label(way, route.label)


def _ends(way: Way) -> str:
    return f'data-from="{escape(way.source)}" data-to="{escape(way.target)}"'


def _curves(route: Route) -> str:
    points = [f"{_number(x)} {_number(y)}" for x, y in route.points]
    curves = (" ".join(points[place : place + 3]) for place in range(1, len(points), 3))
    return f"M{points[0]} " + " ".join(f"C{curve}" for curve in curves)


def _label(way: Way, box: Box) -> str:
    return (
        f'<g class="label {way.kind}" {_ends(way)}><title>{escape(", ".join(way.labels))}</title>'
        f'<rect x="{_number(box.left)}" y="{_number(box.top)}" width="{_number(box.width)}" '
        f'height="{_number(box.height)}" rx="6"/>{_text(label_lines(way), box.x, box.y)}</g>'
    )


def _node(method: Method, box: Box) -> str:
    words = f"{method.name}\n\n{method.text}" if method.text else method.name
    crew = " crew" if method.calls_crew else ""
    begins = " begins" if method.begins else ""
    return (
        f'<g class="method {method.kind}{crew}{begins}" data-name="{escape(method.name)}" tabindex="0" role="button" '
        f'aria-label="{escape(told(method))}"><title>{escape(words)}</title>{_shape(method, box)}'
        f"{_text(lines_of(method), box.x, box.y)}</g>"
    )


def _shape(method: Method, box: Box) -> str:
    x, y = _number(box.x), _number(box.y)
    if method.kind == "start":
        return f'<circle class="shape" cx="{x}" cy="{y}" r="{_number(box.width / 2)}"/>'
    if method.kind == "router":
        corners = ((box.left, box.y), (box.x, box.top), (box.right, box.y), (box.x, box.bottom))
        points = " ".join(f"{_number(one)},{_number(other)}" for one, other in corners)
        return f'<polygon class="shape" points="{points}"/>'
    return f'<ellipse class="shape" cx="{x}" cy="{y}" rx="{_number(box.width / 2)}" ry="{_number(box.height / 2)}"/>'


def _text(lines: list[str], x: float, y: float) -> str:
    top = y - (len(lines) - 1) * LINE / 2
    return "".join(
        f'<text x="{_number(x)}" y="{_number(top + number * LINE)}">{escape(line)}</text>'
        for number, line in enumerate(lines)
    )


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


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
