"""Which methods of a flow may run at once."""

import ast
import inspect
import textwrap
from typing import Any

from crewgraph.eject.events import Events

__all__ = ["at_once", "is_forked", "says_several"]


def is_forked(events: Events) -> bool:
    """Whether anything of a flow runs at once."""
    return any(len(branches) > 1 for _, branches in _forks(events))


def at_once(events: Events, one: str, other: str) -> bool:
    """Whether two methods may run at once: they are on different branches, and neither is behind the other."""
    for fork, branches in _forks(events):
        reached = {branch: _reached(events, branch, fork) for branch in branches}
        for first in branches:
            for second in branches:
                if first == second or one not in reached[first] or other not in reached[second]:
                    continue
                if other not in _reached(events, one, fork) and one not in _reached(events, other, fork):
                    return True
    return False


def _forks(events: Events) -> list[tuple[str, list[str]]]:
    found = [("", list(events.starts))]
    for name in events.definition.methods:
        sure = [*events.edges.get(name, ())]
        ways = [*events.routes.get(name, {}).values()]
        if says_several(events.definition.methods[name].func):
            ways.append([one for targets in ways for one in targets])
        for targets in ways:
            found.append(
                (name, list(dict.fromkeys([*sure, *(one for one in targets if one in events.definition.methods)])))
            )
        found.append((name, sure))
    return [(name, branches) for name, branches in found if len(branches) > 1]


def says_several(function: Any) -> bool:
    """Whether a router may say several labels at once: it returns a list in a place, or what cannot be told."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    said = [one.value for one in ast.walk(tree) if isinstance(one, ast.Return)]
    return any(isinstance(one, (ast.List, ast.Tuple, ast.ListComp)) for one in said)


def _reached(events: Events, start: str, without: str) -> set[str]:
    """A method and all behind it, but for what is behind another one alone."""
    found, todo = {start}, [start]
    while todo:
        for name in events.following(todo.pop()):
            if name not in found and name != without:
                found.add(name)
                todo.append(name)
    return found
