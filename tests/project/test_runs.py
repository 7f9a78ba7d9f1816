"""Runs of projects: callbacks around a kickoff, and stored runs."""

from collections.abc import Callable
from textwrap import dedent
from typing import Any

import pytest
from modes import Mode
from runtime.parts import agent, asked, crew, task

from crewgraph import ScriptedLLM, Task, TaskOutput

from .parts import AGENTS, CREW, TASKS

Load = Callable[..., Any]


@pytest.fixture
def paper(load: Load) -> Any:
    return load(CREW, agents=AGENTS, tasks=TASKS).Paper()


def with_hooks(load: Load, hooks: str) -> Any:
    program = CREW.replace("class Paper:\n", f"class Paper:\n    seen = []\n{hooks}\n")
    return load(program, agents=AGENTS, tasks=TASKS).Paper()


def test_a_project_runs_with_inputs(mode: Mode, paper: Any):
    result = mode.kickoff(paper.crew(), {"topic": "tides"})
    assert result.raw == "the tide"
    assert [(one.name, one.agent) for one in result.tasks_output] == [
        ("facts", "Researcher of tides"),
        ("text", "Writer"),
    ]
    assert "Collect facts about tides." in asked(paper.researcher().llm)[0]
    assert "the moon" in asked(paper.writer().llm)[0]


def test_a_project_compiles_to_a_graph_with_a_node_per_method(mode: Mode, paper: Any):
    state = mode.invoke(paper.crew().compile(), {"inputs": {"topic": "tides"}})
    assert {name: output["raw"] for name, output in state.items() if name not in ("inputs", "output")} == {
        "facts": "the moon",
        "text": "the tide",
    }


@pytest.mark.parametrize("word", ["def", "async def"])
def test_hooks_are_called_around_a_run_in_the_order_of_the_class(mode: Mode, load: Load, word: str):
    hooks = f"""
    @before_kickoff
    {word} first(self, inputs):
        self.seen.append(("first", dict(inputs)))
        return {{**inputs, "topic": "tides"}}

    @before_kickoff
    {word} another(self, inputs):
        self.seen.append(("another", dict(inputs)))
        inputs["unused"] = 1

    @after_kickoff
    {word} note(self, output):
        self.seen.append(("note", output.raw))

    @after_kickoff
    {word} shout(self, output):
        output.raw = output.raw.upper()
        return output
"""
    project = with_hooks(load, hooks)
    result = mode.kickoff(project.crew(), {"topic": "?"})
    assert result.raw == "THE TIDE"
    assert project.seen == [("first", {"topic": "?"}), ("another", {"topic": "tides"}), ("note", "the tide")]
    assert result.tasks_output[0].agent == "Researcher of tides"


@pytest.mark.parametrize("word", ["def", "async def"])
def test_callbacks_of_a_task_are_called_each_once_in_order(mode: Mode, load: Load, word: str):
    program = f"""
    {CREW}
    @callback
    {word} first(self, output):
        calls.append(("first", output.raw))

    @callback
    {word} second(self, output):
        calls.append(("second", output.raw))

calls = []
"""
    tasks = TASKS + "  callback: first\n  callbacks: [second, first]\n"
    module = load(dedent(program), agents=AGENTS, tasks=tasks)
    mode.kickoff(module.Paper().crew(), {"topic": "tides"})
    assert module.calls == [("first", "the tide"), ("second", "the tide")]


def test_callbacks_may_be_given_to_a_task_without_a_project(mode: Mode):
    received: list[str] = []

    def hear(output: TaskOutput) -> None:
        received.append(output.raw)

    mode.kickoff(crew(task("a", agent(ScriptedLLM(["x"])), callbacks=[hear])))
    assert received == ["x"]
    with pytest.raises(ValueError, match="a callback is a function of one argument, not 5"):
        Task(description="d", expected_output="e", callbacks=[5])


def test_a_project_that_fails_continues_where_it_stopped(mode: Mode, load: Load):
    failing = CREW.replace('["the tide"]', '[ConnectionError("down"), "the tide"]')
    hooks = """
    seen = []

    @before_kickoff
    def before(self, inputs):
        self.seen.append("before")
        return inputs

    @after_kickoff
    def after(self, output):
        self.seen.append("after")
        return output
"""
    module = load(
        failing.replace("class Paper:\n", f"class Paper:\n{hooks}\n"),
        agents=AGENTS + "  max_retry_limit: 0\n",
        tasks=TASKS,
    )
    first = module.Paper()
    with pytest.raises(ConnectionError, match="down"):
        mode.kickoff(first.crew(), {"topic": "tides"}, thread_id="paper-1")
    second = module.Paper()
    second.writer().llm = first.writer().llm
    assert mode.resume(second.crew(), "paper-1").raw == "the tide"
    assert asked(second.researcher().llm) == []
    assert module.Paper.seen == ["before", "after"]
