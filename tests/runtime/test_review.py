"""Providers that review answers in place of a person (`set_provider`), and processors of texts (`set_processor`)."""

import contextvars
from collections.abc import Callable
from typing import Any

import pytest
from modes import Mode

from crewgraph import CrewOutput, ScriptedLLM
from crewgraph.compiler.agent.human_review import SyncHumanInputProvider, set_provider
from crewgraph.definitions.agent.last_run import AgentFinish
from crewgraph.definitions.task.task import NoOpContentProcessor, get_processor, process_content, set_processor
from crewgraph.storage.checkpoints import SqliteCheckpointer

from .parts import agent, crew, task


class Editor:
    """Wants the first answer shorter, and takes the next."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def setup_messages(self, context: Any) -> bool:
        self.seen.append([one["role"] for one in context.messages])
        return False

    def post_setup_messages(self, context: Any) -> None:
        context.messages.append({"role": "user", "content": "House style: short."})

    def handle_feedback(self, formatted_answer: AgentFinish, context: Any) -> AgentFinish:
        self.seen.append(formatted_answer.output)
        context.messages.append(context._format_feedback_message("shorter"))
        return context._invoke_loop()

    async def handle_feedback_async(self, formatted_answer: AgentFinish, context: Any) -> AgentFinish:
        self.seen.append(formatted_answer.output)
        context.messages.append(context._format_feedback_message("shorter"))
        return await context._ainvoke_loop()


def looking(provider: Any, run: Callable[[], Any]) -> Any:
    """What a run gives whose answers a provider looks at."""

    def within() -> Any:
        set_provider(provider)
        return run()

    return contextvars.copy_context().run(within)


def test_a_provider_looks_at_answers_in_the_place_of_a_person(mode: Mode):
    llm, editor = ScriptedLLM(["a long answer", "short"]), Editor()
    made = crew(task("draft", agent(llm), human_input=True), name="desk")
    done: CrewOutput = looking(editor, lambda: mode.kickoff(made, thread_id="t"))
    assert (done.raw, type(done)) == ("short", CrewOutput)
    assert editor.seen == [["system", "user"], "a long answer"]
    assert llm.requests[0].messages[-1]["content"] == "House style: short."
    reported = llm.requests[1].messages
    assert reported[-2]["content"] == "a long answer" and "feedback:\nshorter" in str(reported[-1]["content"])
    assert done.token_usage.successful_requests == 2
    assert [one["content"] for one in done.tasks_output[0].messages][-2] == "a long answer"


def test_what_it_said_is_a_part_of_the_run(mode: Mode, tmp_path: Any):
    llm, editor, fails = ScriptedLLM(["long", "short"]), Editor(), [True]

    def good(output: Any) -> tuple[bool, Any]:
        if fails.pop() if fails else False:
            raise ConnectionError("no judge")
        return True, output

    made = crew(task("draft", agent(llm), human_input=True, guardrail=good))
    made.checkpointer = SqliteCheckpointer(str(tmp_path / "runs.db"))
    with pytest.raises(ConnectionError):
        looking(editor, lambda: mode.kickoff(made, thread_id="t"))
    assert looking(editor, lambda: mode.resume(made, "t")).raw == "short"
    assert len(llm.requests) == 2 and editor.seen.count("long") == 1


def test_the_provider_that_is_there_already_asks_at_the_terminal(mode: Mode, monkeypatch: pytest.MonkeyPatch):
    said = iter(["shorter", ""])

    def typed(prompt: str) -> str:
        return next(said)

    monkeypatch.setattr("builtins.input", typed)
    llm = ScriptedLLM(["long", "short"])
    made = crew(task("draft", agent(llm), human_input=True))
    assert looking(SyncHumanInputProvider(), lambda: mode.kickoff(made, checkpointer=False)).raw == "short"
    assert len(llm.requests) == 2


class Loud:
    """Writes in capitals."""

    def process(self, content: str, context: dict[str, Any] | None = None) -> str:
        return content.upper() if context and context["task"].name == "draft" else content


def test_a_processor_is_given_the_texts_of_tasks(mode: Mode):
    llm = ScriptedLLM(["first", "second"])
    tasks = [task(name, agent(llm), description="write about {topic}") for name in ("draft", "final")]

    def run() -> None:
        set_processor(Loud())
        assert process_content("text") == "text"
        mode.kickoff(crew(*tasks), {"topic": "rain"})

    contextvars.copy_context().run(run)
    asked = [str(one.messages[-1]["content"]) for one in llm.requests]
    assert "WRITE ABOUT RAIN" in asked[0] and "A TEXT" in asked[0] and "write about rain" in asked[1]
    assert isinstance(get_processor(), NoOpContentProcessor) and process_content("text") == "text"
