"""What an agent shows of the work that it did last, whichever run that was in.

The steps of an agent, as step callbacks get them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from pydantic import PrivateAttr

from crewgraph.definitions.base import Definition
from crewgraph.lazy import lazy
from crewgraph.text import extract_json
from crewgraph.tools.cache import ToolCalling, ToolsHandler
from crewgraph.tools.failure import ToolFailureRecord

if TYPE_CHECKING:
    from crewgraph.core.messages import Message
    from crewgraph.llm.conversation import openai_messages
else:
    openai_messages = lazy("crewgraph.llm.conversation:openai_messages")

__all__ = ["AgentAction", "AgentFinish", "LastRun"]


class LastRun(Definition):
    """What is noted of an agent's work."""

    _tool_failures: list[ToolFailureRecord] = PrivateAttr(default_factory=list[ToolFailureRecord])
    _said: "Sequence[Message]" = PrivateAttr(default=())
    _tools_handler: ToolsHandler = PrivateAttr(default_factory=ToolsHandler)

    @property
    def last_tool_failures(self) -> list[ToolFailureRecord]:
        """The failures of tools in its last work, unless the policy is to ignore them."""
        return list(self._tool_failures)

    def reset_tool_failures(self) -> None:
        """Forget them."""
        self._tool_failures = []

    def record_tool_failures(self, failures: Sequence[ToolFailureRecord]) -> None:
        """Show the failures of some work as those of the last."""
        self._tool_failures = list(failures)

    @property
    def last_messages(self) -> list[dict[str, Any]]:
        """What was said in its last work, for a task before its answer, in the form that OpenAI's clients use."""
        return openai_messages(self._said)

    def record_messages(self, messages: "Sequence[Message]") -> None:
        """Show a conversation as that of the last work."""
        self._said = messages

    @property
    def tools_handler(self) -> ToolsHandler:
        """Which tool it used last, with its `cache_handler` as `cache`."""
        self._tools_handler.cache = getattr(self, "cache_handler", None)
        return self._tools_handler

    def record_tool_use(self, step: "AgentAction") -> None:
        """Show a step as the last use of a tool."""
        given: object = extract_json(step.tool_input)
        arguments = cast("dict[str, Any]", given) if isinstance(given, dict) else None
        self._tools_handler.last_used_tool = ToolCalling(tool_name=step.tool, arguments=arguments)


@dataclass
class AgentAction:
    """The agent used a tool."""

    thought: str
    """Why, in its own words; often empty with native tool calls."""

    tool: str
    """The tool's name, as the model wrote it."""

    tool_input: str
    """The arguments, as the model wrote them: a JSON object, mostly."""

    text: str
    """The whole reply."""

    result: str | None = None
    """What the tool gave, as the model is shown it."""

    failed: bool = field(default=False, compare=False, repr=False)
    """Whether the tool failed, or could not be used."""


@dataclass
class AgentFinish:
    """The agent gave its answer."""

    thought: str
    """Why it is done, in its own words."""

    output: str
    """The answer."""

    text: str = ""
    """The whole reply."""
