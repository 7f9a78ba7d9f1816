"""A LangSmith server on loopback that stores what the SDK sends.

with LangSmithServer() as server:
    ...  # with LANGSMITH_ENDPOINT=server.url
    print(server.tree())
"""

import gzip
import json
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from email.parser import BytesParser
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self, cast

import zstandard
from langsmith import Client
from langsmith.run_helpers import tracing_context  # pyright: ignore[reportUnknownVariableType]

__all__ = ["LangSmithServer", "Trace", "traced"]

Trace = dict[str, Any]
"""A run as it was sent: `name`, `run_type`, `inputs`, `outputs`, `extra`, `tags`, `error`, `start_time`, `end_time`."""


class LangSmithServer:
    """The endpoint; a context manager.

    Args:
        multipart: whether runs are taken in parts, as the hosted service does; else in batches of JSON.
        zstd: whether compressed ones are taken.
    """

    runs: dict[str, Trace]
    """The runs by id; patches are applied."""

    requests: list[str]
    """Method, path and encoding of each request."""

    flush: Callable[[], None]
    """Flushes the client, if it is in the same process."""

    faults: list[str]
    """Invalid requests: unknown paths, unreadable bodies, patches of unknown runs."""

    def __init__(self, *, multipart: bool = True, zstd: bool = True) -> None:
        self.runs, self.requests, self.faults = {}, [], []
        self.flush = lambda: None
        self._info = {
            "version": "0.13.0",
            "instance_flags": {"zstd_compression_enabled": zstd},
            "batch_ingest_config": {
                "use_multipart_endpoint": multipart, "scale_up_qsize_trigger": 1000, "scale_up_nthreads_limit": 4,
                "scale_down_nempty_trigger": 4, "size_limit": 100, "size_limit_bytes": 20_971_520,
            },
        }  # fmt: skip
        self._lock = threading.Lock()
        self._http = _Listener(("127.0.0.1", 0), _Handler)
        self._http.owner = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def roots(self) -> list[Trace]:
        """The root runs, in the order they began."""
        self.flush()
        return self.below(None)

    def below(self, parent: str | None) -> list[Trace]:
        """The runs below one, in the order they began."""
        found = [run for run in self.runs.values() if run.get("parent_run_id") == parent]
        return sorted(found, key=lambda run: str(run["dotted_order"]))

    def named(self, name: str) -> list[Trace]:
        """The runs of a name, in the order they began."""
        self.flush()
        found = [run for run in self.runs.values() if run.get("name") == name]
        return sorted(found, key=lambda run: str(run["dotted_order"]))

    def tree(self, top: Trace | None = None) -> str:
        """All runs, or those of one, as lines `name [type]`: two blanks for each run above, `!` if failed, `?` if open.

        Those that LangSmith does not show are left out.
        """
        self.flush()
        lines: list[str] = []

        def write(run: Trace, depth: int) -> None:
            if "langsmith:hidden" in (run.get("tags") or ()):
                return
            marks = (" !" if run.get("error") else "") + ("" if run.get("end_time") else " ?")
            lines.append(f"{'  ' * depth}{run['name']} [{run['run_type']}]{marks}")
            for child in self.below(run["id"]):
                write(child, depth + 1)

        for root in self.roots if top is None else [top]:
            write(root, 0)
        return "\n".join(lines)

    def answer(self, method: str, path: str, headers: Any, body: bytes) -> tuple[int, object]:
        """Take a request: the status and the answer."""
        with self._lock:
            encoding = headers.get("Content-Encoding") or "identity"
            self.requests.append(f"{method} {path} {encoding}")
            try:
                return self._taken(method, path.partition("?")[0], headers, _decoded(body, encoding))
            except (KeyError, ValueError, zstandard.ZstdError) as error:
                self.faults.append(f"{method} {path}: {type(error).__name__}: {error}")
                return 422, {"detail": str(error)}

    def _taken(self, method: str, path: str, headers: Any, body: bytes) -> tuple[int, object]:
        match method, path.split("/")[1:]:
            case "GET", ["info"]:
                return 200, self._info
            case "POST", ["runs", "multipart"]:
                self._parts(str(headers["Content-Type"]), body)
            case "POST", ["runs", "batch"]:
                sent: dict[str, list[Trace] | None] = json.loads(body)
                for run in sent.get("post") or ():
                    self._posted(run["id"], run)
                for run in sent.get("patch") or ():
                    self._patched(run["id"], run)
            case "POST", ["runs"]:
                run = json.loads(body)
                self._posted(run["id"], run)
            case "PATCH", ["runs", known]:
                self._patched(known, json.loads(body))
            case _:
                raise KeyError(f"no such path: {path}")
        return 202, {}

    def _parts(self, content_type: str, body: bytes) -> None:
        """Parts are named `post.<run>`, `post.<run>.<field>`, `patch.<run>` and so on; each holds JSON."""
        message = BytesParser(policy=HTTP).parsebytes(b"Content-Type: " + content_type.encode() + b"\r\n\r\n" + body)
        for part in message.iter_parts():
            name = str(cast("Any", part).get_param("name", header="content-disposition"))
            held = json.loads(cast("Any", part).get_payload(decode=True))
            event, run, *field = name.split(".", 2)
            change: Trace = {field[0]: held} if field else held
            if event == "post":
                self._posted(run, change)
            elif event == "patch":
                self._patched(run, change)
            else:
                raise ValueError(f"a part is named {name}")

    def _posted(self, run: str, sent: Trace) -> None:
        self.runs.setdefault(run, {"id": run}).update(sent)

    def _patched(self, run: str, sent: Trace) -> None:
        if run not in self.runs:
            raise KeyError(f"a patch of run {run}, which was never posted")
        # A patch repeats fields that the post had; the end of a run does not take its name away.
        self.runs[run].update({name: value for name, value in sent.items() if value is not None})


@contextmanager
def traced() -> Generator[LangSmithServer]:
    """A server that is sent the runs of this process's block; at its end no request was wrong, and every run has ended."""
    with LangSmithServer() as server:
        client = Client(api_url=server.url, api_key="fake")
        server.flush = client.flush
        with tracing_context(enabled=True, client=client, project_name="tests"):
            yield server
        open_ones = [line for line in server.tree().splitlines() if line.endswith(" ?")]
        client.close()
        assert (server.faults, open_ones) == ([], [])


def _decoded(body: bytes, encoding: str) -> bytes:
    match encoding:
        case "zstd":
            return zstandard.ZstdDecompressor().decompressobj().decompress(body)
        case "gzip":
            return gzip.decompress(body)
        case "identity":
            return body
        case _:
            raise ValueError(f"no such encoding: {encoding}")


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    owner: LangSmithServer


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        return None

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def do_PATCH(self) -> None:
        self._answer()

    def _answer(self) -> None:
        owner = cast(_Listener, self.server).owner
        status, reported = owner.answer(self.command, self.path, self.headers, self._body())
        sent = json.dumps(reported).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        pieces: list[bytes] = []
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(pieces)
