"""`BaseLLM`, the base class of custom language models, and `accepted_arguments`, which filters keywords by signature.

`WatchedModel` is the base class of our models that send requests. Watchers see these: tests forbid, record or answer them.
"""

import inspect
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakKeyDictionary

from crewgraph.annotations import annotations_of, signature_of
from crewgraph.core.current import CURRENT
from crewgraph.core.loops.bridge import acall
from crewgraph.core.messages import Message, Reply, ToolSpec
from crewgraph.core.protocols import Config
from crewgraph.errors import DefinitionError
from crewgraph.llm.conversation import read_messages, text_of
from crewgraph.llm.current_call import CALL
from crewgraph.llm.usage import UsageMetrics, read_usage
from crewgraph.prompts.i18n import default_book
from crewgraph.schema import PlainDict, PlainMapping

if TYPE_CHECKING:
    from crewgraph.events.frames import StreamSession


_Parameters = tuple[frozenset[str], frozenset[str], bool]

_signatures: WeakKeyDictionary[type, dict[str, tuple[object, _Parameters]]] = WeakKeyDictionary()


def accepted_arguments(
    owner: object,
    method: str,
    arguments: PlainMapping,
    *,
    named_only: frozenset[str] = frozenset(),
    first: bool = True,
) -> PlainDict:
    """Return the keyword arguments that a method accepts.

    Named parameters are passed when they have a value or no default. `**kwargs` receives only arguments with a
    value, because it may be forwarded to a provider.

    Args:
        owner: The object that has the method.
        method: The name of the method.
        arguments: Values by keyword; None means "not set".
        named_only: Keywords that are never passed through `**kwargs`.
        first: Whether the first parameter is passed positionally and must be skipped.
    """
    named, required, accepts_any = _accepted_parameters(owner, method, first)
    accepted: PlainDict = {}
    for name, value in arguments.items():
        if name in required or (value is not None and (name in named or (accepts_any and name not in named_only))):
            accepted[name] = value
    return accepted


def _accepted_parameters(owner: object, method: str, first: bool) -> _Parameters:
    if method in getattr(owner, "__dict__", {}):
        return _read_signature(getattr(owner, method), first)  # set on the instance, not on the class
    by_method = _signatures.get(type(owner))
    if by_method is None:
        by_method = _signatures[type(owner)] = {}
    cached, function = by_method.get(method), getattr(type(owner), method, None)
    if function is None:  # made by the object itself, as a mock does
        return _read_signature(getattr(owner, method), first)
    if cached is None or cached[0] is not function:  # the class was patched meanwhile
        cached = by_method[method] = (function, _read_signature(getattr(owner, method), first))
    return cached[1]


def _read_signature(function: Any, first: bool) -> _Parameters:
    try:
        parameters = list(signature_of(function).parameters.values())
    except ValueError:  # some builtins have no signature
        return frozenset(), frozenset(), False
    keywords = [p for p in parameters if p.kind in {p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY}]
    if first and parameters and parameters[0].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD:
        keywords = keywords[1:]  # the messages
    return (
        frozenset(p.name for p in keywords),
        frozenset(p.name for p in keywords if p.default is p.empty),
        any(p.kind is p.VAR_KEYWORD for p in parameters),
    )


CONTEXT_WINDOW = 4096
"""Context window, in tokens, of a model that does not report its own."""

CONVERSATION_SHARE = 0.85
"""Share of the context window that a conversation may fill, leaving room for the answer."""

RESULT_SHARE = 0.25
"""Share of the context window that one tool result may fill."""

_CHARACTERS = 4
"""Characters per token in English; other languages have fewer."""

_SETTINGS = (
    *("temperature", "top_p", "max_tokens", "max_completion_tokens", "seed", "frequency_penalty"),
    *("presence_penalty", "n", "base_url", "api_version", "timeout", "stop", "reasoning_effort"),
)

_usage_lock = Lock()  # shared by all models: it is held only briefly, and models stay copyable


class BaseLLM(ABC):
    """Base class of language models; subclasses implement `call`.

    A subclass need not call this constructor, and its `call` may omit any parameter except `messages`.
    """

    llm_type: str = "base"
    """The kind of model: "base", or the name of the provider."""

    top_p: float | None = None
    """Nucleus sampling: the probability mass to sample from, from 0 to 1. None leaves it to the provider."""

    max_tokens: int | float | None = None
    """Maximum number of generated tokens per answer. None leaves it to the provider."""

    stream: bool | None = None
    """Whether the answer arrives in chunks, each of them an event."""

    seed: int | None = None
    """Seed for reproducible sampling, where the provider supports it."""

    frequency_penalty: float | None = None
    """Penalty for tokens by how often they occurred, from -2 to 2."""

    presence_penalty: float | None = None
    """Penalty for tokens that already occurred, from -2 to 2."""

    n: int | None = None
    """Completions per request; only the first is used."""

    prefer_upload: bool = False
    """Has no effect: files are sent inline, never uploaded."""

    completion_cost: float | None = None
    """Always None: the cost of a run is part of its output."""

    context_window_size: int = 0
    """Overrides the context window, in tokens; 0 to derive it from the name."""

    is_litellm: bool = False
    """Always False: LiteLLM is not used."""

    model: str = ""
    """The name of the model, for traces, prices and the context window."""

    temperature: float | None = None
    """How much answers vary: 0 takes the most likely words, higher values more unusual ones. None leaves it to the provider."""

    api_key: str | None = None
    """The API key of the provider."""

    base_url: str | None = None
    """The address of the API, such as `"http://localhost:8000/v1"`."""

    timeout: float | None = None
    """Seconds to wait for an answer."""

    stop: list[str]
    """Texts at which the model stops to generate, such as `["Observation:"]`; they are not part of the answer."""

    additional_params: PlainDict
    """Keyword arguments that the constructor does not know."""

    _provider: str = "openai"
    _token_usage: dict[str, int]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Create the mutable defaults here, because a subclass may not call `__init__`."""
        llm = super().__new__(cls)
        defaults: dict[str, object] = {"stop": [], "additional_params": {}, "_token_usage": {}}
        vars(llm).update({name: value for name, value in defaults.items() if not hasattr(cls, name)})
        return llm

    def __init__(
        self,
        model: str,
        temperature: float | None = None,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout: float | None = None,
        provider: str | None = None,
        *,
        additional_params: PlainDict | None = None,
        **kwargs: Any,
    ) -> None:
        """Set the parameters of the model.

        Args:
            model: The name of the model.
            temperature: The sampling temperature.
            api_key: The API key of the provider.
            base_url: The address of the API.
            timeout: Seconds to wait for an answer.
            provider: The name of the provider.
            additional_params: Further parameters of a request.
            kwargs: `stop` (a string or a list), attributes that the subclass declares, and anything else, which
                is added to `additional_params`.

        Raises:
            DefinitionError: `model` is not a non-empty string.
        """
        if not isinstance(model, str) or not model.strip():  # pyright: ignore[reportUnnecessaryIsInstance]
            kind = type(self).__name__
            raise DefinitionError(f'`{kind}` takes the name of a model, such as "openai/gpt-4o", not {model!r:.60}.')
        self.model = model
        self.temperature = temperature
        self.api_key = api_key
        self.base_url = base_url
        self.timeout = timeout
        if provider:
            self._provider = provider
        stop: str | list[str] = kwargs.pop("stop", None) or kwargs.pop("stop_sequences", None) or []
        self.stop = [stop] if isinstance(stop, str) else list(stop)
        known = {name for base in type(self).__mro__ for name in annotations_of(base)}
        declared = {name: kwargs.pop(name) for name in [*kwargs] if name in known}
        self.additional_params = {**(additional_params or {}), **kwargs}
        for name, value in declared.items():
            setattr(self, name, value)

    @property
    def provider(self) -> str:
        """The name of the provider."""
        return self._provider

    @provider.setter
    def provider(self, value: str) -> None:
        self._provider = value

    @property
    def stop_sequences(self) -> list[str]:
        """Alias of `stop`."""
        return self.stop

    @stop_sequences.setter
    def stop_sequences(self, value: list[str]) -> None:
        self.stop = value

    @abstractmethod
    def call(
        self,
        messages: str | list[PlainDict],
        tools: list[PlainDict] | None = None,
        callbacks: list[Any] | None = None,
        available_functions: PlainDict | None = None,
        from_task: object | None = None,
        from_agent: Any | None = None,
        response_model: Any | None = None,
    ) -> str | Any:
        """Answer a conversation.

        Args:
            messages: A prompt, or message dicts with `role` and `content`.
            tools: Functions in OpenAI's format; passed only if `supports_function_calling()` is true.
            callbacks: LangChain callback handlers.
            available_functions: Functions by tool name, to execute tool calls.
            from_task: The task that makes the call.
            from_agent: The agent that makes the call.
            response_model: A pydantic model for the answer.

        Returns:
            The text, or a list of tool calls in OpenAI's format.
        """

    async def acall(
        self,
        messages: str | list[PlainDict],
        tools: list[PlainDict] | None = None,
        callbacks: list[Any] | None = None,
        available_functions: PlainDict | None = None,
        from_task: object | None = None,
        from_agent: Any | None = None,
        response_model: object | None = None,
    ) -> str | Any:
        """Answer a conversation without blocking the event loop; by default, run `call` in a thread."""
        arguments = {
            "tools": tools,
            "callbacks": callbacks,
            "available_functions": available_functions,
            "from_task": from_task,
            "from_agent": from_agent,
            "response_model": response_model,
        }
        return await acall(partial(self.call, messages, **accepted_arguments(self, "call", arguments)))

    def stream_events(
        self,
        messages: str | list[PlainDict],
        tools: list[PlainDict] | None = None,
        callbacks: list[Any] | None = None,
        available_functions: PlainDict | None = None,
        from_task: object | None = None,
        from_agent: Any | None = None,
        response_model: object | None = None,
    ) -> "StreamSession[Any]":
        """Answer a conversation and stream its events as frames; `session.result` is the answer.

        Takes the arguments of `call`, which runs in its own thread.
        """
        arguments = {
            "tools": tools,
            "callbacks": callbacks,
            "available_functions": available_functions,
            "from_task": from_task,
            "from_agent": from_agent,
            "response_model": response_model,
        }
        from crewgraph.llm.frames import call_frames

        return call_frames(self, messages, arguments)

    def supports_function_calling(self) -> bool:
        """Return whether `call` accepts tools and may return tool calls."""
        return False

    def supports_stop_words(self) -> bool:
        """Return whether the model supports stop sequences."""
        return True

    def get_context_window_size(self) -> int:
        """Return the size of the context window in tokens."""
        return CONTEXT_WINDOW

    def get_token_usage_summary(self) -> UsageMetrics:
        """Return the tokens and requests of this model instance so far."""
        with _usage_lock:
            return UsageMetrics(**self._token_usage)

    @property
    def thinking(self) -> object:
        """Anthropic's `thinking` setting, if set."""
        return self.additional_params.get("thinking")

    @property
    def is_anthropic(self) -> bool:
        """Whether the provider is Anthropic."""
        return self.provider == "anthropic"

    def supports_multimodal(self) -> bool:
        """Return whether the model accepts images."""
        return False

    def get_file_uploader(self) -> object:
        """Return None: files are sent inline, never uploaded."""
        return

    def format_text_content(self, text: str) -> dict[str, object]:
        """Return text as a message content block."""
        return {"type": "text", "text": text}

    def to_config_dict(self) -> dict[str, object]:
        """Return the keywords to recreate the model, without its API key; the name is "provider/model"."""
        model, provider = self.model, self.provider
        qualified = model if not provider or model.startswith(f"{provider}/") else f"{provider}/{model}"
        settings = {name: value for name in _SETTINGS if (value := getattr(self, name, None)) not in (None, False, [])}
        return {"model": qualified, **settings}

    def get_input_tokens_count(self, messages: object, tools: Any = None, response_model: Any = None) -> int:
        """Estimate the number of tokens of a request from its length.

        Args:
            messages: A prompt, or message dicts with `role` and `content`.
            tools: Functions in OpenAI's format.
            response_model: A pydantic model for the answer.
        """
        texts = [text_of(message["content"]) for message in read_messages(messages)]
        texts += [json.dumps(tool, default=str) for tool in tools or ()]
        if response_model is not None:
            texts.append(json.dumps(response_model.model_json_schema()))
        return sum(-(-len(text) // _CHARACTERS) for text in texts)

    def is_context_window_overflowing_threshold(
        self, messages: object, tools: Any = None, response_model: object = None
    ) -> bool:
        """Return whether a request fills more than 85 % of the context window."""
        filled = self.get_input_tokens_count(messages, tools, response_model)
        return filled > CONVERSATION_SHARE * self.get_context_window_size()

    def is_tool_result_overflowing_threshold(self, tool_result: object) -> bool:
        """Return whether a tool result fills more than a quarter of the context window."""
        result = tool_result if isinstance(tool_result, str) else str(tool_result)
        return self.get_input_tokens_count(result) > RESULT_SHARE * self.get_context_window_size()

    def summarize_messages(self, messages: list[Any], callbacks: Sequence[Any] = (), verbose: bool = True) -> None:
        """Replace a conversation, except for its system messages, by a summary that the model writes.

        Args:
            messages: Message dicts with `role` and `content`; modified in place.
            callbacks: Passed to the model.
            verbose: Has no effect.
        """
        system_messages = [message for message in messages if message.get("role") == "system"]
        rest = [message for message in messages if message.get("role") != "system"]
        if not rest:
            return
        book = default_book()
        transcript = "\n\n".join(f"{message['role']}: {text_of(message['content'])}" for message in read_messages(rest))
        prompt = [
            {"role": "system", "content": book.slice("summarizer_system_message")},
            {"role": "user", "content": book.slice("summarize_instruction", group=transcript)},
        ]
        keywords: PlainDict = {"callbacks": list(callbacks)} if callbacks else {}
        summary = str(self.call(prompt, **keywords))
        messages[:] = [*system_messages, {"role": "user", "content": book.slice("summary", merged_summary=summary)}]

    def _track_token_usage_internal(self, usage_data: Mapping[str, object]) -> None:
        """Count one answered request; subclasses call it with the usage that their provider reported."""
        usage = read_usage(usage_data)
        ongoing = CALL.get().ongoing
        if usage is not None and ongoing is not None:
            ongoing.used.append(usage)
        with _usage_lock:
            for name, number in UsageMetrics.of(usage).model_dump().items():
                self._token_usage[name] = self._token_usage.get(name, 0) + number
        meter = CURRENT.get().meter
        if (
            meter is not None and CALL.get().caller is None
        ):  # called outside of a metered request, for instance by a tool
            meter.answered("", self.model, usage)

    def _emit_text(self, text: str) -> None:
        """Emit a chunk of the answer; subclasses that stream call it."""
        ongoing = CALL.get().ongoing
        if ongoing is not None and ongoing.on_text is not None:
            ongoing.on_text(text)


@dataclass(frozen=True)
class ModelRequest:
    """A request that is about to be sent to a model."""

    model: str
    """The name of the model at its provider."""

    messages: Sequence[Message]
    tools: Sequence[ToolSpec]
    stop: Sequence[str]

    source: object
    """The model as the program has it: a LangChain model, or an object with `call`."""

    is_own: bool
    """Whether it is any object with `call`, such as a stand-in, rather than a provider's model."""


class RequestWatcher:
    """Sees model requests; from any thread."""

    def answer(self, request: ModelRequest) -> Reply | None:
        """Return the reply to a request, which then is not sent; None leaves it to others. What it raises, the request raises."""

    def sending(self, request: ModelRequest) -> None:
        """Called when a request is about to be sent, as no watcher answers it. Its exceptions are raised by the request."""

    def answered(self, request: ModelRequest, reply: Reply) -> None:
        """A model has answered a request that was sent."""


WATCHERS: list[RequestWatcher] = []
"""The watchers of this process, the innermost last. Not of a context: a run may ask from any thread."""


class WatchedModel:
    """A model of which watchers see the requests; `_complete` and `_acomplete` send them."""

    name: Any
    _complete: Any
    _acomplete: Any
    _request_source: tuple[object, bool]
    """`source` and `is_own` of the requests."""

    def complete(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], stop: Sequence[str], config: Config
    ) -> Reply:
        """Answer a conversation."""
        if not WATCHERS:
            return self._complete(messages, tools, stop, config)
        request = ModelRequest(self.name, messages, tools, stop, *self._request_source)
        reply = _answer_of_watcher(request)
        return _notified(request, self._complete(messages, tools, stop, config)) if reply is None else reply

    async def acomplete(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], stop: Sequence[str], config: Config
    ) -> Reply:
        """Answer a conversation; see `complete`."""
        if not WATCHERS:
            return await self._acomplete(messages, tools, stop, config)
        request = ModelRequest(self.name, messages, tools, stop, *self._request_source)
        reply = _answer_of_watcher(request)
        return _notified(request, await self._acomplete(messages, tools, stop, config)) if reply is None else reply


def _answer_of_watcher(request: ModelRequest) -> Reply | None:
    """Return the reply of the innermost watcher that answers a request; None if it must be sent."""
    for watcher in reversed(WATCHERS):
        reply = watcher.answer(request)
        if reply is not None:
            return reply
    for watcher in reversed(WATCHERS):
        watcher.sending(request)
    return None


def _notified(request: ModelRequest, reply: Reply) -> Reply:
    for watcher in reversed(WATCHERS):
        watcher.answered(request, reply)
    return reply
