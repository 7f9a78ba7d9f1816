"""Conversations that are too long for their model."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from compiler.body_runner import BodyRun, agent, bound, run_body, run_task, task

from crewgraph import ScriptedLLM, Task, ToolUse
from crewgraph.compiler.task.body import task_body
from crewgraph.llm.errors import ContextLengthExceeded
from crewgraph.prompts.book import default_book

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


def test_it_is_condensed_again_together_with_the_previous_summary():
    model = Small([use("a"), use("b"), "Final Answer: wet"], characters=4000, shorter="it rains")
    run = run_task(fetching(model))
    assert run.result["raw"] == "wet"
    assert model.refused == 2
    assert "it rains" in model.parts[3]
    assert len(run.messages()) == 2


def test_a_part_that_is_itself_too_long_is_halved():
    model = Small([use("a"), "Final Answer: wet"], characters=1200, window=100_000)
    run = run_task(fetching(model, goal="g", backstory="b"))
    assert run.result["raw"] == "wet"
    assert max(map(len, model.parts)) <= 1200


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


def test_a_forced_answer_stays_forced_after_condensing():
    model = Small([use("a"), "wet"], characters=4000, native_tools=True)
    run = run_task(fetching(model, max_iter=1))
    assert run.result["raw"] == "wet"
    assert run.messages()[-1] == ("user", BOOK.error("force_final_answer"))
    assert len(run.messages()) == 3


def test_requests_for_condensing_are_counted():
    model = Small([use("a"), "Final Answer: wet"], characters=4000)
    assert run_task(fetching(model)).result["usage"]["successful_requests"] == 2 + len(model.parts)


# ------------------------------------------------------------------------------------------------------- bounds
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


def test_other_failures_while_condensing_are_raised():
    with pytest.raises(ConnectionError, match="no line"):
        run_task(fetching(Small([use("a")], characters=4000, shorter=ConnectionError("no line"))))


def test_condensing_is_logged_and_emits_events(caplog: pytest.LogCaptureFixture):
    run_task(fetching(Small([use("a"), "Final Answer: wet"], characters=4000)))
    messages = [record.getMessage() for record in caplog.records if "condensed" in record.getMessage()]
    assert len(messages) == 1
    assert re.match(
        r"task `Count the files` of agent `Clerk`: the conversation was too long and was condensed: ", messages[0]
    )


def test_templates_apply_to_the_condensed_conversation_too():
    model = Small([use("a"), "Final Answer: wet"], characters=4000)
    run: BodyRun = run_task(fetching(model, prompt_template="<{{ .Prompt }}>"))
    assert run.messages()[-1][1].endswith("short>")


def test_the_context_window_is_only_looked_up_when_needed():
    class Unsure(ScriptedLLM):
        def get_context_window_size(self) -> int:
            raise NotImplementedError

    assert run_task(task(agent("x", llm=Unsure(["42"])))).result["raw"] == "42"
