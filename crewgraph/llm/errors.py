"""Errors of language models, and the conversion of provider errors to them."""

import json
import re
import sys
from collections.abc import Callable
from functools import cache
from types import TracebackType
from typing import Any, Literal

from crewgraph.core.cancellation import raised_by_handler
from crewgraph.core.messages import Usage
from crewgraph.errors import ModelError, PicklableError, unconstructed
from crewgraph.extras import load
from crewgraph.llm.answer_limits import AnswerClock
from crewgraph.llm.current_call import CALL
from crewgraph.redaction import SecretRedactor, redact_error
from crewgraph.scoped import give_back
from crewgraph.tracebacks import note_once


class ContextLengthExceeded(ModelError):
    """The conversation exceeds the context window of the model; the provider's error is the cause."""


class MissingKey(ModelError, ValueError):
    """A provider requires an API key and none is set; the message names the environment variable."""


class InvalidMessage(ModelError, ValueError):
    """A message of a conversation lacks its role or its content; the text says which."""


class UnknownModel(ModelError, ValueError):
    """The provider of a model cannot be determined; the message lists the choices."""


class UnreadableAnswer(ModelError):
    """A provider's answer is not JSON, has no choices, or does not match the requested format."""


class AnswerTooLarge(UnreadableAnswer):
    """An answer has more bytes than any model writes; it was not read to its end."""


class AnswerTimeout(ModelError, TimeoutError, ConnectionError):
    """An answer took longer than its total time, or nothing came for its idle time; the message says which, and how to set it."""


class UnfinishedReply(ModelError):
    """A model's reply is not whole, so it is neither recorded as an answer, nor acted on."""

    def __init__(self, text: str, usage: Usage | None = None) -> None:
        super().__init__(text)
        self.usage = usage
        """What the provider reported that it used, which is paid all the same."""


class ReplyCut(UnfinishedReply):
    """A reply ended before its end: at a limit, with its stream, or by a failure of the provider."""


class ReplyFiltered(UnfinishedReply):
    """The provider has filtered a reply, or the prompt; the message names its reason."""


class ReplyRefused(UnfinishedReply):
    """The model refused to answer; the message has its words."""


class ProviderErrors:
    """Context manager around a request that unifies the errors of all providers, and takes secrets out of them.

    Errors about the context window become `ContextLengthExceeded`, answers that the client library cannot parse become
    `UnreadableAnswer`, each with the original error as its cause. Other exceptions stay instances of their type, so that retry
    policies see what they expect; those of providers can be pickled. An unreachable server is also a `ConnectionError`, an
    unknown model also a `ValueError`; their messages name the model, and the server's address. The end of an iterator is a
    `RuntimeError`. A connection of an event loop that has ended gets a note that says what to do.

    Args:
        model: the name of the model.
        redactor: returns what replaces the secrets of the model, since servers quote keys that they refuse.
        clock: watches the answer, for models that are asked over HTTP.
    """

    def __init__(
        self,
        model: str,
        redactor: Callable[[], SecretRedactor] = SecretRedactor,
        clock: AnswerClock | None = None,
    ) -> None:
        self._model, self._redactor, self._clock = model, redactor, clock

    def __enter__(self) -> None:
        if self._clock is not None:
            self._token = CALL.set(CALL.get()._replace(clock=self._clock))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Literal[False]:
        if self._clock is not None:
            give_back(self._token)
        if not isinstance(error, Exception):
            return False
        self._raise_limit(error)
        redact_error(error, self._redactor())
        if isinstance(error, ModelError):
            return False
        if isinstance(error, (StopIteration, StopAsyncIteration)):  # generators cannot carry them
            raise RuntimeError(f"{type(error).__name__} was raised by the model `{self._model}`: {error}") from error
        if is_context_length(error):
            raise ContextLengthExceeded(
                f"The conversation is too long for the model `{self._model}`: {str(error).rstrip('. ')}. "
                "Shorten or summarize it, or use a model with a larger context window."
            ) from error
        sent = "" if self._clock is None else self._redactor().redact(self._clock.sent)
        if _is_unreadable(error, trace, sent):
            came = f"; it sent {sent}" if sent else ""
            raise UnreadableAnswer(
                f"The model `{self._model}`{self._place} sent an answer that cannot be parsed: {str(error).rstrip('. ')}{came}. "
                "Check that its `base_url` is the address of an OpenAI-compatible API; most end in /v1."
            ) from error
        self._note(error)
        bases = {base.__name__ for base in type(error).__mro__}
        if bases & _UNREACHED and not isinstance(error, ConnectionError):
            text = f"{_unreached(self._model, error)}: {_with_reason(error)}"
            raise _derived(error, (text,), ConnectionError) from error.__cause__
        if _is_not_found(error, bases) and not isinstance(error, ValueError):
            text = f"The model `{self._model}` was not found{self._place}: {error}"
            raise _derived(error, (text,), ValueError) from error.__cause__
        if bases & _UNPICKLABLE and not isinstance(error, PicklableError):
            came = "" if self._clock is None else self._redactor().redact(self._clock.note)
            text = f"{error.args[0] if error.args else error} ({came or f'model `{self._model}`{self._place}'})"
            raise _derived(error, (text, *error.args[1:])) from error.__cause__
        return False

    @property
    def _place(self) -> str:
        return "" if self._clock is None else self._redactor().redact(self._clock.place)

    def _note(self, error: Exception) -> None:
        if isinstance(error, RuntimeError) and str(error) == "Event loop is closed":
            note_once(error, _FOREIGN_LOOP.format(model=self._model))

    def _raise_limit(self, error: Exception) -> None:
        """Raise the error of a limit of the answer, if that is what ended it."""
        clock = self._clock
        if clock is None:
            return
        bases = {base.__name__ for base in type(error).__mro__}
        if not clock.reached and "TimeoutException" in {base.__name__ for base in _kinds_in(error)}:
            clock.read_timed_out()
        if clock.reached == "size":
            raise AnswerTooLarge(clock.text) from error.__cause__
        if clock.reached and bases & {"APITimeoutError", "TimeoutException"}:
            raise _derived(error, (clock.text,), AnswerTimeout) from error.__cause__


_UNREACHED = {"APIConnectionError", "ClientConnectionError", "ConnectionError", "HTTPClientError", "TransportError"}
"""What the clients of providers raise for a server that does not answer: the openai package, aiohttp, botocore, httpx."""

_CONNECTING = {"ConnectTimeout", "PoolTimeout"}


def _kinds_in(error: BaseException | None) -> set[type]:
    """Return the classes of an exception and its causes; none if no connection came about, which is another fault."""
    kinds = set[type]()
    while error is not None:
        kinds.update(type(error).__mro__)
        error = error.__cause__
    return set() if any(kind.__name__ in _CONNECTING for kind in kinds) else kinds


_MODEL_NOT_FOUND = {"ModelNotFoundError", "NotFoundError", "ResourceNotFoundException"}
_NOT_FOUND = 404

_UNPICKLABLE = {"APIError", "HTTPStatusError", "ResponseError"}
"""Errors of clients that pickle and copy cannot rebuild."""


_FOREIGN_LOOP = (
    "the model `{model}` holds a connection of an event loop that has ended, such as that of an earlier `asyncio.run`. Run "
    "everything on one event loop, call `kickoff()` instead, or give the model an `http_async_client` that keeps no connections: "
    "`httpx.AsyncClient(limits=httpx.Limits(max_keepalive_connections=0))`"
)
"""The user gave the model a client that keeps connections, or LangChain has one for all models of a provider."""


def _is_not_found(error: Exception, bases: set[str]) -> bool:
    return bool(bases & _MODEL_NOT_FOUND) or ("ResponseError" in bases and vars(error).get("status_code") == _NOT_FOUND)


def _derived(error: Exception, args: tuple[object, ...], builtin: type[Exception] = Exception) -> Exception:
    """Return a copy of a provider's exception with other `args`, which is also an instance of a builtin exception.

    The constructors of providers' exceptions take requests and responses: pickle and copy cannot call them.
    """
    copied = _derived_from(type(error), builtin, args)
    vars(copied).update(vars(error))
    return copied.with_traceback(error.__traceback__)


def _derived_from(kind: type[Exception], builtin: type[Exception], args: tuple[object, ...]) -> Exception:
    return unconstructed(_subclass(kind, builtin), args)


@cache
def _subclass(kind: type[Exception], builtin: type[Exception]) -> type[Exception]:
    def reduce(error: PicklableError) -> tuple[Any, ...]:
        _, (_, args), *state = PicklableError.__reduce__(error)
        return _derived_from, (_importable(kind), builtin, args), *state

    bases = (PicklableError, kind) if builtin is Exception else (PicklableError, kind, builtin)
    if issubclass(builtin, PicklableError):
        bases = (builtin, kind)
    own: dict[str, Any] = {"__module__": kind.__module__, "__doc__": kind.__doc__, "__reduce__": reduce}
    if builtin is not Exception:
        own["__str__"] = Exception.__str__  # some make their text of other attributes
    return type(kind.__name__, bases, own)


def _importable(kind: type[Exception]) -> type[Exception]:
    """Return a class, or its first base that can be imported by name: botocore makes classes of errors as it runs."""
    return next(base for base in kind.__mro__ if getattr(sys.modules.get(base.__module__), base.__name__, None) is base)


def _unreached(model: str, error: Exception) -> str:
    """Say that a model's server was not reached, with its address, without path and credentials."""
    attributes = vars(error)  # the property `request` of httpx may raise
    url = getattr(attributes.get("request") or attributes.get("_request"), "url", None)
    host = getattr(url, "host", None)
    port = getattr(url, "port", None)
    scheme = getattr(url, "scheme", "https")
    if host is not None and scheme not in ("http", "https"):
        return f"The `base_url` of the model `{model}` needs http:// or https:// in front"
    place = "" if host is None else f" at {scheme}://{host}{f':{port}' if port else ''}"
    through = "" if host is None else _through_proxy(scheme, host)
    return f"The model `{model}`{place} could not be reached{through}, or the connection broke off"


def _through_proxy(scheme: str, host: str) -> str:
    """Name the proxy that the environment sets for a host, without credentials."""
    request = load("urllib.request")
    proxy = request.getproxies().get(scheme)
    if not proxy or request.proxy_bypass(host):
        return ""
    return f" through the environment's proxy `{proxy.rpartition('@')[2].rpartition('//')[2].strip('/')}`"


def _with_reason(error: Exception) -> str:
    """Return the text of a failed connection with what the operating system or the HTTP client said."""
    cause = error.__cause__
    while cause is not None and (not str(cause) or str(cause) in str(error)):
        cause = cause.__cause__
    if cause is None:
        return str(error)
    if type(cause).__name__ == "LocalProtocolError":  # its text quotes the header, which may be the key
        return (
            f"{str(error).rstrip('.')} (a header, perhaps with the API key, has a character that HTTP does not allow)"
        )
    return f"{str(error).rstrip('.')} ({cause})"


_TYPES = {"ContextOverflowError", "ContextWindowExceededError"}
_CODES = {"context_length_exceeded", "exceed_context_size_error", "model_max_prompt_tokens_exceeded"}
_TOO_LONG = re.compile(
    r"max(?:imum)? context length"
    r"|context[ _]length[ _]exceeded"
    r"|maximum prompt length"
    r"|prompt is too long"
    r"|input is too long"
    r"|input length and `?max_tokens`? exceed"
    r"|exceed(?:s|ed)? (?:the |this model's |its )?(?:available |maximum |model's )?"
    r"context (?:size|length|window|limit)"
    r"|(?:greater|longer|larger) than the (?:model's )?(?:maximum )?context (?:size|length|window)"
    r"|input token count.{0,40}exceeds"
    r"|reduce the length of the (?:messages|prompt|input)"
    r"|reduce your message size"
    r"|request exceeds the maximum size"
    r"|too many tokens:"
    r"|`inputs` tokens \+ `max_new_tokens`"
    r"|context[ _]window[ _](?:exceeded|overflow|(?:is )?full)",
    re.IGNORECASE,
)
_TOO_MANY_REQUESTS = 429


def is_context_length(error: Exception) -> bool:
    """Return whether a provider's error says that a conversation exceeds the context window."""
    if any(base.__name__ in _TYPES for base in type(error).__mro__) or getattr(error, "code", None) in _CODES:
        return True
    if getattr(error, "status_code", None) == _TOO_MANY_REQUESTS:
        return False  # messages about token rate limits resemble those about the context window
    return _TOO_LONG.search(str(error)) is not None


_PARSE_FAILURES = re.compile(
    r"^(?:No generations found in stream|Unexpected response type from|Received response with null value)"
)


_READERS = ("openai", "anthropic", "google", "ollama", "pydantic")
"""The packages, beside LangChain's, that read answers."""


def _is_unreadable(error: Exception, trace: TracebackType | None, sent: str) -> bool:
    rooms = _packages(trace)
    is_reading = bool(sent) and (rooms[-1].startswith("langchain_") or rooms[-1] in _READERS)
    if is_reading and type(error) in {AttributeError, IndexError, KeyError, TypeError, ValueError}:
        return not raised_by_handler(error)
    if isinstance(error, json.JSONDecodeError):
        return "openai" in rooms
    if isinstance(error, IndexError):
        return rooms[-1:] == ["langchain_core"]  # it takes the first choice of an empty list
    return type(error) in {ValueError, TypeError} and _PARSE_FAILURES.match(str(error)) is not None


def _packages(trace: TracebackType | None) -> list[str]:
    """Return the packages in a traceback, innermost last."""
    rooms: list[str] = []
    while trace is not None:
        rooms.append(str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0])
        trace = trace.tb_next
    return rooms
