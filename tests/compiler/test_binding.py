"""Bound tasks: their names, contexts and tools; and unsupported settings."""

from typing import Any

import pytest
from compiler.body_runner import agent, bound, task

from crewgraph import ConditionalTask, Crew, Task, TaskOutput
from crewgraph.compiler.task.binding import context_outputs
from crewgraph.errors import CompileError
from crewgraph.tools import tool

WORKER = agent("x")


def step(name: str, **fields: Any) -> Task:
    return task(WORKER, name=name, **fields)


def perhaps(name: str, **fields: Any) -> ConditionalTask:
    given: dict[str, Any] = {"description": "d", "expected_output": "e", "agent": WORKER, "name": name, **fields}
    return ConditionalTask(lambda _: True, **given)


def sources(*tasks: Task) -> dict[str, tuple[str, ...]]:
    return {one.slug: one.sources for one in bound(*tasks)}


def test_a_task_is_named_after_its_name_else_its_description():
    named = task(WORKER, name="Market Research!", description="Look around")
    unnamed = task(WORKER, description="Write the report\nabout {topic}.")
    assert [one.slug for one in bound(named, unnamed)] == ["market_research", "write_the_report_about_topic"]


def test_names_are_unique_and_none_is_that_of_the_inputs():
    tasks = [step("inputs"), step("a"), step("A"), step("a 2"), step("!?"), step("")]
    assert [one.slug for one in bound(*tasks)] == ["inputs_2", "a", "a_2", "a_2_2", "task", "count_the_files"]


def test_a_task_without_context_gets_all_earlier_outputs():
    assert sources(step("a"), step("b"), step("c")) == {"a": (), "b": ("a",), "c": ("a", "b")}


def test_a_list_is_exactly_the_context_in_its_own_order():
    a, b, c = step("a"), step("b"), step("c")
    d = step("d", context=[c, a])
    assert sources(a, b, c, d)["d"] == ("c", "a")


@pytest.mark.parametrize("nothing", [[], (), None])
def test_an_empty_context_is_no_context(nothing: Any):
    assert sources(step("a"), step("b", context=nothing))["b"] == ()


def test_asynchronous_tasks_have_no_context_that_they_do_not_name():
    tasks = [
        step("a"), step("b", async_execution=True), step("c", async_execution=True), step("d"),
        step("e", async_execution=True),
    ]  # fmt: skip
    assert sources(*tasks) == {"a": (), "b": (), "c": (), "d": ("a", "b", "c"), "e": ()}


def search(query: str) -> str:
    """Search."""
    return query


def count(folder: str) -> str:
    """Count."""
    return folder


@tool("search")
def other_search(query: str) -> str:
    """Search elsewhere."""
    return query


def test_a_tasks_tools_replace_its_agents():
    worker = agent("x", tools=[search])
    own, given = task(worker, name="own"), task(worker, name="given", tools=[count])
    assert [list(one.tools) for one in bound(own, given)] == [["search"], ["count"]]


def test_the_second_of_two_tools_with_the_same_name_gets_a_number():
    with pytest.warns(UserWarning, match="task `look` has two tools .* `search` is offered as `search_2`"):
        (one,) = bound(task(agent("x", tools=[search, other_search, search]), name="look"))
    assert list(one.tools) == ["search", "search_2"]
    assert one.tools["search_2"].spec["name"] == "search_2"


def refused(crew: Crew) -> str:
    with pytest.raises(CompileError) as caught:
        crew.compile()
    assert isinstance(caught.value, ValueError)
    return str(caught.value)


def test_a_crew_with_nothing_to_do_is_refused():
    assert refused(Crew(agents=[WORKER])) == "the crew has no tasks; give it `tasks=[...]`."


def test_a_task_that_lost_its_agent_is_refused():
    crew = Crew(agents=[WORKER], tasks=[step("a")])
    crew.tasks[0].agent = None
    assert "task `a`" in refused(crew)
    assert "agent" in refused(crew)


def test_a_crew_changed_to_be_invalid_is_refused_by_its_validators():
    crew = Crew(agents=[WORKER], tasks=[step("a")])
    crew.tasks.insert(0, perhaps("first"))
    assert refused(crew).startswith(
        "task `first`: it is conditional but comes first, when there is no output to judge."
    )


AGENT: dict[str, Any] = {"from_repository": "x"}


@pytest.mark.parametrize("name", AGENT)
def test_unsupported_agent_settings_are_refused_by_name(name: str):
    worker = agent("x", **{name: AGENT[name]})
    assert f"`{name}` of agent `Clerk`" in refused(Crew(agents=[worker], tasks=[task(worker)]))


def test_an_agent_that_only_a_task_refers_to_is_checked_too():
    other = agent("x", role="Guest", from_repository="x")
    assert "`from_repository` of agent `Guest`" in refused(Crew(agents=[WORKER], tasks=[task(other)]))


def test_a_task_of_another_crew_provides_its_last_output():
    there, before = step("there"), step("before")
    here = step("here", context=[there, before])
    there.output = TaskOutput(description="d", agent="a", raw="from there")
    made = bound(before, here)[1]
    assert made.sources == ("before",)
    assert context_outputs(made, {"before": {"raw": "from before"}}) == "from there\n\n----------\n\nfrom before"


def test_a_task_of_another_crew_that_has_not_been_run_causes_a_warning():
    made = bound(step("here", context=[step("there")]))[0]
    with pytest.warns(
        UserWarning, match="task `there` is used as context, but belongs to another crew that has not been run"
    ):
        assert context_outputs(made, {}) == ""
