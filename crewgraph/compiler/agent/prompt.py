"""The messages that an agent's first request starts with, for a task or for a conversation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

from pydantic import BaseModel

from crewgraph.compiler.agent.protocol import reply_text
from crewgraph.compiler.agent.toolbox import Toolbox
from crewgraph.compiler.task.briefing import Briefing
from crewgraph.core.messages import Content, Message
from crewgraph.definitions.agent.agent import AgentDefinition, BaseAgentDefinition
from crewgraph.definitions.placeholders import render_template, split_at_slot
from crewgraph.definitions.task.task import TaskDefinition
from crewgraph.prompts.i18n import Book, fill_placeholders
from crewgraph.schema import model_outline


def task_prompt(task: TaskDefinition, briefing: Briefing, book: Book, notes: tuple[str, ...] = ()) -> str:
    """Return the prompt of a task, without its context."""
    parts = [briefing.description, *notes]
    if briefing.trigger:
        parts.append(book.slice("trigger_payload", payload=briefing.trigger))
    parts.append(book.slice("expected_output", expected_output=briefing.expected_output))
    if task.markdown:
        parts.append(book.slice("markdown"))
    schema = task.output_pydantic or task.output_json or task.response_model
    if schema is not None:
        parts.append(book.slice("formatted_task_instructions", output_format=model_outline(schema)))
    return "\n\n".join(parts)


class AvailableFiles(Protocol):
    """The files available to one agent."""

    def notes(self, book: Book) -> tuple[str, ...]:
        """Return what the agent's prompt says about the files."""
        ...

    def shown_in(self, messages: list[Message]) -> list[Message]:
        """Return the messages, with a marker for each file shown to the model in the user's last one."""
        ...

    def tools(self, book: Book) -> list[Any]:
        """Return the tool that reads the files that are not shown, if there are any."""
        ...


@dataclass(kw_only=True, eq=False)
class Opening:
    """The opening messages of a task."""

    agent: BaseAgentDefinition
    task: TaskDefinition
    briefing: Briefing
    tools: Toolbox
    native: bool
    """Whether tools are offered through native tool calls."""

    book: Book
    refused: tuple[str, str] | None = None
    """An earlier attempt and why it was refused."""

    notes: tuple[str, ...] = ()
    """Notes that follow the description of the task."""

    capability_notes: tuple[str, ...] = ()
    """What the agent's capabilities add to the system prompt."""

    files: AvailableFiles | None = None
    """The files available to the agent, if any."""

    def messages(self, context: str, summary: str) -> list[Message]:
        """Build the messages.

        Args:
            context: the outputs of other tasks.
            summary: a summary of the work so far; empty at the start.
        """
        briefing = self.briefing
        texts = {
            "role": briefing.role.rstrip(),
            "goal": briefing.goal.rstrip(),
            "backstory": briefing.backstory.rstrip(),
        }
        system = agent_system_prompt(
            texts, self.tools, self.book, native=self.native, capability_notes=self.capability_notes
        )
        messages = prompt_messages(self.agent, system, self._user_text(context, summary), texts)
        if self.files is not None:
            messages = self.files.shown_in(messages)
        if briefing.blocks:
            content = messages[-1]["content"]
            text: Content = [{"type": "text", "text": content}] if isinstance(content, str) else content
            messages[-1] = {"role": "user", "content": [*text, *briefing.blocks]}
        return messages

    def _user_text(self, context: str, summary: str) -> str:
        notes = self.notes if self.files is None else (*self.files.notes(self.book), *self.notes)
        text = task_prompt(self.task, self.briefing, self.book, notes)
        if context:
            text = self.book.slice("task_with_context", task=text, context=context)
        if self.refused is not None:
            text = with_rejection(text, self.refused, self.book)
        text = self.book.slice("task", input=text)
        return f"{text}\n\n{self.book.slice('summary', merged_summary=summary)}" if summary else text


def agent_system_prompt(
    texts: Mapping[str, str], tools: Toolbox, book: Book, *, native: bool, capability_notes: Sequence[str] = ()
) -> str:
    """Return the system prompt: the agent, its tools and its capabilities.

    Args:
        texts: role, goal and backstory.
        tools: the agent's tools.
        book: the prompts.
        native: whether tools are offered through native tool calls.
        capability_notes: the notes of its capabilities.
    """
    parts = [_persona(str(book.text("slices", "role_playing")), **texts)]
    if not tools:
        parts.append(book.slice("no_tools"))
    elif native:
        parts.append(book.slice("native_tools"))
    else:
        parts.append(book.slice("tools", tools=tools.described, tool_names=tools.listed))
    return "\n\n".join((*parts, *capability_notes))


@lru_cache(maxsize=64)  # an agent has the same in all its tasks
def _persona(template: str, role: str, goal: str, backstory: str) -> str:
    return fill_placeholders(template, role=role, goal=goal, backstory=backstory)


def prompt_messages(agent: BaseAgentDefinition, system: str, user: str, texts: Mapping[str, str]) -> list[Message]:
    """Return system and user prompt as messages.

    Templates of both make one message of them, as bare completion models expect; one template alone is ignored.
    """
    if not isinstance(agent, AgentDefinition):
        return [{"role": "system", "content": system}, {"role": "user", "content": user}]
    if agent.system_template and agent.prompt_template:
        system = render_template(agent.system_template, "System", system, texts)
        user = render_template(agent.prompt_template, "Prompt", user, texts)
        if agent.response_template:
            user = f"{user}\n{split_at_slot(agent.response_template, 'Response')[0]}".rstrip("\n")
        return [{"role": "user", "content": f"{system}\n{user}"}]
    if agent.use_system_prompt is False:
        return [{"role": "user", "content": f"{system}\n\n{user}"}]
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]


def with_rejection(text: str, refused: tuple[str, str] | None, book: Book) -> str:
    """Append an earlier attempt and the reason of its refusal to a text."""
    if refused is None:
        return text
    rejection = book.error("validation_error", task_output=refused[0], guardrail_result_error=refused[1])
    return f"{text}\n\n{rejection}" if text else rejection


@dataclass(kw_only=True, eq=False)
class AgentConversation:
    """The opening messages of an agent's answer to a conversation."""

    agent: BaseAgentDefinition
    messages_so_far: Sequence[Message]
    """The conversation so far."""

    structure: type[BaseModel] | None
    """The pydantic model of the answer."""

    tools: Toolbox
    native: bool
    """Whether tools are offered through native tool calls."""

    book: Book
    notes: tuple[str, ...] = ()
    """Notes that follow the last question."""

    capability_notes: tuple[str, ...] = ()
    """What the agent's capabilities add to the system prompt."""

    files: AvailableFiles | None = None
    """The files available to the agent, if any."""

    def messages(self, context: str, summary: str) -> list[Message]:
        """Build the messages.

        Args:
            context: not used: a conversation has no other.
            summary: a summary of the work so far; empty at the start.
        """
        history = list(self.messages_so_far)
        system_parts = [self._system_text]
        while history and history[0]["role"] == "system":  # some providers accept only one, at the start
            system_parts.append(reply_text(history.pop(0)["content"]))
        parts = [
            *(() if self.files is None else self.files.notes(self.book)),
            *self.notes,
            *([self.book.slice("summary", merged_summary=summary)] if summary else []),
        ]
        last = history.pop() if history and _is_question(history[-1]) else None
        user_text = "\n\n".join([*([reply_text(last["content"])] if last else []), *parts])
        *system, question = prompt_messages(self.agent, "\n\n".join(system_parts), user_text, self._texts)
        if last is not None:
            merged = last.copy()
            merged.update(question)
            question = merged
        messages = [*system, *history, *([question] if question["content"] else [])]
        return messages if self.files is None else self.files.shown_in(messages)

    @property
    def _texts(self) -> dict[str, str]:
        return {field: self.agent.written(field).rstrip() for field in ("role", "goal", "backstory")}

    @property
    def _system_text(self) -> str:
        book, texts = self.book, self._texts
        if self.tools and self.native:
            parts = [book.slice("role_playing", **texts), book.slice("native_tools")]
        elif self.tools:
            tools = {"tools": self.tools.described, "tool_names": self.tools.listed}
            parts = [book.slice("lite_agent_system_prompt_with_tools", **texts, **tools)]
        else:
            parts = [book.slice("lite_agent_system_prompt_without_tools", **texts)]
        if self.structure is not None:
            parts.append(book.slice("lite_agent_response_format", response_format=model_outline(self.structure)))
        return "\n\n".join((*parts, *self.capability_notes))


def last_question(messages: Sequence[Message]) -> str:
    """Return the text of the user's last message."""
    return next((reply_text(message["content"]) for message in reversed(messages) if message["role"] == "user"), "")


def _is_question(message: Message) -> bool:
    """Return whether a message is the user's and plain text, so that notes can be added to it."""
    return message["role"] == "user" and isinstance(message["content"], str)
