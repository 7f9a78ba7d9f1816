"""Agents of other frameworks, custom agent classes, and the base classes for them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from crewgraph_compat.stand_ins.agent_adapters import BaseAgentAdapter, LangGraphAgentAdapter, OpenAIAgentAdapter
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from modes import Mode

from crewgraph import BaseAgent, ScriptedLLM, Task, ToolUse
from crewgraph.errors import CompileError, DefinitionError, RunError
from crewgraph.events import ToolUsageFinishedEvent
from crewgraph.storage.checkpoints import SqliteCheckpointer
from crewgraph.testing import record_events
from crewgraph.tools import tool
from runtime.parts import agent, asked, crew, task


@tool
def look(place: str) -> str:
    """Look at the sea."""
    return f"low water at {place}"


def graph_agent(*script: Any, tools: Sequence[Any] = (look,), **more: Any) -> LangGraphAgentAdapter:
    model = ScriptedLLM(list(script), native_tools=True)
    return LangGraphAgentAdapter("Diver", "find pearls", "Deep.", tools=list(tools), llm=model, **more)


def test_a_langgraph_agent_calls_tools_until_it_answers(mode: Mode):
    steps: list[Any] = []
    diver = graph_agent(
        [ToolUse("look", {"place": "bay"}), ToolUse("look", {"place": "cape"})], "low", step_callback=steps.append
    )
    with record_events() as events:
        output = mode.kickoff(crew(task("dive", diver)))
    assert output.raw == "low" and [type(step).__name__ for step in steps] == [
        "AgentAction",
        "AgentAction",
        "AgentFinish",
    ]
    assert output.token_usage.successful_requests == 2 and output.tasks_output[0].usage_by_model.keys() == {"scripted"}
    done = [event for event in events if isinstance(event, ToolUsageFinishedEvent)]
    assert sorted(event.output for event in done) == ["low water at bay", "low water at cape"]
    assert {event.agent_role for event in done} == {"Diver"}
    first, second = diver.llm.requests
    assert "You are Diver" in first.messages[0]["content"] and [one["function"]["name"] for one in first.tools] == [
        "look"
    ]
    assert [message["role"] for message in second.messages] == ["system", "user", "assistant", "tool", "tool"]


def test_what_was_done_is_not_done_again(mode: Mode, tmp_path: Path):
    diver = graph_agent(ToolUse("look", {"place": "bay"}), ConnectionError("down"), "low")
    with SqliteCheckpointer(tmp_path / "runs.db") as saver:
        divers = crew(task("dive", diver))
        with pytest.raises(ConnectionError), record_events() as events:
            mode.kickoff(divers, thread_id="1", checkpointer=saver)
        with record_events() as more:
            assert mode.resume(divers, "1", checkpointer=saver).raw == "low"
    assert len(diver.llm.requests) == 3
    assert sum(isinstance(event, ToolUsageFinishedEvent) for event in [*events, *more]) == 1


def test_a_tools_question_is_the_crews(mode: Mode):
    @tool
    def pay(amount: int) -> str:
        """Pay."""
        return str(interrupt(f"pay {amount}?"))

    diver = graph_agent(ToolUse("pay", {"amount": 7}), "paid", tools=[pay])
    graph = crew(task("dive", diver)).compile(checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "1"}}
    (question,) = mode.invoke(graph, {"inputs": {}}, config)["__interrupt__"]
    assert question.value == "pay 7?"
    assert mode.invoke(graph, Command(resume={question.id: "yes"}), config)["dive"]["raw"] == "paid"
    assert "yes" in asked(diver.llm)[1]


class Chat(BaseAgentAdapter):
    """An adapter as programs write them."""

    def configure_tools(self, tools: Sequence[Any] | None = None) -> None:
        self.given = [one.name for one in tools or ()]

    def configure_structured_output(self, task: Task) -> None: ...

    def execute_task(self, task: Task, context: str | None = None, tools: Sequence[Any] | None = None) -> str:
        self.configure_tools(tools)
        return f"{self._agent_config}: {task.description} with {self.given}"

    given: list[str] = []


def test_an_adapter_of_a_user_works_in_its_own_way(mode: Mode):
    chat = Chat(agent_config={"temperature": 0}, role="r", goal="g", backstory="b", tools=[look])  # pyright: ignore[reportCallIssue]
    output = mode.kickoff(crew(task("dive {n}", chat, description="dive {n} m")), {"n": 7})
    assert "with ['look']" in output.raw and output.raw.startswith("{'temperature': 0}: dive")
    assert chat.copy()._agent_config == {"temperature": 0}  # pyright: ignore[reportPrivateUsage]


def test_a_class_is_set_up_before_it_works(mode: Mode, tmp_path: Path):
    class Whole(BaseAgent):
        """All that CrewAI's base class asks for."""

        made: int = 0

        def create_agent_executor(self, tools: Sequence[Any] | None = None, task: Any = None) -> None:
            self.made += 1

        def execute_task(self, task: Task, context: str | None = None, tools: Sequence[Any] | None = None) -> str:
            return f"made {self.made}, {[one.name for one in tools or ()]}, after {context!r}"

        async def aexecute_task(self, task: Task, context: str | None = None, tools: Any = None) -> str:
            return self.execute_task(task, context, tools)

        def get_delegation_tools(self, agents: Sequence[BaseAgent]) -> list[Any]:
            @tool
            def ask(question: str) -> str:
                """Ask somebody."""
                return f"{[one.role for one in agents]}"

            return [ask]

        def get_platform_tools(self, apps: Sequence[Any]) -> list[Any]:
            return []

        def get_mcp_tools(self, mcps: Sequence[Any]) -> list[Any]:
            return [look]

    whole = Whole(role="r", goal="g", backstory="b", allow_delegation=True, apps=["gmail"], mcps=["http://localhost"])
    other = agent(ScriptedLLM(["one"]), "other")
    output = mode.kickoff(crew(task("first", other), task("second", whole)))
    assert output.raw == "made 1, ['ask', 'look'], after 'one'"
    with pytest.raises(RunError, match="agent `r` has its own execution logic, which works on tasks only"):
        mode.run(whole.kickoff, whole.akickoff, "go")


def test_tools_of_hosted_applications_are_refused():
    with pytest.raises(CompileError, match="hosted platform, .* or override `get_platform_tools`"):
        agent(ScriptedLLM([])).get_platform_tools(["gmail"])


def test_our_loop_needs_no_executor():
    one = agent(ScriptedLLM([]))
    one.create_agent_executor(tools=[look])
    assert one.agent_executor is None


def test_openais_agents_are_refused_with_what_does_the_same():
    with pytest.raises(DefinitionError, match="pip install openai-agents.*agent_executor=ask"):
        OpenAIAgentAdapter(role="r", goal="g", backstory="b")
