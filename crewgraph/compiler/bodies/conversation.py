"""From an agent and what was said so far to the messages of the first request."""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from crewgraph.compiler.bodies.prompt import arranged
from crewgraph.compiler.bodies.protocol import text_of
from crewgraph.compiler.files import NO_FILES, FilesAtHand
from crewgraph.compiler.toolbox import Toolbox
from crewgraph.core.messages import Message
from crewgraph.definitions.agent import BaseAgent
from crewgraph.prompts.book import Book
from crewgraph.schema import described

__all__ = ["Conversation", "last_question"]


@dataclass(frozen=True, kw_only=True)
class Conversation:
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

    files: FilesAtHand = NO_FILES
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
            told.append(text_of(said.pop(0)["content"]))
        parts = [
            *self.files.notes(self.book),
            *self.notes,
            *([self.book.slice("summary", merged_summary=done)] if done else []),
        ]
        last = said.pop() if said and _is_question(said[-1]) else None
        asked = "\n\n".join([*([text_of(last["content"])] if last else []), *parts])
        *system, question = arranged(self.agent, "\n\n".join(told), asked, self._texts)
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
    return next((text_of(message["content"]) for message in reversed(said) if message["role"] == "user"), "")


def _is_question(message: Message) -> bool:
    """Whether it is the user's, and a text: what else there is to tell can be put into it."""
    return message["role"] == "user" and isinstance(message["content"], str)
