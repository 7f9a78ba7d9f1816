"""The loop of thought and action: ask the model, do what it wants, show it what came of it, until it answers.

Calls of tools that a person has to allow: with the very arguments that are shown, or with others.

Arguments that cannot be read, written anew by the model for reading them (`function_calling_llm`).
"""

import dataclasses
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

from crewgraph.compiler.agent.dialogue import Dialogue, is_too_long
from crewgraph.compiler.agent.people import APPROVAL, Asker
from crewgraph.compiler.agent.protocol import Action, Actions, FinalAnswer, Malformed, final_text, parse_reply
from crewgraph.compiler.agent.toolbox import PreparedCall, PreparedTool, Toolbox, ToolOutcome
from crewgraph.core.digests import Transcript
from crewgraph.core.effects import Body, Call, Effect, EffectFailed, ModelCall, Notify, OutcomeUnknown, Together
from crewgraph.core.messages import Content, Message, Reply, ToolSpec
from crewgraph.core.protocols import Model
from crewgraph.definitions.agent.last_run import AgentAction, AgentFinish
from crewgraph.errors import OutputInvalid, ToolFailed
from crewgraph.llm.errors import ContextLengthExceeded
from crewgraph.llm.usage import UsageLedger
from crewgraph.prompts.book import Book
from crewgraph.text import extract_json
from crewgraph.tools.arguments import Refusal
from crewgraph.tools.structured import prompt_text

__all__ = ["ReActContext", "RequestedCall", "approve_tool_call", "react_loop", "rewritten", "run_step_callback"]


_log = logging.getLogger("crewgraph")

_YES = ("yes", "y", "ok", "okay", "true", "approve", "approved", "allow", "allowed")
_NO = ("no", "n", "false", "deny", "denied", "refuse", "refused", "reject", "rejected")
_SIGNS = " \t\r\n,.:;!-"
_UNREADABLE = 'It is neither yes, nor no and why not, nor other arguments, as {"args": {...}}.'


@dataclass(frozen=True)
class RequestedCall:
    """What came of a model's wish to use a tool: a call to be made, or an outcome already."""

    call: PreparedCall | None
    outcome: ToolOutcome | None = None
    changed: bool = False
    """Whether a person changed its arguments."""


def approve_tool_call(call: PreparedCall, asker: Asker) -> Body[RequestedCall]:
    """A call as a person allows it, where somebody has to be asked; a refusal is what the model is told."""
    if not (yield from _is_to_be_asked(call)):
        return RequestedCall(call)
    known = yield from _known(call)
    return (yield from _approval_asked(call, asker)) if known is None else RequestedCall(None, known)


def _known(call: PreparedCall) -> Body[ToolOutcome | None]:
    """What an equal call gave before, where that is kept: nothing is done then that would have to be allowed."""
    tool, args = call.tool, call.args
    if not tool.remembers:
        return None
    return (
        yield Call(function=tool.known, afunction=tool.aknown, args=(args,), name=tool.name, kind="cache", about=args)
    )


def _approval_asked(call: PreparedCall, asker: Asker) -> Body[RequestedCall]:
    tool, refused = call.tool, None
    while True:
        shown = json.dumps(call.args, ensure_ascii=False, indent=2)
        text = asker.book.slice("asking_approval", agent=asker.agent, tool=tool.name, args=shown)
        said = yield asker.ask(APPROVAL, text, "tools", tool=tool.name, args=call.args, refused=refused)
        verdict = _read(said)
        if verdict is True:
            return RequestedCall(call)
        if isinstance(verdict, dict):
            args = tool.prepare(verdict)
            if not isinstance(args, Refusal):
                return RequestedCall(PreparedCall(tool, args), changed=args != call.args)
            refused = args.text
        elif isinstance(verdict, str):
            told = asker.book.slice("approval_refused", reason=verdict or "no")
            return RequestedCall(None, ToolOutcome(text=told, failed=True, final=False))
        else:
            refused = f"{said!r:.200} cannot be taken. {_UNREADABLE}"


def _is_to_be_asked(call: PreparedCall) -> Body[bool]:
    tool, wish = call.tool, call.tool.require_approval
    if isinstance(wish, bool):
        return wish
    try:
        return (
            yield Call(
                function=wish, args=(call.args,), name=tool.name, kind="approval rule", about=call.args, encode=bool
            )
        )
    except EffectFailed as failure:  # who cannot say that it needs no approval has not said so
        _log.warning("`require_approval` of the tool `%s` failed, so somebody is asked: %s", tool.name, failure)
        return True


def _read(said: Any) -> bool | str | dict[str, Any] | None:
    """What an answer means: True allows, a text refuses and says why, a dict holds other arguments, None is no answer."""
    if isinstance(said, bool):
        return said or ""
    if isinstance(said, Mapping):
        return _of_dict(dict(said))  # pyright: ignore[reportUnknownArgumentType]
    return _of_text(said.strip()) if isinstance(said, str) else None


def _of_dict(said: dict[str, Any]) -> bool | str | dict[str, Any] | None:
    if isinstance(said.get("args"), dict) and set(said) <= {"args", "approved"} and said.get("approved", True) is True:
        return said["args"]
    if isinstance(said.get("approved"), bool) and set(said) <= {"approved", "reason"}:
        return said["approved"] or str(said.get("reason") or "")
    return None


def _of_text(said: str) -> bool | str | dict[str, Any] | None:
    if said.startswith("{"):
        try:
            found: Any = json.loads(said)
        except ValueError:
            return None
        return _of_dict(found) if set(found) & {"args", "approved"} else found
    if said.strip(_SIGNS).casefold() in _YES:
        return True
    first = next((one for one in _NO if _begins(said, one)), None)
    return None if first is None else said[len(first) :].strip(_SIGNS)


def _begins(said: str, word: str) -> bool:
    """Whether a text begins with a word."""
    return said.casefold().startswith(word) and (len(said) == len(word) or said[len(word)] in _SIGNS)


def rewritten(
    action: Action, tool: PreparedTool, error: str, reader: Model, book: Book, usage: UsageLedger
) -> Body[PreparedCall | None]:
    """The use that was meant, by one request; None where that one cannot be read either."""
    transcript = Transcript(
        [
            {"role": "system", "content": book.slice("arguments_system", tool=prompt_text(tool.spec))},
            {"role": "user", "content": book.slice("arguments_text", text=str(action.args), error=error)},
        ]
    )
    try:
        reply: Reply = yield ModelCall(model=reader, transcript=transcript)
    except EffectFailed as failure:
        if failure.type_name == "TimeLimitReached":
            raise
        return None  # the agent, which is told what is wrong with its arguments, may do better
    usage.answered(reader, reply)
    found = extract_json(final_text(reply))
    args = tool.prepare(cast(dict[str, Any], found)) if isinstance(found, dict) else None
    return None if args is None or isinstance(args, Refusal) else PreparedCall(tool, args)


_EMPTY_REPLIES = 2
_CONDENSED = 12
"""Requests that are made with a conversation that gets shorter and shorter."""

# Who has tried again already, or knows that it makes no sense: the providers' clients, and we ourselves.
_DECIDED = (
    *("anthropic", "botocore", "crewgraph", "google", "groq", "httpcore", "httpx", "langchain", "litellm", "mistralai"),
    *("ollama", "openai", "requests"),
)


@dataclass(kw_only=True)
class ReActContext:
    """What the loop needs to know of an agent at work on a task."""

    model: Model
    tools: Toolbox
    book: Book
    max_iter: int
    where: str
    """For messages: "task `x` of agent `y`"."""

    usage: UsageLedger
    told: Callable[[AgentAction | AgentFinish, int], None]
    """Is told of each step and its number."""

    refused: Callable[[str, dict[str, Any] | str, str], None]
    """Is told of a tool that could not be called: its name, the arguments, why."""

    failed: Callable[[str, dict[str, Any] | str, dict[str, Any], bool], Body[None]]
    """Takes up a failure: the tool's name, the arguments, the `ToolFailure`, whether there was a use."""

    asker: Asker
    """Asks people."""

    step_callback: Callable[..., Any] | None = None
    counts: dict[str, int] = field(default_factory=dict[str, int])
    """How many tool calls were made ("used") and failed ("errors")."""

    retries: int = 0
    """How often a request that failed may still be made again, in all of the task."""

    window: Callable[[], int]
    """How many tokens the model reads."""

    condenses: bool
    """Whether a conversation that is too long for the model is condensed."""

    condensing: Callable[[], None]
    """Told that it is about to be."""

    not_condensed: Callable[[str], None]
    """Told that it could not be."""

    condensed: Callable[[str], None]
    """Is told of that, and of the model's words about the length."""

    reader: Model | None = None
    """Writes arguments anew that cannot be read."""

    remembers: Callable[[str, str], Body[None]] | None = None
    """Keeps what a tool has given, by its name; None where nothing is remembered."""

    stop: tuple[str, ...] = ()
    """What ends an answer."""

    def ask(self, transcript: Transcript) -> Body[Reply]:
        """Ask the model outside of the conversation."""
        return _replied(self, transcript, (), ())


def react_loop(worker: ReActContext, dialogue: Dialogue) -> Body[str]:
    """The answer to a conversation's last message; what is said meanwhile is added to the conversation.

    Raises:
        ContextLengthExceeded: the conversation is too long for the model, however much it is condensed.
        OutputInvalid: the model answers with nothing, again and again.
    """
    specs = worker.tools.specs if worker.model.native_tools else ()
    stop = (*(("\nObservation:",) if worker.tools and not specs else ()), *worker.stop)
    empty = 0
    for step in range(1, worker.max_iter + 1):
        reply = yield from _asked(worker, dialogue, specs, stop)
        wanted = parse_reply(reply, tools_offered=bool(worker.tools) or bool(reply["tool_calls"]))
        if isinstance(wanted, FinalAnswer):
            yield from _stepped(
                worker, AgentFinish(thought=wanted.thought, output=wanted.output, text=wanted.text), step
            )
            return wanted.output
        if isinstance(wanted, Malformed):
            empty = empty + 1 if wanted.error == "empty_reply" else 0
            if empty > _EMPTY_REPLIES:
                raise OutputInvalid(
                    f"{worker.where}: the model `{worker.model.name}` replied with nothing {empty} times in a row. Look at "
                    "the model and its limits (for reasoning models a larger `max_tokens`)."
                )
            _repair(worker, dialogue, wanted)
            continue
        empty = 0
        answer = yield from _acted(worker, dialogue, reply, wanted, step)
        if answer is not None:
            return answer
    return (yield from _forced(worker, dialogue, specs))


def _forced(worker: ReActContext, dialogue: Dialogue, specs: tuple[ToolSpec, ...]) -> Body[str]:
    dialogue.close({"role": "user", "content": worker.book.error("force_final_answer")})
    # Some providers refuse a conversation with tool calls that offers no tools; a model that still calls one is offered none.
    output = yield from _last_answer(worker, dialogue, specs)
    if not output and specs:
        output = yield from _last_answer(worker, dialogue, ())
    if not output:
        raise OutputInvalid(
            f"{worker.where}: after {max(worker.max_iter, 0)} steps the model `{worker.model.name}` was told to answer with "
            "what it has, and replied with nothing. Raise `max_iter`, or look at what keeps it from answering."
        )
    yield from _stepped(worker, AgentFinish(thought="", output=output, text=output), max(worker.max_iter, 0) + 1)
    return output


def _last_answer(worker: ReActContext, dialogue: Dialogue, specs: tuple[ToolSpec, ...]) -> Body[str]:
    return final_text((yield from _asked(worker, dialogue, specs, worker.stop)))


def _asked(worker: ReActContext, dialogue: Dialogue, specs: tuple[ToolSpec, ...], stop: tuple[str, ...]) -> Body[Reply]:
    """The model's reply; a conversation that is too long is condensed."""
    requests = 0
    while True:
        try:
            reply = yield from _replied(worker, dialogue.transcript, specs, stop)
        except EffectFailed as failure:
            if not (worker.condenses and is_too_long(failure)):
                raise
            requests += 1
            if requests == _CONDENSED or not (yield from _condensed(worker, dialogue, failure)):
                raise ContextLengthExceeded(
                    f"{worker.where}: even condensed, the conversation is too long for the model `{worker.model.name}`. "
                    "Shorten the task or what stands in its context, give fewer tools, or take a model with a larger "
                    "context window."
                ) from failure
        else:
            if "hooked" in reply:
                dialogue.hooked(reply["hooked"])
            return reply


def _condensed(worker: ReActContext, dialogue: Dialogue, why: EffectFailed) -> Body[bool]:
    yield Notify(worker.condensing)
    try:
        done = yield from dialogue.condensed(worker)
    except EffectFailed as failure:
        worker.not_condensed(failure.text)  # told without an effect, so that a resumed run asks again
        if not is_too_long(failure):
            raise
        return False
    yield Notify(partial(worker.condensed if done else worker.not_condensed, why.text))
    return done


def _replied(
    worker: ReActContext, transcript: Transcript, specs: tuple[ToolSpec, ...], stop: tuple[str, ...]
) -> Body[Reply]:
    """The model's reply; a request that failed is made again, with everything that was found out so far."""
    while True:
        try:
            reply: Reply = yield ModelCall(model=worker.model, transcript=transcript, tools=specs, stop=stop)
        except EffectFailed as failure:
            if worker.retries < 1 or failure.package.startswith(_DECIDED):
                raise
            worker.retries -= 1
        else:
            worker.usage.answered(worker.model, reply)
            return reply


def _repair(worker: ReActContext, dialogue: Dialogue, wanted: Malformed) -> None:
    if wanted.text.strip():
        dialogue.add({"role": "assistant", "content": wanted.text})
    said = worker.book.error(wanted.error, tool_names=worker.tools.listed)
    dialogue.add({"role": "user", "content": said})


def _acted(worker: ReActContext, dialogue: Dialogue, reply: Reply, wanted: Actions, step: int) -> Body[str | None]:
    """Do what the model wants; an answer where a tool's result is one."""
    wishes: list[RequestedCall] = []
    for action in wanted.actions:
        wishes.append((yield from _wished(worker, action)))
    made = iter((yield from _called(worker, [one.call.effect for one in wishes if one.call is not None])))
    outcomes = [one.outcome or _told(worker, one, next(made)) for one in wishes]
    yield from _reckoned(worker, wanted, wishes, outcomes)
    _remember(dialogue, reply, wanted, outcomes)
    if worker.remembers is not None:
        for action, outcome in zip(wanted.actions, outcomes, strict=True):
            if not outcome["failed"]:
                yield from worker.remembers(action.tool, outcome["text"])
    for action, outcome in zip(wanted.actions, outcomes, strict=True):
        done = AgentAction(
            thought=wanted.thought,
            tool=action.tool,
            tool_input=action.args if isinstance(action.args, str) else json.dumps(action.args, ensure_ascii=False),
            text=wanted.text,
            result=outcome["text"],
            failed=outcome["failed"],
        )
        yield from _stepped(worker, done, step)
    for outcome in outcomes:
        if outcome["final"]:
            answer = outcome["text"]
            yield from _stepped(worker, AgentFinish(thought=wanted.thought, output=answer, text=answer), step)
            return answer
    return None


def _reckoned(
    worker: ReActContext, wanted: Actions, wishes: list[RequestedCall], outcomes: list[ToolOutcome]
) -> Body[None]:
    """Count what was used and what failed, and tell of it."""
    for action, one in zip(wanted.actions, wishes, strict=True):
        if one.outcome is not None and one.outcome["failed"]:
            yield Notify(partial(worker.refused, action.tool, action.args, one.outcome["text"]))
    for action, one, outcome in zip(wanted.actions, wishes, outcomes, strict=True):
        if "failure" in outcome:
            args = action.args if one.call is None else one.call.args
            yield from worker.failed(action.tool, args, outcome["failure"], one.call is not None)
    worker.counts["used"] = worker.counts.get("used", 0) + len(outcomes)
    failed = [outcome for outcome in outcomes if outcome["failed"] and not outcome.get("blocked")]
    worker.counts["errors"] = worker.counts.get("errors", 0) + len(failed)


def _wished(worker: ReActContext, action: Action) -> Body[RequestedCall]:
    """The call that is wanted, as people allow it, or what came of the wish."""
    prepared = yield from _prepared(worker, action)
    if not isinstance(prepared, PreparedCall):
        return RequestedCall(None, prepared)
    return (yield from approve_tool_call(prepared, worker.asker))


def _told(worker: ReActContext, wish: RequestedCall, outcome: ToolOutcome) -> ToolOutcome:
    """What came of a call; the model is told if it was not the one that it wanted."""
    if not wish.changed or wish.call is None or outcome["final"]:
        return outcome
    args = json.dumps(wish.call.args, ensure_ascii=False)
    text = worker.book.slice("approval_changed", args=args, result=outcome["text"])
    return {**outcome, "text": text}


def _prepared(worker: ReActContext, action: Action) -> Body[PreparedCall | ToolOutcome]:
    """The call that is wanted, or why there can be none."""
    prepared = worker.tools.prepared(action.tool, action.args)
    tool = worker.tools.named(action.tool)
    if isinstance(prepared, PreparedCall) or tool is None or worker.reader is None or action.call_id is not None:
        return prepared
    again = yield from rewritten(action, tool, prepared["text"], worker.reader, worker.book, worker.usage)
    return again or prepared


def _called(worker: ReActContext, calls: list[Effect]) -> Body[list[ToolOutcome]]:
    try:
        if len(calls) > 1:
            return (yield Together(calls))
        return [(yield calls[0])] if calls else []
    except OutcomeUnknown as unknown:
        raise ToolFailed(
            f"{worker.where}: {unknown.text}. It is not repeated. Find out whether it happened; then either fork the run "
            "from before this task, or start a new one."
        ) from unknown


def _remember(dialogue: Dialogue, reply: Reply, wanted: Actions, outcomes: list[ToolOutcome]) -> None:
    """Put the request for tools and what came of it into the conversation, in the protocol it was made in."""
    shown = [block for outcome in outcomes for block in outcome.get("shown", [])]
    if wanted.actions[0].call_id is None:
        dialogue.add({"role": "assistant", "content": wanted.text})
        observations = "\n".join(f"Observation: {outcome['text']}" for outcome in outcomes)
        content: Content = [{"type": "text", "text": observations}, *shown] if shown else observations
        dialogue.add({"role": "user", "content": content})
        return
    said: Message = {"role": "assistant", "content": reply["content"], "tool_calls": reply["tool_calls"]}
    if reply["extra"]:
        said["extra"] = reply["extra"]
    dialogue.add(said)
    for action, outcome in zip(wanted.actions, outcomes, strict=True):
        dialogue.add(
            {"role": "tool", "content": outcome["text"], "tool_call_id": str(action.call_id), "name": action.tool}
        )
    if shown:  # a tool's message holds text only
        dialogue.add({"role": "user", "content": [*shown]})


def _stepped(worker: ReActContext, step: AgentAction | AgentFinish, number: int) -> Body[None]:
    return run_step_callback(worker.told, worker.step_callback, step, number)


def run_step_callback(
    told: Callable[[AgentAction | AgentFinish, int], None],
    callback: Callable[..., Any] | None,
    step: AgentAction | AgentFinish,
    number: int,
) -> Body[None]:
    """Tell of an agent's step, and call the user's function that wants to know of it."""
    yield Notify(partial(told, step, number))
    if callback is not None:
        yield Call(
            function=callback,
            args=(step,),
            name=getattr(callback, "__name__", type(callback).__name__),
            kind="step callback",
            about=[number, dataclasses.asdict(step)],
            encode=_nothing,
        )


def _nothing(_: Any) -> None:
    """What a callback returns does not matter."""
