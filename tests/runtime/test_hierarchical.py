"""Hierarchical crews: a manager delegates each task to the agents."""

from typing import Any

import pytest
from modes import Mode
from pydantic import BaseModel, ValidationError

from crewgraph import BaseAgent, Crew, Process, ScriptedLLM, Task, ToolUse
from crewgraph.compiler import preflight
from crewgraph.errors import CompileError
from crewgraph.tools import tool

from .parts import agent, asked

DELEGATE = "Delegate work to coworker"


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


def test_the_agent_of_a_task_narrows_who_gets_it(mode: Mode):
    manager = ScriptedLLM([handed("x", "Digger"), handed("x", "Builder"), "done"])
    digger, builder = agent(ScriptedLLM([]), "Digger"), agent(ScriptedLLM(["built"]), "Builder")
    assert mode.kickoff(led(manager, todo("one", agent=builder), team=[digger, builder])).raw == "done"
    assert "- Builder" in asked(manager)[1] and "- Digger" not in asked(manager)[1]


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


class Report(BaseModel):
    title: str


def test_what_managers_give_is_structured_and_judged(mode: Mode):
    manager = ScriptedLLM(['{"title": "bad"}', handed("better", "Worker"), '{"title": "good"}'])

    def good(output: Any) -> tuple[bool, Any]:
        return ("good" in output.raw, output.raw if "good" in output.raw else "not good")

    crew = led(
        manager, todo("one", output_pydantic=Report, guardrail=good), team=[agent(ScriptedLLM(["ok"]), "Worker")]
    )
    assert mode.kickoff(crew).pydantic == Report(title="good")


def test_a_sequential_crew_says_that_it_has_no_use_for_a_manager():
    worker = agent(ScriptedLLM(["x"]), "W")
    crew = Crew(agents=[worker], tasks=[todo("one", agent=worker)], manager_llm=ScriptedLLM([]))

    preflight._warned.discard(("Crew", "manager_llm"))  # pyright: ignore[reportPrivateUsage]
    with pytest.warns(preflight.WithoutEffect, match="a sequential crew has no manager"):
        crew.kickoff()
