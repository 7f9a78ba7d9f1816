"""What an agent shows of the work that it did last, whichever run that was in."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from pydantic import PrivateAttr

from crewgraph.definitions.definition import Definition
from crewgraph.extras import load
from crewgraph.text import extract_json
from crewgraph.tools.cache import ToolCalling, ToolsHandler
from crewgraph.tools.failure import ToolFailureRecord

if TYPE_CHECKING:
    from crewgraph.core.messages import Message
    from crewgraph.definitions.step import AgentAction

__all__ = ["NotedWork"]


class NotedWork(Definition):
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

    def note_tool_failures(self, failures: Sequence[ToolFailureRecord]) -> None:
        """Show the failures of some work as those of the last."""
        self._tool_failures = list(failures)

    @property
    def last_messages(self) -> list[dict[str, Any]]:
        """What was said in its last work, for a task before its answer, in the form that OpenAI's clients use."""
        return load("crewgraph.llm.conversation").openai_messages(self._said)

    def note_messages(self, messages: "Sequence[Message]") -> None:
        """Show a conversation as that of the last work."""
        self._said = messages

    @property
    def tools_handler(self) -> ToolsHandler:
        """Which tool it used last, with its `cache_handler` as `cache`."""
        self._tools_handler.cache = getattr(self, "cache_handler", None)
        return self._tools_handler

    def note_tool_use(self, step: "AgentAction") -> None:
        """Show a step as the last use of a tool."""
        given: object = extract_json(step.tool_input)
        arguments = cast("dict[str, Any]", given) if isinstance(given, dict) else None
        self._tools_handler.last_used_tool = ToolCalling(tool_name=step.tool, arguments=arguments)
