"""Adapts LangChain chat models to `crewgraph.core.protocols.Model`."""

import json
import os
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from threading import Lock
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticSerializationError

from crewgraph.core.current import is_traced
from crewgraph.core.files import aexpanded, expanded
from crewgraph.core.loops.bridge import acall
from crewgraph.core.messages import Message, Reply, ToolRequest, ToolSpec, Usage
from crewgraph.core.plain import unstorable
from crewgraph.errors import ModelError
from crewgraph.extras import load
from crewgraph.llm.answer_limits import AnswerClock, AnswerLimits, with_answer_limits
from crewgraph.llm.call_model import as_plain_data, cut_at, read_answer, with_bytes
from crewgraph.llm.capabilities import has_strict_api, supports_stop_words, without_blank
from crewgraph.llm.conversation import openai_tool, text_of
from crewgraph.llm.errors import ProviderErrors
from crewgraph.llm.openai_clients import (
    UNPARSED,
    across_event_loops,
    client_of_loops,
    with_own_connections,
    with_plain_requests,
    with_provider_fields,
    with_streamed_usage,
)
from crewgraph.llm.provider_fields import KEY, join_parts
from crewgraph.llm.reasoning import without_reasoning
from crewgraph.llm.replies import Limit, ModelTurn, joined, message_in, structure_errors, whole_reply
from crewgraph.llm.strict_schema import strict_schema
from crewgraph.llm.tool_schemas import tools_for
from crewgraph.llm.usage import read_langchain_usage, read_usage
from crewgraph.llm.watching import WATCHERS, ModelRequest, answer_of_watcher, notify_watchers
from crewgraph.redaction import SecretRedactor, redacted_logger, secrets_of
from crewgraph.schema import PlainDict, PlainMapping

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig


__all__ = ["ChatModel"]


_log = redacted_logger(__name__)

_PROBE: ToolSpec = {
    "name": "probe",
    "description": "probe",
    "parameters": {"type": "object", "properties": {}},
}
_CACHED_BINDINGS = 64
_RETRIES = 2
_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens", "num_predict", "max_new_tokens")
_CACHED_MESSAGES = 512
_HANDLED_KEYS = {"tool_calls", "function_call", "parsed", "refusal"}
_EXCLUDED_PARAMETERS = (  # parts of parameter names that do not affect answers, or that are secret
    *("key", "token", "secret", "password", "url", "base", "endpoint", "header", "credential", "client"),
    *("model_name", "stream", "retries", "timeout", "callback"),
)


class ChatModel:
    """Adapter from a LangChain chat model, or a Runnable that ends in one, to `Model`."""

    source: Any
    """The wrapped Runnable."""

    def __init__(
        self,
        source: Any,
        *,
        native_tools: bool | None = None,
        stop: Sequence[str] = (),
        response_format: type[BaseModel] | PlainMapping | None = None,
        on_answer: Callable[[Any, Usage | None], None] | None = None,
        parameters: Mapping[str, Any] | None = None,
        settings: Mapping[str, Any] | None = None,
        strict: bool = False,
        limits: AnswerLimits | None = None,
    ) -> None:
        """Wrap a model.

        Args:
            source: The chat model, bare or wrapped by `bind`, `with_retry`, `with_fallbacks` or a sequence.
            native_tools: Whether to bind tools to it; None detects whether the model supports that.
            stop: Stop words of every request.
            response_format: The format of answers to requests without tools.
            on_answer: Called after each answer with LangChain's message and its usage.
            parameters: Parameters for `identity` that the model's class does not expose.
            settings: Further keywords of requests, such as `tool_choice`, in LangChain's form.
            strict: Whether the provider supports strict mode for response formats (`strict: true`).
            limits: The times for one answer; None for the default ones.
        """
        self.source = source
        self._strict, self._limits = strict, limits
        self._offers_tools = native_tools
        self._response_format = response_format
        self._on_answer = on_answer
        self._parameters = parameters
        self._settings = settings or {}
        base, kwargs = _base_of(source)
        self._blocks = all(map(_is_sync_only, _models_of(source)))
        self._takes_settings = any(map(_takes_any_setting, _models_of(source)))
        self._base = _readable(base)
        self._stop = list(dict.fromkeys([*stop, *(kwargs.get("stop") or _own_stop(self._base))]))
        self._names = [_name_of(_readable(model)) for model in _models_of(source)]
        self._name_attribute = _name_attribute(self._base)
        self._accepts_stop = (
            supports_stop_words(self.name)
            and getattr(self._base, "use_responses_api", None) is not True
            and _passes_keywords_on(source)
        )
        self._is_strict_api = has_strict_api(cast("type[object]", type(self._base)))
        self._user_must_begin = self._is_strict_api or _has_class(
            self._base, ("ChatGoogleGenerativeAI", "ChatVertexAI")
        )
        # Ollama's messages do not say where they come from when their stream has no end.
        is_ollama = any(kind.__module__.startswith("langchain_ollama.") for kind in type(self._base).__mro__)
        self._protocol = "ollama" if is_ollama else ""
        self._bindings: dict[tuple[str, bool], tuple[Any, PlainDict]] = {}
        self._latest: tuple[Sequence[ToolSpec], bool, tuple[Any, PlainDict]] | None = None
        self._process = os.getpid()
        self._structured: dict[type[BaseModel], ChatModel | None] = {}
        self._identity: PlainMapping | None = None

    @property
    def name(self) -> str:
        """The name of the model at its provider."""
        attribute = self._name_attribute  # pydantic takes long to say that there is none
        return self._names[0] if attribute is None else getattr(self._base, attribute, None) or _name_of(self._base)

    @property
    def identity(self) -> PlainMapping:
        """Class, name and parameters, without keys and addresses, which do not affect answers."""
        if self._identity is None:
            self._identity = self._build_identity()
        return self._identity

    def _build_identity(self) -> PlainMapping:
        parameters = {**(self._parameters or {}), **_parameters(self._base), **_base_of(self.source)[1]}
        identity = {key: as_plain_data(value) for key, value in parameters.items() if not _is_excluded(key)}
        identity = {key: value for key, value in identity.items() if value not in (None, [], {})}
        if self._stop:
            identity["stop"] = self._stop
        if self._response_format is not None:
            identity["response_format"] = _response_schema(self._response_format)
        if self._settings:
            identity["settings"] = as_plain_data(dict(self._settings))
        return {**identity, "class": type(self._base).__name__, "model": self.name}

    @property
    def native_tools(self) -> bool:
        """Whether the model supports native tool calls."""
        if self._offers_tools is None:
            self._offers_tools = _binds_tools(self.source, self._base)
        return self._offers_tools

    @property
    def retries(self) -> int:
        """How often the client retries a failed request."""
        max_retries = getattr(self._base, "max_retries", (self._parameters or {}).get("max_retries"))
        return max_retries if isinstance(max_retries, int) else _RETRIES

    def redactor(self) -> SecretRedactor:
        """Return what replaces the secrets of the model, and of those that it falls back to, in an error."""
        return SecretRedactor(secrets=set[str]().union(*map(secrets_of, _models_of(self.source))))

    def with_response_format(self, response_format: type[BaseModel] | PlainMapping | None) -> "ChatModel":
        """Return a copy with another response format."""
        return self._copy(response_format, self._settings)

    def with_settings(self, settings: Mapping[str, Any]) -> "ChatModel":
        """Return a copy whose requests have further keywords, such as `tool_choice`, in LangChain's form."""
        return self._copy(self._response_format, {**self._settings, **settings})

    def _copy(self, response_format: type[BaseModel] | PlainMapping | None, settings: Mapping[str, Any]) -> "ChatModel":
        return ChatModel(
            self.source,
            native_tools=self._offers_tools,
            stop=self._stop,
            response_format=response_format,
            on_answer=self._on_answer,
            parameters=self._parameters,
            settings=settings,
            strict=self._strict,
            limits=self._limits,
        )

    def for_structure(self, structure: type[BaseModel]) -> "ChatModel | None":
        """Return a copy that answers with an instance of a pydantic model; None if the model has no way of its own for it."""
        if structure not in self._structured:
            copy = self.with_response_format(structure)
            try:
                copy._runnable_for(())
            except (NotImplementedError, TypeError, ValueError):
                copy = None
            if len(self._structured) >= _CACHED_BINDINGS:
                self._structured.clear()
            self._structured[structure] = copy
        return self._structured[structure]

    def complete(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        stop: Sequence[str],
        config: "RunnableConfig",
    ) -> Reply:
        """Answer a conversation."""
        request = self._watched_request(messages, tools, stop) if WATCHERS else None
        if request is not None and (reply := answer_of_watcher(request)) is not None:
            return reply
        name, (runnable, bound) = self.name, self._runnable_for(tools)
        with ProviderErrors(name, self.redactor, AnswerClock(name, self._limits)):
            sent = expanded(messages)
            turn = ModelTurn(
                _message_cache.convert(_user_first(sent) if self._user_must_begin else sent), self._protocol
            )
            run_config = _named(config, name, self._takes_settings, self.redactor)
            keywords = {**bound, **self._stop_keywords(stop)}
            while turn.goes_on:
                try:
                    turn.add(runnable.invoke(turn.messages, run_config, **keywords))
                except structure_errors() as error:
                    turn.add(message_in(error))
        reply = self._reply(turn, stop, structured=not tools)
        return reply if request is None else self._notified(request, reply)

    async def acomplete(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        stop: Sequence[str],
        config: "RunnableConfig",
    ) -> Reply:
        """Answer a conversation."""
        request = self._watched_request(messages, tools, stop) if WATCHERS else None
        if request is not None and (reply := answer_of_watcher(request)) is not None:
            return reply
        name, (runnable, bound) = self.name, self._runnable_for(tools, across_loops=True)
        with ProviderErrors(name, self.redactor, AnswerClock(name, self._limits)):
            sent = await aexpanded(messages)
            turn = ModelTurn(
                _message_cache.convert(_user_first(sent) if self._user_must_begin else sent), self._protocol
            )
            run_config = _named(config, name, self._takes_settings, self.redactor)
            keywords = {**bound, **self._stop_keywords(stop)}
            while turn.goes_on:
                try:
                    if self._blocks:
                        turn.add(await acall(runnable.invoke, turn.messages, run_config, **keywords))
                    else:
                        turn.add(await runnable.ainvoke(turn.messages, run_config, **keywords))
                except structure_errors() as error:
                    turn.add(message_in(error))
        reply = self._reply(turn, stop, structured=not tools)
        return reply if request is None else self._notified(request, reply)

    def _watched_request(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], stop: Sequence[str]
    ) -> ModelRequest:
        return ModelRequest(self.name, messages, tools, stop, self._base, is_own=False)

    def _notified(self, request: ModelRequest, reply: Reply) -> Reply:
        notify_watchers(request, reply)
        return reply

    def _runnable_for(self, tools: Sequence[ToolSpec], *, across_loops: bool = False) -> tuple[Any, PlainDict]:
        """Return the model with tools, and keywords to call it with."""
        if self._process != os.getpid():  # forked: the models that are prepared use connections of the parent
            self._process, self._bindings, self._latest = os.getpid(), {}, None
        latest = self._latest
        if latest is not None and latest[0] is tools and latest[1] is across_loops:  # of the same agent loop
            return latest[2]
        prepared = self._prepared(tools, across_loops)
        self._latest = (tools, across_loops, prepared) if isinstance(tools, tuple) else None
        return prepared

    def _prepared(self, tools: Sequence[ToolSpec], across_loops: bool) -> tuple[Any, PlainDict]:
        key = (json.dumps(tools, sort_keys=True, default=str) if tools else "", across_loops)
        if key not in self._bindings:
            if len(self._bindings) >= _CACHED_BINDINGS:
                self._bindings.clear()
            source = _map_model(self.source, with_streamed_usage)
            source = _map_model(source, with_own_connections)
            if across_loops:
                source = _map_model(source, partial(across_event_loops, make_client=cache(client_of_loops)))
            source = _map_model(source, with_provider_fields)
            source = _map_model(source, with_plain_requests)
            source = _map_model(source, partial(with_answer_limits, on_loop=across_loops))
            self._bindings[key] = _unbound(self._bind(source, tools))
        return self._bindings[key]

    def _bind(self, source: Any, tools: Sequence[ToolSpec]) -> Any:
        if tools:
            return _map_model(source, _tool_binder(tools, self._settings))
        if self._settings:
            settings = {name: value for name, value in self._settings.items() if name != "tool_choice"}
            source = _map_model(source, lambda model: model.bind(**settings))
        if self._response_format is None:
            return source
        if isinstance(self._response_format, Mapping):
            if self._is_strict_api and self._response_format.get("type") == "json_object":
                _log.warning(
                    "model `%s`: `response_format={'type': 'json_object'}` is left out, because its API has no such format; "
                    "ask for JSON in the prompt, or pass a pydantic model",
                    self.name,
                )
                return source
            return source.bind(response_format=dict(self._response_format))
        strict = strict_schema(self._response_format) if self._strict else None
        schema = _object_schema(self._response_format) if strict is None else strict
        schema.setdefault("title", self._response_format.__name__)
        options = {} if strict is None else {"strict": True}
        return _map_model(source, lambda model: _structured(model, schema, options))

    def _stop_keywords(self, stop: Sequence[str]) -> dict[str, Any]:
        stop_words = list(dict.fromkeys([*self._stop, *stop]))
        if self._is_strict_api:
            stop_words = without_blank(stop_words)
        return {"stop": stop_words} if stop and stop_words and self._accepts_stop else {}

    def _reply(self, turn: ModelTurn, stop: Sequence[str], *, structured: bool) -> Reply:
        parts = [_read_message(message) for message in turn.answers]
        if self._on_answer is not None:
            for message, part in zip(turn.answers, parts, strict=True):
                self._on_answer(message, part["usage"])
        reply = without_reasoning(parts[0] if len(parts) == 1 else joined(parts))
        if len(self._names) > 1 and (answered_by := _answering_model(turn.answers[-1], self._names)) != self.name:
            reply["model"] = answered_by
        structure = self._response_format if structured and isinstance(self._response_format, type) else None
        stop_words = [
            *self._stop,
            *stop,
        ]  # not every server that takes them keeps to them; what comes before one is whole
        if turn.ending.verdict != "whole" and not _ends_before(reply, stop_words):
            name = reply.get("model", self.name)
            reply = whole_reply(reply, turn.ending, name, limit=self._limit(), structured=structure is not None)
        if structure is not None:
            reply = _structured_reply(reply, structure)
        return {**reply, "content": cut_at(reply["content"], stop_words)} if stop_words else reply

    def _limit(self) -> Limit | None:
        """Return the setting by which the program limits the length of answers, if it has one."""
        own: object = getattr(self._base, "model_fields_set", None) if self._parameters is None else None
        given = {
            name: getattr(self._base, name) for name in _LIMITS if isinstance(own, (set, frozenset)) and name in own
        }
        limits = {**given, **(self._parameters or {}), **_base_of(self.source)[1], **self._settings}
        return next(((name, limits[name]) for name in _LIMITS if limits.get(name)), None)


def _ends_before(reply: Reply, stop_words: Sequence[str]) -> bool:
    """Whether a reply is a text that goes on after a stop word."""
    return not reply["tool_calls"] and bool(stop_words) and cut_at(reply["content"], stop_words) != reply["content"]


def _is_sync_only(model: object) -> bool:
    """Whether a LangChain model has no async code of its own: LangChain would run it in a thread that nothing can leave."""
    models = load("langchain_core.language_models")
    kind: Any = next((base for base in (models.BaseChatModel, models.LLM) if isinstance(model, base)), None)
    name = "_acall" if kind is models.LLM else "_agenerate"
    methods = (name, "_astream")
    return kind is not None and all(getattr(type(model), name) is getattr(kind, name) for name in methods)


def _has_class(model: object, names: Sequence[str]) -> bool:
    return any(kind.__name__ in names for kind in type(model).__mro__)


def _user_first(messages: Sequence[Message]) -> Sequence[Message]:
    """Return messages without empty instructions, in which the user speaks first, for providers that insist on both."""
    kept = [message for message in messages if message["role"] != "system" or message["content"]]
    first = next((number for number, message in enumerate(kept) if message["role"] != "system"), len(kept))
    if first < len(kept) and kept[first]["role"] != "assistant":
        return messages if len(kept) == len(messages) else kept
    return [*kept[:first], {"role": "user", "content": "Begin."}, *kept[first:]]


def _named(
    config: "RunnableConfig", name: str, takes_settings: bool, redactor: Callable[[], SecretRedactor]
) -> "RunnableConfig":
    run_config: RunnableConfig = {**config, "run_name": name}  # traces show the model, not its class
    # In a graph's run callbacks are known; a request outside of one may get LangSmith's by the environment.
    if is_traced(config) or "configurable" not in config:
        from crewgraph.core.tracing import callbacks_with_redaction

        run_config["callbacks"] = callbacks_with_redaction(config, redactor)
    if takes_settings:
        settings: PlainMapping = config.get("configurable") or {}
        run_config["configurable"] = {key: settings[key] for key in settings if not _is_of_graph(key)}
    return run_config


def _takes_any_setting(model: Any) -> bool:
    """Whether a model takes all of a run's `configurable` as its parameters: `init_chat_model(configurable_fields="any")`."""
    attributes: PlainMapping = getattr(model, "__dict__", {})
    return attributes.get("_configurable_fields") == "any" and not attributes.get("_config_prefix")


def _readable(model: Any) -> Any:
    """Return a model whose attributes can be read during a run: one that takes any setting would take all of the run's then."""
    if not _takes_any_setting(model):
        return model
    copied: Any = object.__new__(cast("type[object]", type(model)))
    vars(copied).update(vars(model), _model_params=partial(_own_settings, model._model_params))
    return copied


def _own_settings(settings_in: Callable[[object], PlainMapping], config: object) -> PlainDict:
    return {key: value for key, value in settings_in(config).items() if not _is_of_graph(key)}


_PLACE = ("thread_id", "checkpoint_id", "checkpoint_ns", "checkpoint_map")


def _is_of_graph(key: str) -> bool:
    """Whether a key of `configurable` tells a graph where its run is, rather than a model how to answer."""
    return key in _PLACE or key.startswith("__")


def _unbound(runnable: Any) -> tuple[Any, PlainDict]:
    """Return what a binding binds keywords to, and the keywords: without it, no config has to be merged for a request."""
    kind: Any = load("langchain_core.runnables.base").RunnableBindingBase
    own = type(cast("object", runnable))
    if isinstance(runnable, kind) and all(getattr(own, name) is getattr(kind, name) for name in _BINDING_METHODS):
        binding: Any = runnable
        if not binding.config and not binding.config_factories:
            inner, keywords = _unbound(binding.bound)
            return inner, {**keywords, **binding.kwargs}
    return runnable, {}


_BINDING_METHODS = ("invoke", "ainvoke", "_merge_configs")


def _base_of(source: Any) -> tuple[object, PlainDict]:
    """Return the model at the end of a Runnable, and the keywords bound on the way."""
    runnables = load("langchain_core.runnables")
    bound: dict[str, object] = {}
    while True:
        if isinstance(source, load("langchain_core.runnables.base").RunnableBindingBase):
            bound = {**source.kwargs, **bound}
            source = source.bound
        elif isinstance(source, runnables.RunnableWithFallbacks):
            source = source.runnable
        elif isinstance(source, runnables.RunnableSequence):
            source = source.last
        elif isinstance(source, load("langchain_core.runnables.configurable").DynamicRunnable):
            source = source.default
        else:
            return source, bound


def _passes_keywords_on(source: Any) -> bool:
    """Return whether keywords of a request reach a language model: functions and the first steps of chains do not take them."""
    runnables = load("langchain_core.runnables")
    if isinstance(source, runnables.RunnableWithFallbacks):
        return all(map(_passes_keywords_on, (source.runnable, *source.fallbacks)))
    if isinstance(source, load("langchain_core.runnables.base").RunnableBindingBase):
        return _passes_keywords_on(source.bound)
    return not isinstance(source, (runnables.RunnableSequence, runnables.RunnableLambda))


def _models_of(source: Any) -> list[object]:
    """Return the models that may answer: the primary model, then its fallbacks."""
    runnables = load("langchain_core.runnables")
    if isinstance(source, runnables.RunnableWithFallbacks):
        return [model for runnable in (source.runnable, *source.fallbacks) for model in _models_of(runnable)]
    if isinstance(source, load("langchain_core.runnables.base").RunnableBindingBase):
        return _models_of(source.bound)
    return _models_of(source.last) if isinstance(source, runnables.RunnableSequence) else [source]


def _name_of(model: object) -> str:
    attribute = _name_attribute(model)
    if attribute is not None:
        return getattr(model, attribute)
    return str(getattr(model, "_llm_type", None) or type(model).__name__)


def _name_attribute(model: object) -> str | None:
    """Return the attribute of a model that holds its name, if it has one."""
    for attribute in ("model_name", "model", "model_id", "deployment_name", "azure_deployment"):
        if isinstance(name := getattr(model, attribute, None), str) and name:
            return attribute
    return None


def _answering_model(answer: object, names: Sequence[str]) -> str:
    """Return the name of the model that produced an answer; providers may append a date to it."""
    metadata: Mapping[str, object] = getattr(answer, "response_metadata", None) or {}
    reported = str(metadata.get("model_name") or metadata.get("model") or names[0])
    return max((name for name in names if reported.startswith(name)), key=len, default=reported)


def _own_stop(base: object) -> list[str]:
    stop: object = getattr(base, "stop", None) or getattr(base, "stop_sequences", None)
    if isinstance(stop, str):
        return [stop]
    return [str(word) for word in cast("list[object]", stop)] if isinstance(stop, (list, tuple)) else []


def _parameters(base: object) -> Mapping[str, object]:
    parameters = getattr(base, "_identifying_params", None)
    return cast("PlainMapping", parameters) if isinstance(parameters, Mapping) else {}


def _is_excluded(parameter: str) -> bool:
    return parameter.startswith("_") or (
        "tokens" not in parameter and any(word in parameter.lower() for word in _EXCLUDED_PARAMETERS)
    )


def _response_schema(response_format: type[BaseModel] | PlainMapping) -> object:
    return (
        as_plain_data(response_format) if isinstance(response_format, Mapping) else response_format.model_json_schema()
    )


def _object_schema(model: type[BaseModel]) -> PlainDict:
    """Return a model's schema with its fields at the top: that of a recursive one only refers to a definition there."""
    schema = model.model_json_schema()
    name = str(schema.pop("$ref", "")).rpartition("/")[2]
    return {**schema["$defs"][name], **schema} if name else schema


def _bind_tools(owner: object) -> object:
    return getattr(owner, "bind_tools", None)


def _structured(model: Any, schema: PlainDict, options: Mapping[str, bool]) -> object:
    if not hasattr(model, "with_structured_output"):
        raise NotImplementedError(f"`{_name_of(model)}` has no `with_structured_output`")
    return _without_parser(model.with_structured_output(schema, include_raw=True, **options))


def _without_parser(chain: Any) -> object:
    """Return the model of a structured-output chain without its parser: answers are parsed here."""
    runnables = load("langchain_core.runnables")
    steps: Any = getattr(getattr(chain, "first", None), "steps__", None) or {}
    model: Any = steps.get("raw", chain)
    # Models that think cannot be made to call a tool: there LangChain adds a step that fails if they answer with text.
    while isinstance(model, runnables.RunnableSequence) and isinstance(model.last, runnables.RunnableLambda):
        model = model.first if len(model.steps) == 2 else runnables.RunnableSequence(*model.steps[:-1])
    return model


def _binds_tools(source: object, base: object) -> bool:
    chat_class = load("langchain_core.language_models").BaseChatModel
    if isinstance(base, chat_class) and _bind_tools(type(base)) is chat_class.bind_tools:
        return False
    if not hasattr(base, "bind_tools"):
        return False
    try:
        _map_model(source, _tool_binder([_PROBE]))
    except NotImplementedError:
        return False
    return True


def _tool_binder(tools: Sequence[ToolSpec], settings: Mapping[str, Any] | None = None) -> Callable[[Any], Any]:
    return lambda model: model.bind_tools([openai_tool(tool) for tool in tools_for(model, tools)], **(settings or {}))


def _map_model(source: Any, transform: Callable[[Any], Any]) -> object:
    """Apply a function to the model at the end of a Runnable and to its fallbacks, keeping all wrappers."""
    runnables = load("langchain_core.runnables")
    if isinstance(source, runnables.RunnableWithFallbacks):
        fallbacks = [_map_model(fallback, transform) for fallback in source.fallbacks]
        return source.model_copy(update={"runnable": _map_model(source.runnable, transform), "fallbacks": fallbacks})
    if isinstance(source, runnables.RunnableSequence):
        return runnables.RunnableSequence(*source.steps[:-1], _map_model(source.last, transform), name=source.name)
    if isinstance(source, load("langchain_core.runnables.base").RunnableBindingBase):
        bound = _map_model(source.bound, transform)
        return source.model_copy(update={"bound": bound, "kwargs": _with_tools_of(bound, source.kwargs)})
    if isinstance(source, load("langchain_core.runnables.configurable").DynamicRunnable):
        return _map_choice(source, transform)
    return _map_made(source, transform) if _is_made_for_each_request(source) else transform(source)


def _map_choice(source: Any, transform: Callable[[Any], Any]) -> object:
    """Apply a function to all models that one made by `configurable_fields` or `configurable_alternatives` chooses among."""
    runnables = load("langchain_core.runnables")
    default: Any = _map_model(source.default, transform)
    if hasattr(source, "alternatives"):
        mapped = {
            name: _map_model(other, transform) if isinstance(other, runnables.Runnable) else other
            for name, other in source.alternatives.items()
        }
        return source.model_copy(update={"default": default, "alternatives": mapped})
    if isinstance(default, type(source.default)):
        return source.model_copy(update={"default": default})
    # The fields are the model's own, not those of what it is wrapped in.
    if isinstance(default, runnables.RunnableBinding) and isinstance(default.bound, type(source.default)):
        return source.model_copy(update={"default": default.bound}).bind(**default.kwargs)
    return default


def _map_made(source: Any, transform: Callable[[Any], Any]) -> object:
    """Apply a function to each model that one of `init_chat_model(configurable_fields=...)` makes for a request."""

    def made(config: "RunnableConfig | None" = None) -> object:
        return _map_model(source._model(config), transform)

    copied: Any = object.__new__(cast("type[object]", type(source)))
    vars(copied).update(vars(source), _model=made)
    return copied


def _is_made_for_each_request(model: object) -> bool:
    attributes: PlainMapping = getattr(model, "__dict__", {})
    return "_configurable_fields" in attributes and callable(getattr(type(model), "_model", None))


def _with_tools_of(bound: object, keywords: PlainDict) -> PlainDict:
    """Return the keywords of a binding whose own tools come after those of what it binds, instead of replacing them."""
    own: object = keywords.get("tools")
    inner: object = _base_of(bound)[1].get("tools") if own else None
    if not (isinstance(inner, list) and isinstance(own, list)) or inner == own:
        return keywords
    return {**keywords, "tools": [*cast("list[object]", inner), *cast("list[object]", own)]}


class _MessageCache:
    """Cache of converted messages: an agent loop sends the same ones again with every request."""

    def __init__(self) -> None:
        self._lock = Lock()
        # Holding the message keeps its id from being reused.
        self._known: OrderedDict[int, tuple[Message, object, object]] = OrderedDict()

    def convert(self, messages: Sequence[Message]) -> list[Any]:
        message_types = load("langchain_core.messages")
        return [self._convert(message_types, message) for message in messages]

    def _convert(self, message_types: object, message: Message) -> object:
        cached = self._known.get(id(message))
        if cached is None or cached[0] is not message or cached[1] is not message["content"]:
            cached = message, message["content"], _langchain_message(message_types, message)
            with self._lock:
                self._known[id(message)] = cached
                if len(self._known) > _CACHED_MESSAGES:
                    self._known.popitem(last=False)
        return cached[2]


_message_cache = _MessageCache()


def _langchain_message(message_types: Any, message: Message) -> object:
    content = message["content"]
    match message["role"]:
        case "system":
            return message_types.SystemMessage(content)
        case "user":
            return message_types.HumanMessage(content)
        case "assistant":
            calls = [_langchain_call(request) for request in message.get("tool_calls", ())]
            extra = with_bytes(message.get("extra", {}))
            return message_types.AIMessage(with_bytes(content), tool_calls=calls, additional_kwargs=extra)
        case "tool":
            return message_types.ToolMessage(
                content, tool_call_id=message.get("tool_call_id", ""), name=message.get("name")
            )
        case role:
            raise ModelError(f"Unknown message role `{role}`. Use one of: system, user, assistant, tool.")


def _langchain_call(request: ToolRequest) -> dict[str, object]:
    args = request["args"]
    # Arguments that are not JSON are wrapped in a dict, which every provider accepts.
    return {
        "id": request["id"],
        "name": request["name"],
        "args": {"invalid": args} if isinstance(args, str) else args,
    }


def _read_message(answer: Any) -> Reply:
    if not hasattr(answer, "usage_metadata"):
        return read_answer(answer)  # the string of a text completion model
    usage = read_langchain_usage(answer.usage_metadata)
    if usage is None:
        metadata = answer.response_metadata
        usage = read_usage(metadata.get("token_usage")) or read_usage(metadata.get("usage"))
    calls = [*answer.tool_calls, *answer.invalid_tool_calls]
    extra = {
        name: as_plain_data(value)
        for name, value in answer.additional_kwargs.items()
        if name not in _HANDLED_KEYS and unstorable(value) is None
    }
    content = answer.content
    if isinstance(content, list):  # some repeat the arguments of a tool call, which `tool_calls` holds
        content = [block for block in cast("list[object]", content) if unstorable(block) is None]
    requests = [_request(call, number) for number, call in enumerate(calls)]
    if isinstance(parts := extra.get(KEY), list):
        extra[KEY] = join_parts(cast("list[PlainDict]", parts), requests)
    return {
        "content": as_plain_data(content),
        "tool_calls": requests,
        "usage": usage,
        "extra": {name: value for name, value in extra.items() if value is not None},
        "metadata": answer.response_metadata,
    }


def _request(call: PlainMapping, number: int) -> ToolRequest:
    args = call.get("args")
    return {
        "id": call.get("id") or f"call_{number}",
        "name": call.get("name") or "",
        "args": cast("PlainDict", args) if isinstance(args, dict) else str(args or "").removeprefix(UNPARSED),
    }


def _structured_reply(reply: Reply, structure: type[BaseModel]) -> Reply:
    """Return a structured answer as JSON text; some providers send it as the arguments of a tool call."""
    if reply["tool_calls"] and not text_of(reply["content"]).strip():
        args = reply["tool_calls"][0]["args"]
        reply = {**reply, "content": args if isinstance(args, str) else json.dumps(args, ensure_ascii=False)}
    content = reply["content"]
    return {
        **reply,
        "content": _as_dumped(content, structure) if isinstance(content, str) else content,
        "tool_calls": [],
    }


def _as_dumped(text: str, structure: type[BaseModel]) -> str:
    """Return JSON as pydantic writes it; unchanged if it does not fit or a field would be lost."""
    try:
        instance = structure.model_validate_json(text)
        dumped = instance.model_dump_json(by_alias=True)
        lossless = structure.model_validate_json(dumped) == instance
    except (PydanticSerializationError, RecursionError, ValidationError):
        return text
    written, kept = json.loads(text), json.loads(dumped)
    if isinstance(written, dict) and not cast("PlainDict", written).keys() <= kept.keys():
        return text
    return dumped if lossless else text
