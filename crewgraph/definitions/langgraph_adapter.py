"""Agents whose work a LangGraph graph of model and tools carries out."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from crewgraph.definitions.adapter_parts import BaseConverterAdapter, BaseToolAdapter
from crewgraph.definitions.agent_adapter import BaseAgentAdapter
from crewgraph.definitions.given_callback import GivenCallback
from crewgraph.errors import DefinitionError
from crewgraph.prompts.book import english
from crewgraph.schema import described
from crewgraph.text import extract_json
from crewgraph.tools.adapt import as_tool
from crewgraph.tools.langchain import as_langchain_tool

if TYPE_CHECKING:
    from crewgraph.definitions.agent_adapter import BaseAgentAdapter as Adapter
    from crewgraph.definitions.task import Task

__all__ = ["LangGraphAgentAdapter", "LangGraphConverterAdapter", "LangGraphToolAdapter"]


class LangGraphAgentAdapter(BaseAgentAdapter):
    """An agent whose work a LangGraph graph of two nodes does: the model, and the tools that it calls.

    The graph is made for each task, of the agent's model and the task's tools. Its steps are checkpoints of the run, so that a
    resume goes on in the middle of it. For a graph of your own give any agent `agent_executor=`.
    """

    verbose: bool = False
    """Whether its steps are shown."""

    function_calling_llm: Any = None
    """A model for structured outputs; its own model where None."""

    step_callback: GivenCallback = None
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

    def __init__(self, agent_adapter: "Adapter") -> None:
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
