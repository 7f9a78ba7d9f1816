"""Adapts LangChain chat models to `crewgraph.core.protocols.Model`."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import cache, partial
from typing import Any, cast

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import StructuredTool
from pydantic import BaseModel, RootModel, ValidationError
from pydantic_core import PydanticSerializationError

from crewgraph.core.current import is_traced
from crewgraph.core.loops.bridge import acall
from crewgraph.core.messages import Message, Reply, ToolRequest, ToolSpec, Usage
from crewgraph.core.operations import Do, Program, adrive, drive
from crewgraph.core.plain import unstorable
from crewgraph.errors import ModelError
from crewgraph.llm.answer_limits import AnswerClock, AnswerLimits
from crewgraph.llm.base import WatchedModel
from crewgraph.llm.call_model import as_plain_data, cut_at, read_answer, with_bytes
from crewgraph.llm.capabilities import has_strict_api, supports_stop_words, without_blank
from crewgraph.llm.conversation import aexpanded, expanded, openai_tool, text_of
from crewgraph.llm.errors import ProviderErrors
from crewgraph.llm.provider_clients import (
    client_of_loops,
    prepared,
    status_errors,
    with_completion_limit,
)
from crewgraph.llm.provider_fields import KEY, UNPARSED, join_parts
from crewgraph.llm.reasoning import without_reasoning
from crewgraph.llm.replies import Limit, ModelTurn, joined, message_in, structure_errors, whole_reply
from crewgraph.llm.responses import Responses
from crewgraph.llm.runnables import is_sync_only, leaves, map_models, model_of_run, without_parser
from crewgraph.llm.schemas import strict_schema, tools_for
from crewgraph.llm.usage import read_langchain_usage, read_usage
from crewgraph.redaction import SecretRedactor, redacted_logger, secrets_of
from crewgraph.schema import PlainDict, PlainMapping, is_list, is_mapping, is_object

_log = redacted_logger(__name__)

_PROBE: ToolSpec = {
    "name": "probe",
    "description": "probe",
    "parameters": {"type": "object", "properties": {}},
}
_CACHED_BINDINGS = 64
_RETRIES = 2
_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens", "num_predict", "max_new_tokens")
_BEGUN_BY_USERS = ("ChatGoogleGenerativeAI", "ChatVertexAI")
_HANDLED_KEYS = {"tool_calls", "function_call", "parsed", "refusal"}
_EXCLUDED_PARAMETERS = (  # parts of parameter names that do not affect answers, or that are secret
    *("key", "token", "secret", "password", "url", "base", "endpoint", "header", "credential", "client"),
    *("model_name", "stream", "retries", "timeout", "callback"),
)


class ChatModel(WatchedModel):
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
        responses: Responses | None = None,
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
            responses: The state of OpenAI's Responses API, if it is used.
        """
        self.source = source
        self._strict, self._limits, self._responses = strict, limits, responses
        self._offers_tools = native_tools
        self._response_format = response_format
        self._on_answer = on_answer
        self._parameters = parameters
        self._settings = settings or {}
        self._leaves = leaves(source)
        self._bound = self._leaves[0].keywords
        models: list[object] = [model_of_run(leaf.model) for leaf in self._leaves]
        self._base = models[0]
        self._request_source = (self._base, False)
        self._blocks = all(map(is_sync_only, models))
        self._stop = list(dict.fromkeys([*stop, *(self._bound.get("stop") or _own_stop(self._base))]))
        self._names = list(map(_name_of_model, models))
        self._accepts_stop = (
            supports_stop_words(self.name)
            and getattr(self._base, "use_responses_api", None) is not True
            and all(leaf.takes_keywords for leaf in self._leaves)
        )
        kinds = type(self._base).__mro__
        self._is_strict_api = has_strict_api(type(self._base))
        self._user_must_begin = self._is_strict_api or any(kind.__name__ in _BEGUN_BY_USERS for kind in kinds)
        # Ollama's messages do not say where they come from when their stream has no end.
        self._protocol = "ollama" if any(kind.__module__.startswith("langchain_ollama.") for kind in kinds) else ""
        self._bindings: dict[tuple[str, bool], Any] = {}
        self._process = os.getpid()
        self._structured: dict[type[BaseModel], ChatModel | None] = {}
        self._identity: PlainMapping | None = None

    @property
    def name(self) -> str:
        """The name of the model at its provider."""
        return _name_of_model(model_of_run(self._leaves[0].model))

    @property
    def identity(self) -> PlainMapping:
        """Class, name and parameters, without keys and addresses, which do not affect answers."""
        if self._identity is None:
            self._identity = self._build_identity()
        return self._identity

    def _build_identity(self) -> PlainMapping:
        own: object = getattr(self._base, "_identifying_params", None)
        parameters = {**(self._parameters or {}), **(own if is_mapping(own) else {}), **self._bound}
        identity = {key: as_plain_data(value) for key, value in parameters.items() if not _is_excluded(key)}
        identity = {key: value for key, value in identity.items() if value not in (None, [], {})}
        if self._stop:
            identity["stop"] = self._stop
        if self._response_format is not None:
            form = self._response_format
            identity["response_format"] = as_plain_data(form) if isinstance(form, Mapping) else form.model_json_schema()
        if self._settings:
            identity["settings"] = as_plain_data(dict(self._settings))
        return {**identity, "class": type(self._base).__name__, "model": self.name}

    @property
    def native_tools(self) -> bool:
        """Whether the model supports native tool calls."""
        if self._offers_tools is None:
            self._offers_tools = _binds_tools(self.source)
        return self._offers_tools

    @property
    def retries(self) -> int:
        """How often the client retries a failed request."""
        max_retries = getattr(self._base, "max_retries", (self._parameters or {}).get("max_retries"))
        return max_retries if isinstance(max_retries, int) else _RETRIES

    def redactor(self) -> SecretRedactor:
        """Return what replaces the secrets of the model, and of those that it falls back to, in an error."""
        return SecretRedactor(secrets=set[str]().union(*(secrets_of(leaf.model) for leaf in self._leaves)))

    def with_response_format(self, response_format: type[BaseModel] | PlainMapping | None) -> "ChatModel":
        """Return a copy with another response format."""
        return self._copy(response_format, self._settings)

    def with_settings(self, settings: Mapping[str, Any]) -> "ChatModel":
        """Return a copy whose requests have further keywords, such as `tool_choice`, in LangChain's form."""
        return self._copy(self._response_format, {**self._settings, **settings})

    def _copy(self, response_format: type[BaseModel] | PlainMapping | None, settings: Mapping[str, Any]) -> "ChatModel":
        own = copy(self)
        own._response_format, own._settings = response_format, settings
        own._bindings, own._structured, own._identity = {}, {}, None
        return own

    def for_structure(self, structure: type[BaseModel]) -> "ChatModel | None":
        """Return a copy that answers with an instance of a pydantic model; None if the model has no way of its own for it."""
        if structure not in self._structured:
            structured = self.with_response_format(structure)
            try:
                structured._runnable_for(())
            except (NotImplementedError, TypeError, ValueError):
                structured = None
            if len(self._structured) >= _CACHED_BINDINGS:
                self._structured.clear()
            self._structured[structure] = structured
        return self._structured[structure]

    def _complete(self, *request: Any) -> Reply:
        return drive(self._answer(*request, across_loops=False))

    async def _acomplete(self, *request: Any) -> Reply:
        return await adrive(self._answer(*request, across_loops=True))

    def _answer(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        stop: Sequence[str],
        config: RunnableConfig,
        *,
        across_loops: bool,
    ) -> Program[Reply]:
        name, runnable = self.name, self._runnable_for(tools, across_loops)
        with ProviderErrors(name, self.redactor, AnswerClock(name, self._limits)):
            sent = yield Do(expanded, aexpanded, messages)
            turn, run_config, keywords = self._turn(sent, stop, config, name)
            while turn.goes_on:
                ask = partial(acall, runnable.invoke) if self._blocks else runnable.ainvoke
                try:
                    message = yield Do(
                        partial(runnable.invoke, **keywords), partial(ask, **keywords), turn.messages, run_config
                    )
                    turn.add(message)
                except structure_errors() as error:
                    turn.add(message_in(error))
                except status_errors() as error:
                    runnable = self._with_other_limit(error, tools, across_loops)
        return self._reply(turn, stop, structured=not tools)

    def _turn(
        self, messages: Sequence[Message], stop: Sequence[str], config: RunnableConfig, name: str
    ) -> tuple[ModelTurn, RunnableConfig, PlainDict]:
        """Return the conversation to send, and the config and keywords to send it with."""
        sent = list(map(_langchain_message, _user_first(messages) if self._user_must_begin else messages))
        run_config: RunnableConfig = {**config, "run_name": name}  # traces show the model, not its class
        # In a graph's run callbacks are known; a request outside of one may get LangSmith's by the environment.
        if is_traced(config) or "configurable" not in config:
            from crewgraph.core.tracing import callbacks_with_redaction

            run_config["callbacks"] = callbacks_with_redaction(config, self.redactor)
        stop_words = list(dict.fromkeys([*self._stop, *stop]))
        if self._is_strict_api:
            stop_words = without_blank(stop_words)
        keywords = {"stop": stop_words} if stop and stop_words and self._accepts_stop else {}
        if self._responses is not None:
            keywords |= self._responses.keywords
            if reasoning := self._responses.reasoning:
                sent = [AIMessage([*reasoning]), *sent]
        return ModelTurn(sent, self._protocol), run_config, keywords

    def _runnable_for(self, tools: Sequence[ToolSpec], across_loops: bool = False) -> Any:
        """Return the model with tools."""
        if self._process != os.getpid():  # forked: the models that are prepared use connections of the parent
            self._process, self._bindings = os.getpid(), {}
        key = (json.dumps(tools, sort_keys=True, default=str) if tools else "", across_loops)
        if key not in self._bindings:
            if len(self._bindings) >= _CACHED_BINDINGS:
                self._bindings.clear()
            make_client = cache(client_of_loops) if across_loops else None
            source = map_models(self.source, partial(prepared, make_client=make_client))
            self._bindings[key] = self._bind(source, tools)
        return self._bindings[key]

    def _with_other_limit(self, error: Exception, tools: Sequence[ToolSpec], across_loops: bool) -> Any:
        """Return the model for a server that wants `max_completion_tokens` for `max_tokens`; else raise its error."""
        sends_it = any(with_completion_limit(leaf.model) is not leaf.model for leaf in self._leaves)
        if "max_completion_tokens" not in str(error) or not sends_it:
            raise error
        self.source = map_models(self.source, with_completion_limit)
        self._leaves, self._bindings = leaves(self.source), {}
        return self._runnable_for(tools, across_loops)

    def _bind(self, source: Any, tools: Sequence[ToolSpec]) -> Any:
        if tools:
            return map_models(source, _tool_binder(tools, self._settings))
        if self._settings:
            settings = {name: value for name, value in self._settings.items() if name != "tool_choice"}
            source = map_models(source, lambda model: model.bind(**settings))
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
        if RootModel in self._response_format.__mro__:
            return self._bind_root(source, self._response_format)
        strict = strict_schema(self._response_format) if self._strict else None
        schema = _object_schema(self._response_format) if strict is None else strict
        schema.setdefault("title", self._response_format.__name__)
        options = {} if strict is None else {"strict": True}
        return map_models(source, lambda model: _structured(model, schema, options))

    def _bind_root(self, source: Any, root: type[BaseModel]) -> Any:
        if not hasattr(self._base, "root_client"):
            raise ModelError(
                f"the model `{self.name}` answers with objects, and `{root.__name__}` is a `RootModel`. Pass a model with a "
                "field for its value, such as `items: list[Item]`, or ask for JSON in the prompt."
            )
        schema = {"name": root.__name__, "schema": root.model_json_schema()}
        return source.bind(response_format={"type": "json_schema", "json_schema": schema})

    def _reply(self, turn: ModelTurn, stop: Sequence[str], *, structured: bool) -> Reply:
        parts = [_reply_of(message) for message in turn.answers]
        if self._on_answer is not None:
            for message, part in zip(turn.answers, parts, strict=True):
                self._on_answer(message, part["usage"])
        reply = without_reasoning(parts[0] if len(parts) == 1 else joined(parts))
        if message_id := getattr(turn.answers[-1], "id", None):
            reply["id"] = message_id
        if self._responses is not None and self._responses.parses_outputs:
            reply["extra"] = {**reply["extra"], "response_id": turn.answers[-1].response_metadata.get("id")}
        if len(self._names) > 1 and (answered_by := _answering_model(turn.answers[-1], self._names)) != self.name:
            reply["model"] = answered_by
        structure = self._response_format if structured and isinstance(self._response_format, type) else None
        stop_words = [
            *self._stop,
            *stop,
        ]  # not every server that takes them keeps to them; what comes before one is whole
        goes_on = (
            not reply["tool_calls"] and cut_at(reply["content"], stop_words) != reply["content"]
        )  # after a stop word
        if turn.ending.verdict != "whole" and not goes_on:
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
        limits = {**given, **(self._parameters or {}), **self._bound, **self._settings}
        return next(((name, limits[name]) for name in _LIMITS if limits.get(name)), None)


def _user_first(messages: Sequence[Message]) -> Sequence[Message]:
    """Return messages without empty instructions, in which the user speaks first, for providers that insist on both."""
    kept = [message for message in messages if message["role"] != "system" or message["content"]]
    first = next((number for number, message in enumerate(kept) if message["role"] != "system"), len(kept))
    if first < len(kept) and kept[first]["role"] != "assistant":
        return messages if len(kept) == len(messages) else kept
    return [*kept[:first], {"role": "user", "content": "Begin."}, *kept[first:]]


def _name_of_model(model: object) -> str:
    for attribute in ("model_name", "model", "model_id", "deployment_name", "azure_deployment"):
        if isinstance(name := getattr(model, attribute, None), str) and name:
            return name
    return str(getattr(model, "_llm_type", None) or type(model).__name__)


def _answering_model(answer: object, names: Sequence[str]) -> str:
    """Return the name of the model that produced an answer; providers may append a date to it."""
    metadata: Mapping[str, object] = getattr(answer, "response_metadata", None) or {}
    reported = str(metadata.get("model_name") or metadata.get("model") or names[0])
    return max((name for name in names if reported.startswith(name)), key=len, default=reported)


def _own_stop(base: object) -> list[str]:
    stop: object = getattr(base, "stop", None) or getattr(base, "stop_sequences", None)
    if isinstance(stop, str):
        return [stop]
    return list(map(str, cast("list[object]", stop))) if isinstance(stop, (list, tuple)) else []


def _is_excluded(parameter: str) -> bool:
    return parameter.startswith("_") or (
        "tokens" not in parameter and any(word in parameter.lower() for word in _EXCLUDED_PARAMETERS)
    )


def _object_schema(model: type[BaseModel]) -> PlainDict:
    """Return a model's schema with its fields at the top: that of a recursive one only refers to a definition there."""
    schema = model.model_json_schema()
    name = str(schema.pop("$ref", "")).rpartition("/")[2]
    return {**schema["$defs"][name], **schema} if name else schema


def _structured(model: Any, schema: PlainDict, options: Mapping[str, bool]) -> object:
    if not hasattr(model, "with_structured_output"):
        raise NotImplementedError(f"`{_name_of_model(model)}` has no `with_structured_output`")
    return without_parser(model.with_structured_output(schema, include_raw=True, **options))


def _binds_tools(source: object) -> bool:
    try:
        map_models(source, _tool_binder([_PROBE]))
    except (AttributeError, NotImplementedError):
        return False
    return True


def _tool_binder(tools: Sequence[ToolSpec], settings: Mapping[str, Any] | None = None) -> Callable[[Any], Any]:
    def bind(model: Any) -> Any:
        bound = model.bind_tools([_bindable(tool, model) for tool in tools_for(model, tools)], **(settings or {}))
        own: PlainDict = getattr(model, "model_kwargs", None) or {}
        return bound.bind(tools=[*own["tools"], *bound.kwargs["tools"]]) if own.get("tools") else bound

    return bind


def _bindable(spec: ToolSpec, model: object) -> object:
    """Return a tool as a LangChain model takes it: in OpenAI's format, or as LangChain's, which may have `extras`."""
    wants_tools = any(kind.__name__ == "ChatCohere" for kind in type(model).__mro__)
    if "native" in spec or not ("extras" in spec or wants_tools):
        return openai_tool(spec)
    name, about, extras = spec["name"], spec["description"], spec.get("extras")
    return StructuredTool(name=name, description=about, args_schema=spec["parameters"], func=print, extras=extras)


def _langchain_message(message: Message) -> BaseMessage:
    content: Any = message["content"]
    match message["role"]:
        case "system":
            return SystemMessage(content)
        case "user":
            return HumanMessage(content)
        case "assistant":
            # Arguments that are not JSON are wrapped in a dict, which every provider accepts.
            calls: list[Any] = [
                {**request, "args": {"invalid": args} if isinstance(args := request["args"], str) else args}
                for request in message.get("tool_calls", ())
            ]
            extra = with_bytes(message.get("extra", {}))
            return AIMessage(with_bytes(content), tool_calls=calls, additional_kwargs=extra)
        case "tool":
            return ToolMessage(content, tool_call_id=message.get("tool_call_id", ""), name=message.get("name"))
        case role:
            raise ModelError(f"Unknown message role `{role}`. Use one of: system, user, assistant, tool.")


def _reply_of(answer: Any) -> Reply:
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
    if is_list(content):  # some repeat the arguments of a tool call, which `tool_calls` holds
        content = [block for block in content if unstorable(block) is None]
    requests = [_tool_request(call, number) for number, call in enumerate(calls)]
    if is_list(parts := extra.get(KEY)):
        extra[KEY] = join_parts(parts, requests)
    return {
        "content": as_plain_data(content),
        "tool_calls": requests,
        "usage": usage,
        "extra": {name: value for name, value in extra.items() if value is not None},
        "metadata": answer.response_metadata,
    }


def _tool_request(call: PlainMapping, number: int) -> ToolRequest:
    args = call.get("args")
    return {
        "id": call.get("id") or f"call_{number}",
        "name": call.get("name") or "",
        "args": args if is_object(args) else str(args or "").removeprefix(UNPARSED),
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
        dumped, aliased = instance.model_dump_json(), instance.model_dump_json(by_alias=True)
        lossless = structure.model_validate_json(dumped, by_alias=True, by_name=True) == instance
    except (PydanticSerializationError, RecursionError, ValidationError):
        return text
    written = json.loads(text)
    if is_object(written) and not written.keys() <= {*json.loads(dumped), *json.loads(aliased)}:
        return text
    return dumped if lossless else text
