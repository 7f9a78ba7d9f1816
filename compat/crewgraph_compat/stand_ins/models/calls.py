"""Helpers for model requests: messages, overrides, cache breakpoints, rate limit retries, and token counts."""

import asyncio
import random
import re
import time
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal, NotRequired, TypedDict, TypeVar, cast
from uuid import uuid4

from pydantic import BaseModel, ConfigDict

from crewgraph.llm.retry import retry_after, status_of
from crewgraph.llm.usage import UsageMetrics
from crewgraph.prompts.book import default_book
from crewgraph.scoped import scoped

__all__ = [
    "CACHE_BREAKPOINT_KEY",
    "JsonResponseFormat",
    "LLMMessage",
    "TokenCalcHandler",
    "TokenProcess",
    "arun_with_rate_limit_retry",
    "build_summary_prompt",
    "call_stop_override",
    "call_stream_override",
    "collect_user_message_files",
    "extract_choices_finish_reason_and_id",
    "extract_task_section",
    "format_message_for_llm",
    "get_current_call_id",
    "get_retry_delay_seconds",
    "llm_call_context",
    "mark_cache_breakpoint",
    "message_content_text",
    "messages_content_text",
    "run_with_rate_limit_retry",
    "strip_cache_breakpoint",
]


CACHE_BREAKPOINT_KEY = "cache_breakpoint"
"""Marks a message up to which the provider may cache the conversation."""

_call_id: ContextVar[str | None] = ContextVar("crewgraph_call_id", default=None)


class JsonResponseFormat(TypedDict):
    """The response format for JSON."""

    type: str
    json_schema: dict[str, Any]


@contextmanager
def llm_call_context() -> Generator[str]:
    """Share one request id among all code within the block."""
    built = str(uuid4())
    with scoped(_call_id, built):
        yield built


def get_current_call_id() -> str:
    """Return the id of the enclosing request, or a new one outside of a request."""
    return _call_id.get() or str(uuid4())


@contextmanager
def call_stop_override(llm: Any, stop: list[str] | None) -> Generator[None]:
    """Temporarily override the stop words of a model; None keeps its own."""
    with _set_for_a_while(llm, "stop", llm.stop if stop is None else stop):
        yield


@contextmanager
def call_stream_override(llm: Any, stream: bool) -> Generator[None]:
    """Temporarily override whether a model streams its responses."""
    with _set_for_a_while(llm, "stream", stream):
        yield


@contextmanager
def _set_for_a_while(llm: Any, name: str, value: Any) -> Generator[None]:
    before = getattr(llm, name)
    setattr(llm, name, value)
    try:
        yield
    finally:
        setattr(llm, name, before)


def mark_cache_breakpoint(message: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of the message with a cache breakpoint."""
    return {**message, CACHE_BREAKPOINT_KEY: True}


def strip_cache_breakpoint(message: dict[str, Any]) -> None:
    """Remove the cache breakpoint from a message."""
    message.pop(CACHE_BREAKPOINT_KEY, None)


def extract_choices_finish_reason_and_id(response_or_chunk: Any) -> tuple[str | None, str | None]:
    """Return the finish reason and the id of an OpenAI-style response; None for a missing value."""
    choices = _field(response_or_chunk, "choices")
    items = cast("Sequence[Any]", choices) if isinstance(choices, (list, tuple)) else ()
    first = items[0] if items else None
    return _text(_field(first, "finish_reason")), _text(_field(response_or_chunk, "id"))


def _field(holder: Any, name: str) -> Any:
    return cast("dict[str, Any]", holder).get(name) if isinstance(holder, dict) else getattr(holder, name, None)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


class LLMMessage(TypedDict):
    """A message of a conversation, in the form of OpenAI's protocol."""

    role: Literal["user", "assistant", "system", "tool"]
    content: str | list[dict[str, Any]] | None
    tool_call_id: NotRequired[str]
    name: NotRequired[str]
    tool_calls: NotRequired[list[dict[str, Any]]]
    raw_tool_call_parts: NotRequired[list[Any]]
    files: NotRequired[dict[str, Any]]


def format_message_for_llm(prompt: str, role: Literal["user", "assistant", "system"] = "user") -> LLMMessage:
    """Return a message with the text, trailing whitespace removed."""
    return {"role": role, "content": prompt.rstrip()}


def extract_task_section(text: str) -> str:
    """Return the section under the heading "## Task", or the whole text if there is none."""
    result = re.search(r"## Task\n(.*?)(?=\n## |\n##$|\Z)", text, re.DOTALL)
    return text if result is None else result[1].strip()


def message_content_text(msg: Mapping[str, Any]) -> str:
    """Return the text of a message, joining its text parts if there are several."""
    content: Any = msg.get("content")
    if content is None or isinstance(content, str):
        return content or ""
    parts = cast("list[Mapping[str, Any]]", content)
    return " ".join(str(part.get("text")) for part in parts if part.get("type") == "text" and part.get("text"))


def messages_content_text(messages: Iterable[Mapping[str, Any]]) -> str:
    """Return the texts of messages, one per line; messages without text are skipped."""
    return "\n".join(text for item in messages if (text := message_content_text(item)))


def build_summary_prompt(chunk: Sequence[Mapping[str, Any]]) -> list[LLMMessage]:
    """Return the prompt that summarizes a part of a conversation."""
    book = default_book()
    conversation = "\n\n".join(f"{item.get('role', 'user')}: {message_content_text(item)}" for item in chunk)
    return [
        format_message_for_llm(book.slice("summarizer_system_message"), "system"),
        format_message_for_llm(book.slice("summarize_instruction", group=conversation)),
    ]


def collect_user_message_files(messages: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the files of the user messages by name; a later file replaces an earlier one."""
    files: dict[str, Any] = {}
    for item in messages:
        if item.get("role") == "user":
            files.update(item.get("files") or {})
    return files


T = TypeVar("T")

_TIMES = 3
_TOO_MANY = 429
_LONGEST = 60.0


def get_retry_delay_seconds(
    retry_number: int,
    *,
    retry_after_seconds: float | None = None,
    random_value: Callable[[], float] = random.random,
) -> float:
    """Return the delay before a retry.

    Args:
        retry_number: the number of the retry, starting at 1.
        retry_after_seconds: the delay requested by the provider, honored up to a minute.
        random_value: jitter, from 0 to 1.
    """
    if retry_after_seconds is not None:
        return min(max(retry_after_seconds, 0.0), _LONGEST)
    return min(2.0 ** (retry_number - 1) * (1 + random_value()), _LONGEST)


def run_with_rate_limit_retry(operation: Callable[[], T], *, sleep: Callable[[float], None] = time.sleep) -> T:
    """Run an operation, retrying up to three times on an exception with HTTP status 429."""
    for number in range(1, _TIMES + 1):
        try:
            return operation()
        except Exception as error:  # any client library; raised again unless the status is 429
            if status_of(error) != _TOO_MANY:
                raise
            sleep(get_retry_delay_seconds(number, retry_after_seconds=retry_after(error)))
    return operation()


async def arun_with_rate_limit_retry(
    operation: Callable[[], Awaitable[T]], *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
) -> T:
    """Run an asynchronous operation like `run_with_rate_limit_retry`."""
    for number in range(1, _TIMES + 1):
        try:
            return await operation()
        except Exception as error:  # any client library; raised again unless the status is 429
            if status_of(error) != _TOO_MANY:
                raise
            await sleep(get_retry_delay_seconds(number, retry_after_seconds=retry_after(error)))
    return await operation()


class TokenProcess(BaseModel):
    """Count tokens and requests; runs report their own counts in `CrewOutput.token_usage`."""

    total_tokens: int = 0
    """The total number of tokens."""

    prompt_tokens: int = 0
    """The number of prompt tokens."""

    cached_prompt_tokens: int = 0
    """The number of cached prompt tokens."""

    completion_tokens: int = 0
    """The number of completion tokens."""

    successful_requests: int = 0
    """The number of successful requests."""

    def sum_prompt_tokens(self, tokens: int) -> None:
        """Add prompt tokens."""
        self.prompt_tokens += tokens
        self.total_tokens += tokens

    def sum_completion_tokens(self, tokens: int) -> None:
        """Add completion tokens."""
        self.completion_tokens += tokens
        self.total_tokens += tokens

    def sum_cached_prompt_tokens(self, tokens: int) -> None:
        """Add cached prompt tokens, which are already included in the prompt tokens."""
        self.cached_prompt_tokens += tokens

    def sum_successful_requests(self, requests: int) -> None:
        """Add successful requests."""
        self.successful_requests += requests

    def get_summary(self) -> UsageMetrics:
        """Return the totals."""
        return UsageMetrics(**self.model_dump())


class TokenCalcHandler(BaseModel):
    """A LiteLLM-style callback that counts the usage reported by responses."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    token_cost_process: TokenProcess | None = None
    """The counter; None disables counting."""

    def __init__(self, token_cost_process: TokenProcess | None = None, **kwargs: Any) -> None:
        super().__init__(token_cost_process=token_cost_process, **kwargs)

    def log_success_event(
        self, kwargs: dict[str, Any], response_obj: dict[str, Any], start_time: float, end_time: float
    ) -> None:
        """Count the usage of a response.

        Args:
            kwargs: the request; ignored.
            response_obj: the response, with an object under "usage".
            start_time: the start of the request; ignored.
            end_time: the end of the request; ignored.
        """
        counts, usage = self.token_cost_process, response_obj.get("usage")
        if counts is None or not usage:
            return
        counts.sum_successful_requests(1)
        counts.sum_prompt_tokens(getattr(usage, "prompt_tokens", 0) or 0)
        counts.sum_completion_tokens(getattr(usage, "completion_tokens", 0) or 0)
        details = getattr(usage, "prompt_tokens_details", None)
        counts.sum_cached_prompt_tokens(getattr(details, "cached_tokens", 0) or 0)
