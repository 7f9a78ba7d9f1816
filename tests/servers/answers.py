"""Answers of the endpoint of `openai_api`, and its ways to misbehave."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Answer", "Request", "Script", "call", "calls", "cut", "empty", "error", "garbage", "hang", "null", "text"]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The answer of the server to one request."""

    message: dict[str, Any] = field(default_factory=dict[str, Any])
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict[str, str])
    body: bytes | None = None
    """Sent instead of a completion."""

    usage: dict[str, Any] | None = None
    """Reported instead of the counted words."""

    finish_reason: str | None = None
    """Instead of the usual one."""

    choices: bool = True
    hangs: bool = False
    cuts: bool = False
    delay: float = 0.0
    """Seconds before anything is sent."""

    @property
    def reason(self) -> str:
        """The finish reason."""
        return self.finish_reason or ("tool_calls" if self.message.get("tool_calls") else "stop")


@dataclass(frozen=True)
class Request:
    """A request of a client."""

    path: str
    headers: dict[str, str]
    """Names in lower case."""

    body: dict[str, Any]

    @property
    def last(self) -> str:
        """The text of the last message."""
        messages: list[dict[str, Any]] = self.body.get("messages") or [{}]
        return str(messages[-1].get("content") or "")


Script = Sequence[str | Answer] | Callable[[Request], str | Answer]


def text(content: str, *, usage: dict[str, Any] | None = None, delay: float = 0.0) -> Answer:
    """Answers with text."""
    return Answer(message={"role": "assistant", "content": content}, usage=usage, delay=delay)


def calls(*expected: tuple[str, dict[str, Any] | str], content: str | None = None) -> Answer:
    """Answers with tool calls, each a name and its arguments (a string is sent as it is)."""
    listed = [
        {
            "id": f"call_{number}_{name}",
            "type": "function",
            "function": {"name": name, "arguments": args if isinstance(args, str) else json.dumps(args)},
        }
        for number, (name, args) in enumerate(expected)
    ]
    return Answer(message={"role": "assistant", "content": content, "tool_calls": listed})


def call(name: str, args: dict[str, Any] | str) -> Answer:
    """Answers with one tool call."""
    return calls((name, args))


def error(
    status: int, message: str = "told to fail", *, code: str | None = None, retry_after: float | None = None
) -> Answer:
    """Answers with an HTTP error as OpenAI words it."""
    reported = {"error": {"message": message, "type": "error", "param": None, "code": code}}
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return Answer(status=status, headers=headers, body=json.dumps(reported).encode())


def hang() -> Answer:
    """Sends nothing until the server is closed."""
    return Answer(hangs=True)


def garbage(body: bytes = b"<html>not here</html>", content_type: str = "application/json") -> Answer:
    """Answers 200 with a body that is no completion."""
    return Answer(body=body, headers={"Content-Type": content_type})


def cut() -> Answer:
    """Closes the connection in the middle of the answer."""
    return Answer(message={"role": "assistant", "content": "this text never arrives whole"}, cuts=True)


def empty() -> Answer:
    """Answers with no choices."""
    return Answer(choices=False)


def null(*, finish_reason: str | None = None, refusal: str | None = None) -> Answer:
    """Answers with a null content."""
    message = {"role": "assistant", "content": None, "refusal": refusal}
    return Answer(message=message, finish_reason=finish_reason)
