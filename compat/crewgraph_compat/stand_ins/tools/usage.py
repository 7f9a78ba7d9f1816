"""Manual tool use, from a model's reply to the result it is shown, and files for oversized results."""

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, cast
from uuid import uuid4

from pydantic import BaseModel, Field

from crewgraph.compiler.agent.cached_tool import CachedTool
from crewgraph.compiler.agent.event_tool import EventTool
from crewgraph.compiler.agent.protocol import OutputParserError, parse
from crewgraph.compiler.agent.toolbox import PreparedCall, Toolbox
from crewgraph.core.effects import ToolCallEffect
from crewgraph.definitions.agent.last_run import AgentAction
from crewgraph.disk import replace_file
from crewgraph.events import ToolUsageErrorEvent, ToolUsageFinishedEvent, crewai_event_bus
from crewgraph.text import shorten
from crewgraph.tools.adapt import AdaptedTool, as_tool
from crewgraph.tools.cache import CACHE_TOOL, CacheHandler, ToolCalling, ToolsHandler
from crewgraph.tools.structured import CrewStructuredTool
from crewgraph.tools.use import GuardedTool, Outcome

__all__ = [
    "OPENAI_BIGGER_MODELS",
    "TOOL_RESULT_PREVIEW_LINE_COUNT",
    "TOOL_RESULT_PREVIEW_MAX_CHARS",
    "TOOL_RESULT_READ_CONTEXT_WINDOW_RATIO",
    "CacheTools",
    "InstructorToolCalling",
    "ToolResult",
    "ToolResultArtifact",
    "ToolResultArtifactStore",
    "ToolUsage",
    "ToolUsageError",
]


OPENAI_BIGGER_MODELS: Final = ["gpt-4", "gpt-4o", "o1-preview", "o1-mini", "o1", "o3", "o3-mini"]
"""The models that CrewAI trusts with tool arguments; here all models are treated alike."""


class InstructorToolCalling(ToolCalling):
    """The same, as a model writes it into a structure."""


@dataclass
class ToolResult:
    """The result of a tool call."""

    result: Any
    """The text shown to the model."""

    result_as_answer: bool = False
    """Whether the result is the final answer."""


class ToolUsageError(Exception):
    """A tool could not be used."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
        """The reason."""


class CacheTools(BaseModel):
    """A tool that reads cached results; runs consult the cache automatically."""

    name: str = CACHE_TOOL
    """The name of the tool."""

    cache_handler: CacheHandler = Field(default_factory=CacheHandler)
    """The cache handler."""

    def tool(self) -> CrewStructuredTool:
        """Return the tool."""
        return CrewStructuredTool.from_function(
            func=self.hit_cache, name=self.name, description="Gives what a tool gave before, from what is kept."
        )

    def hit_cache(self, key: str) -> Any:
        """Return the cached result of a call, or None.

        Args:
            key: the call, as `tool:name|input:arguments`.

        Raises:
            ValueError: The key has another format.
        """
        name, separator, arguments = key.removeprefix("tool:").partition("|input:")
        if not separator:
            raise ValueError(f"{key!r} is not a cache key; write it as `tool:name|input:arguments`")
        return self.cache_handler.read(name.strip(), arguments.strip())


class ToolUsage:
    """Find and run the tool that a model chose and report its result; agents do this automatically.

    Args:
        tools_handler: holds the cache of results and the last used tool.
        tools: the available tools.
        task: the task, for events.
        function_calling_llm: not used; arguments are parsed or rejected.
        agent: the calling agent, for events.
        action: the step whose `tool` and `tool_input` are used if the reply names neither.
        fingerprint_context: ignored; events identify the agent and the task.
        crew: ignored.
    """

    def __init__(
        self,
        tools_handler: ToolsHandler | None,
        tools: Sequence[Any],
        task: Any,
        function_calling_llm: Any,
        agent: Any = None,
        action: Any = None,
        fingerprint_context: dict[str, str] | None = None,
        crew: Any = None,
    ) -> None:
        self.tools_handler, self.tools, self.task, self.action = tools_handler, list(tools), task, action
        self.agent, self.crew, self.function_calling_llm = agent, crew, function_calling_llm
        self.fingerprint_context = fingerprint_context or {}
        self._given: list[Any] = []
        result = [_RecordedTool(as_tool(tool), self._given) for tool in self.tools]
        handler = tools_handler.cache if tools_handler else None
        cached = {item.name: item if handler is None else CachedTool(item, handler) for item in result}
        self._guarded = {item.name: item for item in result}
        self._toolbox = Toolbox(
            {name: EventTool(item, agent or cast("Any", _Nobody()), task) for name, item in cached.items()}
        )

    def parse_tool_calling(self, tool_string: str) -> ToolCalling | ToolUsageError:
        """Return the call in a model's reply, or the error if there is none."""
        try:
            step = parse(tool_string)
        except OutputParserError as error:
            return ToolUsageError(str(error))
        action = step if isinstance(step, AgentAction) else self.action
        if action is None:
            return ToolUsageError("there is no `Action:` in it")
        call = self._toolbox.prepare_call(action.tool, action.tool_input)
        if not isinstance(call, PreparedCall):
            return ToolUsageError(call["text"])
        return ToolCalling(tool_name=self._guarded[call.tool.name].tool.title, arguments=call.args)

    def use(self, calling: ToolCalling | ToolUsageError, tool_string: str) -> str:
        """Run a call and return the text for the model.

        Args:
            calling: the result of `parse_tool_calling`.
            tool_string: the model's reply.
        """
        call = self._prepared_call(calling)
        if isinstance(call, str):
            return call
        return self._recorded(calling, call.perform({})["text"])

    async def ause(self, calling: ToolCalling | ToolUsageError, tool_string: str) -> str:
        """Run `use` on the current event loop."""
        call = self._prepared_call(calling)
        if isinstance(call, str):
            return call
        return self._recorded(calling, (await call.aperform({}))["text"])

    def is_answer(self, calling: ToolCalling) -> bool:
        """Return whether the result of the called tool is the final answer."""
        tool = self._toolbox.find(calling.tool_name)
        return tool is not None and self._guarded[tool.name].tool.result_as_answer

    def get_last_raw_result(self, fallback: Any) -> Any:
        """Return the raw result of the last tool use, or the fallback if there is none.

        A cached result is returned as it was stored.
        """
        return self._given[-1] if self._given else fallback

    def on_tool_error(self, tool: Any, tool_calling: ToolCalling, e: Exception) -> None:
        """Emit an event for a failed tool."""
        event = ToolUsageErrorEvent(**self._about(tool, tool_calling), error=str(e))
        crewai_event_bus.emit(self, event)

    def on_tool_use_finished(
        self, tool: Any, tool_calling: ToolCalling, from_cache: bool, started_at: float, result: Any
    ) -> None:
        """Emit an event for a finished tool.

        Args:
            tool: the tool.
            tool_calling: the call.
            from_cache: whether the result is cached.
            started_at: the start time in seconds since the epoch.
            result: the result.
        """
        event = ToolUsageFinishedEvent(
            **self._about(tool, tool_calling),
            started_at=started_at,  # pyright: ignore[reportArgumentType]
            finished_at=datetime.now(UTC),
            from_cache=from_cache,
            output=result,
        )
        crewai_event_bus.emit(self, event)

    def _prepared_call(self, calling: ToolCalling | ToolUsageError) -> ToolCallEffect | str:
        if isinstance(calling, ToolUsageError):
            return calling.message
        call = self._toolbox.prepare_call(calling.tool_name, calling.arguments or {})
        if not isinstance(call, PreparedCall):
            return call["text"]
        assert isinstance(call.effect, ToolCallEffect)  # its tools are no bodies
        return call.effect

    def _recorded(self, calling: Any, text: str) -> str:
        if self.tools_handler is not None:
            self.tools_handler.last_used_tool = calling
        return text

    def _about(self, tool: Any, calling: ToolCalling) -> dict[str, Any]:
        return {
            "tool_name": tool.name,
            "tool_args": calling.arguments or {},
            "tool_class": type(tool).__name__,
            "agent": self.agent,
            "from_agent": self.agent,
            "from_task": self.task,
        }


class _RecordedTool(GuardedTool):
    """A tool whose results are recorded."""

    def __init__(self, tool: AdaptedTool, results: list[Any]) -> None:
        super().__init__(tool)
        self._given = results

    def run(self, args: dict[str, Any], config: Any) -> Outcome:
        return self._recorded(super().run(args, config))

    async def arun(self, args: dict[str, Any], config: Any) -> Outcome:
        return self._recorded(await super().arun(args, config))

    def _recorded(self, outcome: Outcome) -> Outcome:
        if outcome["ok"]:
            self._given.append(outcome["result"])
        return outcome


class _Nobody:
    """The placeholder for a missing agent."""

    key = None


TOOL_RESULT_PREVIEW_LINE_COUNT: Final = 10
"""The maximum number of lines shown of a result."""

TOOL_RESULT_PREVIEW_MAX_CHARS: Final = 2000
"""The maximum number of characters shown of a result."""

TOOL_RESULT_READ_CONTEXT_WINDOW_RATIO: Final = 0.05
"""The part of a model's context window that may be filled with a result at once."""


@dataclass(frozen=True)
class ToolResultArtifact:
    """A tool result stored in a file."""

    artifact_id: str
    """The name of the artifact."""

    directory: Path
    """The folder of the store."""

    relative_path: Path
    """The path within the folder."""

    file_path: Path
    """The full path."""

    line_count: int
    """The number of lines."""

    estimated_token_count: int
    """The number of tokens."""

    preview: str
    """The beginning of the result."""

    preview_truncated: bool
    """Whether the preview is truncated."""


class ToolResultArtifactStore:
    """A folder of tool results, readable only by its owner.

    Args:
        base_dir: the parent folder; None selects the system's temporary directory.
    """

    def __init__(self, base_dir: Path | None = None) -> None:
        self._base = base_dir
        self._folder: Path | None = None

    @property
    def directory(self) -> Path:
        """The folder, created on first access.

        Raises:
            OSError: It cannot be created.
        """
        if self._folder is None:
            if self._base is not None:
                self._base.mkdir(parents=True, exist_ok=True)
            self._folder = Path(tempfile.mkdtemp(prefix="tool-results-", dir=self._base))
        return self._folder

    def store(self, content: str, estimated_token_count: int) -> ToolResultArtifact:
        """Store a result.

        Raises:
            OSError: It cannot be written.
        """
        name = uuid4().hex
        relative = Path(f"{name}.txt")
        file = self.directory / relative
        replace_file(file, content)
        lines = content.splitlines()
        head = "\n".join(lines[:TOOL_RESULT_PREVIEW_LINE_COUNT])
        preview = shorten(head, TOOL_RESULT_PREVIEW_MAX_CHARS)
        return ToolResultArtifact(
            artifact_id=name,
            directory=self.directory,
            relative_path=relative,
            file_path=file,
            line_count=len(lines),
            estimated_token_count=estimated_token_count,
            preview=preview,
            preview_truncated=len(lines) > TOOL_RESULT_PREVIEW_LINE_COUNT or preview != head,
        )

    def cleanup(self) -> None:
        """Remove the folder with all its contents."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
