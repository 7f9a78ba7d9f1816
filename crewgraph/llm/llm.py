"""LLM: a model by its name and parameters, in CrewAI's words.

Keywords of an `LLM` that are not its provider's: who serves it, what it costs, who stands in for it.
"""

import inspect
import logging
from collections.abc import Mapping, Sequence
from copy import copy
from functools import partial
from threading import RLock
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from pydantic import BaseModel

from crewgraph.core.loops.bridge import in_thread
from crewgraph.core.messages import Reply, Usage
from crewgraph.core.protocols import Model
from crewgraph.deprecations import warn_deprecated
from crewgraph.errors import DefinitionError, ModelError, ToolFailed
from crewgraph.extras import load
from crewgraph.hooks.llm_hooks import model_call_hooks_already_dispatched
from crewgraph.lazy import lazy_module
from crewgraph.llm.base import BaseLLM
from crewgraph.llm.capabilities import context_window, supports_images, supports_stop_words, supports_tools
from crewgraph.llm.chat_model import ChatModel
from crewgraph.llm.connection import BaseInterceptor, open_chat_model
from crewgraph.llm.conversation import read_messages, read_tools
from crewgraph.llm.current_call import ONGOING
from crewgraph.llm.errors import UnknownModel
from crewgraph.llm.fallback import FallbackModel
from crewgraph.llm.prices import Price, set_price
from crewgraph.llm.providers import Target, locate
from crewgraph.llm.responses import ResponsesMixin
from crewgraph.llm.result import call_result, function_result
from crewgraph.llm.runnable import RunnableModel
from crewgraph.overrides import overridable, override_of

__all__ = ["LLM", "SETTINGS", "pop_fallbacks", "pop_price", "pop_provider", "pop_response_format"]


SETTINGS = (
    *("timeout", "temperature", "top_p", "n", "stop", "max_completion_tokens", "max_tokens", "presence_penalty"),
    *("frequency_penalty", "logit_bias", "seed", "logprobs", "top_logprobs", "base_url", "api_version", "api_key"),
    *("callbacks", "reasoning_effort", "stream"),
)
"""The attributes of an `LLM` that go to its provider."""

_MILLION = 1_000_000


def pop_provider(kwargs: dict[str, Any]) -> str | None:
    """Who serves the model, by the several words for it; they are taken out."""
    kwargs.pop("is_litellm", None)
    named = kwargs.pop("provider", None) or kwargs.pop("custom_llm_provider", None)
    if kwargs.pop("azure", False):
        warn_deprecated(
            "`azure=True` of an LLM", 'write the provider before the name: `LLM(model="azure/<deployment>")`'
        )
        named = named or "azure"
    if kwargs.pop("custom_openai", False):
        named = named or "openai"
    return named


def pop_response_format(kwargs: dict[str, Any], given: Any) -> Any:
    """The form of answers: what was given, else what Ollama's word for JSON says; that is taken out."""
    if kwargs.get("format") != "json":
        return given
    del kwargs["format"]
    warn_deprecated('`format="json"` of an LLM', 'write `response_format={"type": "json_object"}`')
    return {"type": "json_object"} if given is None else given


def pop_fallbacks(kwargs: dict[str, Any]) -> list[Any]:
    """The models to fall back on; they are taken out.

    Raises:
        ValueError: it is one model, and no list.
    """
    given: Any = kwargs.pop("fallbacks", None)
    if given is None:
        return []
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Sequence):
        raise ValueError(
            f'`fallbacks` is a list of models, such as ["openai/gpt-4o-mini", LLM(...)], not {given!r:.60}'
        )
    return list(cast("Sequence[Any]", given))


def pop_price(kwargs: dict[str, Any]) -> Price | None:
    """What the model costs: `price`, in USD per million tokens, or LiteLLM's words, per token; they are taken out.

    Raises:
        pydantic.ValidationError: it is no price.
    """
    given = kwargs.pop("price", None)
    each = {
        name: kwargs.pop(word) * _MILLION
        for name, word in (
            ("input", "input_cost_per_token"),
            ("output", "output_cost_per_token"),
            ("cached_input", "cache_read_input_token_cost"),
            ("cache_write", "cache_creation_input_token_cost"),
        )
        if kwargs.get(word) is not None
    }
    if given is not None:
        return Price.model_validate(given)
    return Price.model_validate(each) if each else None


if TYPE_CHECKING:
    from crewgraph.llm import events, hooks, resolve
else:
    hooks = lazy_module("crewgraph.llm.hooks")
    events = lazy_module("crewgraph.llm.events")
    resolve = lazy_module("crewgraph.llm.resolve")

_log = logging.getLogger(__name__)
_building = RLock()  # one for all: a model is built once, and models stay copyable

_NATIVE = {"openai", "azure", "anthropic", "gemini", "bedrock"}


class _Named(NamedTuple):
    """A model as it was named, and as `LLM.model` shows it."""

    displayed: str
    requested: str
    provider: str | None


class LLM(RunnableModel, ResponsesMixin, BaseLLM):
    """A language model by its name: `LLM("openai/gpt-4o", temperature=0.2)`.

    It is a definition: nothing is imported, looked up or connected before the first question. Its attributes
    may be changed between questions. Its name is "provider/model", or the bare name of a known one.
    """

    timeout: float | None
    """Seconds to wait for an answer."""

    top_p: float | None
    """The share of likely words it chooses from."""

    n: int | None
    """Answers per request; the first is used."""

    max_completion_tokens: int | None
    """Tokens it may write, reasoning included."""

    max_tokens: int | float | None
    """Tokens it may write."""

    presence_penalty: float | None
    """How much it avoids words it used."""

    frequency_penalty: float | None
    """How much it avoids words it used often."""

    logit_bias: dict[int, float] | None
    """By token number, how likely it is made."""

    response_format: type[BaseModel] | dict[str, Any] | None
    """A pydantic model (the answer is one), or OpenAI's dict such as {"type": "json_object"}."""

    seed: int | None
    """For answers that repeat."""

    logprobs: int | None
    """Whether the likelihood of words is reported."""

    top_logprobs: int | None
    """Of how many other words it is reported, too."""

    api_base: str | None
    """Another name of `base_url`, the address of an API."""

    api_version: str | None
    """Azure's."""

    callbacks: list[Any] | None
    """LangChain callback handlers, told of every request."""

    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh"] | None
    """How long it thinks."""

    fallbacks: Sequence[Any] = ()
    """The models that are asked, in this order, where it fails: whatever may stand in `llm=`."""

    interceptor: BaseInterceptor[Any, Any] | None = None
    """Sees the requests and responses of httpx, where the provider speaks OpenAI's protocol."""

    _named: _Named | None = None  # None where a subclass keeps its constructor to itself

    def __init__(
        self,
        model: str,
        timeout: float | int | None = None,
        temperature: float | None = None,
        top_p: float | None = None,
        n: int | None = None,
        stop: str | list[str] | None = None,
        max_completion_tokens: int | None = None,
        max_tokens: int | float | None = None,
        presence_penalty: float | None = None,
        frequency_penalty: float | None = None,
        logit_bias: dict[int, float] | None = None,
        response_format: type[BaseModel] | dict[str, Any] | None = None,
        seed: int | None = None,
        logprobs: int | None = None,
        top_logprobs: int | None = None,
        base_url: str | None = None,
        api_base: str | None = None,
        api_version: str | None = None,
        api_key: str | None = None,
        callbacks: list[Any] | None = None,
        reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh"] | None = None,
        stream: bool = False,
        **kwargs: Any,
    ) -> None:
        """Name a model; the keywords are the attributes of the same names.

        `provider` says who serves it where its name does not, `max_retries` how often a request is repeated, `fallbacks`
        which models are asked where it fails, `price` what it costs in USD per million tokens ({"input": 1, "output": 5}).
        A keyword that is nobody's here goes to the provider with each request.

        Raises:
            DefinitionError: it has no name.
        """
        if not isinstance(model, str) or not model.strip():  # pyright: ignore[reportUnnecessaryIsInstance]
            raise DefinitionError(f'`LLM` takes the name of a model, such as "openai/gpt-4o", not {model!r:.60}.')
        provider, price = pop_provider(kwargs), pop_price(kwargs)
        self.fallbacks, form = pop_fallbacks(kwargs), pop_response_format(kwargs, response_format)
        api_base = api_base or base_url
        super().__init__(model, temperature, api_key, base_url or api_base, timeout, None, stop=stop, **kwargs)
        self.api_base = api_base
        self.top_p, self.n, self.seed = top_p, n, seed
        self.max_completion_tokens, self.max_tokens = max_completion_tokens, max_tokens
        self.presence_penalty, self.frequency_penalty = presence_penalty, frequency_penalty
        self.logit_bias, self.logprobs, self.top_logprobs = logit_bias, logprobs, top_logprobs
        self.response_format = form
        self.api_version = api_version
        self.callbacks = callbacks
        self.reasoning_effort = reasoning_effort
        self.stream = stream
        self._resolve_name(model, provider, price)

    def _resolve_name(self, model: str, provider: str | None, price: Price | None) -> None:
        self._named = _Named(model, model, provider)
        try:
            target = self.target()
        except UnknownModel:
            return  # told when it is asked; the environment may still say where it is served
        if price is not None:
            set_price(target.model, price)
        self._provider = self.llm_type = target.provider.name
        if self._provider in _NATIVE:
            self.model = target.model
        self._named = _Named(self.model, model, provider)

    def target(self) -> Target:
        """Who serves it, and its name there."""
        if self._named is not None and self.model == self._named.displayed:
            return locate(self._named.requested, provider=self._named.provider, base_url=self.base_url)
        return locate(self.model, base_url=self.base_url)

    def chat_model(self) -> Any:
        """The LangChain chat model that answers; built on first use, and anew once an attribute was changed.

        Raises:
            MissingExtra: the provider's package is not installed.
            MissingKey: the provider needs a key and there is none.
            UnknownModel: nothing tells who serves the model.
        """
        return self.adapter().source

    def adapter(self) -> ChatModel:
        """The model as the graph asks it; the same one as long as no attribute changes."""
        given = {name: value for name in SETTINGS if _is_set(value := getattr(self, name))}
        settings = {name: _snapshot(value) for name, value in {**given, **self.additional_params}.items()}
        target = self.target()
        address = target.address(self.base_url)
        state = (
            target,
            address,
            target.key(self.api_key, address),
            self.response_format,
            dict(settings),
            self.interceptor,
        )
        with _building:
            built: tuple[Any, ChatModel] | None = vars(self).get("_built")
            if built is None or built[0] != state:
                made = open_chat_model(target, self._connection_settings(target, settings))
                adapter = ChatModel(
                    made,
                    native_tools=self.supports_function_calling(),
                    stop=self.stop,
                    response_format=self.response_format,
                    on_answer=self._record_answer,
                    parameters=settings,
                )
                built = vars(self)["_built"] = (state, adapter)
            return built[1]

    def _connection_settings(self, target: Target, settings: dict[str, Any]) -> dict[str, Any]:
        opening = self.request_settings(settings)
        if self.responses is not None:
            opening["responses"] = self.responses
        if self.interceptor is not None:
            opening["interceptor"] = self.interceptor
        if not supports_stop_words(target.model):
            opening.pop("stop", None)
        if "callbacks" in opening:
            handler = load("langchain_core.callbacks").BaseCallbackHandler
            strangers = [c for c in opening["callbacks"] if not isinstance(c, handler)]
            if strangers:
                _log.warning(
                    "LLM(%r): a `%s` is no LangChain callback handler and will not be called",
                    self.model,
                    type(strangers[0]).__name__,
                )
            opening["callbacks"] = [c for c in opening["callbacks"] if isinstance(c, handler)]
        return opening

    @overridable
    def call(
        self,
        messages: str | list[dict[str, Any]],
        tools: list[dict[str, Any]] | None = None,
        callbacks: list[Any] | None = None,
        available_functions: dict[str, Any] | None = None,
        from_task: Any | None = None,
        from_agent: Any | None = None,
        response_model: Any | None = None,
    ) -> str | Any:
        """Answer a conversation.

        Args:
            messages: a text, or entries with `role` and `content`.
            tools: functions in OpenAI's form that may be called.
            callbacks: LangChain callback handlers for this request.
            available_functions: by name, what carries out a tool call.
            from_task: the task on whose behalf it is asked; the answer does not depend on it.
            from_agent: the agent on whose behalf it is asked; the answer does not depend on it.
            response_model: a pydantic model that the answer is to be, instead of `response_format`.

        Returns:
            The text. With a response model, an instance of it. When the model calls a tool: what the function
            of the first call returned, as text, or without `available_functions` a list of `ToolCall`.

        Raises:
            ToolFailed: the model called a function that is not among `available_functions`.
            UnreadableAnswer: the answer does not fit the response model.
        """
        form = response_model or self.response_format
        conversation, specs = read_messages(messages), read_tools(tools)
        reply = self._model_for(form, from_agent, from_task).complete(conversation, specs, (), _config(callbacks))
        wanted = self._requested_call(reply, available_functions)
        if wanted is None:
            return call_result(reply, form, self.responses)
        result = wanted()
        if inspect.iscoroutine(result):
            result.close()
            raise ModelError(f"`{reply['tool_calls'][0]['name']}` is a coroutine function: use `await llm.acall(...)`.")
        return function_result(result)

    @overridable
    async def acall(
        self,
        messages: str | list[dict[str, Any]],
        tools: list[dict[str, Any]] | None = None,
        callbacks: list[Any] | None = None,
        available_functions: dict[str, Any] | None = None,
        from_task: Any | None = None,
        from_agent: Any | None = None,
        response_model: Any | None = None,
    ) -> str | Any:
        """Answer a conversation without blocking the event loop; an overridden `call` is honoured."""
        if override_of(self, "call") is not None:
            return await super().acall(
                messages, tools, callbacks, available_functions, from_task, from_agent, response_model
            )
        form = response_model or self.response_format
        conversation, specs = read_messages(messages), read_tools(tools)
        reply = await self._model_for(form, from_agent, from_task).acomplete(
            conversation, specs, (), _config(callbacks)
        )
        wanted = self._requested_call(reply, available_functions)
        if wanted is None:
            return call_result(reply, form, self.responses)
        result = await in_thread(wanted)
        return function_result(await result if inspect.isawaitable(result) else result)

    def supports_function_calling(self) -> bool:
        """Whether the model takes tools."""
        try:
            target = self.target()
        except UnknownModel:
            return False
        return supports_tools(target.provider.name, target.model)

    def supports_stop_words(self) -> bool:
        """Whether the model stops at given texts; OpenAI's reasoning models and its Responses API refuse them."""
        return supports_stop_words(self.model) and self.responses is None

    def supports_multimodal(self) -> bool:
        """Whether it can be shown images."""
        return supports_images(self.model)

    def get_context_window_size(self) -> int:
        """How many tokens the model reads."""
        return self.context_window_size or context_window(self.model)

    def __getstate__(self) -> dict[str, Any]:
        """What a copy takes over: everything but the connection."""
        return {name: value for name, value in self.__dict__.items() if name != "_built"}

    def __repr__(self) -> str:
        return f"{type(self).__name__}(model={self.model!r})"

    def _model_for(self, form: Any, agent: Any, task: Any) -> Model:
        """The model that answers in a form; it tells of its requests, unless somebody above does."""
        adapter = self.adapter()
        own = adapter if form is self.response_format else adapter.with_response_format(form)
        if self.responses is not None:
            self.responses.start_request()
        models: list[Model] = [own, *map(resolve.as_model, self.fallbacks)]
        ongoing = ONGOING.get()
        if ongoing is None or not ongoing.observed:
            models = [events.EventModel(model, self, agent, task) for model in models]
        asked = FallbackModel(models) if self.fallbacks else models[0]
        if (ongoing is not None and ongoing.observed) or model_call_hooks_already_dispatched():
            return asked
        return hooks.HookedModel(asked, self, agent, task, in_agent=False)

    def _record_answer(self, message: Any, usage: Usage | None) -> None:
        self._track_token_usage_internal(usage or {})
        if self.responses is not None:
            self.responses.record_answer(message)

    def _requested_call(self, reply: Reply, functions: Mapping[str, Any] | None) -> Any:
        """The function that the model wants called, with its arguments; None where it wants none."""
        if not reply["tool_calls"] or not functions or (self.responses is not None and self.responses.parses_outputs):
            return None
        request = reply["tool_calls"][0]
        name, args = request["name"], request["args"]
        if name not in functions:
            known = ", ".join(f"`{known}`" for known in functions)
            raise ToolFailed(f"The model `{self.model}` called the function `{name}`. available_functions has {known}.")
        if isinstance(args, str):
            raise ToolFailed(f"The model `{self.model}` called `{name}` with arguments that are no JSON object: {args}")
        if len(reply["tool_calls"]) > 1:
            _log.warning("LLM(%r).call carries out the first of %d tool calls", self.model, len(reply["tool_calls"]))
        return partial(functions[name], **args)


def _is_set(value: Any) -> bool:
    """Whether a setting says something; 0 does."""
    return value is not None and value is not False and value != []


def _snapshot(value: Any) -> Any:
    """A list or dict as it is now, so that a change of the user's own is noticed."""
    return copy(cast("object", value)) if isinstance(value, (list, dict)) else value


def _config(callbacks: Sequence[Any] | None) -> Any:
    """The config around the caller, with more handlers."""
    if not callbacks:
        return {}
    configs = load("langchain_core.runnables.config")
    return configs.merge_configs(configs.ensure_config(), {"callbacks": list(callbacks)})
