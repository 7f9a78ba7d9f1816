"""Guards tool calls: every error of a tool becomes a text that the model can act on."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

from crewgraph.core.cancellation import is_control_flow, raised_by_handler
from crewgraph.core.loops.threads import interrupt_in
from crewgraph.errors import ToolFailed
from crewgraph.redaction import SecretRedactor, redacted_logger
from crewgraph.schema import PlainDict, PlainMapping
from crewgraph.text import shorten
from crewgraph.tools.adapt import AdaptedTool, CommandReturned
from crewgraph.tools.arguments import Refusal
from crewgraph.tools.failure import RAISED, ReportedFailure, ToolFailure, ToolFailureReason
from crewgraph.tools.injected import InjectionFailed
from crewgraph.tools.structured import UsageLimitReached

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from crewgraph.core.operations import Program


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


def prepare(tool: AdaptedTool, written: object) -> PlainDict | Refusal:
    """Parse the arguments that a model wrote; return them, or a refusal."""
    with _watch(tool) as outcome:
        return tool.prepare(written)
    return Refusal(outcome["result"])  # a validator raised something other than ValueError


def use(tool: AdaptedTool, args: PlainDict, config: "RunnableConfig") -> "Program[Outcome]":
    """Execute a tool; return an `Outcome` instead of raising.

    LangGraph interrupts, cancellation, KeyboardInterrupt, SystemExit, internal errors of the run and errors of callback handlers
    are not caught.
    """
    with _watch(tool) as outcome:
        outcome["result"] = yield from tool.use(args, config)
    return outcome


@contextmanager
def _watch(tool: AdaptedTool) -> Generator[Outcome]:
    outcome: Outcome = {"ok": True, "result": None}
    from crewgraph.tools.mcp.tool import MCPTool

    try:
        yield outcome
    except ReportedFailure as reported:
        _log.warning("the tool `%s` reported a failure: %s", tool.title, reported)
        _fail(outcome, str(reported), reported.failure)
    except UsageLimitReached as error:
        failure = ToolFailure(message=str(error), reason=ToolFailureReason.USAGE_LIMIT, code=type(error).__name__)
        _fail(outcome, str(error), failure, error)
    except ToolFailed as error:  # its message is complete
        _log.warning("%s", error)
        reason = ToolFailureReason.MCP_ERROR if isinstance(tool.source, MCPTool) else None
        _fail(outcome, str(error), _failure_of(error, reason), error)
        if isinstance(error, CommandReturned):
            outcome["disobeyed"] = str(error)
    except Exception as error:  # whatever a tool raises is shown to the model
        from crewgraph.core.journal import JournalError

        is_of_run = isinstance(error, (InjectionFailed, JournalError))  # no model can do anything about it
        if is_of_run or is_control_flow(error) or interrupt_in(error) or raised_by_handler(error):
            raise
        _log.warning("the tool `%s` failed", tool.title, exc_info=error)
        _fail(outcome, _described_use(tool.name, error), _failure_of(error), error)


def _fail(outcome: Outcome, text: str, failure: ToolFailure, error: Exception | None = None) -> None:
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
