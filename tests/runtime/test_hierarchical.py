"""Hierarchical crews: a manager delegates each task to the agents."""

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from modes import Mode
from pydantic import BaseModel, ValidationError
from typing_extensions import TypedDict

from crewgraph import Agent, BaseAgent, ConditionalTask, Crew, Process, ScriptedLLM, Task, ToolUse
from crewgraph.compiler import preflight
from crewgraph.errors import CompileError, ModelError
from crewgraph.tools import tool

from .parts import agent, asked

DELEGATE = "Delegate work to coworker"
NAMED = "delegate_work_to_coworker"


def handed(work: str, coworker: str) -> ToolUse:
    return ToolUse(DELEGATE, {"task": work, "context": "c", "coworker": coworker})


def todo(name: str, **more: Any) -> Task:
    return Task(name=name, description=f"do {name}", expected_output="a text", **more)


def led(manager: ScriptedLLM, *tasks: Task, team: list[BaseAgent], **more: Any) -> Crew:
    return Crew(agents=team, tasks=list(tasks), process=Process.hierarchical, manager_llm=manager, **more)


def test_a_manager_works_on_each_task_in_turn(mode: Mode):
    manager = ScriptedLLM([handed("dig", "Digger"), "dug", handed("build", "Builder"), "built"])
    digger, builder = ScriptedLLM(["a hole"]), ScriptedLLM(["a house"])
    crew = led(manager, todo("one"), todo("two"), team=[agent(digger, "Digger"), agent(builder, "Builder")])
    result = mode.kickoff(crew)
    assert [(output.raw, output.agent) for output in result.tasks_output] == [
        ("dug", "Crew Manager"),
        ("built", "Crew Manager"),
    ]
    assert "a hole" in asked(manager)[1] and "a house" in asked(manager)[3]
    assert "dug" in manager.requests[2].text  # the context of the second task


def test_a_manager_who_never_hands_anything_over_still_answers(mode: Mode):
    crew = led(ScriptedLLM(["my own answer"]), todo("one"), team=[agent(ScriptedLLM([]), "Idle")])
    assert mode.kickoff(crew).raw == "my own answer"


def test_a_manager_may_be_without_a_team(mode: Mode):
    manager = ScriptedLLM(["alone"])
    assert mode.kickoff(led(manager, todo("one"), team=[])).raw == "alone"
    assert NAMED not in manager.requests[0].text


def test_the_manager_shows_in_the_crew(mode: Mode):
    crew = led(ScriptedLLM(["x"]), todo("one"), team=[agent(ScriptedLLM([]), "A")], verbose=True)
    mode.kickoff(crew)
    assert type(crew.manager_agent) is Agent  # a program may use it like one of its own
    assert (crew.manager_agent.role, crew.manager_agent.verbose, crew.manager_agent.allow_delegation) == (
        "Crew Manager",
        True,
        True,
    )
    assert crew.copy().manager_agent is None
    first = crew.manager_agent
    crew.manager_llm = ScriptedLLM(["y"])
    assert mode.kickoff(crew).raw == "y" and crew.manager_agent is not first


def test_the_agent_of_a_task_narrows_who_gets_it(mode: Mode):
    manager = ScriptedLLM([handed("x", "Digger"), handed("x", "Builder"), "done"])
    digger, builder = agent(ScriptedLLM([]), "Digger"), agent(ScriptedLLM(["built"]), "Builder")
    assert mode.kickoff(led(manager, todo("one", agent=builder), team=[digger, builder])).raw == "done"
    assert "- Builder" in asked(manager)[1] and "- Digger" not in asked(manager)[1]


def test_tools_of_a_task_are_the_managers(mode: Mode):
    @tool
    def look(what: str) -> str:
        """Look at something."""
        return f"saw {what}"

    manager = ScriptedLLM([ToolUse("look", {"what": "sky"}), "blue"])
    assert mode.kickoff(led(manager, todo("one", tools=[look]), team=[agent(ScriptedLLM([]), "A")])).raw == "blue"
    assert "saw sky" in asked(manager)[1] and NAMED in manager.requests[0].text


def test_a_manager_is_offered_the_tools_of_the_agent_whom_a_task_is_meant_for(mode: Mode):
    @tool
    def dig(place: str) -> str:
        """Dig a hole."""
        return f"a hole in {place}"

    manager = ScriptedLLM([ToolUse("dig", {"place": "Brest"}), "dug"])
    digger = agent(ScriptedLLM([]), "Digger", tools=[dig])
    assert mode.kickoff(led(manager, todo("one", agent=digger), team=[digger])).raw == "dug"
    assert "a hole in Brest" in asked(manager)[1]
    assert NAMED in manager.requests[0].text


def test_a_custom_manager(mode: Mode):
    llm, worker = ScriptedLLM([handed("x", "Worker"), "led"]), ScriptedLLM(["worked"])
    boss = agent(llm, "Boss", backstory="strict")  # allow_delegation is a manager's nature
    crew = Crew(agents=[agent(worker, "Worker")], tasks=[todo("one")], process=Process.hierarchical, manager_agent=boss)
    result = mode.kickoff(crew)
    assert (result.raw, result.tasks_output[0].agent) == ("led", "Boss")
    assert "strict" in llm.requests[0].text
    assert crew.manager_agent is boss


def test_a_manager_by_role_does_not_work_any_more(mode: Mode):
    boss, worker = agent(ScriptedLLM([handed("x", "Worker"), "led"]), "Boss"), agent(ScriptedLLM(["worked"]), "Worker")
    crew = Crew.model_validate(
        {"agents": [boss, worker], "tasks": [todo("one")], "process": "hierarchical", "manager_agent": "Boss"}
    )
    assert (crew.manager_agent, crew.agents) == (boss, [worker])
    assert mode.kickoff(crew).raw == "led"


def test_the_role_of_nobody_is_no_manager():
    with pytest.raises(ValidationError, match="the role of none of its agents; there are 'Worker'"):
        Crew.model_validate(
            {"agents": [agent(ScriptedLLM([]), "Worker")], "tasks": [todo("one")], "manager_agent": "Boss"}
        )


def test_a_manager_with_tools_is_refused(mode: Mode):
    @tool
    def look(what: str) -> str:
        """Look at something."""
        return what

    boss = agent(ScriptedLLM([]), "Boss", tools=[look])
    crew = Crew(agents=[agent(ScriptedLLM([]))], tasks=[todo("one")], process=Process.hierarchical, manager_agent=boss)
    with pytest.raises(CompileError, match="manager, agent `Boss`, has tools"):
        mode.kickoff(crew)


def test_a_manager_who_is_listed_is_refused():
    boss = agent(ScriptedLLM([]), "Boss")
    with pytest.raises(ValidationError, match="its manager is also one of its agents"):
        Crew(agents=[boss], tasks=[todo("one")], process=Process.hierarchical, manager_agent=boss)


def test_a_hierarchy_without_a_manager_is_refused():
    with pytest.raises(ValidationError, match="hierarchical, but it has no manager"):
        Crew(agents=[agent(ScriptedLLM([]))], tasks=[todo("one")], process=Process.hierarchical)


def test_a_coworker_without_a_model_is_told_before_anything_is_paid_for(mode: Mode):
    manager = ScriptedLLM(["x"])
    worker = Agent(role="Worker", goal="g", backstory="b")
    with pytest.raises(ModelError, match="model"):
        mode.kickoff(led(manager, todo("one"), team=[worker]))
    assert manager.requests == []


class Report(BaseModel):
    title: str


def test_what_managers_give_is_structured_and_judged(mode: Mode):
    manager = ScriptedLLM(['{"title": "bad"}', handed("better", "Worker"), '{"title": "good"}'])

    def good(output: Any) -> tuple[bool, Any]:
        return ("good" in output.raw, output.raw if "good" in output.raw else "not good")

    crew = led(
        manager,
        todo("one", output_pydantic=Report, guardrail=good),
        team=[agent(ScriptedLLM(["ok"]), "Worker")],
    )
    assert mode.kickoff(crew).pydantic == Report(title="good")


def test_async_and_conditional_tasks_are_led_as_well(mode: Mode):
    def answer(messages: list[dict[str, Any]]) -> str:
        return "done: " + str(messages[-1]["content"]).partition("do ")[2][:3]

    crew = led(
        ScriptedLLM(answer),
        todo("one", async_execution=True),
        todo("two", async_execution=True),
        ConditionalTask(
            name="six", description="do six", expected_output="e", condition=lambda output: "two" not in output.raw
        ),
        todo("ten"),
        team=[agent(ScriptedLLM([]), "Worker")],
    )
    assert [output.raw for output in mode.kickoff(crew).tasks_output] == ["done: one", "done: two", "", "done: ten"]


def test_placeholders_are_filled_for_everybody(mode: Mode):
    manager, worker = ScriptedLLM([handed("x", "rain expert"), "done"]), ScriptedLLM(["known"])
    crew = led(
        manager, todo("one {topic}"), team=[agent(worker, "{topic} expert", goal="know {topic}")], name="weather"
    )
    assert mode.kickoff(crew, {"topic": "rain"}).raw == "done"
    assert "know rain" in worker.requests[0].text and "do one rain" in manager.requests[0].text


def test_each_of_many_inputs_has_a_run_of_its_own(mode: Mode):
    def lead(messages: list[dict[str, Any]]) -> Any:
        last = str(messages[-1]["content"])
        return f"led {last[-3:]}" if "worked on" in last else handed(last.partition("do ")[2][:3], "Worker")

    def work(messages: list[dict[str, Any]]) -> str:
        return "worked on " + str(messages[-1]["content"]).partition("Your task:\n")[2][:3]

    crew = led(
        ScriptedLLM(lead),
        Task(description="do {what}", expected_output="e"),
        team=[agent(ScriptedLLM(work), "Worker")],
    )
    results = mode.run(crew.kickoff_for_each, crew.akickoff_for_each, [{"what": "one"}, {"what": "two"}])
    assert [result.raw for result in results] == ["led one", "led two"]


class Outer(TypedDict, total=False):
    inputs: dict[str, Any]
    one: dict[str, Any]


def test_a_hierarchy_is_a_node_like_any_other(mode: Mode):
    manager = ScriptedLLM([handed("x", "Worker"), "led"])
    inner = mode.compile(led(manager, todo("one"), team=[agent(ScriptedLLM(["worked"]), "Worker")]))
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(Outer)
    graph.add_node("crew", inner)
    graph.add_edge(START, "crew")
    graph.add_edge("crew", END)
    compiled = graph.compile(checkpointer=InMemorySaver())
    assert mode.invoke(compiled, {"inputs": {}}, {"configurable": {"thread_id": "t"}})["one"]["raw"] == "led"
    assert list(inner.get_graph().nodes) == ["__start__", "one", "__end__"]


def test_a_team_that_changes_is_asked_as_it_is_now(mode: Mode):
    manager = ScriptedLLM([handed("x", "Two"), "first", handed("x", "Two"), "second"])
    two = agent(ScriptedLLM(["here"]), "Two")
    crew = led(manager, todo("one"), team=[agent(ScriptedLLM([]), "One")])
    assert mode.kickoff(crew).raw == "first"
    crew.agents.append(two)
    assert mode.kickoff(crew).raw == "second"
    assert "- One" in asked(manager)[1] and "here" in asked(manager)[3]


def test_a_sequential_crew_says_that_it_has_no_use_for_a_manager():
    worker = agent(ScriptedLLM(["x"]), "W")
    crew = Crew(agents=[worker], tasks=[todo("one", agent=worker)], manager_llm=ScriptedLLM([]))

    preflight._warned.discard(("Crew", "manager_llm"))  # pyright: ignore[reportPrivateUsage]
    with pytest.warns(preflight.WithoutEffect, match="a sequential crew has no manager"):
        crew.kickoff()
