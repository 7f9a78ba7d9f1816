"""The individual steps of an agent run: prompt, tools, answer and guardrails."""

import logging
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypedDict, cast, runtime_checkable

from crewgraph.agent import Agent
from crewgraph.compiler.task.lessons import training_data_of
from crewgraph.crew import Crew
from crewgraph.definitions.task.guardrail import GuardrailResult
from crewgraph.events import (
    LLMGuardrailCompletedEvent,
    LLMGuardrailFailedEvent,
    LLMGuardrailStartedEvent,
    crewai_event_bus,
)
from crewgraph.llm.conversation import read_messages
from crewgraph.prompts.book import Book, default_book
from crewgraph.runtime.agent.standalone import AgentReasoning
from crewgraph.schema import model_outline
from crewgraph.task import Task
from crewgraph.tools.base import BaseTool

__all__ = [
    "AgentKwargs",
    "LangGraphCheckPointMemoryModule",
    "LangGraphMemorySaver",
    "LangGraphPrebuiltModule",
    "OpenAIAgent",
    "OpenAIAgentsModule",
    "OpenAIFunctionTool",
    "OpenAIRunner",
    "OpenAITool",
    "apply_training_data",
    "build_task_prompt_with_schema",
    "format_task_with_context",
    "get_knowledge_config",
    "handle_reasoning",
    "prepare_tools",
    "process_guardrail",
    "process_tool_results",
    "save_last_messages",
    "serialize_guardrail_for_json",
    "serialize_guardrails_for_json",
    "validate_max_execution_time",
]


def handle_reasoning(agent: Agent, task: Task) -> None:
    """Have an agent with `reasoning` or `planning` plan, and append the plan to the task description.

    Raises:
        RunError: No plan could be made.
    """
    if agent.reasoning or agent.planning_enabled:
        plan = AgentReasoning(agent, task).handle_agent_reasoning().plan
        steps = [f"{number}. {step.description}" for number, step in enumerate(plan.steps, 1)]
        addition = agent.wording().slice("plan", plan="\n".join([plan.plan, *steps]).strip())
        task.description = f"{task.description}\n\n{addition}"


def build_task_prompt_with_schema(task: Task, task_prompt: str) -> str:
    """Return the prompt, followed by the result schema if the task has one."""
    schema = task.output_json or task.output_pydantic
    if schema is None or task.response_model is not None:
        return task_prompt
    book = _book(task.agent)
    return f"{task_prompt}\n{book.slice('formatted_task_instructions', output_format=model_outline(schema))}"


def format_task_with_context(task_prompt: str, context: str | None) -> str:
    """Return the prompt, followed by the context if there is any."""
    return _book(None).slice("task_with_context", task=task_prompt, context=context) if context else task_prompt


def get_knowledge_config(agent: Agent) -> dict[str, Any]:
    """Return the keywords of an agent's knowledge search; empty if it has no settings."""
    return {} if agent.knowledge_config is None else agent.knowledge_config.model_dump()


def apply_training_data(agent: Agent, task_prompt: str) -> str:
    """Return the prompt, followed by what the agent learned in training.

    Raises:
        StorageError: the training file cannot be read.
    """
    lessons = training_data_of(agent.crew).of(agent.template("role") or "") if isinstance(agent.crew, Crew) else ()
    if not lessons:
        return task_prompt
    addition = agent.wording().slice("lessons", lessons="\n".join(f"- {item}" for item in lessons))
    return f"{task_prompt}\n\n{addition}"


def process_tool_results(agent: Agent, result: Any) -> Any:
    """Return the result of the last tool with `result_as_answer`, or else the given result."""
    answers = [item["result"] for item in agent.tools_results if item.get("result_as_answer", False)]
    return answers[-1] if answers else result


def save_last_messages(agent: Agent) -> None:
    """Copy the messages of an agent's executor to its `last_messages`."""
    messages: Any = getattr(agent.agent_executor, "messages", None)
    agent.record_messages(read_messages(messages) if messages else ())


def prepare_tools(agent: Agent, tools: Sequence[BaseTool] | None, task: Task) -> list[BaseTool]:
    """Return the tools for a task, or else the agent's tools, and create the agent's executor."""
    chosen = list(tools or agent.tools or ())
    agent.create_agent_executor(tools=chosen, task=task)
    return chosen


def validate_max_execution_time(max_execution_time: int | None) -> None:
    """Validate a time limit.

    Raises:
        ValueError: The value is neither None nor a positive integer.
    """
    if max_execution_time is None:
        return
    if not isinstance(max_execution_time, int) or max_execution_time <= 0:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"`max_execution_time` must be a positive whole number of seconds, not {max_execution_time!r}")


def _book(agent: Any) -> Book:
    return default_book() if agent is None else agent.wording()


_log = logging.getLogger("crewgraph")


def process_guardrail(
    output: Any,
    guardrail: Any,
    retry_count: int,
    event_source: Any = None,
    from_agent: Any = None,
    from_task: Any = None,
) -> GuardrailResult:
    """Run a guardrail on an output; tasks do this automatically.

    Args:
        output: the output of a task, or of an agent's kickoff.
        guardrail: the function.
        retry_count: the number of failures so far, for events.
        event_source: the source of the events.
        from_agent: the agent of the output, for events.
        from_task: the task of the output, for events.

    Raises:
        TypeError: The guardrail did not return a pair.
        Exception: The guardrail's own exception.
    """
    about: dict[str, Any] = {"retry_count": retry_count, "from_agent": from_agent, "from_task": from_task}
    crewai_event_bus.emit(event_source, LLMGuardrailStartedEvent(guardrail=guardrail, **about))
    try:
        result = GuardrailResult.from_tuple(guardrail(output))
    except Exception as error:  # any error of the user's guardrail or model; reported, then raised again
        crewai_event_bus.emit(event_source, LLMGuardrailFailedEvent(error=str(error), **about))
        raise
    event = LLMGuardrailCompletedEvent(success=result.success, result=result.result, error=result.error, **about)
    crewai_event_bus.emit(event_source, event)
    return result


def serialize_guardrail_for_json(value: Any, field_name: str = "guardrail") -> str | None:
    """Return a guardrail as JSON; a text is kept, a function is dropped with a warning."""
    if isinstance(value, str):
        return value
    if callable(value):
        _log.warning("`%s` is a function, which JSON cannot represent; it is left out", field_name)
    return None


def serialize_guardrails_for_json(value: Any, field_name: str = "guardrails") -> list[str] | str | None:
    """Return one or several guardrails as JSON; functions are dropped with a warning."""
    if isinstance(value, (list, tuple)):
        several = cast("list[Any]", value)
        each = (serialize_guardrail_for_json(item, field_name) for item in several)
        return [item for item in each if item is not None]
    return serialize_guardrail_for_json(value, field_name)


@runtime_checkable
class LangGraphMemorySaver(Protocol):
    """A checkpointer of LangGraph."""

    def __init__(self) -> None: ...


@runtime_checkable
class LangGraphCheckPointMemoryModule(Protocol):
    """The module `langgraph.checkpoint.memory`."""

    MemorySaver: type[Any]


@runtime_checkable
class LangGraphPrebuiltModule(Protocol):
    """The module `langgraph.prebuilt`."""

    def create_react_agent(
        self, model: Any, tools: list[Any], checkpointer: Any, debug: bool = False, **kwargs: Any
    ) -> Any:
        """Create a graph of a model and its tools."""
        ...


class AgentKwargs(TypedDict, total=False):
    """The keyword arguments of an OpenAI Agents SDK agent."""

    name: str
    instructions: str
    model: str
    tools: list[Any] | None
    role: str
    goal: str
    backstory: str
    agent_config: dict[str, Any] | None


@runtime_checkable
class OpenAIAgent(Protocol):
    """An agent of the OpenAI Agents SDK."""

    def __init__(self, **kwargs: Any) -> None: ...

    tools: list[Any]
    output_type: Any


@runtime_checkable
class OpenAIRunner(Protocol):
    """A runner of OpenAI Agents SDK agents."""

    @classmethod
    def run_sync(cls, agent: Any, message: str) -> Any:
        """Run an agent."""
        ...


@runtime_checkable
class OpenAIAgentsModule(Protocol):
    """The module `agents`."""

    Agent: type[Any]
    Runner: type[Any]

    def enable_verbose_stdout_logging(self) -> None:
        """Enable verbose logging."""
        ...


@runtime_checkable
class OpenAITool(Protocol):
    """A tool of the OpenAI Agents SDK."""


@runtime_checkable
class OpenAIFunctionTool(Protocol):
    """A function tool of the OpenAI Agents SDK."""

    name: str
    description: str
    params_json_schema: dict[str, Any]
    on_invoke_tool: Callable[..., Any]
