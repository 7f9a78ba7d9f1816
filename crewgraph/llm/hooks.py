"""What requests have around a model, `requested_model`: rate limits, events, retries, fallbacks, and the LLM call hooks."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from crewgraph.core.limits import check_limits
from crewgraph.core.messages import Message, Reply, ToolSpec
from crewgraph.core.operations import Program
from crewgraph.core.protocols import Config, Model
from crewgraph.errors import HookAborted, ModelCallBlocked
from crewgraph.events import late
from crewgraph.events.bus import crewai_event_bus
from crewgraph.hooks.llm_hooks import LLMCallHookContext, after_llm_call_reducer, before_llm_call_reducer
from crewgraph.hooks.points import InterceptionPoint, LegacyHookBlocked
from crewgraph.hooks.registry import dispatching, has_hooks
from crewgraph.llm.conversation import openai_messages, read_messages, text_of
from crewgraph.llm.current_call import CALL, RequestEnd
from crewgraph.llm.events import EventModel
from crewgraph.llm.rate_limit import taking_slot
from crewgraph.llm.wrapping import ModelWrapper, asking
from crewgraph.redaction import redacted_logger
from crewgraph.schema import PlainDict
from crewgraph.scoped import scoped

_log = redacted_logger("crewgraph.hooks")
_PRE, _POST = InterceptionPoint.PRE_MODEL_CALL, InterceptionPoint.POST_MODEL_CALL


@dataclass
class HookExecutor:
    """The agent loop that calls a model, as hooks see it: `context.executor`."""

    messages: list[PlainDict]
    llm: Any
    agent: object
    task: object
    crew: object
    iterations: int


@dataclass(eq=False)
class HookedModel(ModelWrapper[Model]):
    """A model that runs hooks around requests; if they change the conversation, the reply carries the new messages."""

    model: Model
    llm: Any
    """The user's model."""

    agent: Any = None
    task: Any = None
    crew: Any = None
    in_agent: bool = True
    """Whether an agent loop makes the requests; otherwise the model is called directly."""

    def complete(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], stop: Sequence[str], config: Config
    ) -> Reply:
        complete = super().complete if has_hooks(self.crew, _PRE, _POST) else self.model.complete
        return complete(messages, tools, stop, config)

    async def acomplete(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], stop: Sequence[str], config: Config
    ) -> Reply:
        complete = super().acomplete if has_hooks(self.crew, _PRE, _POST) else self.model.acomplete
        return await complete(messages, tools, stop, config)

    def answer(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], stop: Sequence[str], config: Config
    ) -> Program[Reply]:
        original = openai_messages(messages)
        visible = deepcopy(original)
        if self.in_agent:
            rounds = sum(message["role"] == "assistant" for message in messages)
            context = LLMCallHookContext(
                HookExecutor(visible, self.llm, self.agent, self.task, self.crew, iterations=rounds)
            )
        else:
            context = LLMCallHookContext(
                messages=visible, llm=self.llm, agent=self.agent, task=self.task, crew=self.crew
            )
        try:
            yield from dispatching(_PRE, context, before_llm_call_reducer)
        except LegacyHookBlocked as aborted:
            raise ModelCallBlocked(
                f"a request to the model `{self.name}` was blocked by a `before_llm_call` hook: {aborted.reason}"
            ) from aborted
        if context.messages is not visible:
            _log.warning("a hook replaced `context.messages`, which has no effect: change the list in place")
            context.messages = visible
        kept, then = _hooked(messages, original, visible)
        ends: list[RequestEnd] = []
        with scoped(CALL, CALL.get()._replace(ends=ends)):
            reply: Reply = yield asking(self.model, [*messages[:kept], *then], tools, stop, config)
        content, has_calls = reply["content"], bool(reply["tool_calls"])
        context.response = text_of(content)
        try:
            if not has_calls:
                yield from dispatching(_POST, context, after_llm_call_reducer)
        except HookAborted as aborted:
            for end in ends:
                end.failed(aborted)
            raise
        response: Any = context.response
        if not has_calls and isinstance(response, str) and response != text_of(content):
            content = response
        for end in ends:
            end.completed(content)
        reply = {**reply, "content": content}
        if visible != original:
            kept, then = _hooked(messages, original, visible)
            reply["hooked"] = {"kept": kept, "then": then}
        return reply


def _hooked(
    messages: Sequence[Message], original: Sequence[PlainDict], visible: Sequence[PlainDict]
) -> tuple[int, list[Message]]:
    """Return how many messages from the beginning the hooks left as they were, and the others as they are now.

    A message that a hook did not touch keeps what its provider wants back.
    """
    kept = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(original, visible, strict=False)))
    own = [pair for pair in zip(original[kept:], messages[kept:], strict=True) if "extra" in pair[1]]
    return kept, [
        next((message for entry, message in own if entry == shown), read)
        for shown, read in zip(visible[kept:], read_messages(visible[kept:]), strict=True)
    ]


@dataclass(eq=False)
class RateLimitedModel(ModelWrapper[EventModel]):
    """A model whose requests wait for its rate limiters."""

    model: EventModel
    controllers: Sequence[Any]

    def answer(self, *request: Any) -> Program[Reply]:
        check_limits(self.name)
        yield from taking_slot(self.controllers, self.model.delayed)
        return (yield asking(self.model, *request))


def requested_model(
    model: Model,
    source: object,
    llm: object,
    agent: Any,
    task: Any,
    crew: Any = None,
    controllers: Sequence[object] = (),
    *,
    in_agent: bool = True,
) -> HookedModel:
    """Return a model with what its requests need: of fallbacks, only the last is retried when its provider asks to wait.

    Args:
        model: the model, which may have fallbacks.
        source: the source of its events.
        llm: the model as passed by the user.
        agent: the calling agent, if any.
        task: the task it works on, if any.
        crew: the crew, if any.
        controllers: its rate limiters.
        in_agent: whether an agent loop makes the requests.
    """
    members: Sequence[Model] = getattr(model, "models", None) or [model]  # a `FallbackModel` has them
    reporting = [EventModel(member, source, agent, task) for member in members]
    *earlier, asked = [RateLimitedModel(member, controllers) if controllers else member for member in reporting]
    if retries := getattr(members[-1], "retries", 0):  # a `ChatModel` has some
        from crewgraph.llm.retry import RetryingModel

        asked = RetryingModel(asked, reporting[-1].delayed, retries)
    if earlier:
        from crewgraph.llm.fallback import FallbackModel

        def fell_back(failed: str, fallback: str, error: Exception) -> None:
            if crewai_event_bus.wants(late.LLMFallbackEvent):
                reason = f"{type(error).__name__}: {error}"
                event = late.LLMFallbackEvent(
                    from_agent=agent, from_task=task, model=failed, fallback=fallback, error=reason
                )
                crewai_event_bus.emit(source if agent is None else agent, event)

        asked = FallbackModel([*earlier, asked], fell_back)
    return HookedModel(asked, llm, agent, task, crew, in_agent)
