"""What requests have around a model: the LLM call hooks, fallbacks, retries, rate limits and events."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from typing import Any, Self

from pydantic import BaseModel

from crewgraph.core.limits import check_limits
from crewgraph.core.messages import Message, Reply, ToolSpec
from crewgraph.core.operations import Do, Program
from crewgraph.core.protocols import Config, Model
from crewgraph.errors import HookAborted, ModelCallBlocked
from crewgraph.events import late
from crewgraph.events.bus import crewai_event_bus
from crewgraph.hooks.llm_hooks import LLMCallHookContext, after_llm_call_reducer, before_llm_call_reducer
from crewgraph.hooks.points import InterceptionPoint, LegacyHookBlocked
from crewgraph.hooks.registry import dispatching, has_hooks
from crewgraph.llm.asking import AskingModel
from crewgraph.llm.conversation import openai_messages, read_messages, text_of
from crewgraph.llm.current_call import CALL, RequestEnd
from crewgraph.llm.events import ReportedRequest, Requester
from crewgraph.llm.rate_limit import taking_slot
from crewgraph.llm.structure import structured_model
from crewgraph.redaction import redacted_logger
from crewgraph.schema import PlainDict, PlainMapping
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


@dataclass(eq=False, kw_only=True)
class RequestedModel(Requester, AskingModel):
    """A model with what its requests need: hooks, fallbacks, rate limits, events and retries.

    If hooks change the conversation, the reply carries the new messages. Of fallbacks, only the last is retried when its
    provider asks to wait.
    """

    model: Model
    """The model, which may have fallbacks."""

    llm: Any
    """The model as passed by the user."""

    crew: Any = None
    """The crew, if any."""

    controllers: Sequence[Any] = ()
    """Its rate limiters."""

    in_agent: bool = True
    """Whether an agent loop makes the requests; otherwise the model is called directly."""

    @property
    def name(self) -> str:
        """The name of the model at its provider."""
        return self.model.name

    @property
    def identity(self) -> PlainMapping:
        """Name and parameters as plain data."""
        return self.model.identity

    @property
    def native_tools(self) -> bool:
        """Whether the model supports native tool calls."""
        return self.model.native_tools

    def for_structure(self, structure: type[BaseModel]) -> Self | None:
        """Return a copy whose model answers with an instance of a pydantic model; None if it cannot."""
        model = structured_model(self.model, structure)
        return None if model is None else replace(self, model=model)

    def answer(self, *request: Any) -> Program[Reply]:
        return (self._hooked if has_hooks(self.crew, _PRE, _POST) else self._asked)(*request)

    def _asked(self, *request: Any) -> Program[Reply]:
        """Ask the model, and its fallbacks where it fails."""
        models: Sequence[Model] | None = getattr(self.model, "models", None)  # a `FallbackModel` has them
        if models is None:
            return self._ask(request, self.model, True)
        from crewgraph.llm.fallback import first_answer

        return first_answer(models, partial(self._ask, request), self._fell_back)

    def _ask(self, request: Any, model: Model, is_last: bool) -> Program[Reply]:
        """Ask one of the models; the last one again where its client does not do so itself."""
        attempt = partial(self._attempt, request, model)
        retries: int = getattr(model, "retries", 0) if is_last else 0  # a `ChatModel` has some
        if not retries:
            return attempt()
        from crewgraph.llm.retry import retried

        return retried(attempt, partial(self.delayed, model.name), retries)

    def _attempt(self, request: Any, model: Model) -> Program[Reply]:
        """Ask one of the models once."""
        if self.controllers:
            check_limits(model.name)
            yield from taking_slot(self.controllers, partial(self.delayed, model.name))
        messages, tools, stop, config = request
        with ReportedRequest(self, model, messages, tools, config) as reported:
            reply = yield Do(model.complete, model.acomplete, messages, tools, stop, reported.config)
        return reported.completed(reply)

    def _fell_back(self, failed: str, fallback: str, error: Exception) -> None:
        if crewai_event_bus.wants(late.LLMFallbackEvent):
            event = late.LLMFallbackEvent(
                from_agent=self.agent,
                from_task=self.task,
                model=failed,
                fallback=fallback,
                error=f"{type(error).__name__}: {error}",
            )
            crewai_event_bus.emit(self.source if self.agent is None else self.agent, event)

    def _hooked(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], stop: Sequence[str], config: Config
    ) -> Program[Reply]:
        """Ask the model between the hooks before and after a request."""
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
        kept, then = _as_left(messages, original, visible)
        ends: list[RequestEnd] = []
        with scoped(CALL, CALL.get()._replace(ends=ends)):
            reply: Reply = yield from self._asked([*messages[:kept], *then], tools, stop, config)
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
            kept, then = _as_left(messages, original, visible)
            reply["hooked"] = {"kept": kept, "then": then}
        return reply


def _as_left(
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
