"""The individual steps of the ReAct loop, for programs that implement their own."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypedDict

from pydantic import BaseModel

from crewgraph.compiler.agent.protocol import OutputParserError, parse
from crewgraph.core.loops.bridge import call, in_thread
from crewgraph.definitions.agent.last_run import AgentAction, AgentFinish
from crewgraph.llm.errors import ContextLengthExceeded, is_context_length
from crewgraph.llm.resolve import as_llm
from crewgraph.prompts.book import default_book
from crewgraph_compat.stand_ins.console.terminal import PRINTER
from crewgraph_compat.stand_ins.models.calls import build_summary_prompt
from crewgraph_compat.stand_ins.tools.usage import ToolResult, ToolUsage, ToolUsageError

__all__ = [
    "SummaryContent",
    "aexecute_tool_and_check_finality",
    "aget_llm_response",
    "enforce_rpm_limit",
    "execute_tool_and_check_finality",
    "format_answer",
    "get_llm_response",
    "handle_agent_action_core",
    "handle_context_length",
    "handle_max_iterations_exceeded",
    "handle_output_parser_exception",
    "handle_unknown_error",
    "has_reached_max_iterations",
    "is_context_length_exceeded",
    "is_inside_event_loop",
    "process_llm_response",
    "show_agent_logs",
    "summarize_messages",
]

_OBSERVATION = "\nObservation:"


class SummaryContent(TypedDict):
    """One part of a summary."""

    content: str


def has_reached_max_iterations(iterations: int, max_iterations: int) -> bool:
    """Return whether the iteration limit is reached."""
    return iterations >= max_iterations


def enforce_rpm_limit(request_within_rpm_limit: Callable[[], bool] | None = None) -> None:
    """Wait until the rate limit allows a request, if there is one."""
    if request_within_rpm_limit:
        request_within_rpm_limit()


def is_inside_event_loop() -> bool:
    """Return whether this code runs on an event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def get_llm_response(
    llm: Any,
    messages: list[Any],
    callbacks: Sequence[Any] = (),
    printer: Any = None,
    tools: list[dict[str, Any]] | None = None,
    available_functions: dict[str, Callable[..., Any]] | None = None,
    from_task: Any = None,
    from_agent: Any = None,
    response_model: type[BaseModel] | None = None,
    executor_context: Any = None,
    verbose: bool = True,
) -> Any:
    """Return the response of a model.

    Args:
        llm: the model.
        messages: the conversation.
        callbacks: passed to the model.
        printer: not used.
        tools: the tools in OpenAI format.
        available_functions: the functions that the model's calls run.
        from_task: for events.
        from_agent: for events.
        response_model: the response model.
        executor_context: not used.
        verbose: not used.

    Raises:
        ValueError: The response is empty.
        Exception: The model's own exception.
    """
    more: dict[str, Any] = {
        "tools": tools,
        "available_functions": available_functions,
        "response_model": response_model,
    }
    options = {name: value for name, value in more.items() if value is not None}
    about = {"from_task": from_task, "from_agent": from_agent}
    answer = call(as_llm(llm).call, messages, callbacks=list(callbacks), **about, **options)
    if not answer:
        raise ValueError("the model returned an empty response; check the model and its limits")
    return answer


async def aget_llm_response(llm: Any, messages: list[Any], *args: Any, **kwargs: Any) -> Any:
    """Run `get_llm_response` without blocking the event loop."""
    return await in_thread(get_llm_response, llm, messages, *args, **kwargs)


def format_answer(answer: str) -> AgentAction | AgentFinish:
    """Parse a reply into an action or an answer; any other reply counts as an answer, with a thought that says so."""
    try:
        return parse(answer)
    except OutputParserError as error:
        return AgentFinish(thought=str(error), output=answer, text=answer)


def process_llm_response(answer: str, use_stop_words: bool) -> AgentAction | AgentFinish:
    """Parse a reply like `format_answer`, dropping any tool result that the model made up after an action.

    Args:
        answer: the reply.
        use_stop_words: ignored.
    """
    return format_answer(answer)


def handle_agent_action_core(
    formatted_answer: AgentAction,
    tool_result: ToolResult,
    messages: list[Any] | None = None,
    step_callback: Callable[..., Any] | None = None,
    show_logs: Callable[..., Any] | None = None,
) -> AgentAction | AgentFinish:
    """Return the action with its result, or the final answer if the tool's result is one.

    Args:
        formatted_answer: the action; its `text` and `result` are changed.
        tool_result: the result of the action.
        messages: not used; the action's `text` is the reply.
        step_callback: called with the result.
        show_logs: called with the action.
    """
    if step_callback is not None:
        step_callback(tool_result)
    result = str(tool_result.result)
    formatted_answer.text = f"{formatted_answer.text}{_OBSERVATION} {result}"
    formatted_answer.result = result
    if tool_result.result_as_answer:
        return AgentFinish(thought="", output=result, text=formatted_answer.text)
    if show_logs is not None:
        show_logs(formatted_answer)
    return formatted_answer


def handle_output_parser_exception(
    e: OutputParserError,
    messages: list[Any],
    iterations: int,
    log_error_after: int = 3,
    printer: Any = None,
    verbose: bool = True,
) -> AgentAction:
    """Tell the model how its reply was malformed; return an action without a tool to continue with.

    Args:
        e: the parse error.
        messages: the conversation, appended to in place.
        iterations: the number of the current step.
        log_error_after: the first step from which errors are printed.
        printer: the printer.
        verbose: whether anything is printed.
    """
    messages.append({"role": "user", "content": e.error})
    if verbose and printer is not None and iterations > log_error_after:
        printer.print(content=f"the reply could not be parsed; asking again: {e.error}", color="red")
    return AgentAction(thought="", tool="", tool_input="", text=e.error)


def handle_unknown_error(printer: Any, exception: Exception, verbose: bool = True) -> None:
    """Print an unexpected error."""
    if verbose:
        (printer or PRINTER).print(content=f"the step failed: {type(exception).__name__}: {exception}", color="red")


def handle_max_iterations_exceeded(
    formatted_answer: Any = None,
    printer: Any = None,
    i18n: Any = None,
    messages: list[Any] | None = None,
    llm: Any = None,
    callbacks: Sequence[Any] = (),
    verbose: bool = True,
) -> AgentFinish:
    """Have the model give a final answer.

    Args:
        formatted_answer: the last step.
        printer: not used.
        i18n: the prompt texts; None selects crewgraph's.
        messages: the conversation, appended to in place.
        llm: the model.
        callbacks: passed to the model.
        verbose: not used.

    Raises:
        ValueError: The response is empty.
    """
    conversation = messages if messages is not None else []
    texts = default_book() if i18n is None else i18n.book
    conversation.append({"role": "user", "content": texts.error("force_final_answer")})
    step = format_answer(str(get_llm_response(llm, conversation, callbacks)))
    output = step.output if isinstance(step, AgentFinish) else step.text
    return AgentFinish(thought=step.thought, output=output, text=step.text)


def is_context_length_exceeded(exception: Exception) -> bool:
    """Return whether a request failed because the conversation exceeds the context window."""
    return isinstance(exception, ContextLengthExceeded) or is_context_length(exception)


def handle_context_length(
    respect_context_window: bool,
    printer: Any,
    messages: list[Any],
    llm: Any,
    callbacks: Sequence[Any] = (),
    i18n: Any = None,
    verbose: bool = True,
) -> None:
    """Summarize a conversation that is too long, in place.

    Args:
        respect_context_window: whether summarizing is allowed.
        printer: not used.
        messages: the conversation.
        llm: the model that summarizes.
        callbacks: passed to the model.
        i18n: not used.
        verbose: not used.

    Raises:
        ContextLengthExceeded: Summarizing is not allowed.
    """
    if not respect_context_window:
        raise ContextLengthExceeded(
            "the conversation is too long for the model. Shorten it, use a model with a larger context window, or let it be "
            "condensed with `respect_context_window=True`."
        )
    summarize_messages(messages, llm, callbacks)


def summarize_messages(messages: list[Any], llm: Any, callbacks: Sequence[Any] = (), i18n: Any = None) -> None:
    """Replace a conversation after its system messages with a summary, in place.

    Args:
        messages: the conversation, changed in place.
        llm: the model that summarizes.
        callbacks: passed to the model.
        i18n: not used.
    """
    system_messages = [item for item in messages if item.get("role") == "system"]
    rest = [item for item in messages if item.get("role") != "system"]
    if not rest:
        return
    summary = str(get_llm_response(llm, build_summary_prompt(rest), callbacks))
    request = default_book().slice("summary", merged_summary=summary)
    messages[:] = [*system_messages, {"role": "user", "content": request}]


def show_agent_logs(
    printer: Any,
    agent_role: str,
    formatted_answer: AgentAction | AgentFinish | None = None,
    task_description: str | None = None,
    verbose: bool = False,
) -> None:
    """Print an agent's task or step if logging is enabled."""
    if not verbose:
        return
    show = (printer or PRINTER).print
    show(content=f"\nAgent: {agent_role.splitlines()[0] if agent_role else ''}", color="bold_purple")
    if formatted_answer is None:
        if task_description:
            show(content=f"Task: {task_description}", color="purple")
    elif isinstance(formatted_answer, AgentAction):
        show(content=f"Uses {formatted_answer.tool}: {formatted_answer.tool_input}", color="bold_green")
        show(content=f"Result: {formatted_answer.result}", color="bold_green")
    else:
        show(content=f"Answer: {formatted_answer.output}", color="bold_green")


def execute_tool_and_check_finality(
    agent_action: AgentAction,
    tools: Sequence[Any],
    i18n: Any = None,
    agent_key: str | None = None,
    agent_role: str | None = None,
    tools_handler: Any = None,
    task: Any = None,
    agent: Any = None,
    function_calling_llm: Any = None,
    fingerprint_context: dict[str, str] | None = None,
    crew: Any = None,
) -> ToolResult:
    """Run the tool of an action and report whether its result is the final answer.

    Args:
        agent_action: the action.
        tools: the available tools.
        i18n: not used.
        agent_key: not used; see `agent`.
        agent_role: not used.
        tools_handler: holds the cache of results.
        task: for events.
        agent: for events.
        function_calling_llm: not used.
        fingerprint_context: not used.
        crew: not used.
    """
    usage = ToolUsage(tools_handler, tools, task, function_calling_llm, agent, agent_action)
    calling = usage.parse_tool_calling(agent_action.text)
    return _result(usage, calling, usage.use(calling, agent_action.text))


async def aexecute_tool_and_check_finality(
    agent_action: AgentAction,
    tools: Sequence[Any],
    agent_key: str | None = None,
    agent_role: str | None = None,
    tools_handler: Any = None,
    task: Any = None,
    agent: Any = None,
    function_calling_llm: Any = None,
    fingerprint_context: dict[str, str] | None = None,
    crew: Any = None,
) -> ToolResult:
    """Run `execute_tool_and_check_finality` on the current event loop."""
    usage = ToolUsage(tools_handler, tools, task, function_calling_llm, agent, agent_action)
    calling = usage.parse_tool_calling(agent_action.text)
    return _result(usage, calling, await usage.ause(calling, agent_action.text))


def _result(usage: ToolUsage, calling: Any, text: str) -> ToolResult:
    is_answer = not isinstance(calling, ToolUsageError) and usage.is_answer(calling)
    return ToolResult(result=text, result_as_answer=is_answer)
