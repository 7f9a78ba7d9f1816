"""Agents of other frameworks, custom agent classes, and the base classes for them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from crewgraph_compat.stand_ins.agent_adapters import (
    BaseAgentAdapter,
    BaseConverterAdapter,
    BaseToolAdapter,
    LangGraphAgentAdapter,
    LangGraphConverterAdapter,
    LangGraphToolAdapter,
    OpenAIAgentAdapter,
)
from crewgraph_compat.stand_ins.lite_agent import LiteAgent
from langchain_core.tools import tool as langchain_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from modes import Mode
from pydantic import BaseModel

from crewgraph import Agent, BaseAgent, Crew, ScriptedLLM, Task, ToolUse
from crewgraph.errors import CompileError, DefinitionError, RunError
from crewgraph.events import ToolUsageFinishedEvent
from crewgraph.llm.errors import MissingKey
from crewgraph.storage.checkpoints import SqliteCheckpointer
from crewgraph.testing import record_events
from crewgraph.tools import BaseTool, tool
from crewgraph.tools.structured import CrewStructuredTool
from runtime.parts import agent, asked, crew, task
from runtime.test_executors import fake


@tool
def look(place: str) -> str:
    """Look at the sea."""
    return f"low water at {place}"


class Tide(BaseModel):
    hour: int


# --------------------------------------------------------------------------------------- a graph of model and tools
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
    assert output.raw == "low" and [step.output for step in steps] == ["low"]
    assert output.token_usage.successful_requests == 2 and output.tasks_output[0].usage_by_model.keys() == {"scripted"}
    done = [event for event in events if isinstance(event, ToolUsageFinishedEvent)]
    assert sorted(event.output for event in done) == ["low water at bay", "low water at cape"]
    assert {event.agent_role for event in done} == {"Diver"}
    first, second = diver.llm.requests
    assert "You are Diver" in first.messages[0]["content"] and [one["function"]["name"] for one in first.tools] == [
        "look"
    ]
    assert [message["role"] for message in second.messages] == ["system", "user", "assistant", "tool", "tool"]


def test_a_tool_that_is_not_there_is_told_to_its_model(mode: Mode):
    diver = graph_agent(ToolUse("fly"), ToolUse("look", {"where": 1}), "done")
    assert mode.kickoff(crew(task("dive", diver))).raw == "done"
    assert "look" in diver.llm.requests[1].text and "place" in diver.llm.requests[2].text


def test_after_max_iterations_it_must_answer(mode: Mode):
    diver = graph_agent(*[ToolUse("look", {"place": "bay"})] * 2, "low", max_iterations=2)
    assert diver.max_iter == 2
    assert mode.kickoff(crew(task("dive", diver))).raw == "low" and len(diver.llm.requests) == 3


def test_a_tools_result_may_be_its_answer(mode: Mode):
    @tool(result_as_answer=True)
    def dive(place: str) -> str:
        """Dive."""
        return f"a pearl from the {place}"

    diver = graph_agent(ToolUse("dive", {"place": "bay"}), tools=[dive])
    assert mode.kickoff(crew(task("dive", diver))).raw == "a pearl from the bay"


def test_a_langgraph_agent_gives_structured_outputs(mode: Mode):
    diver = graph_agent("at seven", function_calling_llm=ScriptedLLM(['{"hour": 7}']))
    assert mode.kickoff(crew(task("dive", diver, output_pydantic=Tide))).pydantic == Tide(hour=7)


def test_a_langgraph_agent_answers_messages(mode: Mode):
    diver = graph_agent(ToolUse("look", {"place": "bay"}), "low", max_iterations=2)
    said = [
        {"role": "user", "content": "one"},
        *({"role": "assistant", "content": "so far"}, {"role": "user", "content": "and?"}) * 3,
    ]
    assert mode.run(diver.kickoff, diver.akickoff, said).raw == "low"


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


def test_a_langgraph_agent_needs_a_model_with_tool_calls(mode: Mode):
    diver = LangGraphAgentAdapter("Diver", "g", "b", tools=[look], llm=ScriptedLLM([]))
    with pytest.raises(CompileError, match="agent `Diver`: its model `scripted` has no native tool calls"):
        mode.kickoff(crew(task("dive", diver)))
    assert mode.kickoff(crew(task("dive", LangGraphAgentAdapter("D", "g", "b", llm=ScriptedLLM(["x"]))))).raw == "x"


def test_a_langgraph_agents_model_has_a_default_that_needs_a_key(mode: Mode):
    with pytest.raises(MissingKey, match="OPENAI_API_KEY"):
        mode.kickoff(crew(task("dive", LangGraphAgentAdapter("Diver", "g", "b"))))


def test_settings_for_langgraphs_own_function_are_refused():
    with pytest.raises(DefinitionError, match="`agent_config` of agent `Diver` is not supported"):
        LangGraphAgentAdapter("Diver", "g", "b", agent_config={"debug": True})


def test_a_langgraph_agent_can_be_copied():
    diver = graph_agent("x", max_iterations=3)
    other = diver.copy()
    assert other.id != diver.id and (other.role, other.max_iter, other.llm) == ("Diver", 3, diver.llm)
    diver.configure_tools([])
    assert diver.tools == [] and other.tools == [look] and diver.adapted_agent


def test_tools_become_langchains(mode: Mode):
    class Deep(BaseTool):
        name: str = "deep"
        description: str = "How deep"

        def _run(self, place: str) -> str:
            return f"{place}: 7 m"

    @langchain_tool
    def theirs(place: str) -> str:
        """Theirs."""
        return place

    def plain(place: str) -> str:
        """Plain."""
        return place

    structured = CrewStructuredTool.from_function(plain, name="structured")
    adapter = LangGraphToolAdapter([Deep(), theirs, plain, structured])
    assert [one.name for one in adapter.tools()] == ["deep", "theirs", "plain", "structured"]
    said = [mode.run(one.invoke, one.ainvoke, {"place": "bay"}) for one in adapter.converted_tools]
    assert said == ["bay: 7 m", "bay", "bay", "bay"]
    assert BaseToolAdapter.sanitize_tool_name("Search the web") == "search_the_web"


def test_a_converter_reports_the_structure():
    converter = LangGraphConverterAdapter(graph_agent())
    assert converter.enhance_system_prompt("You dive.") == "You dive."
    assert converter.post_process_result('so: {"hour": 7}') == 'so: {"hour": 7}'
    converter.configure_structured_output(Task(description="d", expected_output="e", output_json=Tide))
    assert converter.enhance_system_prompt("You dive.").startswith("You dive.\n\n")
    assert "hour" in converter.enhance_system_prompt("You dive.")
    assert converter.post_process_result('so: {"hour": 7}') == '{"hour": 7}'
    assert converter.post_process_result("never") == "never"


# ----------------------------------------------------------------------------------------- classes of users
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


def test_an_adapter_without_its_methods_cannot_be_made():
    class Half(BaseAgentAdapter): ...

    with pytest.raises(TypeError, match="abstract method"):
        Half(role="r", goal="g", backstory="b")  # pyright: ignore[reportAbstractUsage]

    class Parts(BaseConverterAdapter): ...

    with pytest.raises(TypeError, match="abstract method"):
        Parts(graph_agent())  # pyright: ignore[reportAbstractUsage]


def test_a_class_may_make_its_executor(mode: Mode):
    class Maker(BaseAgent):
        def create_agent_executor(self, tools: Sequence[Any] | None = None, task: Any = None) -> None:
            self.agent_executor = fake("a pearl")

    maker = Maker(role="r", goal="g", backstory="b")
    assert mode.kickoff(crew(task("dive", maker))).raw == "a pearl" and maker.agent_executor is not None


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


def test_tools_that_a_class_grants_are_used_by_the_loop(mode: Mode):
    class Granted(Agent):
        def get_delegation_tools(self, agents: Sequence[BaseAgent]) -> list[Any]:
            def ask(question: str) -> str:
                """Ask somebody."""
                return f"{question}: {[one.role for one in agents]}"

            return [ask]

    model = ScriptedLLM([ToolUse("ask", {"question": "who?"}), "done"], native_tools=True)
    asker = Granted(role="asker", goal="g", backstory="b", llm=model, allow_delegation=True)
    other = agent(ScriptedLLM([]), "other")
    assert mode.kickoff(Crew(agents=[asker, other], tasks=[task("t", asker)])).raw == "done"
    assert asked(model)[1] == "who?: ['other']"


def test_tools_of_hosted_applications_are_refused():
    with pytest.raises(CompileError, match="hosted platform, .* or override `get_platform_tools`"):
        agent(ScriptedLLM([])).get_platform_tools(["gmail"])


def test_our_loop_needs_no_executor():
    one = agent(ScriptedLLM([]))
    one.create_agent_executor(tools=[look])
    assert one.agent_executor is None


# ------------------------------------------------------------------------------------------------- the others
def test_openais_agents_are_refused_with_what_does_the_same():
    with pytest.raises(DefinitionError, match="pip install openai-agents.*agent_executor=ask"):
        OpenAIAgentAdapter(role="r", goal="g", backstory="b")


def test_a_lite_agent_answers_in_its_format(mode: Mode):
    lite = LiteAgent(
        role="r", goal="g", backstory="b", llm=ScriptedLLM(['{"hour": 7}'] * 3), response_format=Tide, max_iterations=7
    )
    assert lite.max_iter == 7 and LiteAgent(role="r", goal="g", backstory="b").max_iter == 15
    assert mode.run(lite.kickoff, lite.akickoff, "when?").pydantic == Tide(hour=7)
    assert mode.run(lite.kickoff, lite.kickoff_async, "when?").pydantic == Tide(hour=7)
