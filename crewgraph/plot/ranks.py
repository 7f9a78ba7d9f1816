"""In which layer the nodes of a graph stand."""

from collections.abc import Iterable, Iterator, Sequence

__all__ = ["Edge", "ranked"]

Edge = tuple[str, str]


def ranked(names: Sequence[str], first: Sequence[str], edges: Iterable[Edge]) -> tuple[dict[str, int], set[Edge]]:
    """The layers of a graph that may have cycles.

    Args:
        names: the nodes.
        first: those that stand in layer 0; the only ones there, if there are any.
        edges: from which node to which; those of a node to itself are ignored.

    Returns:
        The layer of each node, and the edges that lead back: to a lower layer, or the same. All others lead to a higher one.
    """
    straight = [(source, target) for source, target in dict.fromkeys(edges) if source != target]
    behind: dict[str, list[str]] = {name: [] for name in names}
    for source, target in straight:
        if target not in first:
            behind[source].append(target)
    order, back = _ordered([*first, *names], behind)
    back |= {(source, target) for source, target in straight if target in first}
    ranks = dict.fromkeys(names, 1 if first else 0) | dict.fromkeys(first, 0)
    for name in order:
        for target in behind[name]:
            if (name, target) not in back:
                ranks[target] = max(ranks[target], ranks[name] + 1)
    led = {target for source, target in straight if (source, target) not in back}
    for name in names:
        nexts = [ranks[target] for target in behind[name] if (name, target) not in back]
        if name not in first and name not in led and nexts:  # as near to what it leads to as may be
            ranks[name] = max(ranks[name], min(nexts) - 1)
    return ranks, back


def _ordered(roots: Sequence[str], behind: dict[str, list[str]]) -> tuple[list[str], set[Edge]]:
    """The nodes, each before those behind it, but for the edges that lead back, which are the second value."""
    done: list[str] = []
    back: set[Edge] = set()
    seen: set[str] = set()
    for root in dict.fromkeys(roots):
        if root in seen:
            continue
        seen.add(root)
        path: dict[str, Iterator[str]] = {root: iter(behind[root])}
        while path:
            name = next(reversed(path))
            target = next(path[name], None)
            if target is None:
                path.pop(name)
                done.append(name)
            elif target in path:
                back.add((name, target))
            elif target not in seen:
                seen.add(target)
                path[target] = iter(behind[target])
    return done[::-1], back
