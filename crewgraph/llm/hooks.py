"""A model whose requests run the user's LLM call hooks."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from crewgraph.core.messages import Content, Message, Reply, ToolSpec
from crewgraph.core.operations import Program
from crewgraph.core.protocols import Config, Model
from crewgraph.errors import HookAborted, ModelCallBlocked
from crewgraph.hooks.llm_hooks import LLMCallHookContext, after_llm_call_reducer, before_llm_call_reducer
from crewgraph.hooks.points import InterceptionPoint, LegacyHookBlocked
from crewgraph.hooks.registry import dispatching, has_hooks
from crewgraph.llm.conversation import openai_messages, read_messages, text_of
from crewgraph.llm.events import RequestEnd, reporting_later
from crewgraph.llm.wrapping import ModelWrapper, asking
from crewgraph.redaction import redacted_logger
from crewgraph.schema import PlainDict

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

    def answer(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], stop: Sequence[str], config: Config
    ) -> Program[Reply]:
        request = _Request(self, messages)
        with request.raise_if_blocked():
            yield from dispatching(_PRE, request.context, before_llm_call_reducer)
        config, ends = reporting_later(config)
        reply: Reply = yield asking(self.model, request.hooked_messages(), tools, stop, config)
        with request.reporting(reply, ends):
            if request.is_answered(reply):
                yield from dispatching(_POST, request.context, after_llm_call_reducer)
        return request.hooked_reply(reply)

    @property
    def direct(self) -> Model | None:
        return None if has_hooks(self.crew, _PRE, _POST) else self.model


class _Request:
    """A request that passes through the hooks."""

    def __init__(self, model: HookedModel, messages: Sequence[Message]) -> None:
        self._model, self._messages = model, list(messages)
        self._original = openai_messages(messages)
        self._visible = deepcopy(self._original)
        self.context = self._context()

    def _context(self) -> LLMCallHookContext:
        model = self._model
        if not model.in_agent:
            return LLMCallHookContext(
                messages=self._visible, llm=model.llm, agent=model.agent, task=model.task, crew=model.crew
            )
        rounds = sum(message["role"] == "assistant" for message in self._messages)
        return LLMCallHookContext(
            HookExecutor(self._visible, model.llm, model.agent, model.task, model.crew, iterations=rounds)
        )

    @contextmanager
    def raise_if_blocked(self) -> Generator[None]:
        """Convert the result False of the hooks in the block.

        Raises:
            ModelCallBlocked: A hook blocked the request.
            HookAborted: A hook denied it.
        """
        try:
            yield
        except LegacyHookBlocked as aborted:
            raise ModelCallBlocked(
                f"a request to the model `{self._model.name}` was blocked by a `before_llm_call` hook: {aborted.reason}"
            ) from aborted

    def hooked_messages(self) -> list[Message]:
        """Return the conversation after the hooks before the request."""
        if self.context.messages is not self._visible:
            _log.warning("a hook replaced `context.messages`, which has no effect: change the list in place")
            self.context.messages = self._visible
        unchanged = self._unchanged_count
        return [*self._messages[:unchanged], *self._read(unchanged)]

    @contextmanager
    def reporting(self, reply: Reply, ends: Sequence[RequestEnd]) -> Generator[None]:
        """Emit the event of the request's end after the hooks of the block, with what they leave of the reply."""
        try:
            yield
        except HookAborted as aborted:
            for end in ends:
                end.failed(aborted)
            raise
        for end in ends:
            end.completed(self._hooked_content(reply))

    def is_answered(self, reply: Reply) -> bool:
        """Return whether the reply is an answer to pass to the hooks, and not a request for tools."""
        self.context.response = text_of(reply["content"])
        return not reply["tool_calls"]

    def hooked_reply(self, reply: Reply) -> Reply:
        """Return the reply after the hooks, with their changes of the conversation."""
        reply = Reply(**reply)
        reply["content"] = self._hooked_content(reply)
        if self._visible != self._original:
            unchanged = self._unchanged_count
            reply["hooked"] = {"kept": unchanged, "then": self._read(unchanged)}
        return reply

    def _read(self, start: int) -> list[Message]:
        """Return the messages from a position as the hooks left them; an untouched one keeps what its provider wants back."""
        pairs = list(zip(self._original, self._messages, strict=True))[start:]
        read: list[Message] = []
        for entry, message in zip(self._visible[start:], read_messages(self._visible[start:]), strict=True):
            read.append(next((own for original, own in pairs if original == entry and "extra" in own), message))
        return read

    def _hooked_content(self, reply: Reply) -> Content:
        response = self.context.response
        if not reply["tool_calls"] and isinstance(response, str) and response != text_of(reply["content"]):
            return response
        return reply["content"]

    @property
    def _unchanged_count(self) -> int:
        """Number of leading messages that the hooks did not change."""
        pairs = zip(self._original, self._visible, strict=False)
        return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
