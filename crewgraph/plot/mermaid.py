"""A flow as mermaid text."""

from collections.abc import Iterator

from crewgraph.plot.picture import Method, Picture, Way

__all__ = ["mermaid"]

_SHAPES = {"start": ("((", "))"), "listener": ("([", "])"), "router": ("{", "}")}
_STYLES = (
    "classDef start fill:#dff5e7,stroke:#1f9d55,color:#1d2330",
    "classDef listener fill:#efe7fd,stroke:#7c3aed,color:#1d2330",
    "classDef router fill:#e0eafc,stroke:#2563eb,color:#1d2330",
    "classDef crew stroke-dasharray:6 4",
)
_COLOURS = {"or": "#7c3aed", "and": "#2563eb", "router": "#15803d"}


def mermaid(picture: Picture) -> str:
    """A flow as the text of a mermaid flowchart, from left to right; names and labels are escaped."""
    return "\n".join(["flowchart LR", *(f"    {line}" for line in _lines(picture))]) + "\n"


def _lines(picture: Picture) -> Iterator[str]:
    marks = {method.name: f"m{number}" for number, method in enumerate(picture.methods)}
    for method in picture.methods:
        yield _node(method, marks[method.name])
    for way in picture.ways:
        yield _way(way, marks)
    yield from _STYLES
    for kind in _SHAPES:
        named = [marks[method.name] for method in picture.methods if method.kind == kind]
        if named:
            yield f"class {','.join(named)} {kind}"
    if crews := [marks[method.name] for method in picture.methods if method.calls_crew]:
        yield f"class {','.join(crews)} crew"
    for kind, colour in _COLOURS.items():
        numbers = [str(number) for number, way in enumerate(picture.ways) if way.kind == kind]
        if numbers:
            yield f"linkStyle {','.join(numbers)} stroke:{colour}"


def _node(method: Method, mark: str) -> str:
    left, right = _SHAPES[method.kind]
    return f'{mark}{left}"{_escaped(method.name)}"{right}'


def _way(way: Way, marks: dict[str, str]) -> str:
    arrow = "-.->" if way.joined else "-->"
    label = f'|"{_escaped(" | ".join(way.labels))}"|' if way.labels else ""
    return f"{marks[way.source]} {arrow}{label} {marks[way.target]}"


def _escaped(text: str) -> str:
    """A text with everything as a number that is not a letter, a digit, a space or harmless."""
    return "".join(one if one.isalnum() or one in " _-.," else f"#{ord(one)};" for one in text) or "#32;"
