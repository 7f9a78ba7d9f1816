"""What a verbose flow shows."""

import re
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from modes import Mode

from crewgraph import Agent, Crew, ScriptedLLM, Task
from crewgraph.flow import Flow, listen, router, start

from .parts import kickoff, resume, stream_items


def team(name: str, **more: Any) -> Crew:
    clerk = Agent(role="Clerk", goal="g", backstory="b", llm=ScriptedLLM(["Final Answer: high"]))
    work = Task(name="mail", description="How is the sea?", expected_output="e", agent=clerk)
    return Crew(name=name, agents=[clerk], tasks=[work], **more)


def said(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The lines on the console, without durations, tokens and ids."""
    out = re.sub(r" \([\d.]+ m?s\)", "", capsys.readouterr().out)
    out = re.sub(r"on thread \S+", "on thread T", out)
    return re.sub(r": [\d,]+ tokens .*", "", out).splitlines()


class Post(Flow[dict[str, Any]]):
    verbose = True

    @start()
    def research(self, topic: str) -> str:
        return team("desk").kickoff().raw

    @router(research)
    def judge(self, text: str) -> str:
        return "good"

    @listen("good")
    async def publish(self, label: str) -> str:
        return "published"


SHOWN = [
    '[Post] flow started: topic="tides"', "[Post.research] method started", "[Post.research > desk] crew started",
    "[Post.research > desk] crew completed", "[Post.research > desk] | high",
    "[Post.research] method finished: high", "[Post.judge] method started", "[Post.judge] method finished: good",
    "[Post.publish] method started", "[Post.publish] method finished: published", "[Post] flow finished",
    "[Post] | published",
]  # fmt: skip


def test_a_verbose_flow_shows_its_methods_and_the_crews_in_them(mode: Mode, capsys: pytest.CaptureFixture[str]):
    kickoff(mode, Post(), {"topic": "tides"})
    assert [line.replace(" on thread T", "") for line in said(capsys)] == SHOWN


def test_so_it_does_when_it_is_streamed(mode: Mode, capsys: pytest.CaptureFixture[str]):
    list(stream_items(mode, Post(), {"topic": "tides"}))
    assert [line.replace(" on thread T", "") for line in said(capsys)] == SHOWN


def test_a_verbose_crew_in_a_verbose_flow_shows_its_tasks_in_the_method(mode: Mode, capsys: pytest.CaptureFixture[str]):
    class Loud(Flow[dict[str, Any]]):
        @start()
        async def ask_them(self) -> str:
            return (await team("desk", verbose=True).akickoff()).raw

    kickoff(mode, Loud(verbose=True))
    assert "[Loud.ask_them > mail] task started: How is the sea?" in said(capsys)


def test_a_failure_is_shown_where_it_happened(mode: Mode, capsys: pytest.CaptureFixture[str]):
    class Fails(Flow[dict[str, Any]]):
        @start()
        def broken(self) -> None:
            raise OSError("waves")

    with pytest.raises(OSError, match="waves"):
        kickoff(mode, Fails(verbose=True))
    assert said(capsys) == [
        "[Fails] flow started", "[Fails.broken] method started", "[Fails.broken] method failed: OSError: waves",
        "[Fails] flow failed: OSError: waves",
    ]  # fmt: skip


def test_a_run_that_waits_says_for_what_and_how_it_continues(mode: Mode, capsys: pytest.CaptureFixture[str]):
    class Asks(Flow[dict[str, Any]]):
        @start()
        def greet(self) -> str:
            return f"hello {self.ask('Who?')}"

    flow = Asks(verbose=True, checkpointer=InMemorySaver())
    kickoff(mode, flow)
    assert said(capsys)[1:] == [
        "[Asks.greet] method started",
        "[Asks.greet] method paused for input: Who?",
        f"[Asks] flow paused for input: resume('{flow.flow_id}', ...)",
    ]
    resume(mode, flow, flow.flow_id, "Anna")
    assert said(capsys)[2:4] == ["[Asks.greet] input received: Anna", "[Asks.greet] method finished: hello Anna"]
