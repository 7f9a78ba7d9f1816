"""The ReAct loop of an agent: request a reply, run the tool calls in it, append their results, until there is an answer.

Calls that need approval are shown to a person first, who allows, refuses or changes them. Arguments that a tool cannot
read are repaired by `function_calling_llm`, if there is one.
"""

import dataclasses
import json
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, cast

from langchain_core.messages import AIMessage, convert_to_messages
from langchain_core.runnables import RunnableConfig
from pydantic import BaseModel

from crewgraph.compiler.agent.binding import AgentBinding
from crewgraph.compiler.agent.dialogue import Dialogue, is_refused, is_too_long, is_unfinished
from crewgraph.compiler.agent.events import AgentReport
from crewgraph.compiler.agent.inbox import parse_verdict, read_inbox_reply
from crewgraph.compiler.agent.models import llm_of
from crewgraph.compiler.agent.people import APPROVAL, Asker
from crewgraph.compiler.agent.protocol import (
    Action,
    Actions,
    FinalAnswer,
    Malformed,
    calls_in_text,
    final_text,
    parse_reply,
    reply_text,
    written_calls,
)
from crewgraph.compiler.agent.toolbox import (
    SEEN,
    CheckedArguments,
    PreparedCall,
    Toolbox,
    ToolOutcome,
    longest_result,
    obey_commands,
)
from crewgraph.core.digests import Transcript, digest
from crewgraph.core.effects import (
    Body,
    Call,
    Effect,
    EffectFailed,
    ModelCall,
    Notify,
    OutcomeUnknown,
    Scope,
    Together,
    ToolCallEffect,
)
from crewgraph.core.messages import Content, Message, Reply, ToolSpec
from crewgraph.core.operations import driven
from crewgraph.core.pregel import show_message
from crewgraph.core.protocols import Model
from crewgraph.definitions.agent.last_run import AgentAction, AgentFinish
from crewgraph.deprecations import user_stacklevel
from crewgraph.errors import HookAborted, LimitReached, OutputInvalid, ToolFailed
from crewgraph.llm.capabilities import context_window_of
from crewgraph.llm.conversation import openai_messages
from crewgraph.llm.errors import ContextLengthExceeded, ReplyCut
from crewgraph.llm.structure import reply_structure
from crewgraph.llm.usage import UsageLedger
from crewgraph.prompts.i18n import Book
from crewgraph.redaction import redacted_logger
from crewgraph.schema import PlainDict, PlainMapping
from crewgraph.text import extract_json
from crewgraph.tools.adapt import tool_message, with_call
from crewgraph.tools.arguments import Refusal, refuse_unknown
from crewgraph.tools.structured import prompt_text

if TYPE_CHECKING:
    from crewgraph.compiler.agent.event_tool import EventTool

_log = redacted_logger("crewgraph")

_NOT_AS_SAID = "With these, the call has other arguments than were written: converted, or by defaults or hooks."
_EXPECTED_VERDICT = 'It is neither yes, nor no and why not, nor other arguments, as {"args": {...}}.'


@dataclass(frozen=True)
class RequestedCall:
    """A tool call requested by a model: either ready to run (`call`), or already settled (`outcome`)."""

    call: PreparedCall | None
    outcome: ToolOutcome | None = None
    changed: bool = False
    """Whether a person changed the arguments."""


def _approve_tool_call(call: PreparedCall, asker: Asker) -> Body[RequestedCall]:
    """Ask a person to approve a call, if its tool requires that for it; the model is shown a refusal as the result.

    The hooks before the call run first, so that its rule and the person see the arguments that the tool gets.
    """
    call, checked = yield from _check_arguments(call)
    if _is_settled(checked) or not (yield from _needs_approval(call, checked["args"])):
        return RequestedCall(call)
    return (yield from _request_approval(call, checked["args"], asker))


def _check_arguments(call: PreparedCall, *, again: bool = False) -> Body[tuple[PreparedCall, CheckedArguments]]:
    """Return a call with its final arguments, which are recorded: they are the same in whatever process it is made."""
    tool = call.tool
    while True:
        checked: CheckedArguments = yield Call(
            **driven(tool.check),
            args=(call.args,),
            name=tool.name,
            kind="arguments",
            about=[call.args, tool.spec["parameters"]],
            aside=again,
        )
        again = True
        # After a deployment, the recorded ones may have become others: then these are checked, and asked about, anew.
        if _is_settled(checked) or tool.resolved(checked["given"]) == checked["args"]:
            return PreparedCall(tool.checked_as(checked), checked["given"]), checked


def _is_settled(checked: CheckedArguments) -> bool:
    return "blocked" in checked or "refused" in checked


def _request_approval(call: PreparedCall, args: PlainDict, asker: Asker) -> Body[RequestedCall]:
    requested, tool, rejection = args, call.tool, None
    while True:
        args_json = json.dumps(args, ensure_ascii=False, indent=2)
        reply = yield asker.ask(
            APPROVAL,
            asker.book.slice("asking_approval", agent=asker.agent, tool=tool.name, args=args_json),
            "tools",
            tool=tool.name,
            args=args,
            refused=rejection,
        )
        verdict = parse_verdict(read_inbox_reply(reply, tool.name))
        if verdict is True:
            return RequestedCall(call, changed=args != requested)
        if isinstance(verdict, dict):
            said = tool.as_written(verdict)
            prepared = refuse_unknown(tool.spec, said) or tool.prepare(said)
            if isinstance(prepared, Refusal):
                rejection = prepared.text
                continue
            edited, checked = yield from _check_arguments(PreparedCall(tool, prepared), again=True)
            if "refused" in checked:
                rejection = checked["refused"]
            elif "blocked" in checked or _is_as_said(tool, said, args, checked["args"]):
                return RequestedCall(edited, changed=checked["args"] != requested)
            else:
                call, args, rejection = edited, checked["args"], _NOT_AS_SAID
        elif isinstance(verdict, str):
            text = asker.book.slice("approval_refused", reason=verdict or "no")
            return RequestedCall(None, ToolOutcome(text=text, failed=True, final=False))
        else:
            rejection = f"{reply!r:.200} cannot be taken. {_EXPECTED_VERDICT}"


def _is_as_said(tool: "EventTool", said: PlainDict, seen: PlainDict, args: PlainDict) -> bool:
    """Return whether a person knows the arguments that their answer leads to: said so, or saw them in the question."""
    final = tool.as_written(args)
    shown = {name: value for name, value in tool.as_written(seen).items() if name in final}
    return _as_texts({**shown, **said}) == _as_texts(final)


def _as_texts(value: object) -> object:
    """Return plain data with its scalars as texts, so that "90" and 90 are the same."""
    if isinstance(value, dict):
        return {name: _as_texts(item) for name, item in cast("PlainDict", value).items()}
    if isinstance(value, list):
        return [_as_texts(item) for item in cast("list[object]", value)]
    return str(value).casefold()


def _needs_approval(call: PreparedCall, args: PlainDict) -> Body[bool]:
    tool, rule = call.tool, call.tool.require_approval
    if isinstance(rule, bool):
        return rule
    try:
        return (
            yield Call(
                function=rule, args=(deepcopy(args),), name=tool.name, kind="approval rule", about=args, encode=bool
            )
        )
    except EffectFailed as failure:  # a rule that fails does not waive the approval
        _log.warning("`require_approval` of the tool `%s` failed, so a person is asked: %s", tool.name, failure)
        return True


def repair_arguments(
    action: Action, tool: "EventTool", error: str, model: Model, book: Book, usage: UsageLedger
) -> Body[PreparedCall | None]:
    """Ask a model, once, to rewrite the arguments of a call; None if the tool cannot read those either."""
    transcript = Transcript(
        [
            {"role": "system", "content": book.slice("arguments_system", tool=prompt_text(tool.spec))},
            {"role": "user", "content": book.slice("arguments_text", text=str(action.args), error=error)},
        ]
    )
    try:
        reply: Reply = yield ModelCall(model=model, transcript=transcript)
    except EffectFailed as failure:
        if failure.type_name == "TimeLimitReached":
            raise
        usage.failed(failure.spent)
        return None  # the agent is shown the error and may correct the arguments itself
    usage.answered(model, reply)
    parsed = None if "cut" in reply else extract_json(final_text(reply))
    args = tool.prepare(cast(PlainDict, parsed)) if isinstance(parsed, dict) else None
    return None if args is None or isinstance(args, Refusal) else PreparedCall(tool, args)


_MAX_EMPTY_REPLIES = 2
_MAX_EQUAL_CALLS = 5
_PREVIEW = 1000
"""How many characters of a result are shown that is too long for the conversation."""

_MAX_CONDENSATIONS = 12
"""How many requests may fail because the conversation is too long, each after condensing it further."""

_OBSERVATION = "\nObservation:"
"""Where a model stops that calls tools by text."""


@dataclass(kw_only=True)
class ReActContext:
    """An agent's settings and tools, as the loop needs them."""

    binding: AgentBinding
    model: Model
    native_tools: bool
    """Whether the model is offered tools through native tool calls."""

    tools: Toolbox
    book: Book
    max_iter: int
    usage: UsageLedger
    report: AgentReport
    """Emits the events."""

    tool_answered: Callable[[str, str], Body[None]]
    """Called with a tool's name and its result."""

    tool_failed: Callable[[str, PlainDict | str, dict[str, object], bool], Body[None]]
    """Called with a tool's name, its arguments, a `ToolFailure` as plain data, and whether the tool was run."""

    asker: Asker
    """Asks people for approval."""

    reading_tool: "Callable[[dict[str, str]], EventTool] | None" = None
    """Returns the tool that reads the results that are too long for the conversation; None if all are shown whole."""

    long_results: dict[str, str] = field(default_factory=dict[str, str])
    """These results by number."""

    inputs: PlainMapping = field(default_factory=dict[str, object])
    """The inputs of the run."""

    step_callback: Callable[..., object] | None = None
    repeated: Counter[str] = field(default_factory=Counter[str])
    """How often each call had each result."""

    uses: Counter[str] = field(default_factory=Counter[str])
    """How often each tool was called."""

    counts: dict[str, int] = field(default_factory=dict[str, int])
    """Number of tool calls ("used") and of failed ones ("errors")."""

    retries_left: int = 0
    """How many failed requests may still be retried, over the whole task."""

    may_fail_again: bool = True
    """Whether requests that failed are made again, and not only those whose answer is not whole."""

    may_condense: bool
    """Whether a conversation that exceeds the context window is condensed."""

    structure: type[BaseModel] | None = None
    """The structure requested for the answer."""

    structured_model: Model | None = None
    """The same model, answering with that structure in its own way; None if the answer is a text at first."""

    argument_model: Callable[[], Model | None] | None = None
    """Returns the model that repairs arguments which a tool cannot read, or None; called when it is needed."""

    stop: tuple[str, ...] = ()
    """Additional stop sequences."""

    @property
    def where(self) -> str:
        """Where the work happens, for error messages."""
        return self.report.where

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools offered through native tool calls."""
        return self.tools.specs if self.native_tools else ()

    def window(self) -> int:
        """Return the size of the model's context window, in tokens."""
        return context_window_of(llm_of(self.binding.agent), self.model.name)

    def ask(self, transcript: Transcript) -> Body[Reply]:
        """Request a reply outside of the conversation."""
        return request_reply(self, self.model, transcript, (), ())


def react_loop(context: ReActContext, dialogue: Dialogue) -> Body[str]:
    """Return the answer to the last message of a conversation; replies and tool results are added to it.

    Raises:
        ContextLengthExceeded: the conversation is too long for the model even when it is condensed.
        OutputInvalid: the model repeatedly replies with nothing.
    """
    has_tools = bool(context.tools)
    specs = context.specs
    stop = (*((_OBSERVATION,) if has_tools and not specs else ()), *context.stop)
    empty_replies = 0
    for step in range(1, context.max_iter + 1):
        reply = yield from _request_reply(context, dialogue, specs, stop)
        by_text = has_tools or (not specs and calls_in_text(reply))
        parsed = parse_reply(reply, tools_offered=by_text or bool(reply["tool_calls"]), natively=bool(specs))
        if reply["tool_calls"] and context.structure is not None:
            parsed = _structure_as_answer(context, reply, context.structure) or parsed
        dialogue.answer_extra = reply["extra"]
        if specs and isinstance(parsed, FinalAnswer):
            parsed = _written_as_text(context, parsed) or parsed
        if isinstance(parsed, FinalAnswer):
            dialogue.final = ({"role": "assistant", "content": parsed.text},) if specs else ()
            yield from _report_step(
                context, AgentFinish(thought=parsed.thought, output=parsed.output, text=parsed.text), step
            )
            return parsed.output
        if isinstance(parsed, Malformed):
            empty_replies = empty_replies + 1 if parsed.error == "empty_reply" else 0
            if empty_replies > _MAX_EMPTY_REPLIES:
                raise OutputInvalid(
                    f"{context.where}: the model `{context.model.name}` replied with nothing {empty_replies} times in a "
                    "row. Check the model and its limits (reasoning models may need a larger `max_tokens`)."
                )
            _request_correction(context, dialogue, parsed)
            continue
        empty_replies = 0
        outcomes = yield from run_tools(context, dialogue, reply, parsed, step)
        specs = context.specs
        for outcome in outcomes:
            if outcome["final"]:
                answer, dialogue.answer_extra = outcome["text"], {}
                finish = AgentFinish(thought=parsed.thought, output=answer, text=answer)
                yield from _report_step(context, finish, step)
                return answer
    return (yield from _force_answer(context, dialogue, specs))


def _written_as_text(context: ReActContext, answer: FinalAnswer) -> Actions | None:
    """Return the calls of the agent's tools that an answer consists of, where the server did not read them."""
    written = written_calls(answer.text)
    return written if written and all(context.tools.named(action.tool) for action in written.actions) else None


def _structure_as_answer(context: ReActContext, reply: Reply, structure: type[BaseModel]) -> FinalAnswer | None:
    """Return the answer in a reply that is a tool call named after the structure asked for, with the fields as arguments."""
    answer = reply_structure(reply, structure)
    if answer is None or context.tools.named(structure.__name__) is not None:
        return None
    return FinalAnswer(output=answer, thought=reply_text(reply["content"]).strip(), text=answer)


def _force_answer(context: ReActContext, dialogue: Dialogue, specs: tuple[ToolSpec, ...]) -> Body[str]:
    dialogue.close({"role": "user", "content": context.book.error("force_final_answer")})
    try:
        output = yield from _request_answer(context, dialogue)
    except EffectFailed as failure:
        if not specs or not is_refused(failure):
            raise
        dialogue.write_out_calls()  # some providers reject tool calls in a request without tools
        output = yield from _request_answer(context, dialogue)
    if not output:
        raise OutputInvalid(
            f"{context.where}: after {max(context.max_iter, 0)} steps the model `{context.model.name}` was instructed to answer "
            "with what it has, and replied with nothing. Raise `max_iter`, or find out what keeps it from answering."
        )
    yield from _report_step(context, AgentFinish(thought="", output=output, text=output), max(context.max_iter, 0) + 1)
    return output


def _request_answer(context: ReActContext, dialogue: Dialogue) -> Body[str]:
    reply = yield from _request_reply(context, dialogue, (), context.stop)
    dialogue.answer_extra = reply["extra"]
    return final_text(reply)


def _request_reply(
    context: ReActContext, dialogue: Dialogue, specs: tuple[ToolSpec, ...], stop: tuple[str, ...]
) -> Body[Reply]:
    """Request the next reply, condensing the conversation if it is too long."""
    condensations = 0
    while True:
        model = context.structured_model or context.model
        try:
            reply = yield from request_reply(context, model, dialogue.transcript, specs, stop)
        except EffectFailed as failure:
            if context.structured_model is not None and is_refused(failure):
                context.structured_model = None  # not every server knows response formats, or all of a schema
                continue
            if not (context.may_condense and is_too_long(failure)):
                raise
            condensations += 1
            if condensations == _MAX_CONDENSATIONS or not (yield from _condense(context, dialogue, failure)):
                raise ContextLengthExceeded(
                    f"{context.where}: even condensed, the conversation is too long for the model `{context.model.name}`. "
                    "Shorten the task or its context, give fewer tools, or use a model with a larger context window."
                ) from failure
        else:
            if "hooked" in reply:
                dialogue.apply_hooks(reply["hooked"])
            is_doubtful = "cut" in reply or "unknown_reason" in reply
            if not is_doubtful or _is_accepted(context, reply, by_text=_OBSERVATION in stop):
                return reply
            context.retries_left -= 1


def _is_accepted(context: ReActContext, reply: Reply, *, by_text: bool) -> bool:
    """Whether a text without a proper end is acted on: as the answer at the program's limit, or when it stays so.

    Raises:
        ReplyCut: it is no answer, and may not be requested again.
    """
    cut, parsed = reply.get("cut"), parse_reply(reply, tools_offered=by_text)
    if cut is None and (isinstance(parsed, FinalAnswer) or not by_text):
        return True
    # Where tools are called by text, only a labelled answer is one; a part of a structure is of no use.
    is_answer = isinstance(parsed, FinalAnswer) and (not by_text or parsed.output != parsed.text.strip())
    is_answer = is_answer and context.structure is None
    if context.retries_left > 0:
        return is_answer and cut is not None and cut["limited"]
    if is_answer:
        return True
    how = "was cut off before its end" if cut else f"ended with the unknown reason `{reply.get('unknown_reason')}`"
    advice = "Raise `max_tokens`, or ask for less at once." if cut else "Look at what its server means by it."
    raise ReplyCut(
        f"{context.where}: the answer of the model `{context.model.name}` {how}, so what it was about to do was not done. "
        f"{advice}"
    )


def _condense(context: ReActContext, dialogue: Dialogue, cause: EffectFailed) -> Body[bool]:
    yield Notify(context.report.condensing)
    try:
        condensed = yield from dialogue.condense(context)
    except EffectFailed as failure:
        context.report.not_condensed(failure.text)  # not an effect, so that a resumed run retries
        if not is_too_long(failure):
            raise
        return False
    yield Notify(partial(context.report.condensed if condensed else context.report.not_condensed, cause.text))
    return condensed


def request_reply(
    context: ReActContext, model: Model, transcript: Transcript, specs: tuple[ToolSpec, ...], stop: tuple[str, ...]
) -> Body[Reply]:
    """Request a reply; a failed request is made again, without what the agent did before it."""
    while True:
        try:
            reply: Reply = yield ModelCall(model=model, transcript=transcript, tools=specs, stop=stop)
        except EffectFailed as failure:
            context.usage.failed(failure.spent)
            is_final = failure.package.startswith(("crewgraph", "langchain_core")) or not context.may_fail_again
            is_final = is_final or (model is context.structured_model and is_refused(failure))
            if context.retries_left < 1 or (is_final and not is_unfinished(failure)):
                raise
            context.retries_left -= 1
        else:
            context.usage.answered(model, reply)
            context.usage.message = reply.get("id"), reply["usage"]
            return reply


def _request_correction(context: ReActContext, dialogue: Dialogue, malformed: Malformed) -> None:
    if malformed.text.strip():
        dialogue.add_answer(malformed.text)
    error = context.book.error(malformed.error, tool_names=context.tools.listed)
    dialogue.add({"role": "user", "content": error})


def run_tools(
    context: ReActContext, dialogue: Dialogue, reply: Reply, actions: Actions, step: int
) -> Body[list[ToolOutcome]]:
    """Run the requested tool calls and add their results to the conversation; return the outcomes."""
    requests = yield from _resolve_actions(context, actions)
    made, calls = _calls(context, dialogue, reply, actions, requests)
    results = iter((yield from _run_calls(context, calls)))
    outcomes = [request.outcome or _note_changed_args(context, request, next(results)) for request in requests]
    yield from obey_commands(outcomes, context.usage)
    if actions.actions[0].call_id is not None:
        yield Notify(partial(_show_results, reply, actions, outcomes, made))
    for request, outcome in zip(requests, outcomes, strict=True):
        if request.call is not None and not outcome.get("from_cache"):
            context.uses[request.call.tool.name] += 1
            request.call.tool.count_uses(context.uses[request.call.tool.name])
    yield from _record_failures(context, actions, requests, outcomes)
    shown = [shown_outcome(context, action, outcome) for action, outcome in zip(actions.actions, outcomes, strict=True)]
    _append_results(dialogue, reply, actions, shown)
    for action, request, outcome in zip(actions.actions, requests, outcomes, strict=True):
        if not outcome["failed"]:
            yield from context.tool_answered(action.tool, outcome["text"])
            args = action.args if request.call is None else request.call.args
            yield Notify(partial(context.binding.agent.note_tool_result, action.tool, args, outcome["text"]))
    for action, outcome in zip(actions.actions, outcomes, strict=True):
        finished = AgentAction(
            thought=actions.thought,
            tool=action.tool,
            tool_input=action.args if isinstance(action.args, str) else json.dumps(action.args, ensure_ascii=False),
            text=actions.text,
            result=outcome["text"],
            failed=outcome["failed"],
            from_cache=outcome.get("from_cache", False),
        )
        yield from _report_step(context, finished, step)
    _check_progress(context, actions, outcomes)
    return outcomes


def result_number(text: str) -> str:
    """Return the number by which a model asks for a long result."""
    return digest(text)[:8]


def shown_outcome(context: ReActContext, action: Action, outcome: ToolOutcome) -> ToolOutcome:
    """Return an outcome as the conversation holds it: of a long text only the beginning, and how to read the rest.

    The text itself is in the record of the call, from which a resumed run has it again.
    """
    text = outcome["text"]
    if context.reading_tool is None or outcome["final"] or len(text) <= longest_result(0):
        return outcome
    if len(text) <= longest_result(context.window()):
        return outcome
    tool, number = context.reading_tool(context.long_results), result_number(text)
    if not context.long_results:
        context.tools = context.tools.adding(tool)
    context.long_results[number] = text
    preview = context.book.slice(
        "long_result",
        tool=action.tool,
        length=str(len(text)),
        number=number,
        beginning=text[:_PREVIEW],
        reader=tool.name,
        next=str(_PREVIEW),
    )
    return {**outcome, "text": preview}


def _check_progress(context: ReActContext, actions: Actions, outcomes: list[ToolOutcome]) -> None:
    """End the work of an agent that makes the same call again and again."""
    for action, outcome in zip(actions.actions, outcomes, strict=True):
        key = json.dumps([action.tool, action.args, outcome["text"]], sort_keys=True)
        context.repeated[key] += 1
        if context.repeated[key] == _MAX_EQUAL_CALLS and not outcome["final"]:
            raise context.report.stuck(action.tool, action.args, _MAX_EQUAL_CALLS)


def _record_failures(
    context: ReActContext, actions: Actions, requests: list[RequestedCall], outcomes: list[ToolOutcome]
) -> Body[None]:
    """Report refused and failed calls, and update the counts."""
    for action, request in zip(actions.actions, requests, strict=True):
        if request.outcome is not None and request.outcome["failed"]:
            yield Notify(partial(context.report.tool_refused, action.tool, action.args, request.outcome))
    errors = context.counts.get("errors", 0)
    for action, request, outcome in zip(actions.actions, requests, outcomes, strict=True):
        errors += outcome["failed"] and not outcome.get("blocked")
        if "failure" in outcome:
            args = action.args if request.call is None else request.call.args
            yield from context.tool_failed(action.tool, args, outcome["failure"], request.call is not None)
    context.counts["used"] = context.counts.get("used", 0) + len(outcomes)
    context.counts["errors"] = errors


def _resolve_actions(context: ReActContext, actions: Actions) -> Body[list[RequestedCall]]:
    """Turn actions into approved calls, or into the outcomes shown to the model instead."""
    requests, asking = list[RequestedCall](), dict[int, PreparedCall]()
    for n, action in enumerate(actions.actions):
        made = yield from _prepare_call(context, action)
        requests.append(RequestedCall(made) if isinstance(made, PreparedCall) else RequestedCall(None, made))
        if isinstance(made, PreparedCall) and made.tool.require_approval:
            asking[n] = made
    if len(asking) > 1:
        approved: list[RequestedCall] = yield Together([_approval(call, context.asker) for call in asking.values()])
        for n, request in zip(asking, approved, strict=True):
            requests[n] = request
        return requests
    for n, call in asking.items():
        requests[n] = yield from _approve_tool_call(call, context.asker)
    return requests


def _approval(call: PreparedCall, asker: Asker) -> Scope:
    """Return the effect of asking for the approval of one of several calls."""
    name = call.tool.name
    shown: PlainDict = {"what": f"the approval of a call of the tool `{name}`", "tool": name, "args": call.args}
    return Scope(name="", body=partial(_approve_tool_call, call, asker), stage="tools", shown=shown)


def _note_changed_args(context: ReActContext, request: RequestedCall, outcome: ToolOutcome) -> ToolOutcome:
    """Tell the model which arguments were used, if a person changed them."""
    if not request.changed or request.call is None or outcome["final"]:
        return outcome
    args = json.dumps(request.call.tool.resolved(request.call.args), ensure_ascii=False)
    text = context.book.slice("approval_changed", args=args, result=outcome["text"])
    return {**outcome, "text": text}


def _prepare_call(context: ReActContext, action: Action) -> Body[PreparedCall | ToolOutcome]:
    """Find the tool and validate the arguments; on failure, the outcome that says why."""
    prepared = context.tools.prepare_call(action.tool, action.args)
    tool = context.tools.find(action.tool)
    if (
        isinstance(prepared, PreparedCall)
        or tool is None
        or context.argument_model is None
        or action.call_id is not None
        or (model := context.argument_model()) is None
    ):
        return prepared
    repaired = yield from repair_arguments(action, tool, prepared["text"], model, context.book, context.usage)
    return repaired or prepared


def _calls(
    context: ReActContext, dialogue: Dialogue, reply: Reply, actions: Actions, requests: Sequence[RequestedCall]
) -> tuple[list[PlainDict], list[Effect]]:
    """Return what becomes known of each request, and the calls.

    Tools that read the state of the agent find the conversation so far with their call, and the inputs of the run.
    """
    inputs, messages = dict(context.inputs), tuple(dialogue.transcript.messages)

    def state(call: PreparedCall, id: str) -> PlainDict:
        seen = convert_to_messages(openai_messages(messages))
        for number, message in enumerate(seen):
            message.id = f"{SEEN}{number}"
        asked = {"name": call.tool.name, "args": call.args, "id": id}
        said = AIMessage(reply["content"], id=reply.get("id"), tool_calls=[asked])
        return {**inputs, "inputs": inputs, "messages": [*seen, said]}

    made, effects = list[PlainDict](), list[Effect]()
    for action, request in zip(actions.actions, requests, strict=True):
        result: PlainDict = {}
        made.append(result)
        if request.call is None:
            continue
        effect = request.call.effect
        known: PlainDict = {"state": partial(state, request.call)} if context.tools.reads_state else {}
        call = known if action.call_id is None else {**known, "id": action.call_id, "result": result}
        if call and isinstance(effect, ToolCallEffect):
            result["is_made"] = False
            effect.configure = partial(_configured, call, result)
        effects.append(effect)
    return made, effects


def _configured(call: PlainDict, result: PlainDict, config: RunnableConfig) -> RunnableConfig:
    result["is_made"] = True
    return with_call(config, **call)


def _show_results(reply: Reply, actions: Actions, outcomes: Sequence[ToolOutcome], made: Sequence[PlainDict]) -> None:
    """Show the results of calls in the streams of messages, each under the same id whenever it is shown."""
    for action, outcome, result in zip(actions.actions, outcomes, made, strict=True):
        if result.get("is_made", True):  # else it was shown when it was made
            message = tool_message(
                outcome["text"],
                str(action.call_id),
                action.tool,
                id=result_id(reply.get("id"), action.call_id),
                status="error" if outcome["failed"] else "success",
                artifact=result.get("artifact"),
            )
            show_message(message)


def result_id(message_id: str | None, call_id: str | None) -> str | None:
    """Return the id of the message with the result of a call; None if the message that asks for it has none."""
    return f"{message_id}:{call_id}" if message_id else None


def _run_calls(context: ReActContext, calls: list[Effect]) -> Body[list[ToolOutcome]]:
    try:
        if len(calls) > 1:
            return (yield Together(calls))
        return [(yield calls[0])] if calls else []
    except OutcomeUnknown as unknown:
        raise ToolFailed(
            f"{context.where}: {unknown.text}. It is not retried. Find out whether it happened; then either fork the run "
            "from before this task, or start a new one."
        ) from unknown


def _append_results(dialogue: Dialogue, reply: Reply, actions: Actions, outcomes: list[ToolOutcome]) -> None:
    """Append the tool calls and their results to the conversation, in the protocol the model used."""
    media = [block for outcome in outcomes for block in outcome.get("shown", [])]
    if actions.actions[0].call_id is None:
        dialogue.add({"role": "assistant", "content": actions.text})
        observations = "\n".join(f"Observation: {outcome['text']}" for outcome in outcomes)
        content: Content = [{"type": "text", "text": observations}, *media] if media else observations
        dialogue.add({"role": "user", "content": content})
        return
    message: Message = {"role": "assistant", "content": reply["content"], "tool_calls": reply["tool_calls"]}
    if reply["extra"]:
        message["extra"] = reply["extra"]
    dialogue.add(message)
    for action, outcome in zip(actions.actions, outcomes, strict=True):
        dialogue.add(
            {"role": "tool", "content": outcome["text"], "tool_call_id": str(action.call_id), "name": action.tool}
        )
    if media:  # tool messages hold text only
        dialogue.add({"role": "user", "content": [*media]})


def _report_step(context: ReActContext, step: AgentAction | AgentFinish, number: int) -> Body[None]:
    return run_step_callback(context.report.step, context.step_callback, step, number)


def run_step_callback(
    notify: Callable[[AgentAction | AgentFinish, int], None],
    callback: Callable[..., object] | None,
    step: AgentAction | AgentFinish,
    number: int,
) -> Body[None]:
    """Report an agent's step and pass it to the user's step callback, if there is one."""
    yield Notify(partial(notify, step, number))
    if callback is not None:
        name = getattr(callback, "__name__", type(callback).__name__)
        try:
            yield Call(
                function=callback,
                args=(step,),
                name=name,
                kind="step callback",
                about=[number, dataclasses.asdict(step)],
                encode=discard_result,
            )
        except EffectFailed as failure:  # the work goes on, as in CrewAI
            if isinstance(failure.__cause__, (HookAborted, LimitReached)):
                raise
            warnings.warn(
                f"the step callback `{name}` raised {failure}; the run continues", stacklevel=user_stacklevel()
            )


def discard_result(_: object) -> None:
    """Ignore what a callback returns."""
