"""The decorators of a project's methods.

The team of a project: its agents, its tasks, and the crew that is made of them.
"""

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, TypeVar, cast

from crewgraph.definitions.crew.crew import Crew
from crewgraph.errors import DefinitionError
from crewgraph.hooks.decorators import hook_filters, hook_points, only_for
from crewgraph.hooks.registry import hold, is_owner
from crewgraph.project.configuration import load_declared
from crewgraph.project.roles import Role, finished, marked, memoized, named

__all__ = [
    "Collected",
    "after_kickoff",
    "agent",
    "agents_of",
    "assembled",
    "before_kickoff",
    "cache_handler",
    "callback",
    "crew",
    "decorated",
    "llm",
    "output_json",
    "output_pydantic",
    "task",
    "tasks_of",
    "tool",
]


def tasks_of(project: object) -> list[Any]:
    """The tasks of a project's `@task` methods, in the order of the class."""
    return list(_made(project, Role.task))


def agents_of(project: object) -> list[Any]:
    """The agents of a project's `@agent` methods, in the order of the class, and then others that its tasks brought."""
    agents = list(_made(project, Role.agent))
    roles = {getattr(agent, "role", None) for agent in agents}
    for task in tasks_of(project):
        agent = getattr(task, "agent", None)
        if agent is not None and agent.role not in roles:
            roles.add(agent.role)
            agents.append(agent)
    return agents


def _made(project: object, role: Role) -> Iterator[Any]:
    made: dict[int, object] = {}
    for name in named(type(project), role):
        one = getattr(project, name)()
        if one is None:
            raise DefinitionError(
                f"the @{role} method `{type(project).__name__}.{name}` returned None; return the {role}"
            )
        made[id(one)] = one
    return iter(made.values())


class Collected:
    """An attribute that is collected when it is first asked for, and the object's own from then on."""

    def __init__(self, name: str, collect: Callable[[object], list[Any]]) -> None:
        self._name = name
        self._collect = collect

    def __get__(self, project: object | None, owner: type) -> object:
        if project is None:
            raise AttributeError(f"`{self._name}` are an instance's: `{owner.__name__}().{self._name}`")
        found = project.__dict__[self._name] = self._collect(project)
        return found


def assembled(method: Callable[..., Any], *args: Any, **kwargs: object) -> Crew:
    """What a `@crew` method makes of a project's agents and tasks, with the project's name and functions.

    Raises:
        DefinitionError: the class is no project, or the method returned no crew.
    """
    project: Any = args[0] if args else None
    where = f"the @crew method `{type(project).__name__}.{method.__name__}`"
    if not getattr(project, "is_crew_class", False):
        raise DefinitionError(f"{where} stands in a class that is no project; put `@CrewBase` above the class")
    load_declared(project)
    project.agents = agents_of(project)
    project.tasks = tasks_of(project)
    made = finished(method(*args, **kwargs))
    if not isinstance(made, Crew):
        raise DefinitionError(f"{where} returned {made!r:.60}; return the crew: `return Crew(agents=self.agents, ...)`")
    if "name" not in made.model_fields_set:
        made.name = type(project).__name__
    _hang(project, Role.before_kickoff, made.before_kickoff_callbacks)
    _hang(project, Role.after_kickoff, made.after_kickoff_callbacks)
    _hook(project, made)
    return made


def _hang(project: object, role: Role, callbacks: list[Callable[..., Any]]) -> None:
    """Add the functions of a role that are not there yet."""
    for name in named(type(project), role):
        method = getattr(project, name)
        if all(method not in (one, getattr(one, "__wrapped__", None)) for one in callbacks):
            callbacks.append(_detached(method))


def _hook(project: object, crew: Crew) -> None:
    """Let the class's hooks be those of its crew."""
    if is_owner(crew):
        return
    members = {name: member for kind in reversed(type(project).__mro__) for name, member in vars(kind).items()}
    for name, member in members.items():
        for point in hook_points(member):
            method = _detached(getattr(project, name))
            hold(crew, point, only_for(method, *hook_filters(member)))


def _detached(method: Callable[..., Any]) -> Callable[..., object]:
    """A bound method as a function: a deep copy of a crew calls the same object's, not a copy's."""

    @wraps(method)
    def told(*args: Any) -> Any:
        return method(*args)

    return told


_F = TypeVar("_F", bound=Callable[..., Any])
_C = TypeVar("_C")


def agent(method: _F) -> _F:
    """A method that makes an agent; `self.agents` holds the agents of all of them."""
    return marked(cast(_F, memoized(method)), Role.agent)


def task(method: _F) -> _F:
    """A method that makes a task, named after it where it has no name; `self.tasks` holds the tasks of all of them."""

    @wraps(method)
    def titled(*args: Any, **kwargs: object) -> Any:
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
    def assembling(*args: Any, **kwargs: object) -> Any:
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


_DECORATORS: dict[Role, Callable[[Any], object]] = {
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
