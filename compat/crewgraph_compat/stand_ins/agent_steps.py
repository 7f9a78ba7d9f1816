"""The steps from a task to what an agent is asked, and from its tools to its answer, one by one; runs take them by themselves."""

from collections.abc import Sequence
from typing import Any

from crewgraph.compiler.task.lessons import lessons_of
from crewgraph.definitions.agent.agent import Agent
from crewgraph.definitions.crew.crew import Crew
from crewgraph.definitions.task.task import Task
from crewgraph.llm.conversation import read_messages
from crewgraph.prompts.book import Book, english
from crewgraph.runtime.agent.standalone import AgentReasoning
from crewgraph.schema import described
from crewgraph.tools.base import BaseTool

__all__ = [
    "apply_training_data",
    "build_task_prompt_with_schema",
    "format_task_with_context",
    "get_knowledge_config",
    "handle_reasoning",
    "prepare_tools",
    "process_tool_results",
    "save_last_messages",
    "validate_max_execution_time",
]


def handle_reasoning(agent: Agent, task: Task) -> None:
    """Let an agent with `reasoning` or `planning` make a plan, which stands below the task's description then.

    Raises:
        RunError: it could make none.
    """
    if agent.reasoning or agent.planning_enabled:
        made = AgentReasoning(agent, task).handle_agent_reasoning().plan
        steps = [f"{number}. {step.description}" for number, step in enumerate(made.steps, 1)]
        told = agent.wording().slice("plan", plan="\n".join([made.plan, *steps]).strip())
        task.description = f"{task.description}\n\n{told}"


def build_task_prompt_with_schema(task: Task, task_prompt: str) -> str:
    """A prompt, with the form of the result below it where the task asks for one."""
    schema = task.output_json or task.output_pydantic
    if schema is None or task.response_model is not None:
        return task_prompt
    book = _book(task.agent)
    return f"{task_prompt}\n{book.slice('formatted_task_instructions', output_format=described(schema))}"


def format_task_with_context(task_prompt: str, context: str | None) -> str:
    """A prompt, with what others found out below it, if anything."""
    return _book(None).slice("task_with_context", task=task_prompt, context=context) if context else task_prompt


def get_knowledge_config(agent: Agent) -> dict[str, Any]:
    """How an agent's knowledge is searched, as keywords; empty where nothing is said."""
    return {} if agent.knowledge_config is None else agent.knowledge_config.model_dump()


def apply_training_data(agent: Agent, task_prompt: str) -> str:
    """A prompt, with what the agent was taught below it, if its crew was trained.

    Raises:
        StorageError: the training file cannot be read.
    """
    lessons = lessons_of(agent.crew).of(agent.template("role") or "") if isinstance(agent.crew, Crew) else ()
    if not lessons:
        return task_prompt
    told = agent.wording().slice("lessons", lessons="\n".join(f"- {one}" for one in lessons))
    return f"{task_prompt}\n\n{told}"


def process_tool_results(agent: Agent, result: Any) -> Any:
    """The answer: what the last tool with `result_as_answer` gave, else the given one."""
    answers = [one["result"] for one in agent.tools_results if one.get("result_as_answer", False)]
    return answers[-1] if answers else result


def save_last_messages(agent: Agent) -> None:
    """Show what an agent's executor said as its `last_messages`."""
    said: Any = getattr(agent.agent_executor, "messages", None)
    agent.record_messages(read_messages(said) if said else ())


def prepare_tools(agent: Agent, tools: Sequence[BaseTool] | None, task: Task) -> list[BaseTool]:
    """The tools for a task: the given ones, else the agent's; an executor of the agent's class is made."""
    given = list(tools or agent.tools or ())
    agent.create_agent_executor(tools=given, task=task)
    return given


def validate_max_execution_time(max_execution_time: int | None) -> None:
    """Check a bound on time.

    Raises:
        ValueError: it is not None, and no whole number above 0.
    """
    if max_execution_time is None:
        return
    if not isinstance(max_execution_time, int) or max_execution_time <= 0:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"`max_execution_time` is a whole number of seconds above 0, not {max_execution_time!r}")


def _book(agent: Any) -> Book:
    return english() if agent is None else agent.wording()
