"""Limits of one answer of a model: its total time, the idle time in which nothing comes, and its size.

Clients of providers limit each read at most: a server that sends a byte a minute is waited for, and a body of any size is taken.
The hooks of this module are added to the httpx clients of a model. They do nothing but in a request of ours (`CALL`), and count
there what comes. An answer with status 200 whose body is an error gets the error's status, so that clients treat it as one.
"""

import json
import re
import sys
import time
from collections.abc import AsyncIterator, Iterator
from functools import cache
from math import inf
from typing import Any, Literal, NamedTuple

from crewgraph.extras import load
from crewgraph.llm.current_call import CALL
from crewgraph.schema import is_list, is_object
from crewgraph.settings import model_idle_timeout, model_timeout
from crewgraph.text import shorten

_MOST_BYTES = 64 << 20
"""The largest answer, in bytes as they come. One of 128,000 tokens, streamed one by one, has about 45 MB."""

_MOST_SHOWN = 500


class AnswerLimits(NamedTuple):
    """The times for one answer, in seconds."""

    total: float
    """From the request to the end of the answer, repeated requests of the client included."""

    idle: float
    """The longest time in which nothing comes."""

    is_given: bool = False
    """Whether an `LLM` has them; else the client's own time for a read counts, too, if it is shorter."""

    @classmethod
    def of(cls, timeout: object, idle_timeout: object) -> "AnswerLimits":
        """Return the limits of an `LLM`; None takes the default, and what is no number is left to the client."""
        total = timeout if isinstance(timeout, int | float) else model_timeout()
        idle = idle_timeout if isinstance(idle_timeout, int | float) else model_idle_timeout()
        return cls(total, idle, is_given=timeout is None or isinstance(timeout, int | float))


class AnswerClock:
    """Watches one answer: the requests for it, and what comes.

    Args:
        model: the name of the model.
        limits: its limits; None for the default ones.
    """

    def __init__(self, model: str, limits: AnswerLimits | None) -> None:
        self.limits = limits or AnswerLimits(model_timeout(), model_idle_timeout())
        self.reached: Literal["", "total", "idle", "client", "size"] = ""
        """The limit that was reached; "client" is the client's own time for a read."""

        self.note = ""
        """What to say of an error that was the body of an answer with status 200."""

        self._model = model
        self.place = ""
        """Where the server is, for messages: " at http://127.0.0.1:8000"; empty before a request."""
        self._began = time.monotonic()
        self._asked_at: float | None = None
        self._wait = inf
        self._of_wait: Literal["total", "idle", "client"] = "idle"
        self._received, self._sent = 0, b""

    def ask(self, request: Any) -> None:
        """Limit the times of a request that is about to be sent; refuse it if a limit is reached."""
        now = time.monotonic()
        left = self.limits.total - (now - self._began)
        url = request.url
        self.place = f" at {url.scheme}://{url.host}{f':{url.port}' if url.port else ''}"
        if left <= 0 or self.reached:
            raise self._error(self.reached or "total", request)
        if self._asked_at is not None and now - self._asked_at >= self._wait:
            raise self._error(self._of_wait, request)  # the server may still work on the request, which costs
        times: dict[str, float | None] = {**(request.extensions.get("timeout") or {})}
        own = times.get("read")
        self._wait, self._of_wait = left, "total"
        if self.limits.idle < left:
            self._wait, self._of_wait = self.limits.idle, "idle"
        if own is not None and own < self._wait and not self.limits.is_given:
            self._wait, self._of_wait = own, "client"
        for name in ("connect", "write", "pool"):
            set_time = times.get(name)
            times[name] = self._wait if set_time is None else min(set_time, self._wait)
        request.extensions["timeout"] = {**times, "read": self._wait}
        self._asked_at = now

    def answered(self, response: Any) -> bool:
        """Watch the body of a response, whose head has come; return whether it is to be read, as it may be an error."""
        self._asked_at, self._received, self.note = None, 0, ""
        length = response.headers.get("content-length", "")
        if length.isdigit() and int(length) > _MOST_BYTES:
            self._received = int(length)
            raise self._error("size", response.request)
        response.stream = _stream_class(_package_of(response))(response.stream, self, response.request)
        kind = response.headers.get("content-type", "").partition(";")[0]
        return response.status_code == 200 and kind.endswith("json") and "ndjson" not in kind

    def read(self, response: Any) -> None:
        """Give a response whose body is an error the status of the error."""
        self._sent = body = response.content
        if not _MAY_BE_ERROR.search(body):
            return
        try:
            answer = json.loads(body)
        except ValueError:
            return
        fields = answer if is_object(answer) else {}
        choices: Any = fields.get("choices")
        first = choices[0] if is_list(choices) and choices and is_object(choices[0]) else {}
        if fields.get("object") == "error":
            error: object = fields
        elif first.get("finish_reason") == "error":
            error = first.get("error")
        else:
            error = None if any(fields.get(name) for name in _ANSWERS) else fields.get("error", fields.get("detail"))
        if not error:
            return
        said = error if is_object(error) else {}
        codes = (said.get("code"), said.get("status"))
        numbers = [int(code) for code in map(str, codes) if code.isdigit()]
        response.status_code = next((code for code in numbers if 400 <= code < 600), 502)
        self.note = (
            f"the server of the model `{self._model}`{self.place} sent this error with HTTP status 200: {self.sent}"
        )

    def count(self, size: int, request: Any) -> None:
        """Count bytes of the answer; raise if it is too large, or takes too long."""
        self._received += size
        if self._received > _MOST_BYTES:
            raise self._error("size", request)
        if time.monotonic() - self._began > self.limits.total:
            raise self._error("total", request)

    def silent(self, request: Any) -> Exception:
        """Return the error for a read that took too long."""
        self.read_timed_out()
        return self._error(self.reached, request)

    def read_timed_out(self) -> None:
        """Say which limit was reached by a read that took too long; none if the hooks saw no request."""
        if self.place:
            is_over = time.monotonic() - self._began >= self.limits.total
            self.reached = "total" if is_over else self._of_wait

    @property
    def sent(self) -> str:
        """What the server sent last, shortened; empty if it was no JSON."""
        return shorten(self._sent[: 4 * _MOST_SHOWN].decode(errors="replace"), _MOST_SHOWN)

    @property
    def text(self) -> str:
        """What to say of the limit that was reached."""
        who = f"The model `{self._model}`{self.place}"
        came = f"{self._received:,} bytes of it had come" if self._received else "nothing had come"
        match self.reached:
            case "total":
                return (
                    f"{who} had not finished its answer after {self.limits.total:g} seconds, the total time for one; {came}. To "
                    "wait longer, set `LLM(timeout=...)`, or CREWGRAPH_MODEL_TIMEOUT for all models."
                )
            case "idle":
                return (
                    f"{who} sent nothing for {self.limits.idle:g} seconds, the idle time of an answer; {came}. To wait "
                    "longer, set `LLM(idle_timeout=...)`, or CREWGRAPH_MODEL_IDLE_TIMEOUT for all models."
                )
            case "client":
                return (
                    f"{who} sent nothing for {self._wait:g} seconds, the `timeout` of its chat model; {came}. To wait "
                    "longer, set that."
                )
            case _:
                return (
                    f"{who} sent an answer of more than {_MOST_BYTES >> 20} MB ({self._received:,} bytes), which no "
                    "model writes. Check the server, and what is between it and here."
                )

    def _error(self, reached: Any, request: Any) -> Exception:
        self.reached = reached
        agent = str(request.headers.get("user-agent", "")).lower()
        for package in ("openai", "anthropic"):  # they repeat a request after all errors but their own
            if package in agent and (module := sys.modules.get(package)) is not None:
                return module.APITimeoutError(request=request)
        unread: Exception = load(_package_of(request)).ReadTimeout(self.text, request=request)
        return unread


_MAY_BE_ERROR = re.compile(rb'"error"|"detail"')
_ANSWERS = ("choices", "content", "candidates", "message", "status")
"""Fields of answers, of which one without an error has one that is not empty."""


def _package_of(part: Any) -> str:
    """Return the package of a request or response: httpx, or one with its classes, such as httpx2."""
    return type(part).__module__.partition(".")[0]


@cache
def _stream_class(package: str) -> Any:
    httpx = load(package)

    class CountedStream(httpx.SyncByteStream, httpx.AsyncByteStream):
        def __init__(self, stream: Any, clock: AnswerClock, request: Any) -> None:
            self._stream, self._clock, self._request = stream, clock, request

        def __iter__(self) -> Iterator[bytes]:
            try:
                for part in self._stream:
                    self._clock.count(len(part), self._request)
                    yield part
            except httpx.TimeoutException as error:
                raise self._clock.silent(self._request) from error

        async def __aiter__(self) -> AsyncIterator[bytes]:
            try:
                async for part in self._stream:
                    self._clock.count(len(part), self._request)
                    yield part
            except httpx.TimeoutException as error:
                raise self._clock.silent(self._request) from error

        def close(self) -> None:
            self._stream.close()

        async def aclose(self) -> None:
            await self._stream.aclose()

    return CountedStream


def _on_request(request: Any) -> None:
    clock = CALL.get().clock
    if clock is not None:
        clock.ask(request)


async def _aon_request(request: Any) -> None:
    _on_request(request)


def _on_response(response: Any) -> None:
    clock = CALL.get().clock
    if clock is not None and clock.answered(response):
        response.read()
        clock.read(response)


async def _aon_response(response: Any) -> None:
    clock = CALL.get().clock
    if clock is not None and clock.answered(response):
        await response.aread()
        clock.read(response)


def add_hooks(client: Any) -> None:
    """Add the hooks to an httpx client, once; they do nothing but in requests of ours."""
    is_async = hasattr(client, "aclose")
    hooks = {
        "request": _aon_request if is_async else _on_request,
        "response": _aon_response if is_async else _on_response,
    }
    client.event_hooks = {
        name: calls if hooks[name] in calls else [*calls, hooks[name]] for name, calls in client.event_hooks.items()
    }
