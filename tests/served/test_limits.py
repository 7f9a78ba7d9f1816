"""Connections that send half a request, or drip one, end before the server knows who asks; those of streams last."""

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing

import pytest
import uvicorn
from servers.ports import reserved_port
from starlette.types import Receive, Scope, Send
from waiting import LONG, wait_until

from crewgraph.contrib.serve import guard as limits
from crewgraph.contrib.serve.guard import Guard


async def streaming(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer after the body has come, in two parts, later than any limit."""
    if scope["type"] == "http":
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"one", "more_body": True})
        await asyncio.sleep(1.5)
        await send({"type": "http.response.body", "body": b"two"})


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, int]]:
    monkeypatch.setattr(limits, "_HEADER_SECONDS", 1.0)
    monkeypatch.setattr(limits, "_BODY_SECONDS", 1.2)
    monkeypatch.setattr(limits, "_MAX_WAITING", 20)
    monkeypatch.setattr(limits, "_GRACE", 0.1)
    with reserved_port() as port:
        yield from running(port)


def running(port: int) -> Iterator[tuple[str, int]]:
    app = Guard(streaming, token="t", hosts=None, max_body=1_000)
    options = {"host": "127.0.0.1", "port": port, "log_level": "critical", "lifespan": "off", **limits.LIMITS}
    server = uvicorn.Server(uvicorn.Config(app, **options))  # type: ignore[arg-type]
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_until(lambda: server.started)
    yield "127.0.0.1", port
    server.should_exit = True
    thread.join(LONG)


HEAD = b"POST /x HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
KNOWN = HEAD + b"Authorization: Bearer t\r\n"


def seconds_until_closed(address: tuple[str, int], start: bytes, drip: bytes = b"") -> tuple[float, bytes]:
    """How long a connection lasts on which something is sent, and then a byte at a time; and what was answered."""
    began, answer = time.monotonic(), b""
    with closing(socket.create_connection(address, LONG)) as connection:
        connection.sendall(start)
        connection.settimeout(0.05)
        while time.monotonic() - began < LONG:
            try:
                if drip:
                    connection.sendall(drip)
                    time.sleep(0.02)
                if not (part := connection.recv(65536)):
                    break
                answer += part
            except TimeoutError:
                continue
            except OSError:
                break
    return time.monotonic() - began, answer


@pytest.mark.parametrize(
    ("start", "drip"),
    [
        (b"", b""),
        (b"POST /x HT", b""),
        (HEAD, b"X"),
        (HEAD + b"Content-Length: 900\r\n\r\n", b"x"),  # refused; the body goes on
        (KNOWN + b"Content-Length: 900\r\n\r\n", b""),
        (KNOWN + b"Content-Length: 900\r\n\r\n", b"x"),
        (KNOWN + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
        (KNOWN + b"Content-Length: 0\r\n\r\n" + b"POST /x HT", b"X"),  # a second one
    ],
    ids=["nothing", "half a line", "headers", "refused body", "no body", "body", "chunks", "second request"],
)
def test_half_a_request_ends_in_time_however_slowly_it_goes_on(address: tuple[str, int], start: bytes, drip: bytes):
    lasted, answer = seconds_until_closed(address, start, drip)
    assert lasted < LONG
    assert b"401" in answer[:12] or answer == b"" or answer.endswith(b"0\r\n\r\n") or b"400" in answer[:12]


def test_a_stream_and_a_slow_whole_request_outlast_the_limits(address: tuple[str, int]):
    with closing(socket.create_connection(address, LONG)) as connection:
        for part in (KNOWN, b"Content-Length: 2\r\n\r\n", b"{", b"}"):
            connection.sendall(part)
            time.sleep(0.1)
        answer = b""
        while b"two" not in answer:
            answer += connection.recv(1000)
        connection.sendall(KNOWN + b"Content-Length: 0\r\n\r\n")  # the connection is kept
        while answer.count(b"two") < 2:
            answer += connection.recv(1000)
    assert answer.count(b"one") == 2
