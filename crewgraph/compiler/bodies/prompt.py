"""From an agent and a task to the messages of the first request."""

from crewgraph.compiler.briefing import Briefing
from crewgraph.compiler.toolbox import Toolbox
from crewgraph.core.messages import Message
from crewgraph.definitions.agent import Agent, BaseAgent
from crewgraph.definitions.task import Task
from crewgraph.prompts.book import Book
from crewgraph.schema import described

__all__ = ["opening", "retold", "task_prompt"]


def task_prompt(task: Task, briefing: Briefing, book: Book) -> str:
    """What a task asks for, without what others found out."""
    parts = [
        briefing.description,
        book.slice("expected_output", expected_output=briefing.expected_output),
    ]
    if task.markdown:
        parts.append(book.slice("markdown"))
    schema = task.output_pydantic or task.output_json
    if schema is not None:
        parts.append(book.slice("formatted_task_instructions", output_format=described(schema)))
    return "\n\n".join(parts)


def opening(
    agent: BaseAgent,
    task: Task,
    briefing: Briefing,
    tools: Toolbox,
    native: bool,
    book: Book,
    refused: tuple[str, str] | None,
) -> list[Message]:
    """The messages that a task's conversation begins with.

    Args:
        agent: who works.
        task: on what.
        briefing: the filled texts.
        tools: what may be used.
        native: whether the model is offered tools in its own protocol.
        book: the wording.
        refused: an earlier attempt and why it was refused.
    """
    system = [book.slice("role_playing", role=briefing.role, goal=briefing.goal, backstory=briefing.backstory)]
    if tools and native:
        system.append(book.slice("native_tools"))
    elif tools:
        system.append(book.slice("tools", tools=tools.described, tool_names=tools.listed))
    else:
        system.append(book.slice("no_tools"))
    asked = task_prompt(task, briefing, book)
    if briefing.context:
        asked = book.slice("task_with_context", task=asked, context=briefing.context)
    asked = book.slice("task", input=retold(asked, refused, book))
    told = "\n\n".join(system)
    if isinstance(agent, Agent) and agent.use_system_prompt is False:
        return [{"role": "user", "content": f"{told}\n\n{asked}"}]
    return [{"role": "system", "content": told}, {"role": "user", "content": asked}]


def retold(text: str, refused: tuple[str, str] | None, book: Book) -> str:
    """A text with what became of an earlier attempt, if there was one."""
    if refused is None:
        return text
    again = book.error("validation_error", task_output=refused[0], guardrail_result_error=refused[1])
    return f"{text}\n\n{again}" if text else again
