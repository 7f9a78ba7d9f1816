"""The total time, the idle time and the size of an answer, and answers that are none, on a server that sends what a test says."""

import asyncio
import copy
import socket
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import openai
import pytest
from langchain_openai import ChatOpenAI
from modes import Mode
from waiting import LONG

from crewgraph import LLM
from crewgraph.core.outages import is_outage
from crewgraph.llm.errors import AnswerTimeout, AnswerTooLarge, UnreadableAnswer
from crewgraph.llm.resolve import as_model

Sends = Callable[[socket.socket], None]


class Server:
    """Answers each request with what `sends` writes to the connection."""

    def __init__(self, sends: Sends) -> None:
        self.requests = 0
        self._sends = sends
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._ended = threading.Event()
        self.root = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self.url = f"{self.root}/v1"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=[connection], daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        received = b""
        with connection:
            while b"\r\n\r\n" not in received:
                received += connection.recv(65536)
            self.requests += 1
            with suppress(OSError):
                self._sends(connection)

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def serve() -> Iterator[Callable[[Sends], Server]]:
    servers: list[Server] = []

    def start(sends: Sends) -> Server:
        servers.append(Server(sends))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def ask(mode: Mode, llm: Any) -> Any:
    return llm.call("hello") if not mode.asynchronous else asyncio.run(llm.acall("hello"))


def head(kind: str = "application/json", length: int | None = None) -> bytes:
    size = "" if length is None else f"Content-Length: {length}\r\n"
    return f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n{size}Connection: close\r\n\r\n".encode()


def body(text: str) -> Sends:
    return lambda connection: connection.sendall(head(length=len(text)) + text.encode())


def silence(connection: socket.socket) -> None:
    connection.settimeout(30)
    while connection.recv(65536):  # until the client leaves
        pass


def drip(kind: str, piece: bytes) -> Sends:
    def sends(connection: socket.socket) -> None:
        connection.sendall(head(kind))
        while True:
            connection.sendall(piece)
            time.sleep(0.05)

    return sends


@pytest.mark.parametrize(
    ("sends", "words"),
    [
        pytest.param(silence, {}, id="silent"),
        pytest.param(drip("application/json", b" "), {}, id="a byte at a time"),
        pytest.param(drip("text/event-stream", b":\n\n"), {"stream": True}, id="a stream without content"),
    ],
)
def test_the_total_time_ends_an_answer_that_does_not_end(
    serve: Callable[[Sends], Server], mode: Mode, sends: Sends, words: dict[str, Any]
):
    server, began = serve(sends), time.monotonic()
    with pytest.raises(AnswerTimeout, match="had not finished its answer after 0.5 seconds.*LLM\\(timeout=") as caught:
        ask(mode, LLM("openai/slow", base_url=server.url, api_key="k", timeout=0.5, **words))
    assert time.monotonic() - began < LONG
    assert server.requests <= 1  # another would be paid for again
    assert "`slow` at http://127.0.0.1:" in str(caught.value)
    assert isinstance(caught.value, openai.APITimeoutError) and is_outage(caught.value)
    assert type(copy.copy(caught.value)) is type(caught.value)


def test_the_idle_time_ends_an_answer_that_has_stopped(serve: Callable[[Sends], Server], mode: Mode):
    def stops(connection: socket.socket) -> None:
        connection.sendall(head(length=1000) + b"  ")
        silence(connection)

    server = serve(stops)
    expected = "sent nothing for 0.3 seconds, the idle time of an answer; 2 bytes of it had come.*LLM\\(idle_timeout="
    with pytest.raises(AnswerTimeout, match=expected):
        ask(mode, LLM("openai/slow", base_url=server.url, api_key="k", idle_timeout=0.3))
    assert server.requests == 1


def test_models_of_langchain_keep_to_the_defaults_of_the_environment(
    serve: Callable[[Sends], Server], mode: Mode, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("CREWGRAPH_MODEL_TIMEOUT", "0.5")
    server = serve(drip("application/json", b" "))
    model = as_model(ChatOpenAI(model="slow", base_url=server.url, api_key="k"))  # pyright: ignore[reportArgumentType]
    messages: Any = [{"role": "user", "content": "hello"}]
    with pytest.raises(AnswerTimeout, match="CREWGRAPH_MODEL_TIMEOUT"):
        if not mode.asynchronous:
            model.complete(messages, (), (), {})
        else:
            asyncio.run(model.acomplete(messages, (), (), {}))


def test_the_next_model_is_asked_when_the_time_is_up(serve: Callable[[Sends], Server], mode: Mode):
    good = serve(body('{"choices": [{"message": {"role": "assistant", "content": "fine"}, "finish_reason": "stop"}]}'))
    second = LLM("openai/good", base_url=good.url, api_key="k")
    first = LLM("openai/slow", base_url=serve(silence).url, api_key="k", timeout=0.3, fallbacks=[second])
    assert ask(mode, first) == "fine"


def test_an_answer_of_200_mb_is_not_read_to_its_end(serve: Callable[[Sends], Server], mode: Mode):
    def much(connection: socket.socket) -> None:
        connection.sendall(head())
        for _ in range(200):
            connection.sendall(b"a" * (1 << 20))

    llm = LLM("openai/large", base_url=serve(much).url, api_key="k")
    tracemalloc.start()
    try:
        with pytest.raises(AnswerTooLarge, match="an answer of more than 64 MB"):
            ask(mode, llm)
        assert tracemalloc.get_traced_memory()[1] < 120 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("sent", ['{"choices": null}', '{"choices": []}', '{"choices": [{"message": null}]}', "[1]"])
def test_an_answer_that_is_none_is_quoted(serve: Callable[[Sends], Server], mode: Mode, sent: str):
    with pytest.raises(UnreadableAnswer) as caught:
        ask(mode, LLM("openai/odd", base_url=serve(body(sent)).url, api_key="k"))
    assert "`odd`" in str(caught.value) and sent in str(caught.value)


def test_an_error_with_status_200_is_repeated_as_its_own_status_and_the_next_model_is_asked(
    serve: Callable[[Sends], Server], mode: Mode
):
    server = serve(body('{"error": {"message": "Provider returned error", "code": 502}}'))
    with pytest.raises(openai.InternalServerError, match="Provider returned error") as caught:
        ask(mode, LLM("openrouter/x/y", base_url=server.url, api_key="k", max_retries=1))
    assert server.requests == 2 and caught.value.status_code == 502
    assert "the server of the model `x/y` at http://127.0.0.1" in str(caught.value)
    good = serve(body('{"choices": [{"message": {"role": "assistant", "content": "fine"}, "finish_reason": "stop"}]}'))
    second = LLM("openai/good", base_url=good.url, api_key="k")
    assert (
        ask(mode, LLM("openrouter/x/y", base_url=server.url, api_key="k", max_retries=0, fallbacks=[second])) == "fine"
    )
