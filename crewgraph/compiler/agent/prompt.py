"""From an agent and a task to the messages of the first request.

From an agent and what was said so far to the messages of the first request.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from crewgraph.compiler.agent.files import NO_FILES, AvailableFiles
from crewgraph.compiler.agent.protocol import reply_text
from crewgraph.compiler.agent.toolbox import Toolbox
from crewgraph.compiler.task.briefing import Briefing
from crewgraph.core.messages import Message
from crewgraph.definitions.agent.agent import Agent, BaseAgent
from crewgraph.definitions.placeholders import render_template, split_at_slot
from crewgraph.definitions.task.task import Task
from crewgraph.prompts.book import Book
from crewgraph.schema import described

__all__ = ["AgentConversation", "Opening", "last_question", "prompt_messages", "retold", "task_prompt", "told_itself"]


def task_prompt(task: Task, briefing: Briefing, book: Book, notes: tuple[str, ...] = ()) -> str:
    """What a task asks for, without what others found out."""
    parts = [briefing.description, *notes]
    if briefing.trigger:
        parts.append(book.slice("trigger_payload", payload=briefing.trigger))
    parts.append(book.slice("expected_output", expected_output=briefing.expected_output))
    if task.markdown:
        parts.append(book.slice("markdown"))
    schema = task.output_pydantic or task.output_json or task.response_model
    if schema is not None:
        parts.append(book.slice("formatted_task_instructions", output_format=described(schema)))
    return "\n\n".join(parts)


@dataclass(frozen=True, kw_only=True)
class Opening:
    """The messages that an agent's conversation about a task begins with."""

    agent: BaseAgent
    task: Task
    briefing: Briefing
    tools: Toolbox
    native: bool
    """Whether the model is offered tools in its own protocol."""

    book: Book
    refused: tuple[str, str] | None = None
    """An earlier attempt and why it was refused."""

    notes: tuple[str, ...] = ()
    """What is told with the description of the task."""

    capability_notes: tuple[str, ...] = ()
    """What its prompt says of its capabilities."""

    files: AvailableFiles = NO_FILES
    """The files at hand."""

    def messages(self, context: str, done: str) -> list[Message]:
        """The messages.

        Args:
            context: what others found out.
            done: what was done for the task so far, condensed; empty at the beginning.
        """
        return self.files.shown_in(prompt_messages(self.agent, self._told, self._asked(context, done), self._texts))

    @property
    def _texts(self) -> dict[str, str]:
        return {"role": self.briefing.role, "goal": self.briefing.goal, "backstory": self.briefing.backstory}

    @property
    def _told(self) -> str:
        return told_itself(
            self._texts, self.tools, self.book, native=self.native, capability_notes=self.capability_notes
        )

    def _asked(self, context: str, done: str) -> str:
        asked = task_prompt(self.task, self.briefing, self.book, (*self.files.notes(self.book), *self.notes))
        if context:
            asked = self.book.slice("task_with_context", task=asked, context=context)
        asked = self.book.slice("task", input=retold(asked, self.refused, self.book))
        return f"{asked}\n\n{self.book.slice('summary', merged_summary=done)}" if done else asked


def told_itself(
    texts: Mapping[str, str], tools: Toolbox, book: Book, *, native: bool, capability_notes: Sequence[str] = ()
) -> str:
    """What an agent is told about itself, its tools and its capabilities.

    Args:
        texts: its role, goal and backstory.
        tools: what it may use.
        book: the wording.
        native: whether the model is offered tools in its own protocol.
        capability_notes: what its capabilities add.
    """
    told = [book.slice("role_playing", **texts)]
    if tools and native:
        told.append(book.slice("native_tools"))
    elif tools:
        told.append(book.slice("tools", tools=tools.described, tool_names=tools.listed))
    else:
        told.append(book.slice("no_tools"))
    return "\n\n".join((*told, *capability_notes))


def prompt_messages(agent: BaseAgent, told: str, asked: str, texts: Mapping[str, str]) -> list[Message]:
    """What an agent is told and asked as messages, in the templates that its user gave.

    A template for both makes one message of them, which is what the formats of bare models want.
    """
    if not isinstance(agent, Agent):
        return [{"role": "system", "content": told}, {"role": "user", "content": asked}]
    if agent.system_template:
        told = render_template(agent.system_template, "System", told, texts)
    if agent.prompt_template:
        asked = render_template(agent.prompt_template, "Prompt", asked, texts)
    if agent.response_template:
        asked = f"{asked}\n{split_at_slot(agent.response_template, 'Response')[0]}".rstrip("\n")
    if agent.system_template and agent.prompt_template:
        return [{"role": "user", "content": f"{told}\n{asked}"}]
    if agent.use_system_prompt is False:
        return [{"role": "user", "content": f"{told}\n\n{asked}"}]
    return [{"role": "system", "content": told}, {"role": "user", "content": asked}]


def retold(text: str, refused: tuple[str, str] | None, book: Book) -> str:
    """A text with what became of an earlier attempt, if there was one."""
    if refused is None:
        return text
    again = book.error("validation_error", task_output=refused[0], guardrail_result_error=refused[1])
    return f"{text}\n\n{again}" if text else again


@dataclass(frozen=True, kw_only=True)
class AgentConversation:
    """The messages that an agent's answer to a conversation begins with."""

    agent: BaseAgent
    said: Sequence[Message]
    """What was said so far."""

    structure: type[BaseModel] | None
    """What the answer is to be an instance of."""

    tools: Toolbox
    native: bool
    """Whether the model is offered tools in its own protocol."""

    book: Book
    notes: tuple[str, ...] = ()
    """What is told with the last question."""

    capability_notes: tuple[str, ...] = ()
    """What the agent's prompt says of its capabilities."""

    files: AvailableFiles = NO_FILES
    """The files at hand."""

    def messages(self, context: str, done: str) -> list[Message]:
        """The messages.

        Args:
            context: not used: a conversation has no other.
            done: what was done for an answer so far, condensed; empty at the beginning.
        """
        said = list(self.said)
        told = [self._told]
        while said and said[0]["role"] == "system":  # some providers take one system message only, in front
            told.append(reply_text(said.pop(0)["content"]))
        parts = [
            *self.files.notes(self.book),
            *self.notes,
            *([self.book.slice("summary", merged_summary=done)] if done else []),
        ]
        last = said.pop() if said and _is_question(said[-1]) else None
        asked = "\n\n".join([*([reply_text(last["content"])] if last else []), *parts])
        *system, question = prompt_messages(self.agent, "\n\n".join(told), asked, self._texts)
        if last is not None:
            asker = last.copy()
            asker.update(question)
            question = asker
        return self.files.shown_in([*system, *said, *([question] if question["content"] else [])])

    @property
    def _texts(self) -> dict[str, str]:
        return {field: self.agent.written(field) for field in ("role", "goal", "backstory")}

    @property
    def _told(self) -> str:
        book, who = self.book, self._texts
        if self.tools and self.native:
            told = [book.slice("role_playing", **who), book.slice("native_tools")]
        elif self.tools:
            shown = {"tools": self.tools.described, "tool_names": self.tools.listed}
            told = [book.slice("lite_agent_system_prompt_with_tools", **who, **shown)]
        else:
            told = [book.slice("lite_agent_system_prompt_without_tools", **who)]
        if self.structure is not None:
            told.append(book.slice("lite_agent_response_format", response_format=described(self.structure)))
        return "\n\n".join((*told, *self.capability_notes))


def last_question(said: Sequence[Message]) -> str:
    """What the user last asked."""
    return next((reply_text(message["content"]) for message in reversed(said) if message["role"] == "user"), "")


def _is_question(message: Message) -> bool:
    """Whether it is the user's, and a text: what else there is to tell can be put into it."""
    return message["role"] == "user" and isinstance(message["content"], str)
