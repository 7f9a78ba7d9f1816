"""`@CrewBase`: a class whose methods create agents, tasks and a crew from YAML files next to it."""

import inspect
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

from crewgraph.errors import DefinitionError
from crewgraph.project import decorators
from crewgraph.project.configuration import AGENTS, TASKS, ConfigurationAttribute, Kind
from crewgraph.project.decorators import CollectedAttribute, collect_agents, collect_tasks
from crewgraph.project.roles import class_directory, inherited_roles, roles_of
from crewgraph.schema import PlainDict
from crewgraph.tools.mcp.server import ServerReference, parse_reference
from crewgraph.tools.mcp.tool import MCPTool, load_tools

_TOOLS_ATTRIBUTE = "_mcp_tools"


def get_mcp_tools(self: Any, *names: str) -> list[MCPTool]:
    """Return tools of the MCP servers in `mcp_server_params`; none if it is not set.

    The tools are listed once for each object of the project. `mcp_connect_timeout` limits the connection time, in seconds.

    Args:
        self: The project.
        names: The tools to return; all tools if no names are given.

    Raises:
        DefinitionError: No server has a tool of a given name, or `mcp_server_params` is invalid.
        MCPServerError: A server cannot be reached.
        MissingExtra: The package for MCP is not installed.
    """
    params: object = getattr(self, "mcp_server_params", None)
    if not params:
        return []
    own = cast("PlainDict", vars(self))
    if _TOOLS_ATTRIBUTE not in own:
        servers = list(cast("Sequence[Any]", params)) if isinstance(params, (list, tuple)) else [params]
        seconds = getattr(self, "mcp_connect_timeout", None)
        own[_TOOLS_ATTRIBUTE] = load_tools(
            [_with_timeout(parse_reference(server), seconds) for server in servers], self, prefixed=False
        )
    tools: list[MCPTool] = own[_TOOLS_ATTRIBUTE]
    if unknown := [name for name in names if all(name not in _member_names(tool) for tool in tools)]:
        available = ", ".join(f"`{tool.name}`" for tool in tools) or "none"
        raise DefinitionError(
            f"`{type(self).__name__}.get_mcp_tools` got unknown names: {', '.join(f'`{name}`' for name in unknown)}. Tools of "
            f"the servers in `mcp_server_params`: {available}."
        )
    return [tool for tool in tools if not names or any(name in _member_names(tool) for name in names)]


def _with_timeout(reference: ServerReference, seconds: Any) -> ServerReference:
    if seconds is None:
        return reference
    return ServerReference(reference.server.model_copy(update={"connect_timeout": float(seconds)}), reference.tool_name)


def _member_names(tool: MCPTool) -> tuple[str, str]:
    return tool.name, tool.original_tool_name


_T = TypeVar("_T")

_MISSING = object()


def CrewBase(cls: type[_T]) -> type[_T]:
    """Turn a class into a project, in place.

    `agents_config` and `tasks_config` are paths of YAML files or dicts on the class, and the loaded configurations on its
    objects; paths are relative to the file of the class. `agents` and `tasks` are the results of the methods decorated with
    `@agent` and `@task`.

    Raises:
        TypeError: The decorated object is not a class.
    """
    if not inspect.isclass(cls):
        raise TypeError(f"`@CrewBase` decorates a class and takes no arguments; it got {cls!r:.60}")
    caller = sys._getframe(1).f_globals  # pyright: ignore[reportPrivateUsage]
    _prepare(cls, class_directory(cls, caller.get("__file__")))
    if not any(getattr(base, "is_crew_class", False) for base in cls.__bases__):
        _prepare_subclasses(cls)
    return cls


def _prepare_subclasses(cls: type) -> None:
    """Turn undecorated subclasses into projects, too."""
    own: Any = vars(cls).get("__init_subclass__")

    def prepared(subclass: type, **kwargs: object) -> None:
        if own is None:
            super(cls, subclass).__init_subclass__(**kwargs)
        else:
            own.__get__(None, subclass)(**kwargs)
        _prepare(subclass, class_directory(subclass))

    vars_of: Any = cls
    vars_of.__init_subclass__ = classmethod(prepared)


def _prepare(cls: Any, folder: Path) -> None:
    cls.is_crew_class = True
    if "base_directory" not in vars(cls):
        cls.base_directory = folder
    members = {**cast("PlainDict", vars(cls))}
    for name, member in members.items():
        if inspect.isfunction(member) and not roles_of(member):
            # An override keeps the roles of the method it overrides; otherwise it would run again for each task that uses it.
            for role in inherited_roles(cls, name):
                setattr(cls, name, getattr(decorators, role)(vars(cls)[name]))
    for kind in (AGENTS, TASKS):
        _attach(cls, kind)
    for name, collect in (("agents", collect_agents), ("tasks", collect_tasks)):
        if inspect.getattr_static(cls, name, _MISSING) is _MISSING:
            setattr(cls, name, CollectedAttribute(name, collect))
    if not hasattr(cls, "get_mcp_tools"):
        cls.get_mcp_tools = get_mcp_tools


def _attach(cls: Any, kind: Kind) -> None:
    """Replace the path of a configuration with the attribute that loads it."""
    declared = inspect.getattr_static(cls, kind.attribute, _MISSING)
    if hasattr(declared, "__get__"):  # ours, or a property of the user's
        return
    if declared is _MISSING:
        attribute = ConfigurationAttribute(kind, kind.path, cls.base_directory, is_declared=False)
    else:
        owner = next(base for base in cls.__mro__ if kind.attribute in vars(base))
        folder = cls.base_directory if owner is cls else class_directory(owner)
        attribute = ConfigurationAttribute(kind, declared, folder, is_declared=True)
    setattr(cls, kind.attribute, attribute)
