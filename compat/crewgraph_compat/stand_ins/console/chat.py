"""Conversations about crews, as the functions behind CrewAI's chat command; `crew.chat()` combines them."""

import json
import sys
import threading
from collections.abc import Mapping
from typing import Any, Final

from crewgraph.cli.target import load_crew_target
from crewgraph.contrib.conversations.crew_chat import chat_at_terminal
from crewgraph.contrib.conversations.crew_inputs import ChatInputField, ChatInputs
from crewgraph.core.loops.bridge import call
from crewgraph.crew import Crew
from crewgraph.definitions.placeholders import CHAT_HISTORY
from crewgraph.extras import load
from crewgraph.prompts.book import default_book
from crewgraph.text import printable
from crewgraph_compat.stand_ins.models.llms import create_llm

__all__ = [
    "DEFAULT_CREW_DESCRIPTION",
    "DEFAULT_INPUT_DESCRIPTION",
    "MIN_REQUIRED_VERSION",
    "build_system_message",
    "chat_loop",
    "check_conversational_crews_version",
    "create_tool_function",
    "fetch_required_inputs",
    "flush_input",
    "generate_crew_chat_inputs",
    "generate_crew_description_with_ai",
    "generate_crew_tool_schema",
    "generate_input_description_with_ai",
    "get_user_input",
    "handle_user_input",
    "initialize_chat_llm",
    "load_crew_and_name",
    "run_chat",
    "run_crew_tool",
    "show_loading",
]

DEFAULT_CREW_DESCRIPTION: Final = "A CrewAI crew."
"""The default description of a crew."""

DEFAULT_INPUT_DESCRIPTION: Final = "Input value for the crew's tasks and agents."
"""The default description of an input."""

MIN_REQUIRED_VERSION: Final = "0.98.0"
"""The first CrewAI version with conversational crews."""

_ENDS = frozenset({"exit", "quit"})


def check_conversational_crews_version(crewai_version: str, pyproject_data: dict[str, Any]) -> bool:
    """Return whether crews of a CrewAI version can be chatted with; here they always can."""
    least, version = (
        tuple(int(part) for part in item.split(".")[:2]) for item in (MIN_REQUIRED_VERSION, crewai_version)
    )
    return version >= least


def fetch_required_inputs(crew: Crew) -> set[str]:
    """Return the names of the inputs that a crew's texts use."""
    return set(crew.fetch_inputs() - {CHAT_HISTORY})


def initialize_chat_llm(crew: Crew) -> Any:
    """Return the chat model of a crew: its `chat_llm`, or else the model configured in the environment.

    Raises:
        NoModelError: There is neither.
    """
    return create_llm(crew.chat_llm)


def generate_crew_chat_inputs(
    crew: Crew, crew_name: str, chat_llm: Any, generate_descriptions: bool = True
) -> ChatInputs:
    """Describe a crew and its inputs.

    Args:
        crew: the crew.
        crew_name: the name of the crew.
        chat_llm: the model that writes the descriptions.
        generate_descriptions: whether to use the model instead of default descriptions.
    """
    asks = generate_descriptions
    fields = [
        ChatInputField(
            name=name,
            description=generate_input_description_with_ai(name, crew, chat_llm) if asks else DEFAULT_INPUT_DESCRIPTION,
        )
        for name in sorted(fetch_required_inputs(crew))
    ]
    does = generate_crew_description_with_ai(crew, chat_llm) if asks else DEFAULT_CREW_DESCRIPTION
    return ChatInputs(crew_name=crew_name, crew_description=does, inputs=fields)


def generate_input_description_with_ai(input_name: str, crew: Crew, chat_llm: Any) -> str:
    """Describe an input with a model, based on the texts that use it.

    Raises:
        ValueError: no text shows it.
    """
    matches = [text for text in _texts(crew) if f"{{{input_name}}}" in text]
    if not matches:
        raise ValueError(f"no text of the crew shows the input `{input_name}`")
    return _described(chat_llm, f"Say in one short phrase what `{input_name}` stands for in these texts.", matches)


def generate_crew_description_with_ai(crew: Crew, chat_llm: Any) -> str:
    """Describe a crew with a model, in one sentence.

    Raises:
        ValueError: the crew has no texts.
    """
    texts = _texts(crew)
    if not texts:
        raise ValueError("the crew has no texts that could be described")
    return _described(
        chat_llm, "Say in one short sentence what the crew of agents with these texts does for people.", texts
    )


def _texts(crew: Crew) -> list[str]:
    of_tasks = [task.template(field) for task in crew.tasks for field in ("description", "expected_output")]
    return [
        text
        for text in (
            *of_tasks,
            *(item.template(field) for item in crew.agents for field in ("role", "goal", "backstory")),
        )
        if text
    ]


def _described(chat_llm: Any, question: str, texts: list[str]) -> str:
    prompt = "\n".join([question, "", *texts])
    return str(call(create_llm(chat_llm).call, [{"role": "user", "content": prompt}])).strip()


def generate_crew_tool_schema(crew_inputs: ChatInputs) -> dict[str, Any]:
    """Return the crew as a tool for a model, in OpenAI format."""
    properties = {item.name: {"type": "string", "description": item.description} for item in crew_inputs.inputs}
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    about = {"name": crew_inputs.crew_name, "description": crew_inputs.crew_description, "parameters": parameters}
    return {"type": "function", "function": about}


def build_system_message(crew_chat_inputs: ChatInputs) -> str:
    """Return the system message of the chat model."""
    book = default_book()
    listed = "\n".join(f"- {item.name}: {item.description}" for item in crew_chat_inputs.inputs)
    return book.filled(
        "chat",
        "backstory",
        description=crew_chat_inputs.crew_description,
        inputs=listed or book.filled("chat", "no_inputs"),
        tool=crew_chat_inputs.crew_name,
    )


def create_tool_function(crew: Crew, messages: list[Any]) -> Any:
    """Return the function behind the crew's tool."""

    def run_crew_tool_with_messages(**kwargs: Any) -> str:
        return run_crew_tool(crew, messages, **kwargs)

    return run_crew_tool_with_messages


def run_crew_tool(crew: Crew, messages: list[Any], **kwargs: Any) -> str:
    """Run the crew with the inputs and the conversation, and return its result as text."""
    answer: list[Any] = list(messages)
    return str(crew.kickoff({**kwargs, CHAT_HISTORY: json.dumps(answer, ensure_ascii=False, default=str)}))


def handle_user_input(
    user_input: str,
    chat_llm: Any,
    messages: list[Any],
    crew_tool_schema: dict[str, Any],
    available_functions: dict[str, Any],
) -> None:
    """Send a user message to the model and print the reply; "exit" is ignored."""
    if user_input.strip().lower() in _ENDS:
        return
    messages.append({"role": "user", "content": user_input})
    answer = call(chat_llm.call, messages=messages, tools=[crew_tool_schema], available_functions=available_functions)
    messages.append({"role": "assistant", "content": str(answer)})
    _show(f"\nAssistant: {answer}\n")


def chat_loop(
    chat_llm: Any, messages: list[Any], crew_tool_schema: dict[str, Any], available_functions: Mapping[str, Any]
) -> None:
    """Chat on the terminal until "exit", Ctrl-D or Ctrl-C."""
    try:
        while (answer := get_user_input()).strip().lower() not in _ENDS:
            handle_user_input(answer, chat_llm, messages, crew_tool_schema, dict(available_functions))
    except (EOFError, KeyboardInterrupt):
        _show("")


def get_user_input() -> str:
    """Read a user message up to an empty line; "exit" ends input at once."""
    lines: list[str] = []
    while (line := input("" if lines else "\nYou: ")).strip():
        lines.append(line)
        if line.strip().lower() in _ENDS:
            return line.strip()
    return "\n".join(lines)


def flush_input() -> None:
    """Discard pending terminal input."""
    if not sys.stdin.isatty():
        return
    if sys.platform == "win32":
        keys: Any = load("msvcrt")
        while keys.kbhit():
            keys.getch()
    else:
        terminal: Any = load("termios")
        terminal.tcflush(sys.stdin, terminal.TCIFLUSH)


def show_loading(event: threading.Event) -> None:
    """Print a dot per second until the event is set."""
    while not event.wait(1):
        sys.stdout.write(".")
        sys.stdout.flush()
    _show("")


def load_crew_and_name() -> tuple[Crew, str]:
    """Return the crew that the project in this folder names (`target` of `[tool.crewgraph]`), and its name.

    Raises:
        RunError: there is none.
    """
    crew = load_crew_target(None)
    return crew, crew.name or "crew"


def run_chat() -> None:
    """Chat with the project's crew on the terminal; see `Crew.chat`."""
    chat_at_terminal(load_crew_and_name()[0])


def _show(text: str) -> None:
    sys.stdout.write(f"{printable(text)}\n")
    sys.stdout.flush()
