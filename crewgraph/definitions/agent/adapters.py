"""Adapters to agents of other frameworks, with the adapter for LangGraph."""

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, PrivateAttr

from crewgraph.definitions.agent.agent import BaseAgent
from crewgraph.definitions.fields import CallbackField
from crewgraph.errors import DefinitionError
from crewgraph.prompts.book import english
from crewgraph.schema import described
from crewgraph.text import extract_json
from crewgraph.tools.adapt import as_tool
from crewgraph.tools.langchain import as_langchain_tool
from crewgraph.tools.structured import model_name

if TYPE_CHECKING:
    from crewgraph.definitions.task.task import Task

__all__ = [
    "BaseAgentAdapter",
    "BaseConverterAdapter",
    "BaseToolAdapter",
    "LangGraphAgentAdapter",
    "LangGraphConverterAdapter",
    "LangGraphToolAdapter",
    "OpenAIAgentAdapter",
]


class BaseAgentAdapter(BaseAgent, ABC):
    """The base of classes that bring another framework's agents into a crew.

    A subclass writes `execute_task(self, task, context=None, tools=None)`, which returns the answer as a text; or
    `create_agent_executor`, which sets `self.agent_executor`. The crew calls neither of the two methods that stand here: they
    are for these.
    """

    adapted_agent: bool = True
    """Whether another framework carries out its work."""

    adapted_structured_output: bool = False
    """Whether that framework gives structured outputs by itself."""

    _agent_config: dict[str, Any] | None = PrivateAttr(default=None)

    def __init__(self, agent_config: dict[str, Any] | None = None, **kwargs: Any) -> None:
        """Make the agent.

        Args:
            agent_config: settings for the other framework, kept as `_agent_config`.
            kwargs: the fields of an agent.
        """
        super().__init__(**kwargs)
        self._agent_config = agent_config

    def copy(self) -> Self:
        """Another agent like this one; see `BaseAgent.copy`."""
        made = super().copy()
        made._agent_config = self._agent_config
        return made

    @abstractmethod
    def configure_tools(self, tools: Sequence[Any] | None = None) -> None:
        """Give the framework's agent its tools."""

    @abstractmethod
    def configure_structured_output(self, task: "Task") -> None:
        """Tell the framework's agent of the structure that a task asks for."""


class BaseToolAdapter(ABC):
    """Turns tools into those of another framework.

    Args:
        tools: what is to be turned, for subclasses that do it at once.
    """

    original_tools: list[Any]
    """The tools as they were given."""

    converted_tools: list[Any]
    """The same as the other framework takes them."""

    def __init__(self, tools: Sequence[Any] | None = None) -> None:
        self.original_tools = list(tools or ())
        self.converted_tools = []

    @abstractmethod
    def configure_tools(self, tools: Sequence[Any]) -> None:
        """Turn tools; the result stands in `converted_tools`."""

    def tools(self) -> list[Any]:
        """The turned tools."""
        return self.converted_tools

    @staticmethod
    def sanitize_tool_name(tool_name: str) -> str:
        """The name as providers of models take it."""
        return model_name(tool_name)


class BaseConverterAdapter(ABC):
    """Asks another framework's agent for structured outputs.

    Args:
        agent_adapter: the agent.
    """

    def __init__(self, agent_adapter: "BaseAgentAdapter") -> None:
        self.agent_adapter = agent_adapter

    @abstractmethod
    def configure_structured_output(self, task: "Task") -> None:
        """Note the structure that a task asks for."""

    @abstractmethod
    def enhance_system_prompt(self, base_prompt: str) -> str:
        """A prompt with that structure described in it."""

    def post_process_result(self, result: str) -> str:
        """What is made of an answer; the answer itself where a subclass does nothing with it."""
        return result


class LangGraphAgentAdapter(BaseAgentAdapter):
    """An agent whose work a LangGraph graph of two nodes does: the model, and the tools that it calls.

    The graph is made for each task, of the agent's model and the task's tools. Its steps are checkpoints of the run, so that a
    resume goes on in the middle of it. For a graph of your own give any agent `agent_executor=`.
    """

    verbose: bool = False
    """Whether its steps are shown."""

    function_calling_llm: Any = None
    """A model for structured outputs; its own model where None."""

    step_callback: CallbackField = None
    """A function that is told of its answer."""

    model: str = "gpt-4o"
    """The name of its model where `llm` is None."""

    def __init__(
        self,
        role: str,
        goal: str,
        backstory: str,
        tools: list[Any] | None = None,
        llm: Any = None,
        max_iterations: int = 10,
        agent_config: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Make the agent.

        Args:
            role: who it is.
            goal: what it wants to reach.
            backstory: what makes it good at it.
            tools: what it may use.
            llm: its model, one with tool calls of its own if it has tools; that of `model` where None.
            max_iterations: after this many requests it must answer.
            agent_config: not offered.
            kwargs: the other fields of an agent.

        Raises:
            DefinitionError: there is an `agent_config`.
        """
        if agent_config:
            raise DefinitionError(
                f"`agent_config` of agent `{role}` has no meaning here. Build the graph with it yourself, and give it to an "
                "`Agent` as `agent_executor=`."
            )
        kwargs = {"max_iter": max_iterations, **kwargs}
        super().__init__(None, role=role, goal=goal, backstory=backstory, tools=tools or [], llm=llm, **kwargs)
        if llm is None:
            self.llm = self.model

    def configure_tools(self, tools: Sequence[Any] | None = None) -> None:
        """Let it have these tools in the place of its own; for one task give them to the task."""
        self.tools = list(tools or ())

    def configure_structured_output(self, task: "Task") -> None:
        """Nothing: the prompt tells of the structure, and what is missing is asked for afterwards, as for any agent."""


class LangGraphToolAdapter(BaseToolAdapter):
    """Turns tools into LangChain's, which LangGraph's agents take."""

    def __init__(self, tools: Sequence[Any] | None = None) -> None:
        super().__init__(tools)
        self.configure_tools(self.original_tools)

    def configure_tools(self, tools: Sequence[Any]) -> None:
        """Turn tools; the result stands in `converted_tools`.

        Raises:
            DefinitionError: one is no tool.
        """
        self.converted_tools = [as_langchain_tool(as_tool(one).source) for one in tools]


class LangGraphConverterAdapter(BaseConverterAdapter):
    """Asks a LangGraph agent for JSON, in its system prompt."""

    def __init__(self, agent_adapter: "BaseAgentAdapter") -> None:
        super().__init__(agent_adapter)
        self._schema: type[BaseModel] | None = None

    def configure_structured_output(self, task: "Task") -> None:
        """Note the structure that a task asks for."""
        self._schema = task.output_pydantic or task.output_json

    def enhance_system_prompt(self, original_prompt: str) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        """A prompt with that structure described in it."""
        if self._schema is None:
            return original_prompt
        told = english().slice("formatted_task_instructions", output_format=described(self._schema))
        return f"{original_prompt}\n\n{told}"

    def post_process_result(self, result: str) -> str:
        """The JSON in an answer that was asked for JSON; the answer itself where there is none."""
        found = None if self._schema is None else extract_json(result)
        return result if found is None else json.dumps(found, ensure_ascii=False)


class OpenAIAgentAdapter(BaseAgentAdapter):
    """Not offered: it says so when an agent is made of it, and what does the same."""

    def __init__(self, **kwargs: Any) -> None:
        """Refuse.

        Raises:
            DefinitionError: always.
        """
        raise DefinitionError(
            "crewgraph does not bring an adapter for OpenAI's agents. With `pip install openai-agents` a function does it: "
            "`Agent(role=..., goal=..., backstory=..., agent_executor=ask)`, where `async def ask(prompt: str) -> str` returns "
            "`(await agents.Runner.run(agent, prompt)).final_output`. For an OpenAI model alone give `llm=`."
        )

    def configure_tools(self, tools: Any = None) -> None:
        """Not offered."""

    def configure_structured_output(self, task: Any) -> None:
        """Not offered."""
