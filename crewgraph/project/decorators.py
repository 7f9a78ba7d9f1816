"""The decorators of a project's methods, and how its agents, tasks and crew are collected from them."""

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, TypeVar, cast

from crewgraph.core.loops.bridge import resolved
from crewgraph.crew import Crew
from crewgraph.errors import DefinitionError
from crewgraph.hooks.decorators import hook_filters, hook_points, only_for
from crewgraph.hooks.registry import is_owner, register_for_owner
from crewgraph.project.configuration import load_configurations
from crewgraph.project.roles import Role, mark_role, memoize, names_with_role


def collect_tasks(project: object) -> list[Any]:
    """Return the tasks of a project's `@task` methods, in the order of the class."""
    return list(_call_methods(project, Role.task))


def collect_agents(project: object) -> list[Any]:
    """Return the agents of a project's `@agent` methods, in the order of the class, then those only used by its tasks."""
    agents = list(_call_methods(project, Role.agent))
    roles = {getattr(agent, "role", None) for agent in agents}
    for task in collect_tasks(project):
        agent = getattr(task, "agent", None)
        if agent is not None and agent.role not in roles:
            roles.add(agent.role)
            agents.append(agent)
    return agents


def _call_methods(project: object, role: Role) -> Iterator[object]:
    results: dict[int, object] = {}
    for name in names_with_role(type(project), role):
        result = getattr(project, name)()
        if result is None:
            raise DefinitionError(
                f"the `@{role}` method `{type(project).__name__}.{name}` returned None; return the {role}"
            )
        results[id(result)] = result
    return iter(results.values())


class CollectedAttribute:
    """An attribute that is computed on first access and then stored on the object."""

    def __init__(self, name: str, collect: Callable[[object], list[Any]]) -> None:
        self._name = name
        self._collect = collect

    def __get__(self, project: object | None, owner: type) -> object:
        if project is None:
            raise AttributeError(f"`{self._name}` is only available on an instance: `{owner.__name__}().{self._name}`")
        value = project.__dict__[self._name] = self._collect(project)
        return value


def assemble_crew(method: Callable[..., Any], *args: object, **kwargs: object) -> Crew:
    """Call a `@crew` method, and give the crew the project's name, kickoff callbacks and hooks.

    Raises:
        DefinitionError: The class is not a project, or the method did not return a crew.
    """
    owner = method.__qualname__.rpartition(".")[0].rpartition(".")[2]
    if not args and owner:
        raise DefinitionError(
            f"`{owner}.{method.__name__}` was called on the class; write `{owner}().{method.__name__}()`"
        )
    project: Any = args[0] if args else None
    label = f"the `@crew` method `{type(project).__name__}.{method.__name__}`"
    if not getattr(project, "is_crew_class", False):
        raise DefinitionError(f"{label} is in a class that is not a project; decorate the class with `@CrewBase`")
    load_configurations(project)
    project.agents = collect_agents(project)
    project.tasks = collect_tasks(project)
    result = resolved(method(*args, **kwargs))
    if not isinstance(result, Crew):
        raise DefinitionError(
            f"{label} returned {result!r:.60}; return the crew: `return Crew(agents=self.agents, ...)`"
        )
    if "name" not in result.model_fields_set:
        result.name = type(project).__name__
    _add_callbacks(project, Role.before_kickoff, result.before_kickoff_callbacks)
    _add_callbacks(project, Role.after_kickoff, result.after_kickoff_callbacks)
    _add_hooks(project, result)
    return result


def _add_callbacks(project: object, role: Role, callbacks: list[Callable[..., object]]) -> None:
    """Add the methods with a role that are not in the list yet."""
    for name in names_with_role(type(project), role):
        method = getattr(project, name)
        if all(method not in (existing, getattr(existing, "__wrapped__", None)) for existing in callbacks):
            callbacks.append(_unbound(method))


def _add_hooks(project: object, crew: Crew) -> None:
    """Register the hooks of the class for its crew."""
    if is_owner(crew):
        return
    members = {name: member for kind in reversed(type(project).__mro__) for name, member in vars(kind).items()}
    for name, member in members.items():
        for point in hook_points(member):
            method = _unbound(getattr(project, name))
            register_for_owner(crew, point, only_for(method, *hook_filters(member)))


def _unbound(method: Callable[..., Any]) -> Callable[..., object]:
    """Wrap a bound method in a function, so that a deep copy of a crew still calls it on the same object."""

    @wraps(method)
    def call(*args: object) -> Any:
        return method(*args)

    return call


_F = TypeVar("_F", bound=Callable[..., Any])
_C = TypeVar("_C")


def agent(method: _F) -> _F:
    """Mark a method that returns an agent; `self.agents` holds all of them."""
    return mark_role(memoize(method), Role.agent)


def task(method: _F) -> _F:
    """Mark a method that returns a task; `self.tasks` holds all of them. A task without a name gets the method's name."""

    @wraps(method)
    def wrapper(*args: object, **kwargs: object) -> Any:
        result = resolved(method(*args, **kwargs))
        if getattr(result, "name", "") is None:
            result.name = method.__name__
        return result

    return mark_role(cast(_F, memoize(wrapper)), Role.task)


def crew(method: _F) -> _F:
    """Mark the method that returns the crew; it can use `self.agents` and `self.tasks`.

    A crew without a name gets the class's name. The class's `@before_kickoff` and `@after_kickoff` methods are added to it.
    """

    @wraps(method)
    def wrapper(*args: object, **kwargs: object) -> Any:
        return assemble_crew(method, *args, **kwargs)

    return mark_role(cast(_F, memoize(wrapper)), Role.crew)


def llm(method: _F) -> _F:
    """Mark a method that returns a model, for `llm` and `function_calling_llm` in agents.yaml."""
    return mark_role(memoize(method), Role.llm)


def tool(method: _F) -> _F:
    """Mark a method that returns a tool, for `tools` in agents.yaml and tasks.yaml."""
    return mark_role(memoize(method), Role.tool)


def cache_handler(method: _F) -> _F:
    """Mark a method that returns a cache of tool results, for `cache_handler` in agents.yaml."""
    return mark_role(memoize(method), Role.cache_handler)


def callback(method: _F) -> _F:
    """Mark a method that is called with steps or outputs, or that takes no arguments and returns such a function."""
    return mark_role(method, Role.callback)


def before_kickoff(method: _F) -> _F:
    """Mark a method that is called with the inputs before a run; its result replaces them."""
    return mark_role(method, Role.before_kickoff)


def after_kickoff(method: _F) -> _F:
    """Mark a method that is called with the output after a run; its result replaces it."""
    return mark_role(method, Role.after_kickoff)


def output_json(model: _C) -> _C:
    """Mark a pydantic model in the class, or a method that returns one, for `output_json` in tasks.yaml."""
    return mark_role(model, Role.output_json)


def output_pydantic(model: _C) -> _C:
    """Mark a pydantic model in the class, or a method that returns one, for `output_pydantic` in tasks.yaml."""
    return mark_role(model, Role.output_pydantic)
