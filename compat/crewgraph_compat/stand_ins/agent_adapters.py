"""Adapters for agents of other frameworks, including one for LangGraph."""

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, PrivateAttr

from crewgraph.agent import BaseAgent
from crewgraph.definitions.fields import CallbackField
from crewgraph.errors import DefinitionError
from crewgraph.prompts.i18n import default_book
from crewgraph.schema import PlainDict, model_outline
from crewgraph.text import extract_json, model_name
from crewgraph.tools.adapt import as_tool
from crewgraph.tools.langchain import as_langchain_tool

if TYPE_CHECKING:
    from crewgraph.task import Task


class BaseAgentAdapter(BaseAgent, ABC):
    """Base class of adapters that bring another framework's agents into a crew.

    A subclass implements `execute_task(self, task, context=None, tools=None)`, which returns the answer as text, or
    `create_agent_executor`, which sets `self.agent_executor`. The two abstract methods are for their use; crews do not call
    them.
    """

    adapted_agent: bool = True
    """Whether another framework runs the agent."""

    adapted_structured_output: bool = False
    """Whether that framework produces structured outputs itself."""

    _agent_config: dict[str, object] | None = PrivateAttr(default=None)

    def __init__(self, agent_config: PlainDict | None = None, **kwargs: Any) -> None:
        """Create the agent.

        Args:
            agent_config: Settings of the other framework, stored as `_agent_config`.
            kwargs: The fields of an agent.
        """
        super().__init__(**kwargs)
        self._agent_config = agent_config

    def copy(self) -> Self:
        """Return a copy; see `BaseAgent.copy`."""
        copied = super().copy()
        copied._agent_config = self._agent_config
        return copied

    @abstractmethod
    def configure_tools(self, tools: Sequence[Any] | None = None) -> None:
        """Configure the tools of the framework's agent."""

    @abstractmethod
    def configure_structured_output(self, task: "Task") -> None:
        """Configure the structured output that a task requires."""


class BaseToolAdapter(ABC):
    """Converts tools to those of another framework.

    Args:
        tools: The tools, for subclasses that convert them in the constructor.
    """

    original_tools: list[Any]
    """The original tools."""

    converted_tools: list[Any]
    """The converted tools."""

    def __init__(self, tools: Sequence[Any] | None = None) -> None:
        self.original_tools = list(tools or ())
        self.converted_tools = []

    @abstractmethod
    def configure_tools(self, tools: Sequence[Any]) -> None:
        """Convert tools and store them in `converted_tools`."""

    def tools(self) -> list[Any]:
        """Return the converted tools."""
        return self.converted_tools

    @staticmethod
    def sanitize_tool_name(tool_name: str) -> str:
        """Return a tool name that model providers accept."""
        return model_name(tool_name)


class BaseConverterAdapter(ABC):
    """Requests structured outputs from another framework's agent.

    Args:
        agent_adapter: The agent.
    """

    def __init__(self, agent_adapter: "BaseAgentAdapter") -> None:
        self.agent_adapter = agent_adapter

    @abstractmethod
    def configure_structured_output(self, task: "Task") -> None:
        """Store the output structure that a task requires."""

    @abstractmethod
    def enhance_system_prompt(self, base_prompt: str) -> str:
        """Return the prompt with a description of that structure."""

    def post_process_result(self, result: str) -> str:
        """Convert an answer; returns it unchanged by default."""
        return result


class LangGraphAgentAdapter(BaseAgentAdapter):
    """An agent in the loop of model and tools that every agent runs, which is a node of the crew's LangGraph graph.

    To use a graph of your own, set `agent_executor=` of any agent.
    """

    verbose: bool = False
    """Whether its steps are printed."""

    function_calling_llm: Any = None
    """Model for structured outputs; None uses the agent's own."""

    step_callback: CallbackField = None
    """Function called with each step of the agent."""

    model: str = "gpt-4o"
    """Name of the model if `llm` is None."""

    def __init__(
        self,
        role: str,
        goal: str,
        backstory: str,
        tools: list[Any] | None = None,
        llm: object = None,
        max_iterations: int = 10,
        agent_config: PlainDict | None = None,
        **kwargs: object,
    ) -> None:
        """Create the agent.

        Args:
            role: The agent's role.
            goal: The agent's goal.
            backstory: The agent's backstory.
            tools: The agent's tools.
            llm: The model; None uses the field `model`.
            max_iterations: Number of requests after which the agent must answer.
            agent_config: Not supported.
            kwargs: The other fields of an agent.

        Raises:
            DefinitionError: If `agent_config` is not empty.
        """
        if agent_config:
            raise DefinitionError(
                f"`agent_config` of agent `{role}` is not supported. Build the graph with it yourself, and pass it to an "
                "`Agent` as `agent_executor=`."
            )
        kwargs = {"max_iter": max_iterations, **kwargs}
        super().__init__(None, role=role, goal=goal, backstory=backstory, tools=tools or [], llm=llm, **kwargs)
        if llm is None:
            self.llm = self.model

    def configure_tools(self, tools: Sequence[Any] | None = None) -> None:
        """Replace the agent's tools; for a single task, set the task's tools instead."""
        self.tools = list(tools or ())

    def configure_structured_output(self, task: "Task") -> None:
        """Do nothing: the prompt describes the structure, and missing parts are requested afterwards, as for any agent."""


class LangGraphToolAdapter(BaseToolAdapter):
    """Converts tools to LangChain tools, which LangGraph agents take."""

    def __init__(self, tools: Sequence[Any] | None = None) -> None:
        super().__init__(tools)
        self.configure_tools(self.original_tools)

    def configure_tools(self, tools: Sequence[Any]) -> None:
        """Convert tools and store them in `converted_tools`.

        Raises:
            DefinitionError: If an item is not a tool.
        """
        self.converted_tools = [as_langchain_tool(as_tool(tool).source) for tool in tools]


class LangGraphConverterAdapter(BaseConverterAdapter):
    """Requests JSON from a LangGraph agent in its system prompt."""

    def __init__(self, agent_adapter: "BaseAgentAdapter") -> None:
        super().__init__(agent_adapter)
        self._schema: type[BaseModel] | None = None

    def configure_structured_output(self, task: "Task") -> None:
        """Store the output structure that a task requires."""
        self._schema = task.output_pydantic or task.output_json

    def enhance_system_prompt(self, original_prompt: str) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the prompt with a description of that structure."""
        if self._schema is None:
            return original_prompt
        instructions = default_book().slice("formatted_task_instructions", output_format=model_outline(self._schema))
        return f"{original_prompt}\n\n{instructions}"

    def post_process_result(self, result: str) -> str:
        """Return the JSON in an answer if a structure is required and there is any, else the answer."""
        data = None if self._schema is None else extract_json(result)
        return result if data is None else json.dumps(data, ensure_ascii=False)


class OpenAIAgentAdapter(BaseAgentAdapter):
    """Not supported: the constructor raises an error that names the alternative."""

    def __init__(self, **kwargs: object) -> None:
        """Raise an error.

        Raises:
            DefinitionError: Always.
        """
        raise DefinitionError(
            "crewgraph has no adapter for OpenAI's agents. With `pip install openai-agents` a function does it: "
            "`Agent(role=..., goal=..., backstory=..., agent_executor=ask)`, where `async def ask(prompt: str) -> str` returns "
            "`(await agents.Runner.run(agent, prompt)).final_output`. To use just an OpenAI model, set `llm=`."
        )

    def configure_tools(self, tools: Any = None) -> None:
        """Not supported."""

    def configure_structured_output(self, task: object) -> None:
        """Not supported."""
