"""Conversations about a crew: a model finds out what it has to be told, and has it work."""

import json
import sys
from collections.abc import Callable
from typing import Any, cast

from pydantic import ConfigDict

from crewgraph.contrib.conversations.crew_inputs import ChatInputField, ChatInputs
from crewgraph.core.operations import Program, adrive, drive
from crewgraph.definitions.agent.agent import Agent
from crewgraph.definitions.crew.crew import Crew
from crewgraph.definitions.placeholders import CHAT_HISTORY
from crewgraph.definitions.run_options import Checkpointer, RunOptions
from crewgraph.definitions.task.output import CrewOutput
from crewgraph.errors import DefinitionError
from crewgraph.llm.resolve import as_model
from crewgraph.prompts.book import Book
from crewgraph.runtime.agent.standalone import replied
from crewgraph.runtime.crew.kickoff import akickoff_crew, kickoff_crew
from crewgraph.schema import texts
from crewgraph.text import shorten
from crewgraph.tools.base import BaseTool

__all__ = ["CrewChat", "chat_at_terminal"]

_TOOL = "run_crew"
_LEAST = 2
_SHOWN = 200
_ENDS = frozenset({"exit", "quit"})


class CrewChat:
    """A conversation about a crew, in this process: one thing is said after the other."""

    messages: list[dict[str, str]]
    """What was said and is remembered, the latest last, as role and content; the crew's results stand as answers."""

    output: CrewOutput | None
    """What the crew gave last in this conversation."""

    def __init__(self, crew: Crew, *, checkpointer: Checkpointer = None, max_messages: int = 60) -> None:
        """See `Crew.conversation`."""
        if max_messages < _LEAST:
            raise DefinitionError(f"`max_messages` is {max_messages}; a question and its answer are {_LEAST}")
        self.crew, self.max_messages = crew, max_messages
        self.checkpointer: Checkpointer = checkpointer
        self.messages, self.output = [], None
        self.at_work: Callable[[dict[str, str]], None] | None = None
        """Called with the inputs when the crew begins to work."""
        self._llm = crew.chat_llm if crew.chat_llm is not None else next((one.llm for one in crew.agents), None)
        self._host: Agent | None = None
        as_model(self._llm)  # a missing key is told before anything is said

    def say(self, text: str) -> str:
        """Say something to it, and get its answer: the model's, or the result of the crew if that was asked to work.

        Raises:
            Exception: whatever the model raised; it is as if nothing had been said. What the crew raises is told by the
                model.
        """
        return drive(self._said(text))

    async def asay(self, text: str) -> str:
        """The same on this event loop."""
        return await adrive(self._said(text))

    def greet(self) -> str:
        """Have it speak first."""
        return self.say(self._book.filled("chat", "opening"))

    async def agreet(self) -> str:
        """The same on this event loop."""
        return await self.asay(self._book.filled("chat", "opening"))

    def _said(self, text: str) -> Program[str]:
        before = self.messages
        self.messages = [*before, {"role": "user", "content": text}]
        try:
            if self._host is None:
                self._host = self._hosted((yield from self._described()))
            answer = (yield from replied(self._host, self.messages, None)).raw
        except BaseException:
            self.messages = before
            raise
        self.messages = self._remembered([*self.messages, {"role": "assistant", "content": answer}])
        return answer

    def _remembered(self, messages: list[dict[str, str]]) -> list[dict[str, str]]:
        """The latest messages; some providers want the first to be the user's."""
        kept = messages[-self.max_messages :]
        while kept[0]["role"] != "user":
            kept = kept[1:]
        return kept

    def _described(self) -> Program[ChatInputs]:
        """What the crew does and has to be told, in the model's words; in the definition's where it finds none."""
        names = sorted(self.crew.fetch_inputs() - {CHAT_HISTORY})
        called = self.crew.name or "crew"
        shown = "\n".join(f"{place}: {text}" for place, text in _texts(self.crew))
        asked = self._book.filled("chat", "describe", crew=called, texts=shown, inputs=", ".join(names) or "none")
        guide = Agent(
            role=self._book.filled("chat", "guide_role"),
            goal=self._book.filled("chat", "guide_goal"),
            backstory=self._book.filled("chat", "guide_backstory"),
            llm=self._llm,
            i18n=self.crew.texts,
        )
        found = (yield from replied(guide, asked, ChatInputs)).pydantic
        told = found if isinstance(found, ChatInputs) else None
        meanings = {one.name: one.description for one in told.inputs} if told else {}
        does = (
            told.crew_description if told else " ".join(task.template("description") or "" for task in self.crew.tasks)
        )
        inputs = [ChatInputField(name=name, description=meanings.get(name) or self._use_of(name)) for name in names]
        return ChatInputs(crew_name=called, crew_description=does, inputs=inputs)

    def _use_of(self, name: str) -> str:
        slot = f"{{{name}}}"
        used = next(text for _, text in _texts(self.crew) if slot in text)
        return self._book.filled("chat", "used_in", name=slot, text=shorten(used, _SHOWN))

    def _hosted(self, about: ChatInputs) -> Agent:
        listed = "\n".join(f"- {one.name}: {one.description}" for one in about.inputs)
        does = about.crew_description
        run_crew = _RunCrew(
            name=_TOOL,
            description=self._book.filled("chat", "tool", description=does),
            args_schema=texts("Inputs", {one.name: one.description for one in about.inputs}),
            result_as_answer=True,
            cache_function=_never,
            chat=self,
        )
        needed = listed or self._book.filled("chat", "no_inputs")
        backstory = self._book.filled("chat", "backstory", description=does, inputs=needed, tool=run_crew.spec["name"])
        return Agent(
            role=self._book.filled("chat", "role", crew=about.crew_name),
            goal=self._book.filled("chat", "goal"),
            backstory=backstory,
            llm=self._llm,
            tools=[run_crew],
            i18n=self.crew.texts,
        )

    @property
    def _book(self) -> Book:
        return self.crew.texts.book

    def begun(self, inputs: dict[str, str]) -> dict[str, Any]:
        """The inputs of a kickoff: what the model found out, and what was said."""
        if self.at_work is not None:
            self.at_work(inputs)
        return {**inputs, CHAT_HISTORY: json.dumps(self.messages, ensure_ascii=False)}

    def ended(self, output: Any) -> str:
        """The text of an output; it may be what a function behind the kickoff gave in its place."""
        self.output = cast("CrewOutput", output)
        return str(output)


class _RunCrew(BaseTool):
    """The crew as the model's tool; its runs are kept as any."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    chat: CrewChat

    def _run(self, **inputs: str) -> str:
        given = self.chat.begun(inputs)
        return self.chat.ended(kickoff_crew(self.chat.crew, given, RunOptions(checkpointer=self.chat.checkpointer)))

    async def _arun(self, **inputs: str) -> str:
        given = self.chat.begun(inputs)
        return self.chat.ended(
            await akickoff_crew(self.chat.crew, given, RunOptions(checkpointer=self.chat.checkpointer))
        )


def _never(_arguments: Any = None, _result: Any = None) -> bool:
    """To ask again is to want it done again."""
    return False


def _texts(crew: Crew) -> list[tuple[str, str]]:
    """The texts of a crew as they were written, and of whom they are."""
    working = dict.fromkeys([*(task.agent for task in crew.tasks if task.agent is not None), *crew.agents])
    found = [
        *(("task", task.template(field)) for task in crew.tasks for field in ("description", "expected_output")),
        *(("agent", agent.template(field)) for agent in working for field in ("role", "goal", "backstory")),
    ]
    return [(place, text) for place, text in found if text]


def chat_at_terminal(crew: Crew, *, checkpointer: Checkpointer = None) -> CrewChat:
    """Talk on the terminal; see `Crew.chat`."""
    talk = CrewChat(crew, checkpointer=checkpointer)
    talk.at_work = _show_work
    try:
        _show(talk.greet())
        while (said := input("\n> ").strip()).lower() not in _ENDS:
            if said:
                _answer(talk, said)
    except (EOFError, KeyboardInterrupt):
        _show("")  # the shell's prompt begins a line
    return talk


def _answer(talk: CrewChat, said: str) -> None:
    try:
        _show(f"\n{talk.say(said)}")
    except Exception as error:  # noqa: BLE001 - the conversation goes on: it may be asked again
        _show(f"\nError: {type(error).__name__}: {error}")


def _show_work(inputs: dict[str, str]) -> None:
    given = ", ".join(f"{name}={shorten(value, 60)!r}" for name, value in inputs.items())
    _show(f"\n(the crew is at work{': ' if given else ''}{given})")


def _show(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
