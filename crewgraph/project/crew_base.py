"""`@CrewBase`: a class whose methods make agents, tasks and a crew, from YAML files beside it.

The tools of the MCP servers that a project names: `mcp_server_params` and `self.get_mcp_tools(...)`.
"""

import inspect
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

from crewgraph.errors import DefinitionError
from crewgraph.project.configuration import AGENTS, TASKS, ConfigurationAttribute, Kind
from crewgraph.project.decorators import Collected, agents_of, decorated, tasks_of
from crewgraph.project.roles import folder_of, inherited_roles, roles_of
from crewgraph.tools.mcp.server import ServerReference, parse_reference
from crewgraph.tools.mcp.tool import MCPTool, load_tools

__all__ = ["CrewBase", "get_mcp_tools"]


_KEPT = "_mcp_tools"


def get_mcp_tools(self: Any, *names: str) -> list[MCPTool]:
    """The tools of the MCP servers in `mcp_server_params`: those of the names, else all; none where there are no servers.

    The servers are asked once for each object of the project. `mcp_connect_timeout` is how many seconds they have to answer.

    Raises:
        DefinitionError: a name is no tool's, or `mcp_server_params` lead to no server.
        MCPServerError: a server is not there.
        MissingExtra: the package for MCP is not installed.
    """
    given: object = getattr(self, "mcp_server_params", None)
    if not given:
        return []
    own = cast("dict[str, Any]", vars(self))
    if _KEPT not in own:
        servers = list(cast("Sequence[Any]", given)) if isinstance(given, (list, tuple)) else [given]
        seconds = getattr(self, "mcp_connect_timeout", None)
        own[_KEPT] = load_tools([_in_time(parse_reference(one), seconds) for one in servers], self)
    tools: list[MCPTool] = own[_KEPT]
    if unknown := [name for name in names if all(name not in _names(tool) for tool in tools)]:
        there = ", ".join(f"`{tool.name}`" for tool in tools) or "none at all"
        raise DefinitionError(
            f"`{type(self).__name__}.get_mcp_tools` is asked for {', '.join(f'`{name}`' for name in unknown)}, which the servers "
            f"in `mcp_server_params` do not have. They have: {there}."
        )
    return [tool for tool in tools if not names or any(name in _names(tool) for name in names)]


def _in_time(one: ServerReference, seconds: Any) -> ServerReference:
    if seconds is None:
        return one
    return ServerReference(one.server.model_copy(update={"connect_timeout": float(seconds)}), one.tool_name)


def _names(tool: MCPTool) -> tuple[str, str]:
    return tool.name, tool.original_tool_name


_T = TypeVar("_T")

_NOTHING = object()


def CrewBase(cls: type[_T]) -> type[_T]:
    """Make a class a project; it stays the same class.

    `agents_config` and `tasks_config`, paths of YAML files or dicts on the class, are what these hold on its objects;
    relative paths begin at the class's file. `agents` and `tasks` are what the methods under `@agent` and `@task` make.

    Raises:
        TypeError: it does not stand above a class.
    """
    if not inspect.isclass(cls):
        raise TypeError(f"`@CrewBase` stands above a class, without parentheses, not above {cls!r:.60}")
    caller = sys._getframe(1).f_globals  # pyright: ignore[reportPrivateUsage]
    _prepare(cls, folder_of(cls, caller.get("__file__")))
    if not any(getattr(base, "is_crew_class", False) for base in cls.__bases__):
        _prepare_subclasses(cls)
    return cls


def _prepare_subclasses(cls: type) -> None:
    """Let subclasses that are not decorated be projects, too."""
    own: Any = vars(cls).get("__init_subclass__")

    def prepared(subclass: type, **kwargs: object) -> None:
        if own is None:
            super(cls, subclass).__init_subclass__(**kwargs)
        else:
            own.__get__(None, subclass)(**kwargs)
        _prepare(subclass, folder_of(subclass))

    vars_of: Any = cls
    vars_of.__init_subclass__ = classmethod(prepared)


def _prepare(cls: Any, folder: Path) -> None:
    cls.is_crew_class = True
    if "base_directory" not in vars(cls):
        cls.base_directory = folder
    members = {**cast("dict[str, Any]", vars(cls))}
    for name, member in members.items():
        if inspect.isfunction(member) and not roles_of(member):
            # An override keeps the roles of what it overrides: else it would be made anew for each task that asks for it.
            for role in inherited_roles(cls, name):
                setattr(cls, name, decorated(vars(cls)[name], role))
    for kind in (AGENTS, TASKS):
        _attach(cls, kind)
    for name, collect in (("agents", agents_of), ("tasks", tasks_of)):
        if inspect.getattr_static(cls, name, _NOTHING) is _NOTHING:
            setattr(cls, name, Collected(name, collect))
    if not hasattr(cls, "get_mcp_tools"):
        cls.get_mcp_tools = get_mcp_tools


def _attach(cls: Any, kind: Kind) -> None:
    """Put the attribute that loads a configuration in the place of its path."""
    declared = inspect.getattr_static(cls, kind.attribute, _NOTHING)
    if hasattr(declared, "__get__"):  # ours, or a property of the user's
        return
    if declared is _NOTHING:
        attribute = ConfigurationAttribute(kind, kind.path, cls.base_directory, is_given=False)
    else:
        owner = next(one for one in cls.__mro__ if kind.attribute in vars(one))
        folder = cls.base_directory if owner is cls else folder_of(owner)
        attribute = ConfigurationAttribute(kind, declared, folder, is_given=True)
    setattr(cls, kind.attribute, attribute)
