"""The edges of a crew's graph, as lines of Python."""

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Stop", "Way", "wired"]


@dataclass(frozen=True)
class Stop:
    """A task on the way: its node, and the function that says whether it is done, where it depends."""

    node: str
    is_async: bool = False
    choose: str = ""


@dataclass(frozen=True)
class Way:
    """A conditional edge: from where, by which function, to where."""

    source: str
    chain: "tuple[Stop, ...]"
    """The conditional tasks it may lead to: the first whose condition holds."""

    following: "tuple[Stop, ...]"
    """What comes after them; nothing at the end."""

    targets: tuple[str, ...]


def wired(
    stops: Sequence[Stop], builder: str, begin: str = "START", end: str = "END"
) -> tuple[list[str], list[Way], str | None]:
    """The lines that connect tasks in their order.

    Args:
        stops: the tasks.
        builder: what the graph's builder is called.
        begin: what they come after: `START`, or a node.
        end: what comes after them: `END`, or a node.

    Returns:
        The lines, the conditional edges among them, and the name of a node in which branches meet, where one is needed.
    """
    lines: list[str] = []
    ways: list[Way] = []
    meeting: str | None = None
    ends: list[str] = [_shown(begin, "START")]
    at = 0
    while at < len(stops):
        if stops[at].choose:
            if len(ends) > 1:
                meeting = f"before_{stops[at].node}"
                lines += [f'{builder}.add_node("{meeting}", {meeting})', _edge(builder, ends, f'"{meeting}"')]
                ends = [f'"{meeting}"']
            chain, following = _chain(stops, at)
            targets = (*(one.node for one in chain), *([one.node for one in following] or [end]))
            ways.append(Way(ends[0], tuple(chain), tuple(following), targets))
            shown = ", ".join(_shown(one, "END") for one in targets)
            lines.append(f"{builder}.add_conditional_edges({ends[0]}, {stops[at].choose}, [{shown}])")
            ends = [f'"{stops[at].node}"']
            at += 1
            continue
        group = _group(stops, at)
        for one in group:
            lines.append(_edge(builder, ends, f'"{one.node}"'))
        ends = [f'"{one.node}"' for one in group]
        at += len(group)
    if end == "END":
        lines += [f"{builder}.add_edge({one}, END)" for one in ends]
    else:
        lines.append(_edge(builder, ends, f'"{end}"'))
    return lines, ways, meeting


def _chain(stops: Sequence[Stop], at: int) -> tuple[Sequence[Stop], Sequence[Stop]]:
    """The conditional tasks from a place on, and those that come after them."""
    end = at
    while end < len(stops) and stops[end].choose:
        end += 1
    return stops[at:end], _group(stops, end)


def _group(stops: Sequence[Stop], at: int) -> Sequence[Stop]:
    """The task at a place, with the asynchronous ones right behind it where it is one."""
    end = min(at + 1, len(stops))
    if at < len(stops) and stops[at].is_async and not stops[at].choose:
        while end < len(stops) and stops[end].is_async and not stops[end].choose:
            end += 1
    return stops[at:end]


def _shown(node: str, constant: str) -> str:
    return node if node == constant else f'"{node}"'


def _edge(builder: str, sources: Sequence[str], target: str) -> str:
    source = sources[0] if len(sources) == 1 else f"[{', '.join(sources)}]"
    return f"{builder}.add_edge({source}, {target})"
