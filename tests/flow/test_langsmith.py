"""Traces of flows in LangSmith: real requests of its SDK to a server on loopback."""

import time
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from modes import Mode
from servers.langsmith_api import LangSmithServer, Trace, traced

from crewgraph import Agent, Crew, ScriptedLLM, Task, ToolUse
from crewgraph.flow import Flow, and_, human_feedback, listen, router, start
from crewgraph.tools import tool

from .parts import kickoff, resume


@pytest.fixture
def langsmith() -> Iterator[LangSmithServer]:
    with traced() as server:
        yield server


@tool
def look(what: str) -> str:
    """Look something up."""
    return f"the {what} is high"


def team(name: str) -> Crew:
    script = [ToolUse("look", {"what": "sea"}), "Final Answer: high"]
    clerk = Agent(role="Clerk", goal="g", backstory="b", llm=ScriptedLLM(script), tools=[look], max_retry_limit=0)
    return Crew(name=name, agents=[clerk], tasks=[Task(name="mail", description="d", expected_output="e", agent=clerk)])


TEAM = """\
Crew: {name} [chain]
  mail [chain]
    Agent: Clerk [chain]
      scripted [llm]
      look [tool]
      scripted [llm]"""


def below(method: str, tree: str) -> str:
    return "\n".join([f"{method} [chain]", *("  " + line for line in tree.splitlines())])


def span(run: Trace) -> tuple[datetime, datetime]:
    return datetime.fromisoformat(run["start_time"]), datetime.fromisoformat(run["end_time"])


class Post(Flow[dict[str, Any]]):
    @start()
    def research(self, topic: str) -> str:
        return topic

    @listen(research)
    def write(self, topic: str) -> str:
        return team("desk").kickoff().raw

    @router(write)
    def judge(self, text: str) -> str:
        return "good"

    @listen("good")
    def publish(self, label: str) -> str:
        return "published"


@pytest.mark.parametrize("stored", [True, False])
def test_a_flow_reads_method_crew_task_agent_model_and_tool(mode: Mode, stored: bool, langsmith: LangSmithServer):
    kickoff(mode, Post(checkpointer=InMemorySaver() if stored else None), {"topic": "tides"})
    inner = "\n".join("    " + line for line in TEAM.format(name="desk").splitlines())
    methods = ["  research [chain]", "  write [chain]", inner, "  judge [chain]", "  publish [chain]"]
    assert langsmith.tree() == "\n".join(["Flow: Post [chain]", *methods])


def test_the_nodes_of_a_drawn_flow_have_the_metadata_of_their_runs():
    nodes = Post().compile().get_graph().nodes
    assert nodes["write"].metadata == {"flow_name": "Post", "method": "write"}


class Both(Flow[dict[str, Any]]):
    @start()
    def sea(self) -> str:
        return team("tides").kickoff().raw

    @start()
    async def moon(self) -> str:
        raw = (await team("phases").akickoff()).raw
        time.sleep(0.1)
        return raw

    @listen(and_(sea, moon))
    def end(self) -> str:
        return "both"


def test_parallel_methods_are_nested_below_the_flow_with_what_they_did_and_how_long_it_took(
    mode: Mode, langsmith: LangSmithServer
):
    kickoff(mode, Both())
    root = langsmith.roots[0]
    methods = {run["name"]: run for run in langsmith.below(root["id"]) if "langsmith:hidden" not in run["tags"]}
    assert sorted(methods) == ["end", "moon", "sea"]
    assert langsmith.tree(methods["sea"]) == below("sea", TEAM.format(name="tides"))
    assert langsmith.tree(methods["moon"]) == below("moon", TEAM.format(name="phases"))
    for name in ("sea", "moon"):
        began, ended = span(methods[name])
        inner_began, inner_ended = span(langsmith.below(methods[name]["id"])[0])
        assert began <= inner_began <= inner_ended <= ended <= span(methods["end"])[0]
    began, ended = span(methods["moon"])
    assert (ended - began).total_seconds() >= 0.1


def test_a_failure_stands_on_its_method_and_on_the_flow(mode: Mode, langsmith: LangSmithServer):
    class Fails(Flow[dict[str, Any]]):
        @start()
        def fine(self) -> str:
            return "x"

        @start()
        def broken(self) -> str:
            raise OSError("waves")

        @listen(broken)
        def never(self) -> None:
            pass

    with pytest.raises(OSError, match="waves"):
        kickoff(mode, Fails())
    lines = langsmith.tree().splitlines()
    assert lines[0] == "Flow: Fails [chain] !"
    assert sorted(lines[1:]) == ["  broken [chain] !", "  fine [chain]"]


def test_a_resumed_run_is_a_trace_of_its_own_in_the_same_thread(mode: Mode, langsmith: LangSmithServer):
    down = [True]

    class Trip(Flow[dict[str, Any]]):
        @start()
        def pack(self) -> str:
            return "packed"

        @listen(pack)
        def sail(self) -> str:
            if down.pop():
                raise OSError("waves")
            return "sailed"

    flow = Trip(checkpointer=InMemorySaver())
    with pytest.raises(OSError, match="waves"):
        kickoff(mode, flow)
    down.append(False)
    resume(mode, flow, flow.flow_id)
    first, second = langsmith.roots
    assert langsmith.tree(first) == "Flow: Trip [chain] !\n  pack [chain]\n  sail [chain] !"
    assert langsmith.tree(second) == "Flow: Trip [chain]\n  sail [chain]"
    assert {run["extra"]["metadata"]["thread_id"] for run in (first, second)} == {flow.flow_id}


def test_a_question_is_what_a_method_gives_and_its_answer_a_run_of_the_method(mode: Mode, langsmith: LangSmithServer):
    class Draft(Flow[dict[str, Any]]):
        @start()
        @human_feedback("Good enough?")
        def write(self) -> str:
            return "a draft"

    flow = Draft(checkpointer=InMemorySaver())
    kickoff(mode, flow)
    resume(mode, flow, flow.flow_id, "yes")
    assert [langsmith.tree(root).splitlines()[1:] for root in langsmith.roots] == [["  write [chain]"]] * 2
    asked, said = langsmith.named("write")
    assert asked["outputs"] == {"waits_for": "Good enough?"}
    assert said["outputs"]["output"]["feedback"] == "yes"
