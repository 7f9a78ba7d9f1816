"""The decorators of a project's methods."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from crewgraph.project.memo import finished, memoized
from crewgraph.project.roles import Role, marked
from crewgraph.project.team import assembled

__all__ = [
    "after_kickoff",
    "agent",
    "before_kickoff",
    "cache_handler",
    "callback",
    "crew",
    "decorated",
    "llm",
    "output_json",
    "output_pydantic",
    "task",
    "tool",
]

_F = TypeVar("_F", bound=Callable[..., Any])
_C = TypeVar("_C")


def agent(method: _F) -> _F:
    """A method that makes an agent; `self.agents` holds the agents of all of them."""
    return marked(cast(_F, memoized(method)), Role.agent)


def task(method: _F) -> _F:
    """A method that makes a task, named after it where it has no name; `self.tasks` holds the tasks of all of them."""

    @wraps(method)
    def titled(*args: Any, **kwargs: Any) -> Any:
        made = finished(method(*args, **kwargs))
        if getattr(made, "name", "") is None:
            made.name = method.__name__
        return made

    return marked(cast(_F, memoized(titled)), Role.task)


def crew(method: _F) -> _F:
    """The method that makes the crew; in it `self.agents` and `self.tasks` are ready.

    The crew is named after the class where it has no name, and gets the class's functions around a kickoff.
    """

    @wraps(method)
    def assembling(*args: Any, **kwargs: Any) -> Any:
        return assembled(method, *args, **kwargs)

    return marked(cast(_F, memoized(assembling)), Role.crew)


def llm(method: _F) -> _F:
    """A method that makes a model, for `llm` and `function_calling_llm` of agents.yaml."""
    return marked(cast(_F, memoized(method)), Role.llm)


def tool(method: _F) -> _F:
    """A method that makes a tool, for `tools` of agents.yaml and tasks.yaml."""
    return marked(cast(_F, memoized(method)), Role.tool)


def cache_handler(method: _F) -> _F:
    """A method that makes what keeps results of tools, for `cache_handler` of agents.yaml."""
    return marked(cast(_F, memoized(method)), Role.cache_handler)


def callback(method: _F) -> _F:
    """A method that is told of steps or results, or, if it takes nothing, returns a function that is told of them."""
    return marked(method, Role.callback)


def before_kickoff(method: _F) -> _F:
    """A method that is called with the inputs before a run; what it returns replaces them."""
    return marked(method, Role.before_kickoff)


def after_kickoff(method: _F) -> _F:
    """A method that is called with the output after a run; what it returns replaces it."""
    return marked(method, Role.after_kickoff)


def output_json(model: _C) -> _C:
    """A pydantic model in the class, or a method that returns one, for `output_json` of tasks.yaml."""
    return marked(model, Role.output_json)


def output_pydantic(model: _C) -> _C:
    """A pydantic model in the class, or a method that returns one, for `output_pydantic` of tasks.yaml."""
    return marked(model, Role.output_pydantic)


_DECORATORS: dict[Role, Callable[[Any], Any]] = {
    Role.agent: agent,
    Role.task: task,
    Role.crew: crew,
    Role.llm: llm,
    Role.tool: tool,
    Role.callback: callback,
    Role.cache_handler: cache_handler,
    Role.output_json: output_json,
    Role.output_pydantic: output_pydantic,
    Role.before_kickoff: before_kickoff,
    Role.after_kickoff: after_kickoff,
}


def decorated(method: Any, role: Role) -> Any:
    """A method with the decorator of a role."""
    return _DECORATORS[role](method)
