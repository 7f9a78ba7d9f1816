"""Rendering of a picture as SVG, and as an HTML page in a single file."""

import hashlib
from collections.abc import Iterator
from html import escape
from pathlib import Path
from string import Template

from crewgraph.plot.layout import LINE, Box, Layout, Route, compute_layout, label_lines, name_lines
from crewgraph.plot.picture import Edge, Node, Picture

_DRAWING_STYLE = (Path(__file__).parent / "drawing.css").read_text("utf-8")

LEGEND: tuple[tuple[str, str], ...] = (
    ("start", "start"),
    ("listener", "listener"),
    ("router", "router"),
    ("crew", "calls a crew"),
    ("or", "alone, or any of several"),
    ("and", "waits for all"),
    ("routed", "a router's label"),
)
"""CSS class and text of each entry in the legend of a flow."""

CREW_LEGEND: tuple[tuple[str, str], ...] = (
    ("task", "task and agent"),
    ("conditional", "conditional task"),
    ("or", "next"),
    ("and", "waits for all"),
    ("routed", "by its condition"),
)
"""CSS class and text of each entry in the legend of a crew."""

_KINDS = {"start": "start method", "listener": "listener", "router": "router", "task": "task"}


def render_svg(picture: Picture, min_scale: float | None = None) -> str:
    """Render a picture as an `svg` element with its style and without scripts; texts are escaped.

    Args:
        picture: The picture of a flow.
        min_scale: The smallest scale, as a fraction of the natural size, to which the drawing shrinks to fit its container;
            None for a fixed size.
    """
    layout = compute_layout(picture)
    area = layout.area
    uid = hashlib.md5(repr(picture).encode("utf-8", "replace"), usedforsecurity=False).hexdigest()[:8]
    style = (
        f"width:clamp({_number(area.width * min_scale)}px,100%,{_number(area.width)}px);height:auto"
        if min_scale
        else ""
    )
    view = " ".join(_number(value) for value in (area.left, area.top, area.width, area.height))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="crewgraph-flow" viewBox="{view}" '
            f'style="{style}" width="{_number(area.width)}" height="{_number(area.height)}" '
            f'role="group" aria-labelledby="title-{uid} desc-{uid}">',
            f'<title id="title-{uid}">{picture.noun.capitalize()} {escape(picture.name)}</title>',
            f'<desc id="desc-{uid}">{escape(_describe_picture(picture))}</desc>',
            f"<style>{_DRAWING_STYLE}</style>",
            f"<defs>{''.join(_arrow(kind, uid) for kind in ('or', 'and', 'router'))}</defs>",
            '<g class="scene">',
            *_drawn_edges(picture, layout, uid),
            *(_drawn_node(node, layout.boxes[node.name]) for node in picture.nodes),
            "</g>",
            "</svg>",
        ]
    )


def describe_node(node: Node) -> str:
    """Describe a node in a sentence, for screen readers."""
    parts = [f"{node.label}: {_KINDS[node.kind]}"]
    if node.note:
        parts.append(f"agent {node.note}")
    if node.begins and node.kind in ("listener", "router"):
        parts.append("a run begins with it")
    if node.calls_crew:
        parts.append("calls a crew")
    if node.waits:
        parts.append(f"waits for {node.waits}")
    return ", ".join(parts)


def _describe_picture(picture: Picture) -> str:
    nodes = _count(len(picture.nodes), "method" if picture.noun == "flow" else "task")
    if not picture.edges:
        return f"{nodes}."
    return f"{nodes} and {_count(len(picture.edges), 'edge')} between them, from left to right."


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _arrow(kind: str, uid: str) -> str:
    return (
        f'<marker id="arrow-{kind}-{uid}" class="{kind}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="9" '
        'markerHeight="9" markerUnits="userSpaceOnUse" orient="auto"><path d="M0 1 L10 5 L0 9 Z"/></marker>'
    )


def _drawn_edges(picture: Picture, layout: Layout, uid: str) -> Iterator[str]:
    """Yield all curves, then all labels, so that no curve covers a label."""
    for edge, route in zip(picture.edges, layout.routes, strict=True):
        yield (
            f'<path class="way {edge.kind}{" joined" if edge.joined else ""}" {_ends(edge)} '
            f'd="{_curves(route)}" marker-end="url(#arrow-{edge.kind}-{uid})"/>'
        )
    for edge, route in zip(picture.edges, layout.routes, strict=True):
        if edge.labels:
            yield _label_element(edge, route.label)


def _ends(edge: Edge) -> str:
    return f'data-from="{escape(edge.source)}" data-to="{escape(edge.target)}"'


def _curves(route: Route) -> str:
    points = [f"{_number(x)} {_number(y)}" for x, y in route.points]
    curves = (" ".join(points[start : start + 3]) for start in range(1, len(points), 3))
    return f"M{points[0]} " + " ".join(f"C{curve}" for curve in curves)


def _label_element(edge: Edge, box: Box) -> str:
    return (
        f'<g class="label {edge.kind}" {_ends(edge)}><title>{escape(", ".join(edge.labels))}</title>'
        f'<rect x="{_number(box.left)}" y="{_number(box.top)}" width="{_number(box.width)}" '
        f'height="{_number(box.height)}" rx="6"/>{_text(label_lines(edge), box.x, box.y)}</g>'
    )


def _drawn_node(node: Node, box: Box) -> str:
    tooltip = f"{node.label}\n\n{node.text}" if node.text else node.label
    crew = " crew" if node.calls_crew else " conditional" if node.is_conditional else ""
    start = " begins" if node.begins else ""
    return (
        f'<g class="method {node.kind}{crew}{start}" data-name="{escape(node.name)}" tabindex="0" role="button" '
        f'aria-label="{escape(describe_node(node))}"><title>{escape(tooltip)}</title>{_shape(node, box)}'
        f"{_text(name_lines(node), box.x, box.y)}</g>"
    )


def _shape(node: Node, box: Box) -> str:
    x, y = _number(box.x), _number(box.y)
    if node.kind == "start":
        return f'<circle class="shape" cx="{x}" cy="{y}" r="{_number(box.width / 2)}"/>'
    if node.kind == "task":
        size = f'width="{_number(box.width)}" height="{_number(box.height)}"'
        return f'<rect class="shape" x="{_number(box.left)}" y="{_number(box.top)}" {size} rx="9"/>'
    if node.kind == "router":
        corners = ((box.left, box.y), (box.x, box.top), (box.right, box.y), (box.x, box.bottom))
        points = " ".join(f"{_number(left)},{_number(top)}" for left, top in corners)
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
_MAX_INLINE_HEIGHT = 640
"""Maximum height of a drawing in a notebook, in pixels; larger drawings scroll."""

_MIN_INLINE_SCALE = 0.6
"""Smallest scale of a drawing in a notebook."""

_PARAGRAPH = "\n\n"


def render_page(picture: Picture) -> str:
    """Render the HTML page; it loads nothing from elsewhere, and all texts of the flow are escaped."""
    return _PAGE.substitute(
        title=escape(picture.name),
        text=f"<p>{escape(picture.text.partition(_PARAGRAPH)[0])}</p>" if picture.text else "",
        style=_STYLE,
        script=_SCRIPT,
        drawing=render_svg(picture),
        legend="".join(
            f'<li><i class="{kind}"></i>{escape(words)}</li>'
            for kind, words in (LEGEND if picture.noun == "flow" else CREW_LEGEND)
        ),
        details="\n".join(_node_details(node) for node in picture.nodes),
    )


def render_inline(picture: Picture) -> str:
    """Render the drawing for a notebook cell; it shrinks to the cell's width, and scrolls if it would get too small."""
    drawing = render_svg(picture, min_scale=_MIN_INLINE_SCALE)
    return f'<div style="max-height:{_MAX_INLINE_HEIGHT}px;overflow:auto">{drawing}</div>'


def _node_details(node: Node) -> str:
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{value}</dd>" for name, value in _rows(node))
    text = f"<pre>{escape(node.text)}</pre>" if node.text else ""
    return (
        f'<article data-name="{escape(node.name)}" aria-label="{escape(describe_node(node))}" hidden>'
        f"<h2>{escape(node.label)}</h2>{text}<dl>{rows}</dl></article>"
    )


def _rows(node: Node) -> Iterator[tuple[str, str]]:
    kind = "conditional task" if node.is_conditional else node.kind
    kind = f"{kind}, a run begins with it" if node.begins else kind
    yield "Kind", escape(f"{kind}; calls a crew" if node.calls_crew else kind)
    if node.signature:
        yield "Signature", f"<code>{escape(node.signature)}</code>"
    if node.label != node.name:
        yield "Node", f"<code>{escape(node.name)}</code>"
    for name, fact in node.facts:
        yield name, escape(fact)
    if node.waits:
        yield "Waits for", escape(node.waits)
    if node.labels:
        yield "May return", ", ".join(f"<code>{escape(label)}</code>" for label in node.labels)
