"""Chats with a crew: a model collects the crew's inputs from the user and runs it."""

import json
import sys
from collections.abc import Callable
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field

from crewgraph.agent import Agent
from crewgraph.core.operations import Program, adrive, drive
from crewgraph.crew import Crew
from crewgraph.definitions.placeholders import CHAT_HISTORY
from crewgraph.definitions.run_options import Checkpointer, RunOptions
from crewgraph.definitions.task.output import CrewOutput
from crewgraph.errors import DefinitionError, Fault
from crewgraph.llm.resolve import as_model
from crewgraph.prompts.i18n import Book
from crewgraph.runtime.agent.standalone import reply_program
from crewgraph.runtime.crew.kickoff import kickoff_program
from crewgraph.runtime.execution import arun_interruptibly, run_interruptibly
from crewgraph.schema import PlainDict, is_list, is_mapping, text_fields_model
from crewgraph.text import printable, shorten
from crewgraph.tools.base import BaseTool, keep_never


class ChatInputField(BaseModel):
    """Something that the crew has to be told."""

    name: str = Field(description="the input's name")
    """The name of the input."""

    description: str = Field(description="what to enter")
    """What is to be given."""


class ChatInputs(BaseModel):
    """A crew, and what it has to be told."""

    crew_name: str = Field(description="the crew's name")
    """Its name."""

    crew_description: str = Field(description="what it does, in one sentence")
    """What it does, in one sentence."""

    inputs: list[ChatInputField] = Field(default_factory=list[ChatInputField], description="its inputs")
    """Its inputs."""


def with_history(description: str, history: object, book: Book) -> str:
    """Append the chat that led to the run to a task's description.

    Args:
        description: The description.
        history: The chat, as in the input `crew_chat_messages`.
        book: The prompts.

    Raises:
        DefinitionError: If the history is neither a list of messages nor the JSON of one.
    """
    lines = "\n".join(
        f"{str(message['role']).capitalize()}: {message['content']}"
        for message in _chat_messages(history)
        if is_mapping(message) and "role" in message and "content" in message
    )
    return f"{description}\n\n{book.slice('conversation_history_instruction')}\n\n{lines}"


def _chat_messages(history: object) -> list[Any]:
    messages: object = history
    if isinstance(history, str):
        try:
            messages = json.loads(history)
        except ValueError as error:
            raise _invalid_history(f"it is not JSON: {error}.") from error
    if not is_list(messages):
        raise _invalid_history(f"it is {messages!r:.80}.")
    return messages


def _invalid_history(problem: str) -> DefinitionError:
    remedy = 'Give a list of messages, [{"role": "user", "content": "..."}], or the JSON of one.'
    return DefinitionError([Fault(where=f"the input `{CHAT_HISTORY}`", what=problem, remedy=remedy, code="input")])


_TOOL_NAME = "run_crew"
_MIN_MESSAGES = 2
_MAX_EXCERPT = 200
_EXIT_COMMANDS = frozenset({"exit", "quit"})


class CrewChat:
    """A chat with a crew, in this process; messages are answered one after the other."""

    messages: list[dict[str, str]]
    """The remembered messages, latest last, as role and content; results of the crew are assistant messages."""

    output: CrewOutput | None
    """The crew's latest output in this conversation."""

    def __init__(self, crew: Crew, *, checkpointer: Checkpointer = None, max_messages: int = 60) -> None:
        """See `Crew.conversation`."""
        if max_messages < _MIN_MESSAGES:
            raise DefinitionError(
                f"`max_messages` is {max_messages}; it must be at least {_MIN_MESSAGES}, for a question and its answer"
            )
        self.crew, self.max_messages = crew, max_messages
        self.checkpointer: Checkpointer = checkpointer
        self.messages, self.output = [], None
        self.on_crew_start: Callable[[dict[str, str]], None] | None = None
        """Called with the inputs when the crew starts."""
        self._llm = crew.chat_llm if crew.chat_llm is not None else next((agent.llm for agent in crew.agents), None)
        self._host: Agent | None = None
        as_model(self._llm)  # a missing API key fails here rather than at the first message

    def say(self, text: str) -> str:
        """Send a message and return the answer: the model's, or the crew's result if the model ran it.

        Raises:
            Exception: Any error of the model; the message is then forgotten. Errors of the crew are reported by the model
                in its answer.
        """
        return drive(self._reply(text))

    async def asay(self, text: str) -> str:
        """Async version of `say`."""
        return await adrive(self._reply(text))

    def greet(self) -> str:
        """Let the model open the conversation."""
        return self.say(self._book.filled("chat", "opening"))

    async def agreet(self) -> str:
        """Async version of `greet`."""
        return await self.asay(self._book.filled("chat", "opening"))

    def _reply(self, text: str) -> Program[str]:
        previous = self.messages
        self.messages = [*previous, {"role": "user", "content": text}]
        try:
            if self._host is None:
                self._host = self._build_host((yield from self._describe_crew()))
            answer = (yield from reply_program(self._host, self.messages, None)).raw
        except BaseException:  # also Ctrl-C: the message is forgotten
            self.messages = previous
            raise
        self.messages = self._trim([*self.messages, {"role": "assistant", "content": answer}])
        return answer

    def _trim(self, messages: list[dict[str, str]]) -> list[dict[str, str]]:
        """Return the latest messages, starting with one of the user's, as some providers require."""
        latest = messages[-self.max_messages :]
        while latest[0]["role"] != "user":
            latest = latest[1:]
        return latest

    def _describe_crew(self) -> Program[ChatInputs]:
        """Ask the model what the crew does and needs; fall back to the crew's own texts."""
        names = sorted(self.crew.fetch_inputs() - {CHAT_HISTORY})
        crew_name = self.crew.name or "crew"
        excerpts = "\n".join(f"{place}: {text}" for place, text in _texts(self.crew))
        prompt = self._book.filled(
            "chat", "describe", crew=crew_name, texts=excerpts, inputs=", ".join(names) or "none"
        )
        guide = Agent(
            role=self._book.filled("chat", "guide_role"),
            goal=self._book.filled("chat", "guide_goal"),
            backstory=self._book.filled("chat", "guide_backstory"),
            llm=self._llm,
            i18n=self.crew.texts,
        )
        reply = (yield from reply_program(guide, prompt, ChatInputs)).pydantic
        answer = reply if isinstance(reply, ChatInputs) else None
        descriptions = {item.name: item.description for item in answer.inputs} if answer else {}
        summary = (
            answer.crew_description
            if answer
            else " ".join(task.template("description") or "" for task in self.crew.tasks)
        )
        inputs = [ChatInputField(name=name, description=descriptions.get(name) or self._use_of(name)) for name in names]
        return ChatInputs(crew_name=crew_name, crew_description=summary, inputs=inputs)

    def _use_of(self, name: str) -> str:
        placeholder = f"{{{name}}}"
        usage = next(text for _, text in _texts(self.crew) if placeholder in text)
        return self._book.filled("chat", "used_in", name=placeholder, text=shorten(usage, _MAX_EXCERPT))

    def _build_host(self, crew: ChatInputs) -> Agent:
        listing = "\n".join(f"- {item.name}: {item.description}" for item in crew.inputs)
        summary = crew.crew_description
        run_crew = _RunCrew(
            name=_TOOL_NAME,
            description=self._book.filled("chat", "tool", description=summary),
            args_schema=text_fields_model("Inputs", {item.name: item.description for item in crew.inputs}),
            result_as_answer=True,
            cache_function=keep_never,
            chat=self,
        )
        inputs = listing or self._book.filled("chat", "no_inputs")
        backstory = self._book.filled(
            "chat", "backstory", description=summary, inputs=inputs, tool=run_crew.spec["name"]
        )
        return Agent(
            role=self._book.filled("chat", "role", crew=crew.crew_name),
            goal=self._book.filled("chat", "goal"),
            backstory=backstory,
            llm=self._llm,
            tools=[run_crew],
            i18n=self.crew.texts,
        )

    @property
    def _book(self) -> Book:
        return self.crew.texts.book

    def start_crew(self, inputs: dict[str, str]) -> PlainDict:
        """Report the start of the crew and return the inputs of its kickoff, with the chat history among them."""
        if self.on_crew_start is not None:
            self.on_crew_start(inputs)
        return {**inputs, CHAT_HISTORY: json.dumps(self.messages, ensure_ascii=False)}

    def finish_crew(self, output: object) -> str:
        """Store the output, which a kickoff hook may have replaced, and return its text."""
        self.output = cast("CrewOutput", output)
        return str(output)


class _RunCrew(BaseTool):
    """Lets the model run the crew; its runs are recorded like any other."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    chat: CrewChat

    def _run(self, **inputs: str) -> str:
        values = self.chat.start_crew(inputs)
        return self.chat.finish_crew(run_interruptibly(self._program(values)))

    async def _arun(self, **inputs: str) -> str:
        values = self.chat.start_crew(inputs)
        return self.chat.finish_crew(await arun_interruptibly(self._program(values)))

    def _program(self, values: PlainDict) -> Program[CrewOutput]:
        return kickoff_program(self.chat.crew, values, RunOptions(checkpointer=self.chat.checkpointer))


def _texts(crew: Crew) -> list[tuple[str, str]]:
    """Return the templates of a crew's tasks and agents, each with its kind."""
    agents = dict.fromkeys([*(task.agent for task in crew.tasks if task.agent is not None), *crew.agents])
    templates = [
        *(("task", task.template(field)) for task in crew.tasks for field in ("description", "expected_output")),
        *(("agent", agent.template(field)) for agent in agents for field in ("role", "goal", "backstory")),
    ]
    return [(place, text) for place, text in templates if text]


def chat_at_terminal(crew: Crew, *, checkpointer: Checkpointer = None) -> CrewChat:
    """Chat in the terminal; see `Crew.chat`."""
    chat = CrewChat(crew, checkpointer=checkpointer)
    chat.on_crew_start = _show_run
    try:
        _show(chat.greet())
        while (message := input("\n> ").strip()).lower() not in _EXIT_COMMANDS:
            if message:
                _answer(chat, message)
    except (EOFError, KeyboardInterrupt):
        _show("")  # leave the shell's prompt on a line of its own
    return chat


def _answer(chat: CrewChat, message: str) -> None:
    try:
        _show(f"\n{chat.say(message)}")
    except Exception as error:  # noqa: BLE001 - an error does not end the conversation
        _show(f"\nError: {type(error).__name__}: {error}")


def _show_run(inputs: dict[str, str]) -> None:
    arguments = ", ".join(f"{name}={shorten(value, 60)!r}" for name, value in inputs.items())
    _show(f"\n(running the crew{': ' if arguments else ''}{arguments})")


def _show(text: str) -> None:
    sys.stdout.write(f"{printable(text)}\n")
    sys.stdout.flush()
