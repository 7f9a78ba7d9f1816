"""Guards tool calls: every error of a tool becomes a text that the model can act on."""

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

from crewgraph.core.cancellation import is_control_flow, raised_by_handler
from crewgraph.core.loops.bridge import awaited
from crewgraph.core.loops.threads import interrupt_in
from crewgraph.core.messages import ToolSpec
from crewgraph.errors import ToolFailed
from crewgraph.redaction import SecretRedactor, redacted_logger
from crewgraph.schema import PlainDict, PlainMapping
from crewgraph.text import shorten
from crewgraph.tools.adapt import AdaptedTool, CommandReturned
from crewgraph.tools.arguments import Refusal
from crewgraph.tools.failure import RAISED, ReportedFailure, ToolFailure, ToolFailureReason
from crewgraph.tools.structured import UsageLimitReached

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig


_log = redacted_logger("crewgraph.tools")
_MESSAGE_LIMIT = 2000
"""Maximum number of characters of an exception message that the model sees."""


class Outcome(TypedDict):
    """The outcome of a tool call, as plain data but for `error`."""

    ok: bool
    """Whether the call succeeded."""

    result: Any
    """The result as plain data, or the error text for the model."""

    from_cache: NotRequired[bool]
    """Whether the result is cached from an equal call."""

    blocked: NotRequired[bool]
    """Whether a hook blocked the call."""

    failure: NotRequired[PlainDict]
    """If it failed: the `ToolFailure` as plain data."""

    disobeyed: NotRequired[str]
    """If it returned a command of LangGraph: the text of the error that ends the run."""

    error: NotRequired[Exception]
    """The exception if it raised one, for events; not recorded."""


class GuardedTool:
    """A `crewgraph.core.protocols.Tool` that returns an `Outcome` instead of raising.

    LangGraph interrupts, cancellation, KeyboardInterrupt, SystemExit and errors of callback handlers are not caught.

    Args:
        tool: The tool.
        passing: Further exception types that are not caught, such as internal errors of the run.
    """

    def __init__(self, tool: AdaptedTool, *, passing: Iterable[type[BaseException]] = ()) -> None:
        self.tool = tool
        self._passing = tuple(passing)

    @property
    def name(self) -> str:
        """The name that models use."""
        return self.tool.name

    @property
    def spec(self) -> ToolSpec:
        """The tool as models see it."""
        return self.tool.spec

    @property
    def once(self) -> bool:
        """Whether a call must not be repeated if a crash leaves its outcome unknown."""
        return self.tool.once

    def prepare(self, written: object) -> PlainDict | Refusal:
        """Parse the arguments that a model wrote; return them, or a refusal."""
        with self._watch() as outcome:
            return self.tool.prepare(written)
        return Refusal(outcome["result"])  # a validator raised something other than ValueError

    def run(self, args: PlainDict, config: "RunnableConfig") -> Outcome:
        """Execute the tool."""
        with self._watch() as outcome:
            outcome["result"] = self.tool.run(args, config)
        return outcome

    async def arun(self, args: PlainDict, config: "RunnableConfig") -> Outcome:
        """Execute the tool in an async run."""
        with self._watch() as outcome:
            outcome["result"] = await awaited(self.tool.arun(args, config))
        return outcome

    @contextmanager
    def _watch(self) -> Generator[Outcome]:
        outcome: Outcome = {"ok": True, "result": None}
        from crewgraph.tools.mcp.tool import MCPTool

        try:
            yield outcome
        except ReportedFailure as reported:
            _log.warning("the tool `%s` reported a failure: %s", self.tool.title, reported)
            self._failed(outcome, str(reported), reported.failure)
        except UsageLimitReached as error:
            failure = ToolFailure(message=str(error), reason=ToolFailureReason.USAGE_LIMIT, code=type(error).__name__)
            self._failed(outcome, str(error), failure, error)
        except ToolFailed as error:  # its message is complete
            _log.warning("%s", error)
            reason = ToolFailureReason.MCP_ERROR if isinstance(self.tool.source, MCPTool) else None
            self._failed(outcome, str(error), _failure_of(error, reason), error)
            if isinstance(error, CommandReturned):
                outcome["disobeyed"] = str(error)
        except Exception as error:  # whatever a tool raises is shown to the model
            if (
                isinstance(error, self._passing)
                or is_control_flow(error)
                or interrupt_in(error)
                or raised_by_handler(error)
            ):
                raise
            _log.warning("the tool `%s` failed", self.tool.title, exc_info=error)
            self._failed(outcome, _described_use(self.name, error), _failure_of(error), error)

    def _failed(self, outcome: Outcome, text: str, failure: ToolFailure, error: Exception | None = None) -> None:
        outcome.update(ok=False, result=text, failure=failure.model_dump(mode="json"))
        if error is not None:
            outcome["error"] = error
            if (raised := RAISED.get()) is not None:
                raised.append(error)


def _use_text(error: Exception) -> str:
    try:
        return shorten(
            SecretRedactor().redact(str(error).strip()), _MESSAGE_LIMIT
        )  # the model is told, and it is stored
    except Exception as failure:  # noqa: BLE001  (`__str__` of the exception failed)
        return f"(its text is not available: {type(failure).__name__})"


def _failure_of(error: Exception, reason: ToolFailureReason | None = None) -> ToolFailure:
    error_type = type(error).__name__
    return ToolFailure(
        message=_use_text(error) or error_type, reason=reason or ToolFailureReason.EXCEPTION, code=error_type
    )


def _described_use(name: str, error: Exception) -> str:
    message, error_type = _use_text(error), type(error).__name__
    return f"`{name}` failed: {error_type}: {message}" if message else f"`{name}` failed: {error_type}"


def unknown_tool_message(written: str, tools: PlainMapping) -> str:
    """Return the text for a model that called an unknown tool."""
    requested = shorten(written.strip(), 100)
    if not tools:
        return f"There is no tool `{requested}`, and there are no others. Answer without one."
    return f"There is no tool `{requested}`. Use one of: {', '.join(f'`{name}`' for name in tools)}."
