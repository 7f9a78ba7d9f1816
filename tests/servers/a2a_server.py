"""A remote agent on loopback that speaks Agent2Agent 0.3 by JSON-RPC, and answers as a test configures.

As a process: `python a2a_server.py NOTES` prints its address, writes each message's id and text to the file NOTES, and works
until a file NOTES.go is there.
"""

import json
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

__all__ = ["RemoteServer", "Says", "asks", "fails", "says", "works"]

Says = dict[str, Any]
"""The outcome of a message: a state, the text, the streamed chunks, and the seconds it takes."""


def says(text: str, *, seconds: float = 0, polls: int = 0, chunks: list[str] | None = None, data: Any = None) -> Says:
    """Completes: after some seconds, or after some polls."""
    chunks = chunks or [text]
    return {"state": "completed", "text": text, "seconds": seconds, "polls": polls, "chunks": chunks, "data": data}


def asks(text: str) -> Says:
    """Asks a question."""
    return {"state": "input-required", "text": text, "seconds": 0, "chunks": []}


def fails(text: str) -> Says:
    """Fails."""
    return {"state": "failed", "text": text, "seconds": 0, "chunks": []}


def works() -> Says:
    """Never completes."""
    return {"state": "completed", "text": "late", "seconds": 3600, "chunks": ["late"]}


class RemoteServer:
    """The agent; a context manager that serves it."""

    def __init__(
        self,
        script: list[Says] | Callable[[str], Says],
        *,
        streaming: bool = True,
        allowed: Callable[[Mapping[str, str], str], bool] = lambda headers, path: True,
        card: Mapping[str, Any] | None = None,
        raw_card: bytes | None = None,
        direct: bool = False,
        cut: bool = False,
        refusal: str = "Bearer",
        disturbed: Callable[[str], Iterable[bytes] | None] = lambda method: None,
    ) -> None:
        self.script, self.allowed, self.direct, self.cut, self.refusal = script, allowed, direct, cut, refusal
        self.raw_card = raw_card
        self.disturbed = disturbed  # the bytes to send in place of the response to a method
        self.messages: list[dict[str, Any]] = []
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.headers: list[dict[str, str]] = []
        self.tokens = 0
        self.moved: str | None = None
        self.tasks: dict[str, tuple[float, Says, str]] = {}
        self._lock = threading.Lock()
        self._server = _Served(self)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.endpoint = f"{self.url}/.well-known/agent-card.json"
        skill = {"id": "tides", "name": "Tides", "description": "Knows the tides", "tags": ["sea"]}
        self.card: dict[str, Any] = {
            "name": "Harbour Office",
            "description": "Answers questions about the harbour",
            "url": f"{self.url}/rpc",
            "version": "1",
            "protocolVersion": "0.3.0",
            "capabilities": {"streaming": streaming},
            "defaultInputModes": ["text/plain"],
            "defaultOutputModes": ["text/plain"],
            "skills": [skill],
            **(card or {}),
        }

    @property
    def texts(self) -> list[str]:
        """The received messages."""
        return [message["parts"][0]["text"] for message in self.messages]

    def asked(self, method: str) -> list[dict[str, Any]]:
        """The parameters of the requests of a kind."""
        return [params for name, params in self.calls if name == method]

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def started(self, message: dict[str, Any]) -> tuple[str, str, Says]:
        """Accept a message; return the task, the conversation and the outcome."""
        with self._lock:
            self.messages.append(message)
            number = len(self.messages)
            said = self.script(message["parts"][0]["text"]) if callable(self.script) else self.script.pop(0)
            task, context = message.get("taskId") or f"task-{number}", message.get("contextId") or f"context-{number}"
            self.tasks[task] = (time.monotonic() + said["seconds"], said, context)
        return task, context, said

    def reported(self, task: str) -> dict[str, Any]:
        """Return a task in its current state."""
        until, said, context = self.tasks[task]
        reported: dict[str, Any] = {"kind": "task", "id": task, "contextId": context}
        said["polls"] = said.get("polls", 0) - 1
        if time.monotonic() < until or said["polls"] >= 0:
            return {**reported, "status": {"state": "working"}}
        if said["state"] != "completed":
            return {**reported, "status": {"state": said["state"], "message": _message(said["text"])}}
        part = {"kind": "data", "data": said["data"]} if said.get("data") else {"kind": "text", "text": said["text"]}
        return {**reported, "status": {"state": "completed"}, "artifacts": [{"artifactId": "a", "parts": [part]}]}

    def streamed(self, message: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the updates that are sent while it works."""
        task, context, said = self.started(message)
        ids = {"taskId": task, "contextId": context}
        yield {"kind": "task", "id": task, "contextId": context, "status": {"state": "submitted"}}
        if self.cut:
            return
        time.sleep(said["seconds"])
        for n, chunk in enumerate(said["chunks"]):
            artifact = {"artifactId": "a", "parts": [{"kind": "text", "text": chunk}]}
            yield {"kind": "artifact-update", **ids, "artifact": artifact, "append": n > 0}
        status = {"state": said["state"], **({} if said["chunks"] else {"message": _message(said["text"])})}
        yield {"kind": "status-update", **ids, "status": status, "final": True}


class _Served(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, agent: RemoteServer) -> None:
        self.agent = agent
        super().__init__(("127.0.0.1", 0), _Request)


class _Request(BaseHTTPRequestHandler):
    @property
    def _agent(self) -> RemoteServer:
        return cast(_Served, self.server).agent

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        if self._refused():
            return
        if self._agent.moved is not None:
            self.send_response(302)
            self.send_header("Location", self._agent.moved)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        is_card = self.path.startswith("/.well-known/agent-card.json")
        self._send(self._agent.raw_card or json.dumps(self._agent.card).encode() if is_card else None)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/token":
            self._agent.tokens += 1
            self._json({"access_token": f"token-{self._agent.tokens}", "expires_in": 3600})
            return
        if self.path.startswith("/nowhere"):
            self._json(None)
            return
        if self._refused():
            return
        asked = json.loads(body)
        method, params = asked["method"], asked["params"]
        self._agent.calls.append((method, params))
        raw = self._agent.disturbed(method)
        if raw is not None:
            with suppress(OSError):
                for part in raw:
                    self.wfile.write(part)
                    self.wfile.flush()
        elif method == "message/stream":
            self._stream(asked["id"], params["message"])
        elif method == "message/send":
            task, context, said = self._agent.started(params["message"])
            direct = {**_message(said["text"]), "contextId": context}
            self._result(asked["id"], direct if self._agent.direct else self._agent.reported(task))
        elif method == "tasks/get" and params["id"] in self._agent.tasks or method == "tasks/cancel":
            self._result(asked["id"], self._agent.reported(params["id"]))
        else:
            error = {"code": -32001, "message": "Task not found"}
            self._json({"jsonrpc": "2.0", "id": asked["id"], "error": error})

    def _refused(self) -> bool:
        self._agent.headers.append(dict(self.headers))
        if self._agent.allowed(dict(self.headers), self.path):
            return False
        self.send_response(401)
        self.send_header("WWW-Authenticate", self._agent.refusal)
        self.send_header("Content-Length", "0")
        self.end_headers()
        return True

    def _stream(self, number: Any, message: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for result in self._agent.streamed(message):
            reported = json.dumps({"jsonrpc": "2.0", "id": number, "result": result})
            self.wfile.write(f"data: {reported}\n\n".encode())
            self.wfile.flush()

    def _result(self, number: Any, result: Any) -> None:
        self._json({"jsonrpc": "2.0", "id": number, "result": result})

    def _json(self, value: Any) -> None:
        self._send(None if value is None else json.dumps(value).encode())

    def _send(self, body: bytes | None) -> None:
        self.send_response(404 if body is None else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")


def _message(text: str) -> dict[str, Any]:
    parts = [{"kind": "text", "text": text}]
    return {"kind": "message", "role": "agent", "messageId": f"m-{text[:9]}", "parts": parts}


class _Patient(RemoteServer):
    """Records its messages, and completes once it is released."""

    def __init__(self, notes: Path) -> None:
        super().__init__(lambda text: says("high water at six"))
        self.notes = notes

    def started(self, message: dict[str, Any]) -> tuple[str, str, Says]:
        with self.notes.open("a") as file:
            file.write(f"{message['messageId']} {message['parts'][0]['text']}\n")
        return super().started(message)

    def streamed(self, message: dict[str, Any]) -> Iterator[dict[str, Any]]:
        for result in super().streamed(message):
            yield result
            while not self._may:
                time.sleep(0.02)

    def reported(self, task: str) -> dict[str, Any]:
        done = super().reported(task)
        return done if self._may else {**done, "status": {"state": "working"}, "artifacts": []}

    @property
    def _may(self) -> bool:
        return Path(f"{self.notes}.go").exists()


if __name__ == "__main__":
    with _Patient(Path(sys.argv[1])) as served:
        print(cast("Any", served).endpoint, flush=True)
        threading.Event().wait()
