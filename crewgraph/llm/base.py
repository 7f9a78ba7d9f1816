"""BaseLLM: the class to subclass for a language model of one's own.

Which of the offered arguments somebody's method takes.
"""

import inspect
from abc import abstractmethod
from collections.abc import Mapping
from functools import partial
from inspect import get_annotations
from threading import Lock
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakKeyDictionary

from crewgraph.core.limits import ASKING, METER
from crewgraph.core.loops.bridge import in_thread
from crewgraph.lazy import lazy
from crewgraph.llm.current_call import ONGOING
from crewgraph.llm.profile import Profile
from crewgraph.llm.usage import UsageMetrics, read_usage

if TYPE_CHECKING:
    from crewgraph.events.frames import StreamSession

__all__ = ["CONTEXT_WINDOW", "BaseLLM", "accepted_arguments"]


_Parameters = tuple[frozenset[str], frozenset[str], bool]

_signatures: WeakKeyDictionary[type, dict[str, tuple[Any, _Parameters]]] = WeakKeyDictionary()


def accepted_arguments(
    owner: object,
    method: str,
    offered: Mapping[str, Any],
    *,
    named_only: frozenset[str] = frozenset(),
    first: bool = True,
) -> dict[str, Any]:
    """The part of the offered keywords that a method takes after its first argument.

    Keywords that it names are passed where they hold something or where it has no default for them; a
    `**kwargs` gets only those that hold something, because its author may send them on.

    Args:
        owner: whose method it is.
        method: its name.
        offered: values by keyword.
        named_only: those that no `**kwargs` gets.
        first: whether its first argument is given anyway.
    """
    named, required, rest = _parameters(owner, method, first)
    return {
        name: value
        for name, value in offered.items()
        if name in required or (value is not None and (name in named or (rest and name not in named_only)))
    }


def _parameters(owner: object, method: str, first: bool) -> _Parameters:
    if method in getattr(owner, "__dict__", {}):
        return _read_signature(getattr(owner, method), first)  # an attribute of this one object
    by_method = _signatures.setdefault(type(owner), {})
    kept, function = by_method.get(method), getattr(type(owner), method)
    if kept is None or kept[0] is not function:  # not what it was: somebody patched the class
        kept = by_method[method] = (function, _read_signature(getattr(owner, method), first))
    return kept[1]


def _read_signature(function: Any, first: bool) -> _Parameters:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except ValueError:  # some builtins keep their signature to themselves
        return frozenset(), frozenset(), False
    keywords = [p for p in parameters if p.kind in {p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY}]
    if first and parameters and parameters[0].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD:
        keywords = keywords[1:]  # the messages
    return (
        frozenset(p.name for p in keywords),
        frozenset(p.name for p in keywords if p.default is p.empty),
        any(p.kind is p.VAR_KEYWORD for p in parameters),
    )


if TYPE_CHECKING:
    from crewgraph.events.frames import StreamSession
    from crewgraph.llm.frames import call_frames
else:
    call_frames = lazy("crewgraph.llm.frames:call_frames")

CONTEXT_WINDOW = 4096
"""Tokens a model is taken to read where nobody says more."""

_usage_lock = Lock()  # one for all: held for a few additions, and models stay copyable


class BaseLLM(Profile):
    """A language model; a subclass says how to `call` it.

    A subclass need not call this constructor, and its `call` may leave out any argument but the messages.
    """

    is_litellm: bool = False
    model: str = ""
    """The model's name."""

    temperature: float | None = None
    api_key: str | None = None
    base_url: str | None = None
    timeout: float | None = None
    """Seconds."""

    stop: list[str]
    """Texts at which the model is to stop."""

    additional_params: dict[str, Any]
    """The keywords that the constructor does not know."""

    _provider: str = "openai"
    _token_usage: dict[str, int]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Give the model its own lists and sums, also where a subclass keeps its constructor to itself."""
        made = super().__new__(cls)
        fresh: dict[str, Any] = {"stop": [], "additional_params": {}, "_token_usage": {}}
        vars(made).update({name: value for name, value in fresh.items() if not hasattr(cls, name)})
        return made

    def __init__(
        self,
        model: str,
        temperature: float | None = None,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout: float | None = None,
        provider: str | None = None,
        **kwargs: Any,
    ) -> None:
        """Keep what a model needs to be asked.

        Args:
            model: its name.
            temperature: how freely it words its answers.
            api_key: the key its provider wants.
            base_url: where it is served.
            timeout: seconds to wait for an answer.
            provider: who serves it.
            kwargs: `stop` (a text or a list), attributes that the subclass declares, and anything else, which
                is kept in `additional_params`.
        """
        self.model = model
        self.temperature = temperature
        self.api_key = api_key
        self.base_url = base_url
        self.timeout = timeout
        if provider:
            self._provider = provider
        stop: str | list[str] = kwargs.pop("stop", None) or kwargs.pop("stop_sequences", None) or []
        self.stop = [stop] if isinstance(stop, str) else list(stop)
        for name in [name for name in kwargs if _declares(type(self), name)]:
            setattr(self, name, kwargs.pop(name))
        self.additional_params = kwargs

    @property
    def provider(self) -> str:
        """Who serves the model."""
        return self._provider

    @provider.setter
    def provider(self, value: str) -> None:
        self._provider = value

    @property
    def stop_sequences(self) -> list[str]:
        """Another name of `stop`."""
        return self.stop

    @stop_sequences.setter
    def stop_sequences(self, value: list[str]) -> None:
        self.stop = value

    @abstractmethod
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
            tools: functions in OpenAI's form that may be called; given only where
                `supports_function_calling()`.
            callbacks: LangChain callback handlers.
            available_functions: by name, what carries out a tool call.
            from_task: the task on whose behalf it is asked.
            from_agent: the agent on whose behalf it is asked.
            response_model: a pydantic model that the answer shall fit.

        Returns:
            The text; or a list of tool calls in OpenAI's form.
        """

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
        """Answer a conversation without blocking the event loop; as it stands, `call` in a thread."""
        offered = {
            "tools": tools,
            "callbacks": callbacks,
            "available_functions": available_functions,
            "from_task": from_task,
            "from_agent": from_agent,
            "response_model": response_model,
        }
        return await in_thread(partial(self.call, messages, **accepted_arguments(self, "call", offered)))

    def stream_events(
        self,
        messages: str | list[dict[str, Any]],
        tools: list[dict[str, Any]] | None = None,
        callbacks: list[Any] | None = None,
        available_functions: dict[str, Any] | None = None,
        from_task: Any | None = None,
        from_agent: Any | None = None,
        response_model: Any | None = None,
    ) -> "StreamSession[Any]":
        """Answer a conversation, and tell the pieces as frames while they come; `session.result` is the answer.

        The arguments are those of `call`, which works in a thread of its own.
        """
        offered = {
            "tools": tools,
            "callbacks": callbacks,
            "available_functions": available_functions,
            "from_task": from_task,
            "from_agent": from_agent,
            "response_model": response_model,
        }
        return call_frames(self, messages, offered)

    def supports_function_calling(self) -> bool:
        """Whether `call` takes tools and answers with tool calls."""
        return False

    def supports_stop_words(self) -> bool:
        """Whether the model stops at given texts."""
        return True

    def get_context_window_size(self) -> int:
        """How many tokens the model reads."""
        return CONTEXT_WINDOW

    def get_token_usage_summary(self) -> UsageMetrics:
        """The tokens and requests of this model since it was made."""
        with _usage_lock:
            return UsageMetrics(**self._token_usage)

    def _track_token_usage_internal(self, usage_data: Mapping[str, Any]) -> None:
        """Count one answered request: for subclasses, which know what their provider reported."""
        usage = read_usage(usage_data)
        ongoing = ONGOING.get()
        if usage is not None and ongoing is not None:
            ongoing.used.append(usage)
        self._count(UsageMetrics.of(usage))
        meter = METER.get()
        if meter is not None and not ASKING.get():  # asked by somebody's own code, a converter's or a tool's
            meter.answered("", self.model, usage)

    def _emit_text(self, text: str) -> None:
        """Show a piece of the answer as it is written: for subclasses that stream."""
        ongoing = ONGOING.get()
        if ongoing is not None and ongoing.on_text is not None:
            ongoing.on_text(text)

    def _count(self, used: UsageMetrics) -> None:
        with _usage_lock:
            for name, number in used.model_dump().items():
                self._token_usage[name] = self._token_usage.get(name, 0) + number


def _declares(made: type, name: str) -> bool:
    """Whether a subclass of BaseLLM annotates an attribute of this name."""
    return any(name in get_annotations(base) for base in made.__mro__ if base.__module__ != __name__)
