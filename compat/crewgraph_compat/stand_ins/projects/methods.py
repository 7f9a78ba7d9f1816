"""The classes by which CrewAI's programs tell what a method of a project is for.

Here the decorators leave methods what they are: `isinstance(Project.writer, AgentMethod)` looks at the role that they noted.
"""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Generic, ParamSpec, Protocol, Self, TypedDict, TypeVar, cast

from crewgraph.definitions.agent.agent import Agent
from crewgraph.definitions.crew.crew import Crew
from crewgraph.definitions.task.output import CrewOutput
from crewgraph.definitions.task.task import Task
from crewgraph.project.configuration import AGENTS, TASKS, Configuration
from crewgraph.project.decorators import decorate
from crewgraph.project.roles import Role, mark_role, roles_of

__all__ = [
    "AfterKickoffMethod",
    "AgentMethod",
    "BeforeKickoffMethod",
    "BoundTaskMethod",
    "CacheHandlerMethod",
    "CallbackMethod",
    "CrewBaseMeta",
    "CrewClass",
    "CrewInstance",
    "CrewMetadata",
    "CrewMethod",
    "DecoratedMethod",
    "LLMMethod",
    "OutputClass",
    "OutputJsonClass",
    "OutputPydanticClass",
    "TaskMethod",
    "TaskResult",
    "ToolMethod",
    "map_all_agent_variables",
    "map_all_task_variables",
]

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class _ByRole(type):
    """Says of a function that it is an instance, if it has the role."""

    role: Role | None
    is_bound: bool

    def __instancecheck__(cls, instance: Any) -> bool:
        if super().__instancecheck__(instance):
            return True
        is_method = hasattr(instance, "__func__")
        if is_method != cls.is_bound:
            return False
        roles = roles_of(getattr(instance, "__func__", instance))
        return cls.role in roles if cls.role is not None else bool(roles - {Role.task, *_OF_CLASSES})


_OF_CLASSES = (Role.output_json, Role.output_pydantic)


class DecoratedMethod(Generic[P, R], metaclass=_ByRole):
    """A method with a role in its project.

    Args:
        meth: the method.
    """

    role: ClassVar[Role | None] = None
    is_bound: ClassVar[bool] = False

    def __init__(self, meth: Callable[P, R]) -> None:
        self._meth = meth
        self._works: Any = meth if self.role is None else decorate(functools.wraps(meth)(_calling(meth)), self.role)
        functools.update_wrapper(cast("Any", self), meth)
        if self.role is not None:
            mark_role(self, self.role)

    def __get__(self, project: Any, owner: Any = None) -> Any:
        return self if project is None else functools.partial(self.__call__, project)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._works(*args, **kwargs)

    def unwrap(self) -> Callable[P, R]:
        """The method as it was written."""
        return self._meth


def _calling(meth: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **kwargs: meth(*args, **kwargs)


class AgentMethod(DecoratedMethod[P, R]):
    """It makes an agent."""

    role = Role.agent
    is_agent: bool = True


class CrewMethod(DecoratedMethod[P, R]):
    """It makes the crew."""

    role = Role.crew
    is_crew: bool = True


class LLMMethod(DecoratedMethod[P, R]):
    """It makes a model."""

    role = Role.llm
    is_llm: bool = True


class ToolMethod(DecoratedMethod[P, R]):
    """It makes a tool."""

    role = Role.tool
    is_tool: bool = True


class CallbackMethod(DecoratedMethod[P, R]):
    """It is told of steps or results."""

    role = Role.callback
    is_callback: bool = True


class CacheHandlerMethod(DecoratedMethod[P, R]):
    """It makes what keeps results of tools."""

    role = Role.cache_handler
    is_cache_handler: bool = True


class BeforeKickoffMethod(DecoratedMethod[P, R]):
    """It is called before a run."""

    role = Role.before_kickoff
    is_before_kickoff: bool = True


class AfterKickoffMethod(DecoratedMethod[P, R]):
    """It is called after a run."""

    role = Role.after_kickoff
    is_after_kickoff: bool = True


class TaskResult(Protocol):
    """Something with a name, as tasks have one."""

    name: str | None


TaskResultT = TypeVar("TaskResultT", bound=TaskResult)


class TaskMethod(Generic[P, TaskResultT], metaclass=_ByRole):
    """It makes a task, which is named after it where it has no name.

    Args:
        meth: the method.
    """

    role: ClassVar[Role | None] = Role.task
    is_bound: ClassVar[bool] = False
    is_task: bool = True

    def __init__(self, meth: Callable[P, TaskResultT]) -> None:
        self._meth = meth
        functools.update_wrapper(cast("Any", self), meth)

    def __get__(self, project: Any, owner: Any = None) -> Any:
        return self if project is None else BoundTaskMethod(self, project)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> TaskResultT:
        return self.ensure_task_name(self._meth(*args, **kwargs))

    def ensure_task_name(self, result: TaskResultT) -> TaskResultT:
        """Name a task after the method, where it has no name."""
        if not result.name:
            result.name = self._meth.__name__
        return result

    def unwrap(self) -> Callable[P, TaskResultT]:
        """The method as it was written."""
        return self._meth


class BoundTaskMethod(Generic[TaskResultT], metaclass=_ByRole):
    """A method that makes a task, of an object.

    Args:
        task_method: the method.
        obj: the object.
    """

    role: ClassVar[Role | None] = Role.task
    is_bound: ClassVar[bool] = True
    is_task: bool = True

    def __init__(self, task_method: "TaskMethod[Any, TaskResultT]", obj: Any) -> None:
        self._method, self._of = task_method, obj

    def __call__(self, *args: Any, **kwargs: Any) -> TaskResultT:
        return self._method(self._of, *args, **kwargs)


class OutputClass(Generic[T], metaclass=_ByRole):
    """A model for the form of results.

    Args:
        cls: the model.
    """

    role: ClassVar[Role | None] = None
    is_bound: ClassVar[bool] = False

    def __init__(self, cls: type[T]) -> None:
        self._cls = cls
        self.__name__, self.__doc__ = cls.__name__, cls.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> T:
        return self._cls(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cls, name)


class OutputJsonClass(OutputClass[T]):
    """For `output_json`."""

    role = Role.output_json
    is_output_json: bool = True


class OutputPydanticClass(OutputClass[T]):
    """For `output_pydantic`."""

    role = Role.output_pydantic
    is_output_pydantic: bool = True


class CrewMetadata(TypedDict):
    """The methods of a project, by what they are for."""

    original_methods: dict[str, Callable[..., Any]]
    original_tasks: dict[str, Callable[..., Task]]
    original_agents: dict[str, Callable[..., Agent]]
    before_kickoff: dict[str, Callable[..., Any]]
    after_kickoff: dict[str, Callable[..., Any]]
    kickoff: dict[str, Callable[..., Any]]


class CrewClass(Protocol):
    """A class under `@CrewBase`, for type checkers."""

    is_crew_class: bool
    base_directory: Path
    crew: Callable[..., Crew]


class CrewInstance(Protocol):
    """An object of such a class, for type checkers."""

    agents: list[Agent]
    tasks: list[Task]
    base_directory: Path
    agents_config: dict[str, Any]
    tasks_config: dict[str, Any]
    mcp_server_params: Any
    mcp_connect_timeout: int

    def close_mcp_server(self, instance: Self, outputs: CrewOutput) -> CrewOutput: ...
    def load_configurations(self) -> None: ...
    def load_yaml(self, config_path: Path) -> dict[str, Any]: ...
    def map_all_agent_variables(self) -> None: ...
    def map_all_task_variables(self) -> None: ...


class _Projects(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, type) and bool(getattr(instance, "is_crew_class", False))


class CrewBaseMeta(type, metaclass=_Projects):
    """The class of classes under `@CrewBase`; here these stay what they are, and `isinstance` says what they are for."""


def map_all_agent_variables(self: Any) -> None:
    """Put the project's own tools, models and functions in the place of their names in all of `agents_config`.

    Raises:
        UnknownName: a name leads nowhere.
    """
    _resolve(getattr(self, AGENTS.attribute))


def map_all_task_variables(self: Any) -> None:
    """Put the project's own agents, tasks, tools and functions in the place of their names in all of `tasks_config`.

    Raises:
        UnknownName: a name leads nowhere.
    """
    _resolve(getattr(self, TASKS.attribute))


def _resolve(entries: Any) -> None:
    if isinstance(entries, Configuration):
        entries.values()
