"""Messages in OpenAI's form: made, read and condensed."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, cast

from crewgraph.prompts.book import english
from crewgraph_compat.stand_ins.llm_message import LLMMessage

__all__ = [
    "build_summary_prompt",
    "collect_user_message_files",
    "extract_task_section",
    "format_message_for_llm",
    "message_content_text",
    "messages_content_text",
]


def format_message_for_llm(prompt: str, role: Literal["user", "assistant", "system"] = "user") -> LLMMessage:
    """A message with a text, without blanks at its end."""
    return {"role": role, "content": prompt.rstrip()}


def extract_task_section(text: str) -> str:
    """What stands below the heading "## Task", up to the next one of its kind; the whole text where there is none."""
    found = re.search(r"## Task\n(.*?)(?=\n## |\n##$|\Z)", text, re.DOTALL)
    return text if found is None else found[1].strip()


def message_content_text(msg: Mapping[str, Any]) -> str:
    """The text of a message; of several parts those that are text."""
    content: Any = msg.get("content")
    if content is None or isinstance(content, str):
        return content or ""
    parts = cast("list[Mapping[str, Any]]", content)
    return " ".join(str(part.get("text")) for part in parts if part.get("type") == "text" and part.get("text"))


def messages_content_text(messages: Iterable[Mapping[str, Any]]) -> str:
    """The texts of messages, each on a line of its own; those without a text are left out."""
    return "\n".join(text for one in messages if (text := message_content_text(one)))


def build_summary_prompt(chunk: Sequence[Mapping[str, Any]]) -> list[LLMMessage]:
    """What a model is asked, to condense a part of a conversation."""
    book = english()
    said = "\n\n".join(f"{one.get('role', 'user')}: {message_content_text(one)}" for one in chunk)
    return [
        format_message_for_llm(book.slice("summarizer_system_message"), "system"),
        format_message_for_llm(book.slice("summarize_instruction", group=said)),
    ]


def collect_user_message_files(messages: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The files that a user's messages carry, by name; of two with one name the later one."""
    files: dict[str, Any] = {}
    for one in messages:
        if one.get("role") == "user":
            files.update(one.get("files") or {})
    return files
