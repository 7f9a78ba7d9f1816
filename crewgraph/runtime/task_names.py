"""Tasks by any of their names."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from crewgraph.compiler.crew.state import TASK
from crewgraph.compiler.task.binding import Assignment
from crewgraph.definitions.task.task import Task
from crewgraph.errors import UnknownTask

__all__ = ["task_index"]


def task_index(wanted: Any, tasks: Sequence[Assignment], outputs: Mapping[str, Mapping[str, Any]]) -> int:
    """The place of a task among a crew's tasks.

    Args:
        wanted: the task itself; its name in the graph, its id, name or key; its place, also as a text; the id or the key that
            it had when a run was made.
        tasks: the crew's tasks.
        outputs: what that run's tasks gave, as plain data, by their names in the graph.

    Raises:
        UnknownTask: there is no such task, or there are several; says which there are.
        TypeError: it is nothing that names a task.
    """
    if isinstance(wanted, Task):
        found = [n for n, one in enumerate(tasks) if one.task is wanted]
        return _only(found, f"task `{wanted.name or wanted.description:.60}`", tasks)
    if isinstance(wanted, bool) or not isinstance(wanted, (str, UUID, int)):
        raise TypeError(f"{wanted!r:.80} names no task; give its id, name or key, its place, or the task")
    if isinstance(wanted, int):
        return _only([wanted] if 0 <= wanted < len(tasks) else [], f"task number {wanted}", tasks)
    name = str(wanted).strip()
    if not name:
        raise UnknownTask(f"no task was named. {_listed(tasks)}")
    for names in _ways(outputs):
        if found := [n for n, one in enumerate(tasks) if name in names(one)]:
            return _only(found, f"task `{name}`", tasks)
    if name.isdecimal() and int(name) < len(tasks):
        return int(name)
    return _only([], f"task `{name:.80}`", tasks)


def _ways(outputs: Mapping[str, Mapping[str, Any]]) -> Iterator[Callable[[Assignment], Sequence[Any]]]:
    """The kinds of names that a task has, the surest first."""

    def then(one: Assignment, what: str) -> Any:
        told: Mapping[str, Any] = outputs.get(one.slug, {}).get(TASK) or {}
        return told.get(what)

    yield lambda one: (one.slug,)
    yield lambda one: (str(one.task.id), one.task.id.hex)
    yield lambda one: (then(one, "id"),)
    yield lambda one: (one.task.name,)
    yield lambda one: (one.task.key, then(one, "key"))


def _only(found: Sequence[int], what: str, tasks: Sequence[Assignment]) -> int:
    if len(found) == 1:
        return found[0]
    told = "is several of the crew's tasks" if found else "is none of the crew's tasks"
    raise UnknownTask(f"{what} {told}. {_listed(tasks)}")


def _listed(tasks: Sequence[Assignment]) -> str:
    lines = "\n".join(f"  {n}. {one.slug}  id {one.task.id}  key {one.task.key}" for n, one in enumerate(tasks))
    return f"Give a name, an id, a key or a number of:\n{lines}"
