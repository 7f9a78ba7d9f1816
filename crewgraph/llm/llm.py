"""`LLM`: a model defined by its name and parameters, with CrewAI's keywords.

The `pop_*` functions take the keywords out that crewgraph itself handles: provider, response format, fallbacks, price.
"""

import os
from collections.abc import Mapping, Sequence
from copy import copy
from functools import partial
from threading import RLock
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from pydantic import BaseModel

from crewgraph.core.messages import Reply, Usage
from crewgraph.core.protocols import Model
from crewgraph.deprecations import warn_deprecated
from crewgraph.errors import ToolFailed
from crewgraph.extras import load
from crewgraph.llm.answer_limits import AnswerLimits
from crewgraph.llm.base import BaseLLM
from crewgraph.llm.capabilities import context_window, supports_images, supports_stop_words, supports_tools
from crewgraph.llm.connection import BaseInterceptor, open_chat_model
from crewgraph.llm.conversation import read_messages, read_tools, text_of
from crewgraph.llm.current_call import CALL
from crewgraph.llm.errors import UnknownModel, UnreadableAnswer
from crewgraph.llm.prices import Price, set_price
from crewgraph.llm.providers import Target, find_provider, locate, slashed
from crewgraph.llm.responses import ResponsesMixin, responses_result, tool_calls
from crewgraph.llm.structure import read_structure
from crewgraph.overrides import overridable, override_of
from crewgraph.redaction import redacted_logger
from crewgraph.schema import PlainDict, PlainMapping, is_list, is_object

if TYPE_CHECKING:
    from crewgraph.core.operations import Program
    from crewgraph.llm.chat_model import ChatModel


SETTINGS = (
    *("timeout", "temperature", "top_p", "n", "stop", "max_completion_tokens", "max_tokens", "presence_penalty"),
    *("frequency_penalty", "logit_bias", "seed", "logprobs", "top_logprobs", "base_url", "api_version", "api_key"),
    *("callbacks", "reasoning_effort", "stream"),
)
"""The attributes of an `LLM` that are sent to its provider."""

_MILLION = 1_000_000


def pop_provider(kwargs: dict[str, Any]) -> str | None:
    """Remove the keywords that name the provider and return its name."""
    kwargs.pop("is_litellm", None)
    provider = kwargs.pop("provider", None) or kwargs.pop("custom_llm_provider", None)
    if kwargs.pop("azure", False):
        warn_deprecated(
            "`azure=True` of an LLM", 'write the provider before the name: `LLM(model="azure/<deployment>")`'
        )
        provider = provider or "azure"
    if kwargs.pop("custom_openai", False):
        provider = provider or "openai"
    return provider


def pop_response_format(kwargs: dict[str, Any], response_format: Any) -> Any:
    """Return the response format, translating and removing Ollama's `format="json"`."""
    if kwargs.get("format") != "json":
        return response_format
    del kwargs["format"]
    warn_deprecated('`format="json"` of an LLM', 'write `response_format={"type": "json_object"}`')
    return {"type": "json_object"} if response_format is None else response_format


def pop_fallbacks(kwargs: dict[str, Any]) -> list[Any]:
    """Remove `fallbacks` and return it as a list of models.

    Raises:
        ValueError: It is not a list.
    """
    fallbacks = kwargs.pop("fallbacks", None)
    if fallbacks is None:
        return []
    if isinstance(fallbacks, (str, bytes, Mapping)) or not isinstance(fallbacks, Sequence):
        raise ValueError(
            f'`fallbacks` must be a list of models, such as ["openai/gpt-4o-mini", LLM(...)], not {fallbacks!r:.60}'
        )
    return list(cast("Sequence[Any]", fallbacks))


def pop_price(kwargs: dict[str, Any]) -> Price | None:
    """Remove the price keywords: `price`, in USD per million tokens, or LiteLLM's, in USD per token.

    Raises:
        pydantic.ValidationError: The price is invalid.
    """
    price = kwargs.pop("price", None)
    per_million = {
        name: kwargs.pop(keyword) * _MILLION
        for name, keyword in (
            ("input", "input_cost_per_token"),
            ("output", "output_cost_per_token"),
            ("cached_input", "cache_read_input_token_cost"),
            ("cache_write", "cache_creation_input_token_cost"),
        )
        if kwargs.get(keyword) is not None
    }
    if price is not None:
        return Price.model_validate(price)
    return Price.model_validate(per_million) if per_million else None


_log = redacted_logger(__name__)
_building = RLock()  # shared by all models: each is built only once, and models stay copyable


def _renew_building() -> None:
    """Renew the lock: a thread of the parent may have been building a model, which the child has to build itself."""
    global _building
    _building = RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_building)

_NATIVE = {
    *("openai", "azure", "anthropic", "gemini", "bedrock", "ollama", "openrouter", "deepseek", "hosted_vllm"),
    *("cerebras", "dashscope", "deepinfra"),
}
"""The providers that CrewAI reaches without LiteLLM: names of their models are shown without the provider."""


class _Named(NamedTuple):
    """The name a model was requested by, and the name that `LLM.model` displays."""

    displayed: str
    requested: str
    provider: str | None


class LLM(ResponsesMixin, BaseLLM):
    """A language model by name: `LLM("openai/gpt-4o", temperature=0.2)`.

    An `LLM` is lazy: provider packages, keys and connections are resolved on the first request. Attributes may be
    changed between requests. The name is "provider/model", or the bare name of a well-known model.

    It has the methods of a LangChain chat model, alone or in a chain. Where LangChain or LangGraph require an instance of their
    own classes, pass `chat_model()`.

        chain = prompt | LLM("openai/gpt-4o") | StrOutputParser()
    """

    model: str
    """The name of the model: `"openai/gpt-4o"`, or `"gpt-4o"` where the provider is well known."""

    stream: bool | None
    """Whether answers arrive in chunks, each of them an `LLMStreamChunkEvent`."""

    timeout: float | None
    """Seconds that one answer may take, from the request to its end. None takes CREWGRAPH_MODEL_TIMEOUT, else an hour."""

    idle_timeout: float | None = None
    """Seconds in which nothing of an answer may come. None takes CREWGRAPH_MODEL_IDLE_TIMEOUT, else ten minutes."""

    max_completion_tokens: int | None
    """Maximum number of generated tokens, including reasoning."""

    logit_bias: dict[int, float] | None
    """What to add to the likelihood of tokens, by token id: `{50256: -100}` forbids one."""

    response_format: type[BaseModel] | PlainDict | None
    """A pydantic model, of which answers are instances, or OpenAI's dict such as `{"type": "json_object"}`."""

    logprobs: int | None
    """Whether to return log probabilities."""

    top_logprobs: int | None
    """Number of alternative tokens to return log probabilities for."""

    api_base: str | None
    """Alias of `base_url`, the address of the API."""

    api_version: str | None
    """API version of Azure OpenAI, such as `"2024-10-21"`. None takes AZURE_API_VERSION, else OPENAI_API_VERSION."""

    callbacks: list[Any] | None
    """LangChain callback handlers for every request."""

    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh"] | None
    """How much effort a reasoning model spends."""

    fallbacks: Sequence[Any] = ()
    """Models to try, in this order, when a request fails; each may be anything that `llm=` accepts:
    `fallbacks=["anthropic/claude-sonnet-4-5", "ollama/llama3.1"]`."""

    interceptor: BaseInterceptor[Any, Any] | None = None
    """Intercepts httpx requests and responses; only for providers with OpenAI's protocol."""

    _api_key: str | None = None
    _named: _Named | None = None  # None if a subclass does not call `__init__`

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
        response_format: type[BaseModel] | PlainDict | None = None,
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
        """Define a model; the parameters are the attributes of the same names.

        Further keywords: `provider`, if the name does not include it; `max_retries` per request; `fallbacks`, the
        models to try when a request fails; `price` in USD per million tokens ({"input": 1, "output": 5}).
        Unknown keywords are sent to the provider with each request.

        Raises:
            DefinitionError: `model` is not a non-empty string.
        """
        provider, price = pop_provider(kwargs), pop_price(kwargs)
        self.fallbacks, parsed_format = pop_fallbacks(kwargs), pop_response_format(kwargs, response_format)
        api_base = api_base or base_url
        super().__init__(model, temperature, api_key, base_url or api_base, timeout, None, stop=stop, **kwargs)
        self.api_base = api_base
        self.top_p, self.n, self.seed = top_p, n, seed
        self.max_completion_tokens, self.max_tokens = max_completion_tokens, max_tokens
        self.presence_penalty, self.frequency_penalty = presence_penalty, frequency_penalty
        self.logit_bias, self.logprobs, self.top_logprobs = logit_bias, logprobs, top_logprobs
        self.response_format = parsed_format
        self.api_version = api_version
        self.callbacks = callbacks
        self.reasoning_effort = reasoning_effort
        self.stream = stream
        self._resolve_name(model, provider, price)

    def _resolve_name(self, model: str, provider: str | None, price: Price | None) -> None:
        self.model = model = slashed(model, provider)
        self._named = _Named(model, model, provider)
        try:
            target = self.target()
        except UnknownModel:
            return  # reported on the first request: the environment may still provide an address
        if price is not None:
            set_price(target.model, price)
        prefix, slash, _ = model.partition("/")
        if slash and provider is None and self.base_url is None and find_provider(prefix) is None:
            _log.warning(
                "LLM(%r): `%s` is not a known provider, so the whole name goes to the server in OPENAI_API_BASE or "
                "OPENAI_BASE_URL; write %r if that is what you want",
                model,
                prefix,
                f"openai/{model}",
            )
        self._provider = self.llm_type = target.provider.name
        if self._provider in _NATIVE:
            self.model = target.model
        self._named = _Named(self.model, model, provider)

    @property
    def api_key(self) -> str | None:
        """The API key: the one that was given, or that of the environment; None if there is none."""
        if self._api_key is not None:
            return self._api_key
        try:
            return self.target().environment_key()
        except UnknownModel:
            return None

    @api_key.setter
    def api_key(self, value: str | None) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        self._api_key = value

    def target(self) -> Target:
        """Return the provider and the model's name there."""
        if self._named is not None and self.model == self._named.displayed:
            return locate(self._named.requested, provider=self._named.provider, base_url=self.base_url)
        return locate(self.model, base_url=self.base_url)

    def chat_model(self) -> Any:
        """Return the LangChain chat model; it is built on first use and rebuilt after an attribute changed.

        Raises:
            MissingExtra: The provider's package is not installed.
            MissingKey: The provider requires an API key and none is set.
            UnknownModel: The provider cannot be determined from the name.
        """
        return self.adapter().source

    def adapter(self) -> "ChatModel":
        """Return the `Model` adapter that graphs call; the same object until an attribute changes."""
        # The environment's key is not a setting; a subclass may have `api_key` as a plain attribute.
        own_key = vars(self).get("api_key", self._api_key)
        explicit_values = {name: own_key if name == "api_key" else getattr(self, name) for name in SETTINGS}
        # 0 is a value of a setting; lists and dicts are copied, so that a later change in place is noticed.
        explicit = {
            name: value for name, value in explicit_values.items() if value not in (None, []) and value is not False
        }
        settings = {
            name: copy(value) if is_list(value) or is_object(value) else value
            for name, value in {**self.additional_params, **explicit}.items()
        }
        target = self.target()
        address = target.address(self.base_url)
        state = (
            target,
            address,
            target.key(self.api_key, address),
            self.response_format,
            dict(settings),
            self.interceptor,
            self.idle_timeout,
            os.getpid(),  # the connections of a model stay in the process that opened them
        )
        with _building:
            built = vars(self).get("_built")
            if built is None or built[0] != state:
                from crewgraph.llm.chat_model import ChatModel

                chat_model = open_chat_model(target, self._connection_settings(target, settings))
                adapter = ChatModel(
                    chat_model,
                    native_tools=self.supports_function_calling(),
                    stop=self.stop,
                    response_format=self.response_format,
                    on_answer=self._record_answer,
                    parameters=settings,
                    strict=target.provider.name == "openai",
                    limits=AnswerLimits.of(self.timeout, self.idle_timeout),
                    responses=self.responses,
                )
                built = vars(self)["_built"] = (state, adapter)
            return built[1]

    def _connection_settings(self, target: Target, settings: dict[str, Any]) -> dict[str, Any]:
        connection_settings = self.request_settings(settings)
        if self.interceptor is not None:
            connection_settings["interceptor"] = self.interceptor
        if not supports_stop_words(target.model):
            connection_settings.pop("stop", None)
        if "callbacks" in connection_settings:
            connection_settings["callbacks"] = _handlers(connection_settings["callbacks"], self.model)
        return connection_settings

    def set_callbacks(self, callbacks: Sequence[Any]) -> None:
        """Set LangChain callback handlers, replacing those of the same classes."""
        classes: set[type[Any]] = {type(handler) for handler in callbacks}
        self.callbacks = [*(handler for handler in self.callbacks or () if type(handler) not in classes), *callbacks]

    def invoke(self, input: Any, config: Any = None, **options: Any) -> Any:
        """Return the answer as a LangChain message."""
        return self.chat_model().invoke(input, config, **options)

    async def ainvoke(self, input: Any, config: Any = None, **options: Any) -> Any:
        """Return the answer as a LangChain message."""
        return await self.chat_model().ainvoke(input, config, **options)

    def batch(self, inputs: Sequence[Any], config: Any = None, **options: Any) -> list[Any]:
        """Return the answers to several inputs as LangChain messages."""
        return self.chat_model().batch(list(inputs), config, **options)

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> Any:
        """Return a Runnable: the model with bound tools of any kind."""
        return self.chat_model().bind_tools(tools, **options)

    def with_structured_output(self, schema: Any, **options: Any) -> Any:
        """Return a Runnable that produces structured output."""
        return self.chat_model().with_structured_output(schema, **options)

    # LangChain coerces callables to Runnables in `prompt | llm`.
    def __call__(self, input: Any, config: Any = None) -> Any:
        return self.invoke(input, config)

    def __or__(self, following: Any) -> Any:
        return self.chat_model() | following

    def __ror__(self, before: Any) -> Any:
        return before | self.chat_model()

    @overridable
    def call(
        self,
        messages: str | list[PlainDict],
        tools: list[PlainDict] | None = None,
        callbacks: list[Any] | None = None,
        available_functions: PlainDict | None = None,
        from_task: Any | None = None,
        from_agent: Any | None = None,
        response_model: Any | None = None,
    ) -> str | Any:
        """Answer a conversation.

        Args:
            messages: A prompt, or message dicts with `role` and `content`.
            tools: Functions in OpenAI's format.
            callbacks: LangChain callback handlers for this request.
            available_functions: Functions by tool name, to execute tool calls.
            from_task: The task that makes the call, for events only.
            from_agent: The agent that makes the call, for events only.
            response_model: A pydantic model for the answer; overrides `response_format`.

        Returns:
            The text, or an instance of the response model. If the model calls tools: the result of the first
            call as a string, or, without `available_functions`, a list of `RequestedToolCall`.

        Raises:
            ToolFailed: The model called a function that is not in `available_functions`.
            UnreadableAnswer: The answer does not match the response model.
        """
        from crewgraph.core.operations import drive

        return drive(
            self._answered(messages, tools, callbacks, available_functions, from_task, from_agent, response_model)
        )

    @overridable
    async def acall(
        self,
        messages: str | list[PlainDict],
        tools: list[PlainDict] | None = None,
        callbacks: list[Any] | None = None,
        available_functions: PlainDict | None = None,
        from_task: Any | None = None,
        from_agent: Any | None = None,
        response_model: Any | None = None,
    ) -> str | Any:
        """Answer a conversation without blocking the event loop; calls `call` if a subclass overrides it."""
        if override_of(self, "call") is not None:
            return await super().acall(
                messages, tools, callbacks, available_functions, from_task, from_agent, response_model
            )
        from crewgraph.core.operations import adrive

        return await adrive(
            self._answered(messages, tools, callbacks, available_functions, from_task, from_agent, response_model)
        )

    def _answered(
        self, messages: Any, tools: Any, callbacks: Any, functions: Any, task: Any, agent: Any, response_model: Any
    ) -> "Program[Any]":
        from crewgraph.core.operations import user_call
        from crewgraph.llm.asking import asking
        from crewgraph.llm.events import function_events

        response_format = response_model or self.response_format
        model = self._model_for(response_format, agent, task)
        config = _call_config(callbacks, self.model)
        reply = yield asking(model, read_messages(messages), read_tools(tools), (), config)
        function = self._requested_call(reply, functions)
        if function is None:
            return self._result(reply, response_format, demanded=response_model is not None)
        with function_events(self, reply["tool_calls"][0]["name"], function.keywords, agent, task) as completed:
            result = yield user_call(function)
            completed(result)
        return str(result)

    def supports_function_calling(self) -> bool:
        """Return whether the model supports tools."""
        try:
            target = self.target()
        except UnknownModel:
            return False
        return supports_tools(target.provider.name, target.model)

    def supports_stop_words(self) -> bool:
        """Return whether the model supports stop sequences; OpenAI's reasoning models and Responses API do not."""
        return supports_stop_words(self.model) and self.responses is None

    def supports_multimodal(self) -> bool:
        """Return whether the model accepts images."""
        return supports_images(self.model)

    def get_context_window_size(self) -> int:
        """Return how many tokens of the context window a program should fill, 85 %, as CrewAI does."""
        return (self.context_window_size or context_window(self.model)) * 85 // 100

    def __getstate__(self) -> PlainDict:
        """Drop the built chat model: copies connect for themselves."""
        return {name: value for name, value in self.__dict__.items() if name != "_built"}

    def __repr__(self) -> str:
        return f"{type(self).__name__}(model={self.model!r})"

    def _model_for(self, response_format: Any, agent: Any, task: Any) -> Model:
        """Return the model for one call, with fallbacks, events and hooks unless an enclosing call provides them."""
        adapter = self.adapter()
        primary = adapter if response_format is self.response_format else adapter.with_response_format(response_format)
        from crewgraph.llm import resolve
        from crewgraph.llm.fallback import FallbackModel

        model = FallbackModel([primary, *map(resolve.as_model, self.fallbacks)]) if self.fallbacks else primary
        if (ongoing := CALL.get().ongoing) is not None and ongoing.observed:
            return model
        from crewgraph.llm.requested import RequestedModel

        return RequestedModel(model=model, source=self, llm=self, agent=agent, task=task, in_agent=False)

    def _record_answer(self, message: Any, usage: Usage | None) -> None:
        self._track_token_usage_internal(usage or {})
        if self.responses is not None:
            self.responses.record_answer(message)

    def _result(self, reply: Reply, form: object, *, demanded: bool) -> object:
        """Convert a reply to what `call` returns; one that does not fit is an error if the call demanded the form."""
        if self.responses is not None and self.responses.parses_outputs:
            return responses_result(reply)
        if reply["tool_calls"]:
            return tool_calls(reply)
        text = text_of(reply["content"])
        if not (isinstance(form, type) and issubclass(form, BaseModel)):
            return text
        instance, problem = read_structure(text, form)
        if instance is not None:
            return instance
        if demanded:
            raise UnreadableAnswer(f"The answer does not match `{form.__name__}`: {problem}. The answer: {text!r}")
        _log.warning(
            "LLM(%r): the answer does not match `%s` and is returned as text: %s", self.model, form.__name__, problem
        )
        return text

    def _requested_call(self, reply: Reply, functions: PlainMapping | None) -> "partial[Any] | None":
        """Return the function of the first tool call, bound to its arguments; None if there is nothing to call."""
        if not reply["tool_calls"] or not functions or (self.responses is not None and self.responses.parses_outputs):
            return None
        request = reply["tool_calls"][0]
        name, args = request["name"], request["args"]
        if name not in functions:
            known = ", ".join(f"`{known}`" for known in functions)
            raise ToolFailed(
                f"The model `{self.model}` called the unknown function `{name}`. `available_functions` has {known}."
            )
        if isinstance(args, str):
            raise ToolFailed(
                f"The model `{self.model}` called `{name}` with arguments that are not a JSON object: {args}"
            )
        if len(reply["tool_calls"]) > 1:
            _log.warning("LLM(%r).call executes only the first of %d tool calls", self.model, len(reply["tool_calls"]))
        return partial(functions[name], **args)


def _call_config(callbacks: Sequence[Any] | None, model: str) -> Any:
    """Return the ambient config with additional callback handlers."""
    if not callbacks:
        return {}
    config_module = load("langchain_core.runnables.config")
    return config_module.merge_configs(config_module.ensure_config(), {"callbacks": _handlers(callbacks, model)})


def _handlers(callbacks: Sequence[Any], model: str) -> list[Any]:
    """Return the callbacks that are LangChain's; a warning names one that is not, such as one of LiteLLM's."""
    handler = load("langchain_core.callbacks").BaseCallbackHandler
    unsupported = [callback for callback in callbacks if not isinstance(callback, handler)]
    if unsupported:
        _log.warning(
            "LLM(%r): ignoring a callback of type `%s`, which is not a LangChain callback handler",
            model,
            type(unsupported[0]).__name__,
        )
    return [callback for callback in callbacks if isinstance(callback, handler)]
