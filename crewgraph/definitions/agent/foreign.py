"""Agents that are any object with `execute_task`: of another library, or a stand-in in a test."""

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self
from weakref import WeakValueDictionary

from pydantic import BeforeValidator, PrivateAttr

from crewgraph.core.loops.bridge import acall, call
from crewgraph.definitions.agent.agent import BaseAgentDefinition
from crewgraph.definitions.base import refuse_reference
from crewgraph.schema import is_list

if TYPE_CHECKING:
    from crewgraph.definitions.task.task import TaskDefinition


class ForeignAgentDefinition(BaseAgentDefinition):
    """The agent for an object with `execute_task(task=, context=, tools=)`, which returns the answer as text.

    Role, goal, backstory and tools are the object's if they are texts and a list. In async runs its `aexecute_task` is
    called if that is a coroutine function. The agent equals its object.
    """

    public_class: ClassVar[type["ForeignAgentDefinition"]]
    """The class that programs see; set by `crewgraph.agent`."""

    _source: Any = PrivateAttr(default=None)

    @classmethod
    def of(cls, source: object) -> Self:
        """Return the agent for an object."""
        role, goal, backstory = (_text(source, name) for name in ("role", "goal", "backstory"))
        tools: object = getattr(source, "tools", None)
        listed = tools if is_list(tools) else []
        agent = cls(role=role or type(source).__name__, goal=goal, backstory=backstory, tools=listed)
        agent._source = source
        return agent

    def execute_task(
        self, task: "TaskDefinition", context: str | None = None, tools: Sequence[Any] | None = None
    ) -> Any:
        """Let the object execute a task."""
        return call(self._source.execute_task, task=task, context=context, tools=tools)

    async def aexecute_task(
        self, task: "TaskDefinition", context: str | None = None, tools: Sequence[Any] | None = None
    ) -> Any:
        """Let the object execute a task, in a thread if it has no async method."""
        method: Any = getattr(self._source, "aexecute_task", None)
        if not inspect.iscoroutinefunction(method):  # a mock has any method
            method = self._source.execute_task
        return await acall(method, task=task, context=context, tools=tools)

    def copy(self) -> Self:
        """Return the agent itself: objects are shared by copies of crews, as models are."""
        return self

    def __eq__(self, other: object) -> bool:
        return other is self or other is self._source

    def __hash__(self) -> int:
        return hash(id(self._source))


_agents: WeakValueDictionary[int, ForeignAgentDefinition] = WeakValueDictionary()
"""By the id of the object, which the agent keeps alive."""


def as_agent(agent: object) -> Any:
    """Return the agent for an object with `execute_task`; return anything else unchanged."""
    # By its type: a mock of an agent claims to be an instance of the class.
    kind = type(agent)
    if issubclass(kind, (BaseAgentDefinition, type)) or not callable(getattr(agent, "execute_task", None)):
        return agent
    known = _agents.get(id(agent))
    if known is None:
        known = _agents[id(agent)] = ForeignAgentDefinition.public_class.of(agent)
    return known


def _text(agent: object, name: str) -> str:
    value = getattr(agent, name, None)
    return value if isinstance(value, str) else ""


def as_given(agent: object) -> Any:
    """Return what a program gives as an agent, as `as_agent`; refuse names, classes and functions.

    Raises:
        PydanticCustomError: It is one of these.
    """
    refuse_reference(agent, "an agent")
    return as_agent(agent)


AgentField = Annotated[BaseAgentDefinition, BeforeValidator(as_given)]
"""An agent, or any object with `execute_task`."""
