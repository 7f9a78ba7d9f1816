"""Names in agents.yaml and tasks.yaml that stand for members of the project."""

import difflib
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from crewgraph.definitions.section import Section
from crewgraph.errors import DefinitionError, Fault
from crewgraph.project.memo import finished, shelf_of
from crewgraph.project.roles import Role, named

__all__ = ["OF_AGENTS", "OF_TASKS", "Reference", "faults_of", "resolved"]


@dataclass(frozen=True)
class Reference:
    """What a key of a configuration may name."""

    role: Role
    """The role of the members it names."""

    many: bool = False
    """Whether it names several."""

    open: bool = False
    """Whether a name that no member has means something else: a model's own name."""


OF_AGENTS: Mapping[str, Reference] = {
    "llm": Reference(Role.llm, open=True),
    "function_calling_llm": Reference(Role.llm, open=True),
    "tools": Reference(Role.tool, many=True),
    "step_callback": Reference(Role.callback),
    "callbacks": Reference(Role.callback, many=True),
    "cache_handler": Reference(Role.cache_handler),
}
"""The keys of an agent that hold names."""

OF_TASKS: Mapping[str, Reference] = {
    "agent": Reference(Role.agent),
    "context": Reference(Role.task, many=True),
    "tools": Reference(Role.tool, many=True),
    "callback": Reference(Role.callback),
    "callbacks": Reference(Role.callback, many=True),
    "output_json": Reference(Role.output_json),
    "output_pydantic": Reference(Role.output_pydantic),
}
"""The keys of a task that hold names."""


def faults_of(cls: type, section: Section, references: Mapping[str, Reference]) -> Iterator[Fault]:
    """Names in an entry that lead nowhere, and what stands where a name should."""
    for key, reference in references.items():
        given = section.get(key)
        where = f"{section.where(key)}: `{key}` of `{section.name}`"
        is_list = isinstance(given, (list, tuple))
        if is_list and not reference.many or isinstance(given, (dict, bool, int, float)):
            kind = "a list" if is_list else "a mapping" if isinstance(given, dict) else f"`{given}`"
            wanted = (
                f"the name of one {reference.role.noun}" if not reference.many else f"names of {reference.role.noun}s"
            )
            yield Fault(where=where, what=f"it is {kind}.", remedy=f"Write {wanted}.", code="no_name")
            continue
        for name in _names(given):
            if not reference.open and name not in named(cls, reference.role):
                yield _nowhere(cls, where, name, reference.role)


def _nowhere(cls: type, where: str, name: str, role: Role) -> Fault:
    there = named(cls, role)
    other = next((one for one in Role if name in named(cls, one)), None)
    what = f"`{cls.__name__}` has no {role.noun} `{name}`."
    if other is not None:
        what = f"`{name}` is a {other.noun} of `{cls.__name__}`, not a {role.noun}."
    near = difflib.get_close_matches(name, there, n=1)
    choice = (
        f"It has {', '.join(f'`{one}`' for one in there)}."
        if there
        else "It has none; write one, or take the name out."
    )
    remedy = f"Did you mean `{near[0]}`? {choice}" if near else choice
    return Fault(where=where, what=what, remedy=remedy, code="unknown_name")


def resolved(project: object, section: Section, references: Mapping[str, Reference]) -> dict[str, Any]:
    """What stands in an entry in the place of names."""
    found: dict[str, Any] = {}
    for key, reference in references.items():
        given = section.get(key)
        if not _names(given):
            continue
        if reference.many:
            found[key] = [one for item in _items(given) for one in _members(project, item, reference)]
        else:
            [found[key]] = _members(project, given, reference)
    return found


def _items(given: Any) -> list[Any]:
    return list(cast(list[Any], given)) if isinstance(given, (list, tuple)) else [given]


def _names(given: Any) -> list[str]:
    return [one for one in _items(given) if isinstance(one, str)]


def _members(project: object, item: Any, reference: Reference) -> list[Any]:
    """What a name stands for: one object, or the tools of a `@tool` method that returns several."""
    if not isinstance(item, str) or item not in named(type(project), reference.role):
        return [item]
    member: Any = getattr(project, item)
    if reference.role is Role.callback:
        return [_callback(project, item, member)]
    made = member if isinstance(member, type) else finished(member())
    return list(cast(list[Any], made)) if reference.many and isinstance(made, (list, tuple)) else [made]


def _callback(project: object, name: str, method: Any) -> Any:
    """A method that is told something, or the function that one without arguments makes."""
    parameters = inspect.signature(method).parameters.values()
    if any(p.kind is p.VAR_POSITIONAL or (p.default is p.empty and p.kind is not p.VAR_KEYWORD) for p in parameters):
        return method
    made = shelf_of(project)
    if (Role.callback, name) not in made:
        function = finished(method())
        if not callable(function):
            raise DefinitionError(
                f"the @callback method `{type(project).__name__}.{name}` takes nothing and returned {function!r:.60}; let it "
                "take what it is told of, or return a function that does"
            )
        made[Role.callback, name] = function
    return made[Role.callback, name]
