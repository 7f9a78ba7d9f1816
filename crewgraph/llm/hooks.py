"""A model whose requests pass the hooks that users have written."""

import logging
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from crewgraph.core.messages import Message, Reply, ToolSpec
from crewgraph.core.protocols import Model
from crewgraph.errors import ModelCallBlocked
from crewgraph.hooks.llm_hooks import LLMCallHookContext, after_llm_call_reducer, before_llm_call_reducer
from crewgraph.hooks.points import HookAborted, InterceptionPoint
from crewgraph.hooks.registry import adispatch, dispatch, hooks_at
from crewgraph.llm.conversation import openai_messages, read_messages, text_of
from crewgraph.llm.wrapper import ModelWrapper

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

__all__ = ["HookExecutor", "HookedModel"]


_log = logging.getLogger("crewgraph.hooks")
_PRE, _POST = InterceptionPoint.PRE_MODEL_CALL, InterceptionPoint.POST_MODEL_CALL


@dataclass
class HookExecutor:
    """Who asks a model in an agent's work, as hooks see it: `context.executor`."""

    messages: list[dict[str, Any]]
    llm: Any
    agent: Any
    task: Any
    crew: Any
    iterations: int


@dataclass(frozen=True)
class HookedModel(ModelWrapper[Model]):
    """A model whose requests pass hooks; where they changed the conversation, the reply tells how it goes on."""

    model: Model
    llm: Any
    """The model as the user gave it."""

    agent: Any = None
    task: Any = None
    crew: Any = None
    in_agent: bool = True
    """Whether an agent asks in its work; else somebody asks the model directly."""

    def complete(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], stop: Sequence[str], config: "RunnableConfig"
    ) -> Reply:
        if not self._is_hooked:
            return self.model.complete(messages, tools, stop, config)
        request = _Request(self, messages)
        with request.blockable():
            dispatch(_PRE, request.context, reducer=before_llm_call_reducer)
        reply = self.model.complete(request.hooked_messages(), tools, stop, config)
        if request.is_answered(reply):
            dispatch(_POST, request.context, reducer=after_llm_call_reducer)
        return request.hooked_reply(reply)

    async def acomplete(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], stop: Sequence[str], config: "RunnableConfig"
    ) -> Reply:
        if not self._is_hooked:
            return await self.model.acomplete(messages, tools, stop, config)
        request = _Request(self, messages)
        with request.blockable():
            await adispatch(_PRE, request.context, reducer=before_llm_call_reducer)
        reply = await self.model.acomplete(request.hooked_messages(), tools, stop, config)
        if request.is_answered(reply):
            await adispatch(_POST, request.context, reducer=after_llm_call_reducer)
        return request.hooked_reply(reply)

    @property
    def _is_hooked(self) -> bool:
        return bool(hooks_at(_PRE, self.crew) or hooks_at(_POST, self.crew))


class _Request:
    """One request on its way through the hooks."""

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
        rounds = sum(one["role"] == "assistant" for one in self._messages)
        return LLMCallHookContext(
            HookExecutor(self._visible, model.llm, model.agent, model.task, model.crew, iterations=rounds)
        )

    @contextmanager
    def blockable(self) -> Generator[None]:
        """Where a hook may say no.

        Raises:
            ModelCallBlocked: one does.
        """
        try:
            yield
        except HookAborted as aborted:
            raise ModelCallBlocked(
                f"a request to the model `{self._model.name}` was blocked by a `before_llm_call` hook: {aborted.reason}"
            ) from aborted

    def hooked_messages(self) -> list[Message]:
        """The conversation as the hooks before the request left it."""
        if self.context.messages is not self._visible:
            _log.warning("a hook gave `context.messages` another list, which changes nothing: change the list in place")
            self.context.messages = self._visible
        kept = self._unchanged_count
        return [*self._messages[:kept], *read_messages(self._visible[kept:])]

    def is_answered(self, reply: Reply) -> bool:
        """Whether there is a text for the hooks after the request; a wish to use tools is none."""
        self.context.response = text_of(reply["content"])
        return not reply["tool_calls"]

    def hooked_reply(self, reply: Reply) -> Reply:
        """The reply as the hooks left it, with what they made of the conversation."""
        reply, response = Reply(**reply), self.context.response
        if not reply["tool_calls"] and isinstance(response, str) and response != text_of(reply["content"]):
            reply["content"] = response
        if self._visible != self._original:
            kept = self._unchanged_count
            reply["hooked"] = {"kept": kept, "then": read_messages(self._visible[kept:])}
        return reply

    @property
    def _unchanged_count(self) -> int:
        """How many messages from the beginning are as they were."""
        pairs = zip(self._original, self._visible, strict=False)
        return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
