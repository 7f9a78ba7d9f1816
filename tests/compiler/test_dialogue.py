"""Conversations that are too long for their model."""

from collections.abc import Callable
from typing import Any

import pytest
from compiler.body_runner import agent, bound, run_body, run_task, task

from crewgraph import ScriptedLLM, Task, ToolUse
from crewgraph.compiler.task.body import task_body
from crewgraph.llm.errors import ContextLengthExceeded
from crewgraph.prompts.i18n import default_book

BOOK = default_book()
TOO_LONG = Exception("This model's maximum context length is 100 tokens.")


def fetch(name: str) -> str:
    """Fetch a page."""
    return f"<{name}> " + "rain " * 1000


class Small(ScriptedLLM):
    """A model that reads a number of characters, and condenses by a word."""

    def __init__(
        self, script: list[Any], *, characters: int, window: int = 1000, shorter: Any = "short", **more: Any
    ) -> None:
        super().__init__(self._answer, **more)
        self.left, self.characters, self.window, self.shorter = list(script), characters, window, shorter
        self.parts: list[str] = []
        self.refused = 0

    def get_context_window_size(self) -> int:
        return self.window

    def _answer(self, messages: list[dict[str, Any]]) -> Any:
        if sum(len(str(message["content"])) for message in messages) > self.characters:
            self.refused += 1
            return TOO_LONG
        if messages[0]["content"] == BOOK.slice("summarizer_system_message"):
            self.parts.append(str(messages[1]["content"]))
            return self.shorter
        return self.left.pop(0)


def fetching(model: Small, **fields: Any) -> Task:
    return task(agent("x", llm=model, tools=[fetch], **fields))


def use(name: str) -> Any:
    return [ToolUse("fetch", {"name": name})]


@pytest.mark.parametrize("native", [True, False])
def test_the_work_so_far_is_condensed_and_the_task_continues(native: bool):
    model = Small([use("a"), "Final Answer: wet"], characters=4000, native_tools=native)
    run = run_task(fetching(model))
    assert run.result["raw"] == "wet"
    assert model.refused == 1
    before, after = run.messages(0), run.messages()
    assert after[0] == before[0]
    summary = BOOK.slice("summary", merged_summary="short\nshort\nshort")
    assert after[1:] == [("user", f"{before[1][1]}\n\n{summary}")]


def test_all_work_is_sent_for_condensing_in_parts_that_fit():
    model = Small([use("a"), "Final Answer: wet"], characters=4000, native_tools=True)
    run_task(fetching(model))
    assert len(model.parts) == 3
    messages = "".join(part.partition("\n\n")[2] for part in model.parts)
    assert "Action: fetch" in messages
    assert messages.count("rain") >= 998  # a word may stand on both sides of a cut
    assert "Your task" not in messages


def test_no_call_is_separated_from_its_result():
    model = Small([use("a"), use("b"), use("c"), "wet"], characters=9000, native_tools=True)
    run = run_task(fetching(model))
    assert run.result["raw"] == "wet"
    for messages in run.requests:
        expected = [call["id"] for message in messages for call in message.get("tool_calls", [])]
        assert [message["tool_call_id"] for message in messages if "tool_call_id" in message] == expected


def test_a_summary_that_is_not_shorter_is_cut():
    model = Small([use("a"), "Final Answer: wet"], characters=2500, shorter="long " * 1000)
    run = run_task(fetching(model))
    assert run.result["raw"] == "wet"
    assert model.refused == 2
    assert "characters more]" in run.messages()[-1][1]


def test_the_context_is_condensed_if_it_is_the_longer_part():
    model = Small(["wet"], characters=3000)
    before, after = task(agent("x"), name="before"), task(agent("x", llm=model), name="after")
    _, assignment = bound(before, after)
    found = {"raw": "rain " * 2000, "description": "d", "agent": "a", "name": "before", "expected_output": "e"}
    run = run_body(task_body(assignment, {"inputs": {}, "before": found}))
    assert run.result["after"]["raw"] == "wet"
    assert "Results of earlier tasks:\nshort\nshort" in run.messages()[-1][1]
    assert "Count the files" in run.messages()[-1][1]


def refusing(times: int, last: str = "42") -> tuple[list[int], Callable[[list[dict[str, Any]]], Any]]:
    seen: list[int] = []

    def answer(messages: list[dict[str, Any]]) -> Any:
        seen.append(len(messages))
        return last if len(seen) > times else TOO_LONG

    return seen, answer


def test_a_task_that_is_too_long_by_itself_is_an_error():
    seen, always = refusing(100)
    with pytest.raises(
        ContextLengthExceeded,
        match=r"task `Count the files` of agent `Clerk`: even condensed, .* too long for the model `scripted`\. Shorten",
    ):
        run_task(task(agent(always)))
    assert len(seen) == 1


def test_the_number_of_requests_is_bounded():
    asked: list[int] = []

    def refuse_all_but_the_first(messages: list[dict[str, Any]]) -> Any:
        if messages[0]["content"] == BOOK.slice("summarizer_system_message"):
            return "x" * 10_000_000
        asked.append(len(messages))
        return use("a") if len(asked) == 1 else TOO_LONG

    with pytest.raises(ContextLengthExceeded, match="even condensed"):
        run_task(task(agent(refuse_all_but_the_first, tools=[fetch], native=True)))
    assert len(asked) < 13


@pytest.mark.parametrize("where", ["agent", "crew"])
def test_without_respect_context_window_the_error_is_raised_at_once(where: str):
    model = Small([use("a"), "never"], characters=4000)
    own: dict[str, Any] = {"respect_context_window": False} if where == "agent" else {}
    crews: dict[str, Any] = {"respect_context_window": False} if where == "crew" else {}
    with pytest.raises(ContextLengthExceeded, match="maximum context length is 100 tokens"):
        run_task(fetching(model, **own), **crews)
    assert model.parts == []
