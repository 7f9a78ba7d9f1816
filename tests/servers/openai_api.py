"""An OpenAI-compatible endpoint on loopback that answers or misbehaves as a test configures, and records its requests.

    with OpenAIServer(["first answer", call("search", {"q": "x"}), error(429, retry_after=0.1), "done"]) as
    server:
        LLM("openai/test", base_url=server.url, api_key="key")

As a process: `python -m tests.servers.openai_api --port 0 --script answers.json --log requests.jsonl` prints
    its URL.
"""

import argparse
import json
import socket
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

from .answers import Answer, Request, Script, call, calls, cut, empty, error, garbage, hang, null, text
from .embeddings import VECTOR_SIZE, Embedder, Vectors, wants_vectors

__all__ = [
    "Answer", "OpenAIServer", "Request", "Script", "call", "calls", "cut", "empty", "error", "garbage", "hang",
    "main", "null", "text",
]  # fmt: skip


class OpenAIServer:
    """The endpoint; a context manager that starts it and closes every connection at the end."""

    requests: list[Request]
    """The requests, in the order of arrival."""

    def __init__(
        self,
        script: Script | None = None,
        *,
        embeddings: Vectors | None = None,
        vector_size: int = VECTOR_SIZE,
        port: int = 0,
        key: str | None = None,
        log: Path | None = None,
    ) -> None:
        self.requests = []
        self.closing = threading.Event()
        self.connections: set[socket.socket] = set()
        self._script = script
        self._embedder = Embedder(embeddings, size=vector_size)
        self._position = 0
        self._key = key
        self._log = log
        self._lock = threading.Lock()
        self._http = _Listener(("127.0.0.1", port), _Handler)
        self._http.owner = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        """The base URL, with `/v1`."""
        return f"{self.root}/v1"

    @property
    def root(self) -> str:
        """The address without a path, as for Ollama and Azure."""
        return f"http://127.0.0.1:{self._http.server_port}"

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The JSON bodies that were sent."""
        return [request.body for request in self.requests]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop answering and close what is open."""
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        for connection in list(self.connections):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue
        self._thread.join()

    def answer(self, request: Request) -> Answer:
        """Record a request and return its answer."""
        with self._lock:
            self.requests.append(request)
            if self._log is not None:
                with self._log.open("a", encoding="utf-8") as lines:
                    lines.write(json.dumps({"path": request.path, "body": request.body}) + "\n")
        if refusal := self._refusal(request):
            return refusal
        if wants_vectors(request):
            return self._embedder.answer(request)
        if not request.path.partition("?")[0].endswith("/chat/completions"):
            return error(404, f"no such path: {request.path}")
        return self._scripted(request)

    def _refusal(self, request: Request) -> Answer | None:
        given = request.headers.get("authorization", "")
        if "api-key" in request.headers:  # as Azure has it
            given = f"Bearer {request.headers['api-key']}"
        if self._key is None and "/api/" in request.path:
            return None  # Ollama asks for no key
        if not given.startswith("Bearer ") or (self._key is not None and given != f"Bearer {self._key}"):
            return error(401, "no key, or a wrong one", code="invalid_api_key")
        return None

    def _scripted(self, request: Request) -> Answer:
        if self._script is None:
            return text(f"echo: {request.last}")
        if callable(self._script):
            chosen = self._script(request)
        else:
            with self._lock:
                position = self._position
                self._position += 1
            if position >= len(self._script):
                return error(400, f"the script has {len(self._script)} answers and this is request {position + 1}")
            chosen = self._script[position]
        return text(chosen) if isinstance(chosen, str) else chosen


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256
    owner: OpenAIServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), OSError):  # a disconnected client is not an error
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    @property
    def owner(self) -> OpenAIServer:
        return cast(_Listener, self.server).owner

    def setup(self) -> None:
        super().setup()
        self.owner.connections.add(self.connection)

    def finish(self) -> None:
        self.owner.connections.discard(self.connection)
        super().finish()

    def log_message(self, format: str, *args: Any) -> None:
        return None

    def do_GET(self) -> None:
        if self.path.endswith("/models"):
            model = {"id": "test", "object": "model", "created": 0, "owned_by": "tests"}
            self._send(200, {}, json.dumps({"object": "list", "data": [model]}).encode())
        else:
            self._send(404, {}, b"{}")

    def do_POST(self) -> None:
        sent = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.path, headers, json.loads(sent or b"{}"))
        answer = self.owner.answer(request)
        if answer.hangs:
            self.owner.closing.wait()
            self.close_connection = True
            return
        if answer.delay:
            time.sleep(answer.delay)
        if answer.body is not None:
            self._send(answer.status, answer.headers, answer.body)
        elif request.body.get("stream"):
            self._stream(request.body, answer)
        else:
            self._complete(request.body, answer)

    def _complete(self, asked: dict[str, Any], answer: Answer) -> None:
        whole = {
            "id": "chatcmpl-test",
            "object": "chat.completion",
            "created": 0,
            "model": asked.get("model"),
            "choices": [{"index": 0, "message": answer.message, "finish_reason": answer.reason}]
            if answer.choices
            else [],
            "usage": _usage(asked, answer),
        }
        body = json.dumps(whole).encode()
        if answer.cuts:
            self._send(200, {}, body[: len(body) // 2], promised=len(body))
            self.close_connection = True
        else:
            self._send(200, {}, body)

    def _stream(self, asked: dict[str, Any], answer: Answer) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number, chunk in enumerate(_chunks(asked, answer)):
            if answer.cuts and number == 3:
                self.wfile.flush()
                self.close_connection = True
                return
            self._part(f"data: {json.dumps(chunk)}\n\n".encode())
        self._part(b"data: [DONE]\n\n")
        self._part(b"")

    def _part(self, piece: bytes) -> None:
        self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        self.wfile.flush()

    def _send(self, status: int, headers: dict[str, str], body: bytes, *, promised: int | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if promised is None else promised))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()


def _chunks(asked: dict[str, Any], answer: Answer) -> Iterator[dict[str, Any]]:
    frame = {"id": "chatcmpl-test", "object": "chat.completion.chunk", "created": 0, "model": asked.get("model")}
    message = answer.message

    def chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        return {**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}

    if answer.choices:
        yield chunk({"role": "assistant", "content": ""})
        for name in message.keys() - {"role", "content", "tool_calls", "refusal"}:
            yield from (chunk({name: part}) for part in _parts(message[name]))
        words = (message.get("content") or "").split(" ") if message.get("content") else []
        for number, word in enumerate(words):
            yield chunk({"content": word if number == 0 else f" {word}"})
        for index, expected in enumerate(message.get("tool_calls") or []):
            arguments: str = expected["function"]["arguments"]
            half = len(arguments) // 2
            named = {"name": expected["function"]["name"], "arguments": arguments[:half]}
            yield chunk({"tool_calls": [{**expected, "index": index, "function": named}]})
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": arguments[half:]}}]})
        yield chunk({}, answer.reason)
    if asked.get("stream_options", {}).get("include_usage"):
        yield {**frame, "choices": [], "usage": _usage(asked, answer)}


def _parts(value: Any) -> Sequence[Any]:
    """A field of a message as a stream has it: a text in halves, each element of a list by itself, its text in halves, too."""
    if isinstance(value, str):
        return [value[: len(value) // 2], value[len(value) // 2 :]]
    if not isinstance(value, list):
        return [value]
    parts: list[Any] = []
    for element in cast("list[dict[str, Any]]", value):
        name = next((name for name in ("text", "summary") if name in element), None)
        halves = [element] if name is None else [{**element, name: half} for half in _parts(element[name])]
        for half in halves[:-1]:
            half.pop("signature", None)
        parts += [[half] for half in halves]
    return parts


def _usage(asked: dict[str, Any], answer: Answer) -> dict[str, Any]:
    """Words counted as tokens: those of the messages' texts, and those of the answer (at least one)."""
    if answer.usage is not None:
        return answer.usage
    prompt = sum(len(str(message.get("content") or "").split()) for message in asked.get("messages", []))
    completion = max(1, len(str(answer.message.get("content") or "").split()))
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _written(entry: Any) -> str | Answer:
    """An entry of a script file: a text, {"calls": [[name, args], ...]} or {"status": 429, "retry_after":
    1}."""
    if isinstance(entry, str):
        return entry
    if "calls" in entry:
        return calls(*((name, args) for name, args in entry["calls"]))
    return error(entry["status"], entry.get("message", "told to fail"), retry_after=entry.get("retry_after"))


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until stopped; the first line printed is the URL."""
    parser = argparse.ArgumentParser(description="An OpenAI-compatible endpoint for tests.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--script", type=Path, help="a JSON list of answers; without it the last message is echoed")
    parser.add_argument("--vector-size", type=int, default=VECTOR_SIZE, help="of embeddings, where none is asked for")
    parser.add_argument("--log", type=Path, help="each request is appended here as a line of JSON")
    chosen = parser.parse_args(arguments)
    script = None if chosen.script is None else [_written(e) for e in json.loads(chosen.script.read_text("utf-8"))]
    with OpenAIServer(script, vector_size=chosen.vector_size, port=chosen.port, log=chosen.log) as server:
        print(server.url, flush=True)
        server.closing.wait()


if __name__ == "__main__":
    main()
