"""The graphs of sequential crews: their shapes, and how they run."""

from collections.abc import Callable
from typing import Any

import pytest
from compiler.body_runner import agent, always, task
from modes import Mode, graph_of
from typing_extensions import TypedDict

import crewgraph.compiler.crew.graph as sequential
from crewgraph import Agent, ConditionalTask, Crew, CrewOutput, ScriptedLLM, Task, TaskOutput
from crewgraph.compiler.crew.state import schema
from crewgraph.errors import MissingInput, RunError


def yes(_: TaskOutput) -> bool:
    return True


def no(_: TaskOutput) -> bool:
    return False


def after_nothing(output: TaskOutput) -> bool:
    return output.raw == ""


WORKER = agent(always("done"))


def step(name: str, worker: Agent = WORKER, **fields: Any) -> Task:
    return task(worker, name=name, **fields)


def beside(name: str, worker: Agent = WORKER, **fields: Any) -> Task:
    return step(name, worker, async_execution=True, **fields)


def perhaps(name: str, condition: Any = yes, worker: Agent = WORKER, **fields: Any) -> ConditionalTask:
    given: dict[str, Any] = {"description": "d", "expected_output": "e", "agent": worker, "name": name, **fields}
    return ConditionalTask(condition, **given)


def crew(*tasks: Task) -> Crew:
    workers = list(dict.fromkeys(one.agent for one in tasks if one.agent))
    return Crew(agents=workers, tasks=list(tasks), checkpointer=False)


def drawn(*tasks: Task) -> list[str]:
    """The edges, as mermaid draws them."""
    text = crew(*tasks).compile().get_graph().draw_mermaid(with_styles=False)
    return [line.strip().rstrip(";") for line in text.splitlines() if "-->" in line or "-.->" in line or "-." in line]


def test_tasks_run_in_order():
    assert drawn(step("a"), step("b"), step("c")) == ["__start__ --> a", "a --> b", "b --> c", "c --> __end__"]


def test_asynchronous_tasks_run_in_parallel_and_the_next_waits_for_all():
    assert drawn(step("a"), beside("b"), beside("c"), step("d")) == [
        "__start__ --> a", "a --> b", "a --> c", "b --> d", "c --> d", "d --> __end__",
    ]  # fmt: skip


def test_a_conditional_task_is_a_conditional_edge_to_it_or_past_it():
    assert drawn(step("a"), perhaps("b"), step("c")) == [
        "__start__ --> a", "a -.-> b", "a -.-> skip\\20b", "b --> c", "skip\\20b --> c", "c --> __end__",
    ]  # fmt: skip


def test_the_graph_of_a_crew_takes_inputs_and_gives_the_outputs_by_task(mode: Mode):
    graph = crew(step("a"), step("b")).compile(checkpointer=False)
    assert list(graph.get_input_jsonschema()["properties"]) == ["inputs"]
    assert list(graph.get_output_jsonschema()["properties"]) == ["a", "b", "output"]
    written = mode.invoke(graph, {"inputs": {}})
    assert written.pop("output") == "done"
    assert {name: output["raw"] for name, output in written.items()} == {"a": "done", "b": "done"}
    assert graph.name == "crew"


def about_topics() -> Crew:
    seen = ScriptedLLM(
        lambda messages: f"saw {str(messages).partition('about ')[2].partition('.')[0]}", repeat_last=True
    )
    clerk = Agent(role="Clerk of {place}", goal="g", backstory="b", llm=seen)
    return Crew(
        agents=[clerk],
        tasks=[
            Task(name="write", description="Write about {topic}.", expected_output="A text on {topic}", agent=clerk)
        ],
    )


@pytest.mark.parametrize("key", [None, "inputs"], ids=["flat", "under inputs"])
def test_inputs_may_stand_alone_or_under_their_key(mode: Mode, key: str | None):
    graph = about_topics().compile(checkpointer=False)
    values = {"topic": "rain", "place": "Brest"}
    written = mode.invoke(graph, values if key is None else {key: values})
    assert written["write"]["raw"] == "saw rain"


def test_the_schema_of_the_input_names_each_placeholder_and_where_it_is_used():
    assert about_topics().compile().get_input_jsonschema() == {
        "title": "CrewInput",
        "type": "object",
        "properties": {
            "topic": {
                "title": "topic",
                "type": "string",
                "description": "Used in the description of task `write`, expected output of task `write`.",
            },
            "place": {
                "title": "place",
                "type": "string",
                "description": "Used in the role of agent `Clerk of {place}`.",
            },
        },
        "required": ["topic", "place"],
    }


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "messages": (
        {"messages": [{"role": "user", "content": "hi"}]},
        "nothing in the crew reads `messages`; its input is",
    ),
    "an unknown key": ({"topic": "x", "place": "y", "tone": "z"}, "nothing in the crew reads `tone`"),
    "an unknown key beside inputs": ({"inputs": {"topic": "x", "place": "y"}, "tone": "z"}, "reads `tone`"),
    "a placeholder beside inputs": (
        {"inputs": {"topic": "x"}, "place": "y"},
        r"`place` belongs in `inputs` if the input also has `inputs`: \{\"inputs\": \{\"topic\": ..., \"place\": ...\}\}",
    ),
    "nothing": ({}, "lacks `topic`, in the description of task `write`; `place`, in the role of agent"),
    "no inputs": ({"inputs": {}}, 'lacks `topic`.*Give {"topic": ..., "place": ...}'),
    "an input too few": ({"topic": "x"}, "lacks `place`"),
}


@pytest.mark.parametrize(("given", "why"), REFUSED.values(), ids=REFUSED)
def test_an_input_that_is_not_read_or_lacks_a_value_is_refused(mode: Mode, given: dict[str, Any], why: str):
    team = about_topics()
    with pytest.raises(RunError, match=why):
        mode.invoke(team.compile(checkpointer=False), given)
    model: Any = team.agents[0].llm
    assert model.requests == []


def test_inputs_that_no_text_names_are_allowed_under_their_key(mode: Mode):
    graph = about_topics().compile(checkpointer=False)
    assert (
        mode.invoke(graph, {"inputs": {"topic": "rain", "place": "Brest", "tone": "dry"}})["write"]["raw"] == "saw rain"
    )


def test_a_state_around_a_crew_that_has_its_input_where_the_crew_writes_is_refused_with_what_to_do(mode: Mode):
    class Larger(TypedDict, total=False):
        write: Any

    clerk = agent(always("done"))
    text = Task(name="write", description="{write}", expected_output="A text", agent=clerk)
    with pytest.raises(MissingInput, match="The crew writes its own result to `write`: give the state `inputs`"):
        mode.invoke(graph_of(Larger, {"crew": Crew(agents=[clerk], tasks=[text]).compile()}), {"write": "rain"})


def echo(messages: list[dict[str, Any]]) -> str:
    """Reply with the context in the prompt, or with a letter if there is none."""
    _, found, context = str(messages[-1]["content"]).partition("Results of earlier tasks:\n")
    return f"<{context}>" if found else "-"


def raws(output: CrewOutput) -> list[str]:
    return [one.raw for one in output.tasks_output]


def test_outputs_are_in_the_order_of_the_tasks(mode: Mode):
    slow, quick = agent(always("slow")), agent(always("quick"))
    slow.llm.delay = 0.05
    output = mode.kickoff(crew(beside("a", slow), beside("b", quick), step("c", quick)))
    assert raws(output) == ["slow", "quick", "quick"]


def test_an_asynchronous_task_sees_nothing_and_the_next_sees_all(mode: Mode):
    worker = agent(echo)
    output = mode.kickoff(crew(step("a", worker), beside("b", worker), beside("c", worker), step("d", worker)))
    divider = "\n\n----------\n\n"
    assert raws(output) == ["-", "-", "-", f"<-{divider}-{divider}->"]


def test_a_listed_context_is_reported_in_its_own_order(mode: Mode):
    reader = agent(echo)
    a, b = step("a", agent("a")), step("b", agent("b"))
    output = mode.kickoff(crew(a, b, step("c", reader, context=[b, a])))
    assert output.raw == "<b\n\n----------\n\na>"


def test_a_condition_judges_the_output_before_it(mode: Mode):
    seen: list[tuple[str, str]] = []

    def short(output: TaskOutput) -> bool:
        seen.append((output.name or "", output.raw))
        return len(output.raw) < 3

    output = mode.kickoff(crew(step("a"), perhaps("b", short), step("c")))
    assert seen == [("a", "done")]
    assert raws(output) == ["done", "", "done"]
    assert output.raw == "done"


def test_a_condition_after_asynchronous_tasks_waits_for_them_and_judges_the_last(mode: Mode):
    seen: list[str] = []
    slow = agent(always("slow"))
    slow.llm.delay = 0.05

    def judge(output: TaskOutput) -> bool:
        seen.append(output.raw)
        return False

    made = crew(beside("a"), beside("b", slow), perhaps("c", judge), step("d"))
    assert raws(mode.kickoff(made)) == ["done", "slow", "", "done"]
    assert seen == ["slow"]


def test_a_second_condition_judges_the_skipped_output_of_the_first(mode: Mode):
    made = crew(step("a"), perhaps("b", no), perhaps("c", after_nothing))
    output = mode.kickoff(made)
    assert raws(output) == ["done", "", "done"]


def test_a_failing_condition_fails_the_run_and_is_named(mode: Mode):
    def failing(output: TaskOutput) -> bool:
        raise RuntimeError("boom")

    with pytest.raises(RuntimeError, match="boom") as caught:
        mode.kickoff(crew(step("a"), perhaps("b", failing)))
    assert "in the condition of task `b`" in caught.value.__notes__


def test_a_conditional_task_without_a_condition_is_an_error_that_names_it(mode: Mode):
    with pytest.raises(ValueError, match="the conditional task `b` has no condition"):
        mode.kickoff(crew(step("a"), perhaps("b", None)))


def first_time_only() -> Callable[[TaskOutput], bool]:
    answers = iter((True, False))
    return lambda _: next(answers)


def test_a_task_that_is_skipped_shows_no_output_of_an_earlier_run(mode: Mode):
    conditional = perhaps("b", first_time_only())
    made = crew(step("a"), conditional)
    mode.kickoff(made)
    assert conditional.output is not None
    assert conditional.output.raw == "done"
    mode.kickoff(made)
    assert conditional.output is None or conditional.output.raw == ""


def test_compiling_a_thousand_tasks_needs_few_schemas_and_no_more_than_a_node_per_task(monkeypatch: pytest.MonkeyPatch):
    sizes: list[int] = []

    def counting(name: str, channels: Any, *others: Any) -> Any:
        listed = list(channels)
        sizes.append(len(listed))
        return schema(name, listed, *others)

    monkeypatch.setattr(sequential, "schema", counting)
    graph = crew(*(step(f"s{n}") for n in range(1000))).compile()
    assert len(graph.get_graph().nodes) == 1002
    assert len(sizes) < 35, "one for each of the first tasks, one for every doubling, and those of the whole graph"
    assert sum(sizes) < 4500, "their sizes add up to a multiple of the tasks, not to their square"


def test_compiling_is_pure():
    made = crew(step("a"), perhaps("b"))
    first, second = made.compile(), made.compile()
    assert first is not second
    assert first.get_graph().to_json() == second.get_graph().to_json()
