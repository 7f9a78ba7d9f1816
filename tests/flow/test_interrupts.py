"""LangGraph's `interrupt` in methods of flows, and in tools of crews and agents that methods kick off."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt
from modes import Mode

from crewgraph import Agent, Crew, ScriptedLLM, Task, ToolUse
from crewgraph.errors import RunError
from crewgraph.events import CrewKickoffFailedEvent, MethodExecutionFailedEvent
from crewgraph.flow import Flow, PendingFlow, and_, listen, start
from crewgraph.storage.checkpoints import SqliteCheckpointer
from crewgraph.testing import record_events
from crewgraph.tools import tool

from .parts import kickoff, resume

requests: list[str] = []


@pytest.fixture(autouse=True)
def clear_calls() -> None:
    requests.clear()


def answered(mode: Mode, flow: "Flow[Any]", given: dict[str, Any]) -> tuple[Any, list[str]]:
    """What a run gives whose questions are answered one by one, each by a new object, and the questions."""
    saver, kind, asked = flow.checkpointer, type(flow), list[str]()
    waiting = kickoff(mode, flow)
    while isinstance(waiting, PendingFlow):
        question = waiting.questions[0]
        asked.append(question.message)
        feedback = {question.id: given[question.message]}
        waiting = resume(mode, kind(checkpointer=saver), waiting.flow_id, feedback)
    return waiting, asked


def test_methods_in_parallel_interrupt_and_continue_with_their_own_answers(mode: Mode):
    class Asks(Flow[dict[str, Any]]):
        @start()
        def port(self) -> tuple[str, str]:
            first = interrupt("which port?")
            return first, interrupt("which pier?")

        @start()
        async def ship(self) -> Any:
            return interrupt("which ship?")

        @listen(and_(port, ship))
        def sail(self) -> Any:
            return self.state["id"], interrupt("when?")

    given = {"which port?": "Rye", "which pier?": "3", "which ship?": {"name": "Ida"}, "when?": 7}
    (_, when), asked = answered(mode, Asks(checkpointer=InMemorySaver()), given)
    assert when == 7
    assert sorted(asked) == sorted(given) and asked[-1] == "when?"


def test_an_interrupt_may_show_more_than_a_text(mode: Mode):
    class Shows(Flow[dict[str, Any]]):
        @start()
        def show(self) -> Any:
            return interrupt({"draft": [1, 2]})

    waiting = kickoff(mode, Shows(checkpointer=InMemorySaver()))
    assert waiting.questions[0].output == {"draft": [1, 2]}


def test_an_interrupt_in_a_run_that_is_not_kept_is_an_error(mode: Mode):
    class Asks(Flow[dict[str, Any]]):
        @start()
        def ask_me(self) -> Any:
            return interrupt("who?")

    with pytest.raises(RunError, match="method `ask_me` asks `who\\?`.*checkpointer=True"):
        kickoff(mode, Asks())


@tool("dig")
def dig(where: str) -> str:
    """Dig a hole, if that is allowed."""
    allowed = interrupt(f"May I dig {where}?")
    return f"{allowed}, {interrupt('How deep?')}"


def digger() -> Agent:
    def answer(messages: Sequence[dict[str, Any]]) -> str:
        text = str(messages[-1]["content"])
        requests.append(text)
        if "Observation" in text:
            return f"Thought: done\nFinal Answer: {text}"
        return 'Thought: dig\nAction: dig\nAction Input: {"where": "here"}'

    return Agent(role="digger", goal="g", backstory="b", llm=ScriptedLLM(answer), tools=[dig])


def test_the_question_of_a_crew_is_one_of_the_method_that_kicked_it_off(mode: Mode):
    class Digs(Flow[dict[str, Any]]):
        @start()
        def crew(self) -> str:
            agent = digger()
            task = Task(description="dig", expected_output="a hole", agent=agent)
            return Crew(agents=[agent], tasks=[task]).kickoff().raw

        @start()
        def beside(self) -> str:
            return "beside"

        @listen(crew)
        async def agent(self, hole: str) -> tuple[str, str]:
            return hole, (await digger().kickoff_async("dig")).raw

    with record_events() as events:
        given = {"May I dig here?": "yes", "How deep?": "2 m"}
        holes, asked = answered(mode, Digs(checkpointer=InMemorySaver()), given)
    assert holes == ("Observation: yes, 2 m", "Observation: yes, 2 m")
    assert asked == ["May I dig here?", "How deep?"] * 2
    assert len(requests) == 4  # nothing is asked of a model again
    assert not [one for one in events if isinstance(one, (CrewKickoffFailedEvent, MethodExecutionFailedEvent))]


class Posts(Flow[dict[str, Any]]):
    """A flow with a crew and an agent that each ask for the approval of three calls of one reply."""

    @start()
    def crew(self) -> str:
        agent = postman()
        return Crew(agents=[agent], tasks=[Task(description="post", expected_output="x", agent=agent)]).kickoff().raw

    @listen(crew)
    async def agent(self, posted: str) -> tuple[str, str]:
        return posted, (await postman().kickoff_async("post")).raw


posted: list[str] = []


@tool("post", require_approval=True)
def post(to: str) -> str:
    """Post a letter."""
    posted.append(to)
    return f"to {to}"


def postman() -> Agent:
    def reply(messages: Sequence[dict[str, Any]]) -> Any:
        results = [str(one["content"]).partition("\n")[0] for one in messages if one["role"] == "tool"]
        requests.append(str(results))
        return ", ".join(results) if results else [ToolUse("post", {"to": to}) for to in ("anna", "bert", "cleo")]

    return Agent(role="Postman", goal="g", backstory="b", llm=ScriptedLLM(reply, native_tools=True), tools=[post])


def test_a_run_inside_a_method_asks_all_its_questions_at_once_and_is_answered_in_any_order(mode: Mode, tmp_path: Path):
    posted.clear()

    def flow() -> Posts:
        return Posts(checkpointer=SqliteCheckpointer(tmp_path / "runs.db"))

    def asked(waiting: Any) -> dict[str, str]:
        assert isinstance(waiting, PendingFlow)
        return {question.output["args"]["to"]: question.id for question in waiting.questions}

    waiting = kickoff(mode, flow())
    ids, run = asked(waiting), waiting.flow_id
    assert list(ids) == ["anna", "bert", "cleo"]
    waiting = resume(mode, flow(), run, {ids["cleo"]: "yes"})
    assert asked(waiting) == {to: ids[to] for to in ("anna", "bert")} and posted == []
    waiting = resume(mode, flow(), run, {ids["bert"]: "perhaps", ids["anna"]: True})
    assert list(asked(waiting)) == ["bert"] and posted == []
    ids = asked(resume(mode, flow(), run, {asked(waiting)["bert"]: "no"}))
    assert (list(ids), sorted(posted)) == (["anna", "bert", "cleo"], ["anna", "cleo"])
    decisions = {"decisions": [{"type": "approve"}, {"type": "reject", "message": "full"}, {"type": "approve"}]}
    answers = resume(mode, flow(), run, decisions)
    assert [answer.partition(",")[0] for answer in answers] == ["to anna"] * 2
    assert (sorted(posted), len(requests)) == (["anna", "anna", "cleo", "cleo"], 4)
