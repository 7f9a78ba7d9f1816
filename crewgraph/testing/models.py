"""Model requests in tests: forbidden, recorded to a file, or answered from it."""

import json
import os
from collections import defaultdict, deque
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from difflib import unified_diff
from pathlib import Path
from threading import Lock
from typing import Any, Literal, cast, get_args

from crewgraph.core.messages import Reply
from crewgraph.disk import replace_file
from crewgraph.errors import ModelError
from crewgraph.llm.base import WATCHERS, ModelRequest, RequestWatcher
from crewgraph.llm.conversation import text_of
from crewgraph.llm.scripted import ScriptedLLM
from crewgraph.schema import PlainDict

RecordMode = Literal["once", "record", "replay"]
"""`once` replays a file that exists and records one that does not, `record` overwrites it, `replay` never sends a request."""

_VERSION = 1
_FAKES = "langchain_core.language_models.fake"


class ModelRequestForbidden(ModelError):
    """A request to a provider's model where `forbid_model_requests` is in effect."""


class RecordingMismatch(ModelError):
    """A request that a recording does not answer."""


@contextmanager
def forbid_model_requests() -> Generator[None]:
    """Forbid requests to providers' models in a block of code, in all threads.

    `ScriptedLLM`, LangChain's fake models, replayed recordings and objects with `call` of the program's own are not affected.

    Raises:
        ModelRequestForbidden: From the request.
    """
    with _watching(_Forbidding()):
        yield


class _Forbidding(RequestWatcher):
    def sending(self, request: ModelRequest) -> None:
        """See `RequestWatcher`."""
        if request.is_own or type(request.source).__module__.startswith(_FAKES):
            return
        raise ModelRequestForbidden(
            f"a request to the model `{request.model}` was about to be sent, and `forbid_model_requests` is in effect. Give the "
            "agent a `ScriptedLLM`, or answer from a recording (`record_models`)."
        )


@contextmanager
def record_models(
    path: str | Path, mode: RecordMode = "once", *, normalize: Callable[[str], str] | None = None
) -> "Generator[ModelRecording]":
    """Record the model requests of a block of code and their replies in a JSON file, or answer them from it.

    Requests are matched by model, messages, tools and stop words; equal ones are answered in the order of their replies. Requests
    of `ScriptedLLM` are left alone. What a model streams is replayed as a whole.

    Args:
        path: The file; its folder is made if it is missing.
        mode: See `RecordMode`. The environment variable CREWGRAPH_RECORD, if set, counts instead.
        normalize: Replaces what differs from run to run (dates, ids) in a message's text before requests are compared.

    Raises:
        FileNotFoundError: There is nothing to replay.
        RecordingMismatch: From a request that the recording does not answer.
        ValueError: There is no such mode, or the file is no recording.
    """
    recording = ModelRecording(Path(path), _mode(mode), normalize or str)
    try:
        with _watching(recording):
            yield recording
    finally:
        recording.save()


def _mode(mode: str) -> RecordMode:
    mode_name = os.environ.get("CREWGRAPH_RECORD") or mode
    if mode_name not in get_args(RecordMode):
        raise ValueError(f"there is no mode {mode_name!r} of recordings; use one of: {', '.join(get_args(RecordMode))}")
    return cast(RecordMode, mode_name)


class ModelRecording(RequestWatcher):
    """A file with model requests and their replies."""

    path: Path
    """The file."""

    replays: bool
    """Whether requests are answered from it; else they are sent, and recorded."""

    def __init__(self, path: Path, mode: RecordMode, normalize: Callable[[str], str]) -> None:
        self.path, self.replays = path, mode == "replay" or (mode == "once" and path.is_file())
        self._normalize, self._lock = normalize, Lock()
        self._calls: list[PlainDict] = []
        self._open: dict[str, deque[PlainDict]] = defaultdict(deque)
        if self.replays:
            self._calls = _read(path)
            for call in self._calls:
                self._open[self._key(call)].append(call)

    def answer(self, request: ModelRequest) -> Reply | None:
        """See `RequestWatcher`."""
        if not self.replays or isinstance(request.source, ScriptedLLM):
            return None
        data = _plain(request)
        with self._lock:
            replies = self._open.get(self._key(data))
            if replies:
                return cast(Reply, json.loads(json.dumps(replies.popleft()["reply"])))
        raise RecordingMismatch(self._mismatch(data))

    def answered(self, request: ModelRequest, reply: Reply) -> None:
        """See `RequestWatcher`."""
        if not self.replays and not isinstance(request.source, ScriptedLLM):
            with self._lock:
                self._calls.append({**_plain(request), "reply": json.loads(json.dumps(reply, default=str))})

    @property
    def calls(self) -> list[PlainDict]:
        """The requests with their replies: `model`, `messages`, `tools`, `stop`, `reply`."""
        return list(self._calls)

    @property
    def unused(self) -> list[PlainDict]:
        """The recorded requests that were not made in this replay."""
        return [call for replies in self._open.values() for call in replies]

    def save(self) -> None:
        """Write the recording."""
        if self.replays or not self._calls:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"version": _VERSION, "calls": self._calls}, ensure_ascii=False, indent=2)
        replace_file(self.path, text + "\n")

    def _key(self, call: PlainDict) -> str:
        contents = [message["content"] for message in call["messages"]]
        normalized = [self._normalize(content) if isinstance(content, str) else content for content in contents]
        messages = [
            {**message, "content": content} for message, content in zip(call["messages"], normalized, strict=True)
        ]
        return json.dumps([call["model"], messages, call["tools"], call["stop"]], sort_keys=True)

    def _mismatch(self, data: PlainDict) -> str:
        where = f"{self.path} has no reply left for this request to `{data['model']}`"
        remedy = f"Record it again: delete the file, or set CREWGRAPH_RECORD=record for {self.path.name}"
        nearest = next(iter(self.unused), None)
        if nearest is None:
            return (
                f"{where}: all {len(self._calls)} are used. {remedy}. The last message is: {_last_text(data)[:500]!r}"
            )
        changes = unified_diff(_lines(nearest), _lines(data), "recorded", "requested", lineterm="", n=1)
        return f"{where}. {remedy}. The next recorded request differs:\n" + "\n".join(list(changes)[:60])


def _plain(request: ModelRequest) -> PlainDict:
    return {
        "model": request.model,
        "messages": json.loads(json.dumps(list(request.messages), default=str)),
        "tools": json.loads(json.dumps(list(request.tools), default=str)),
        "stop": list(request.stop),
    }


def _lines(call: PlainDict) -> list[str]:
    texts = [f"{message['role']}: {text_of(message['content'])}" for message in call["messages"]]
    names = [str(tool.get("name")) for tool in call["tools"]]
    return [f"model: {call['model']}", f"tools: {', '.join(names)}", *"\n".join(texts).splitlines()]


def _last_text(call: PlainDict) -> str:
    return text_of(call["messages"][-1]["content"]) if call["messages"] else ""


def _read(path: Path) -> list[PlainDict]:
    if not path.is_file():
        raise FileNotFoundError(f"there is no recording {path}; run the test once with CREWGRAPH_RECORD=record")
    try:
        document: Any = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not a recording of model requests: {error}") from error
    if not isinstance(document, Mapping) or cast("PlainDict", document).get("version") != _VERSION:
        raise ValueError(f"{path} is not a recording of model requests of version {_VERSION}; record it again")
    return cast("list[PlainDict]", document["calls"])


@contextmanager
def _watching(watcher: RequestWatcher) -> Generator[None]:
    WATCHERS.append(watcher)
    try:
        yield
    finally:
        WATCHERS.remove(watcher)
