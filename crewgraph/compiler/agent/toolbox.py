"""The tools of an agent as the loop uses them: listed for the model, looked up by name, their arguments validated."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, Any, NotRequired, Self, TypedDict

from crewgraph.compiler.enclosing import fields_of
from crewgraph.core.effects import Body, Call, Effect
from crewgraph.core.limits import run_meter
from crewgraph.core.messages import ToolSpec
from crewgraph.errors import ToolFailed
from crewgraph.llm.usage import UsageLedger
from crewgraph.schema import PlainDict, PlainMapping, is_list, is_mapping
from crewgraph.tools.adapt import CommandReturned
from crewgraph.tools.arguments import Refusal
from crewgraph.tools.base import BaseTool, keep_never
from crewgraph.tools.failure import ToolFailure, ToolFailureReason
from crewgraph.tools.results import observation
from crewgraph.tools.structured import prompt_text
from crewgraph.tools.use import unknown_tool_message

if TYPE_CHECKING:
    from crewgraph.compiler.agent.event_tool import EventTool

SEEN = "crewgraph-"
"""The beginning of the ids of the messages that tools read as those of the agent's conversation."""

_ALMOST = 0.85
"""The similarity of names, from 0 to 1, from which one is taken for the other."""


class ToolOutcome(TypedDict):
    """The result of a requested tool call."""

    text: str
    """The text shown to the model."""

    failed: bool
    final: bool
    """Whether the text is the answer to the task."""

    from_cache: NotRequired[bool]
    """Whether the result is that of an earlier call: the tool did not run."""

    blocked: NotRequired[bool]
    """Whether a hook blocked the call; neither the model nor the tool is at fault then."""

    failure: NotRequired[PlainDict]
    """The `ToolFailure` as plain data, if the call failed."""

    disobeyed: NotRequired[str]
    """If the tool returned a command of LangGraph: the text of the error that ends the run if it is not obeyed."""

    command: NotRequired[PlainDict]
    """The `update`, a list of keys and values, and the `goto`, a list, of a command; whether it `leaves` the crew."""

    shown: NotRequired[list[dict[str, object]]]
    """Further content blocks for the model, such as images."""


def refuse_commands(outcomes: Iterable[ToolOutcome]) -> None:
    """End the run if a tool returned a command of LangGraph. What it did is recorded before.

    Raises:
        ToolFailed: one did.
    """
    for outcome in outcomes:
        if "disobeyed" in outcome:
            raise ToolFailed(outcome["disobeyed"])


def command_outcome(tool: str, command: Any) -> ToolOutcome:
    """Return the outcome of a call that returned a command of LangGraph.

    Of what a tool read as the agent's `messages`, only what is new is passed on. A result without its call is for the agent.
    """
    given: Any = fields_of(command.update) or {}
    goto: Any = command.goto
    update: Any = [*given.items()] if is_mapping(given) else given
    outcome = ToolOutcome(text="", failed=False, final=False, disobeyed=str(CommandReturned(tool)))
    if command.graph not in (None, command.PARENT) or not is_list(update):
        return outcome
    leaves = bool(command.graph or goto)
    items = [item for _, value in update if is_list(value) for item in value if not _is_seen(item)]
    asked = [call["id"] for item in items for call in getattr(item, "tool_calls", ())]
    told = [item for item in items if getattr(item, "type", "") == "tool"]
    unasked = [message for message in told if not leaves and message.tool_call_id not in asked]
    return {
        **outcome,
        "text": "\n".join(str(message.text) for message in told) or observation(None),
        "command": {
            "update": [
                [key, _news(value, unasked)]
                for key, value in update
                if not is_list(value) or not value or _news(value, unasked)
            ],
            "goto": [*goto] if is_list(goto) or isinstance(goto, tuple) else [goto],
            "leaves": leaves,
        },
    }


def _news(value: Any, told: Sequence[object]) -> Any:
    if not is_list(value):
        return value
    return [item for item in value if not _is_seen(item) and all(item is not one for one in told)]


def _is_seen(item: object) -> bool:
    return str(getattr(item, "id", "")).startswith(SEEN)


def obey_commands(outcomes: Sequence[ToolOutcome], usage: UsageLedger) -> Body[None]:
    """Obey the commands that tools returned: note what they update, or leave the crew for the graph around it.

    Raises:
        ToolFailed: one cannot be obeyed. What the tools did is recorded before.
    """
    returned = [outcome for outcome in outcomes if "disobeyed" in outcome]
    if not returned:
        return
    run, updates, leaving = run_meter(), usage.updates, list[PlainMapping]()
    for outcome in returned:
        command: PlainMapping = outcome.get("command", {})
        if command.get("leaves") and run.node is not None:
            leaving.append(command)
        elif (
            command
            and not command["leaves"]
            and updates is not None
            and all(key in run.keys for key, _ in command["update"])
        ):
            updates += [(key, value) for key, value in command["update"]]
        else:
            refuse_commands([outcome])
    if leaving and run.node is not None:
        noted = [{"update": updates or [], "goto": []}, *leaving]
        yield Call(function=_leave, args=(run.node, noted), name="command", aside=True)


def _leave(node: str, commands: Sequence[PlainMapping]) -> None:
    from langgraph.errors import ParentCommand
    from langgraph.types import Command

    update = [(key, value) for command in commands for key, value in command["update"]]
    raise ParentCommand(Command(graph=node, update=update, goto=[to for command in commands for to in command["goto"]]))


class CheckedArguments(TypedDict):
    """The arguments of a call as the hooks before it leave them, as plain data."""

    args: PlainDict
    """As the tool gets them: validated, with defaults, by its own names."""

    given: PlainDict
    """The same as a model writes them."""

    blocked: NotRequired[str]
    """The text for the model if a hook blocked the call."""

    refused: NotRequired[str]
    """The text for the model if the arguments are invalid."""


@dataclass(frozen=True)
class PreparedCall:
    """A tool with the arguments of one call, as they were written."""

    tool: "EventTool"
    args: PlainDict
    changed: bool = False
    """Whether a person changed the arguments."""

    @property
    def effect(self) -> Effect:
        """The effect of making the call; its result is a `ToolOutcome`."""
        return self.tool.effect(self.args)


class Toolbox:
    """An agent's tools by the names models use."""

    def __init__(self, tools: "Mapping[str, EventTool]") -> None:
        self._tools = tools

    def __bool__(self) -> bool:
        return bool(self._tools)

    @cached_property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The specs of the tools, for models with native tool calls."""
        return tuple(tool.spec for tool in self._tools.values())

    @cached_property
    def listed(self) -> str:
        """The names of the tools, comma-separated."""
        return ", ".join(self._tools)

    @cached_property
    def described(self) -> str:
        """Names, descriptions and arguments of the tools, for prompts."""
        return "\n\n".join(prompt_text(spec) for spec in self.specs)

    @cached_property
    def reads_state(self) -> bool:
        """Whether any of them reads the agent's state, a store or the run's context."""
        return any(tool.tool.reads_state for tool in self._tools.values())

    def prepare_call(self, name: str, raw_args: PlainDict | str) -> PreparedCall | ToolOutcome:
        """Return the call that a model requested, or the outcome that explains to the model why there is none."""
        tool = self.find(name)
        if tool is None:
            return _failed_outcome(unknown_tool_message(name, self._tools), ToolFailureReason.UNKNOWN_TOOL, name)
        args = tool.prepare(raw_args)
        if isinstance(args, Refusal):
            return _failed_outcome(args.text, ToolFailureReason.EXCEPTION)
        return PreparedCall(tool, args)

    def adding(self, tool: "EventTool") -> Self:
        """Return the same tools and one more."""
        return type(self)({**self._tools, tool.name: tool})

    def find(self, name: str) -> "EventTool | None":
        """Return the tool with a name, ignoring case and punctuation; else the only one with almost that name.

        Models misspell names, and write arguments or other words beside them. People call tools of MCP servers by the name at
        the server.
        """
        if (tool := self._tools.get(name) or self.named(name)) is not None:
            return tool
        there = [tool for tool in self._tools.values() if getattr(tool.tool.source, "original_tool_name", None) == name]
        if len(there) == 1:
            return there[0]
        plain = {_plain_name(candidate): tool for candidate, tool in self._tools.items()}
        close = get_close_matches(_plain_name(name), plain, n=2, cutoff=_ALMOST)
        return plain[close[0]] if len(close) == 1 else None

    def named(self, name: str) -> "EventTool | None":
        """Return the tool with a name, ignoring case and punctuation."""
        plain = _plain_name(name)
        return next((tool for candidate, tool in self._tools.items() if _plain_name(candidate) == plain), None)


def _failed_outcome(text: str, reason: ToolFailureReason, code: str | None = None) -> ToolOutcome:
    failure = ToolFailure(message=text, reason=reason, code=code)
    return ToolOutcome(text=text, failed=True, final=False, failure=failure.model_dump(mode="json"))


def _plain_name(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).casefold()


_SHORT = 6_000
"""In characters; results up to this length are shown whole to every model."""

_SNIPPET = 120
"""How many characters are shown before and behind what was looked for."""


def longest_result(window: int) -> int:
    """Return the number of characters that one result may have in a conversation: about a quarter of the window.

    Args:
        window: the model's context window, in tokens.
    """
    return max(int(window * 0.85), _SHORT)


class ResultReader(BaseTool):
    """Reads and searches the results of an agent's tools that are too long for its conversation."""

    texts: Any
    """The results by the numbers that the model is told."""

    most: int
    """The maximum length of an answer, in characters."""

    cache_function: Callable[..., bool] = keep_never

    def _run(self, result: str, start: int = 0, search: str = "") -> str:
        text = self.texts.get(result.strip())
        if text is None:
            raise ToolFailed(f"There is no result `{result}` to read. Use one of: {', '.join(self.texts)}.")
        start = min(max(start, 0), len(text))
        if search:
            return self._found(text, start, search)
        end = min(start + self.most, len(text))
        rest = f"; read on from start={end}" if end < len(text) else ", the end"
        return f"{text[start:end]}\n[characters {start} to {end} of {len(text)}{rest}]"

    def _found(self, text: str, start: int, search: str) -> str:
        lines, size, places = list[str](), 0, re.finditer(re.escape(search), text[start:], re.IGNORECASE)
        for place in places:
            at = start + place.start()
            snippet = text[max(at - _SNIPPET, 0) : at + len(search) + _SNIPPET].replace("\n", " ")[: self.most]
            size += len(snippet)
            if size > self.most:
                return "\n".join([*lines, f"[there are more; search on from start={at}]"])
            lines.append(f"start={at}: {snippet}")
        return "\n".join(lines) or f"`{search}` does not occur in the result from start={start} on."
