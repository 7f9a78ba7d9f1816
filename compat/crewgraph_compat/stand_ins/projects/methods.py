"""The classes that CrewAI programs use to identify the role of a project method.

The decorators leave methods unchanged; `isinstance(Project.writer, AgentMethod)` checks the role they recorded.
"""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Generic, ParamSpec, Protocol, Self, TypedDict, TypeVar, cast

from crewgraph.agent import Agent
from crewgraph.crew import Crew
from crewgraph.definitions.task.output import CrewOutput
from crewgraph.project.configuration import AGENTS, TASKS, Configuration
from crewgraph.project.decorators import decorate
from crewgraph.project.roles import Role, mark_role, roles_of
from crewgraph.task import Task

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
    """Treat functions with the role as instances of the class."""

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
    """A method with a role in a project.

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
        """Return the original method."""
        return self._meth


def _calling(meth: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **kwargs: meth(*args, **kwargs)


class AgentMethod(DecoratedMethod[P, R]):
    """A method that creates an agent."""

    role = Role.agent
    is_agent: bool = True


class CrewMethod(DecoratedMethod[P, R]):
    """A method that creates the crew."""

    role = Role.crew
    is_crew: bool = True


class LLMMethod(DecoratedMethod[P, R]):
    """A method that creates a model."""

    role = Role.llm
    is_llm: bool = True


class ToolMethod(DecoratedMethod[P, R]):
    """A method that creates a tool."""

    role = Role.tool
    is_tool: bool = True


class CallbackMethod(DecoratedMethod[P, R]):
    """A callback for steps or results."""

    role = Role.callback
    is_callback: bool = True


class CacheHandlerMethod(DecoratedMethod[P, R]):
    """A method that creates a cache handler."""

    role = Role.cache_handler
    is_cache_handler: bool = True


class BeforeKickoffMethod(DecoratedMethod[P, R]):
    """A method called before a run."""

    role = Role.before_kickoff
    is_before_kickoff: bool = True


class AfterKickoffMethod(DecoratedMethod[P, R]):
    """A method called after a run."""

    role = Role.after_kickoff
    is_after_kickoff: bool = True


class TaskResult(Protocol):
    """An object with a name, such as a task."""

    name: str | None


TaskResultT = TypeVar("TaskResultT", bound=TaskResult)


class TaskMethod(Generic[P, TaskResultT], metaclass=_ByRole):
    """A method that creates a task, which takes the method's name if it has none.

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
        """Name a task after the method if it has no name."""
        if not result.name:
            result.name = self._meth.__name__
        return result

    def unwrap(self) -> Callable[P, TaskResultT]:
        """Return the original method."""
        return self._meth


class BoundTaskMethod(Generic[TaskResultT], metaclass=_ByRole):
    """A task method bound to an object.

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
    """A model for task results.

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
    """A model for `output_json`."""

    role = Role.output_json
    is_output_json: bool = True


class OutputPydanticClass(OutputClass[T]):
    """A model for `output_pydantic`."""

    role = Role.output_pydantic
    is_output_pydantic: bool = True


class CrewMetadata(TypedDict):
    """The methods of a project by role."""

    original_methods: dict[str, Callable[..., Any]]
    original_tasks: dict[str, Callable[..., Task]]
    original_agents: dict[str, Callable[..., Agent]]
    before_kickoff: dict[str, Callable[..., Any]]
    after_kickoff: dict[str, Callable[..., Any]]
    kickoff: dict[str, Callable[..., Any]]


class CrewClass(Protocol):
    """A class decorated with `@CrewBase`, for type checkers."""

    is_crew_class: bool
    base_directory: Path
    crew: Callable[..., Crew]


class CrewInstance(Protocol):
    """An instance of such a class, for type checkers."""

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
    """The metaclass of `@CrewBase` classes; here classes keep their metaclass, and only `isinstance` honors it."""


def map_all_agent_variables(self: Any) -> None:
    """Replace names in `agents_config` with the project's tools, models and functions.

    Raises:
        UnknownName: A name is not defined.
    """
    _resolve(getattr(self, AGENTS.attribute))


def map_all_task_variables(self: Any) -> None:
    """Replace names in `tasks_config` with the project's agents, tasks, tools and functions.

    Raises:
        UnknownName: A name is not defined.
    """
    _resolve(getattr(self, TASKS.attribute))


def _resolve(entries: Any) -> None:
    if isinstance(entries, Configuration):
        entries.values()
