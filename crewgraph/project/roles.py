"""What the methods and classes of a project are for, and how they are found."""

import inspect
from enum import StrEnum
from typing import Any, TypeVar

__all__ = ["Role", "inherited_roles", "marked", "named", "roles_of"]

_T = TypeVar("_T")

_MARK = "__project_roles__"


class Role(StrEnum):
    """What a method of a project makes, or when it is called; the name of its decorator."""

    agent = "agent"
    task = "task"
    crew = "crew"
    llm = "llm"
    tool = "tool"
    callback = "callback"
    cache_handler = "cache_handler"
    output_json = "output_json"
    output_pydantic = "output_pydantic"
    before_kickoff = "before_kickoff"
    after_kickoff = "after_kickoff"

    @property
    def noun(self) -> str:
        """What has this role, in messages."""
        return f"@{self} {'class' if self in (Role.output_json, Role.output_pydantic) else 'method'}"


def marked(member: _T, role: Role) -> _T:
    """A function or class that has a role, beside those it has."""
    setattr(member, _MARK, roles_of(member) | {role})
    return member


def roles_of(member: Any) -> frozenset[Role]:
    """The roles of a function or class; a subclass does not inherit them."""
    return getattr(member, "__dict__", {}).get(_MARK, frozenset[Role]())


def inherited_roles(cls: type, name: str) -> frozenset[Role]:
    """The roles that a name has in the classes above."""
    return next((roles_of(vars(base)[name]) for base in cls.__mro__[1:] if name in vars(base)), frozenset[Role]())


def named(cls: type, role: Role) -> list[str]:
    """The names of a class that have a role, those of its bases first, each where it stands first."""
    names = dict.fromkeys(name for base in reversed(cls.__mro__) for name in vars(base))
    return [name for name in names if role in roles_of(inspect.getattr_static(cls, name, None))]
