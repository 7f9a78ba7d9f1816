"""Validation of definitions: the violated rule, the place and the advice in the error."""

from collections.abc import Callable
from typing import Any

import pytest
from modes import Mode
from pydantic import BaseModel, RootModel, ValidationError

from crewgraph import Agent, BaseAgent, ConditionalTask, Crew, Process, ScriptedLLM, Task
from crewgraph.tools import BaseTool


class Answer(BaseModel):
    value: int


def agent(role: str = "Writer", **fields: Any) -> Agent:
    return Agent(role=role, goal="Write", backstory="Wrote before", llm="openai/gpt-4o", **fields)


WRITER = agent()


def task(description: str = "Write", **fields: Any) -> Task:
    given: dict[str, Any] = {"description": description, "expected_output": "A text", "agent": WRITER, **fields}
    return Task(**given)


def conditional(description: str = "Perhaps", **fields: Any) -> ConditionalTask:
    return ConditionalTask(lambda _: True, description=description, expected_output="x", agent=WRITER, **fields)


def crew(*tasks: Task, **fields: Any) -> Crew:
    given: dict[str, Any] = {"agents": [WRITER], "tasks": list(tasks), **fields}
    return Crew(**given)


def refused(make: Callable[[], Any]) -> list[tuple[str, tuple[Any, ...]]]:
    """The codes and places of the faults."""
    with pytest.raises(ValidationError) as caught:
        make()
    return [(error["type"], error["loc"]) for error in caught.value.errors()]


def messages(make: Callable[[], Any]) -> list[str]:
    with pytest.raises(ValidationError) as caught:
        make()
    return [error["msg"].removeprefix("Value error, ") for error in caught.value.errors()]


def test_a_crew_with_neither_agents_nor_tasks_is_refused():
    assert refused(lambda: Crew()) == [("missing_keys", ())]
    assert refused(lambda: Crew(agents=[], tasks=[])) == [("missing_keys", ())]


def test_a_crew_that_has_only_agents_or_only_tasks_can_still_be_filled_and_is_not_refused():
    assert Crew(agents=[WRITER]).tasks == []
    assert Crew(tasks=[task()]).agents == []


def test_a_sequential_task_without_an_agent_is_refused():
    assert refused(lambda: crew(task(agent=None))) == [("missing_agent_in_task", ())]


def test_a_hierarchical_task_needs_no_agent_but_its_crew_needs_a_manager():
    def make(**manager: Any) -> Crew:
        return crew(task(agent=None), process="hierarchical", **manager)

    assert refused(make) == [("missing_manager_llm_or_manager_agent", ())]
    assert make(manager_llm="openai/gpt-4o").process is Process.hierarchical
    boss = agent("Boss")
    assert make(manager_agent=boss).manager_agent is boss


def test_the_manager_is_none_of_the_agents():
    made = lambda: crew(task(), process=Process.hierarchical, manager_agent=WRITER)  # noqa: E731
    assert refused(made) == [("manager_agent_in_agents", ())]


def test_two_asynchronous_tasks_at_the_end_are_refused_for_neither_is_the_result():
    make = lambda: crew(task("a", async_execution=True), task("b", async_execution=True))  # noqa: E731
    assert refused(make) == [("async_task_count", ())]
    assert messages(make) == [
        "the crew: its last 2 tasks are all asynchronous, so none of them is the result. Put at most one asynchronous task "
        "at the end; put a synchronous one after the others."
    ]
    assert len(crew(task("a", async_execution=True)).tasks) == 1
    assert len(crew(task("a", async_execution=True), task("b", async_execution=True), task("c")).tasks) == 3


def test_a_conditional_task_needs_a_task_before_it():
    assert refused(lambda: crew(conditional(), task())) == [("invalid_first_task", ())]
    assert refused(lambda: crew(conditional())) == [("only_conditional_tasks", ())]
    assert refused(lambda: crew(conditional("a"), conditional("b"))) == [("only_conditional_tasks", ())]


def test_a_conditional_task_is_never_asynchronous():
    make = lambda: crew(task(), conditional(async_execution=True), task())  # noqa: E731
    assert refused(make) == [("invalid_async_conditional_task", ())]


def test_a_context_names_only_tasks_that_stand_before():
    later = task("later", name="later")
    early = task("early", name="early", context=[later])
    assert messages(lambda: crew(early, later)) == [
        "task `early`: its context names task `later`, which comes later. Name only tasks that come before it."
    ]
    early.context = [early]
    assert messages(lambda: crew(early)) == [
        "task `early`: its context names the task itself. Name only tasks that come before it."
    ]


def test_an_asynchronous_task_cannot_read_one_that_runs_in_parallel():
    first = task("first", async_execution=True)
    beside = task("beside", async_execution=True, context=[first])
    assert messages(lambda: crew(first, beside, task("end"))) == [
        "task `beside`: it is asynchronous, and so is task `first` in its context: they would run at the same time. Put a "
        "synchronous task between them, or make one of them synchronous."
    ]
    assert len(crew(first, task("between"), beside, task("end")).tasks) == 4


def test_an_unknown_process_is_refused_with_the_choices():
    assert refused(lambda: crew(task(), process="parallel")) == [("enum", ("process",))]
    assert messages(lambda: crew(task(), process="parallel")) == ["Input should be 'sequential' or 'hierarchical'"]


def test_a_prompt_file_has_to_be_a_file():
    assert refused(lambda: crew(task(), prompt_file="nowhere.json")) == [("value_error", ("prompt_file",))]


def test_several_faults_are_reported_at_once_each_with_its_code_and_a_remedy():
    def make() -> Crew:
        return crew(
            conditional("first"),
            task("nobody", agent=None),
            conditional("both", async_execution=True),
            task("last", async_execution=True),
            process="sequential",
        )

    assert [code for code, _ in refused(make)] == [
        "missing_agent_in_task", "async_task_count", "invalid_first_task", "invalid_async_conditional_task",
    ]  # fmt: skip
    assert all(text.count(". ") >= 1 and text.endswith(".") for text in messages(make))


def test_a_task_has_one_structure():
    make = lambda: task(output_json=Answer, output_pydantic=Answer)  # noqa: E731
    assert refused(make) == [("output_type", ())]


@pytest.mark.parametrize("make", [lambda: task(id="x"), lambda: agent(id="x"), lambda: crew(task(), id="x")])
def test_an_id_is_made_not_given(make: Callable[[], Any]):
    assert refused(make) == [("may_not_set_field", ("id",))]


@pytest.mark.parametrize(
    ("path", "stored"),
    [
        ("report.md", "report.md"), ("out/report.md", "out/report.md"),
        ("{topic}/report.md", "{topic}/report.md"), ("a b.md", "a b.md"), ("a..b.md", "a..b.md"),
    ],
)  # fmt: skip
def test_an_output_file_lies_below_the_working_directory(path: str, stored: str):
    assert task(output_file=path).output_file == stored


@pytest.mark.parametrize(
    "path",
    ["../report.md", "out/../../report.md", "..\\report.md", "~/report.md", "$HOME/report.md", "a|b", "a>b", "a;b"],
)
def test_an_output_file_that_leaves_it_or_looks_like_a_shell_command_is_refused(path: str):
    assert refused(lambda: task(output_file=path)) == [("value_error", ("output_file",))]
    (text,) = messages(lambda: task(output_file=path))
    assert f"`output_file` {path!r}" in text
    assert "; pass a" in text


def test_an_output_file_with_a_placeholder_that_no_input_can_fill_is_refused():
    (text,) = messages(lambda: task(output_file="{bad-name}/report.md"))
    assert "`output_file` '{bad-name}/report.md': 'bad-name' cannot be the name of an input" in text


def test_what_is_no_tool_is_refused_with_a_list_of_what_is():
    assert refused(lambda: task(tools=[1])) == [("value_error", ("tools",))]
    assert refused(lambda: agent(tools=[1])) == [("value_error", ("tools",))]
    (text,) = messages(lambda: agent(tools=[1]))
    assert text.startswith("1 is not a tool. Tools are: ")


def test_a_name_a_class_or_a_method_that_was_not_called_is_no_agent_and_no_task():
    class Office:
        def clerk(self) -> Agent:
            return WRITER

        def letter(self) -> Task:
            return task()

    office = Office()
    assert messages(lambda: task(agent="Writer")) == ["'Writer' is not an agent; pass the object itself, not its name."]
    assert messages(lambda: task(agent=Agent)) == ["`Agent` is a class, not an agent; write `Agent(...)`."]
    expected = "`clerk` is a function, not an agent; call it if it returns one: `clerk()`."
    assert messages(lambda: task(agent=office.clerk)) == [expected]
    assert messages(lambda: crew(agents=[office.clerk])) == [expected]
    assert messages(lambda: crew(manager_agent=office.clerk)) == [expected]
    expected = "`letter` is a function, not a task; call it if it returns one: `letter()`."
    assert messages(lambda: crew(tasks=[office.letter])) == [expected]
    assert messages(lambda: task(context=[office.letter])) == [expected]
    assert messages(lambda: crew(tasks=["Write"])) == ["'Write' is not a task; pass the object itself, not its name."]


class Scales(BaseTool):
    name: str = "scales"
    description: str = "Weigh a parcel."

    def _run(self) -> str:
        return "2 kg"


def test_a_single_agent_task_or_tool_in_place_of_a_list_is_refused_in_a_line_for_each():
    assert messages(lambda: Crew(agents=agent(), tasks=task())) == [  # pyright: ignore[reportArgumentType]
        "`agents` is a list, not an `Agent`; write `agents=[...]`.",
        "`tasks` is a list, not a `Task`; write `tasks=[...]`.",
    ]
    for make in (agent, task):
        assert messages(lambda make=make: make(tools=Scales())) == [
            "`tools` is a list, not a `Scales`; write `tools=[...]`."
        ]


def pair(output: Any) -> tuple[bool, Any]:
    return True, output


async def waiting(output: Any) -> tuple[bool, Any]:
    return True, output


def with_default(output: Any, limit: int = 3) -> tuple[bool, str]:
    return bool(limit), output


def untyped(output: Any):
    return True, output


def anything(*outputs: Any):
    return True, outputs


class Judge:
    def __call__(self, output: Any) -> tuple[bool, Any]:
        return True, output

    def method(self, output: Any) -> tuple[bool, Any]:
        return True, output


@pytest.mark.parametrize(
    "guardrail", [pair, waiting, with_default, untyped, anything, Judge(), Judge().method, "Be kind"]
)
def test_a_guardrail_is_a_function_of_the_output_or_a_text(guardrail: Any):
    assert task(guardrail=guardrail).all_guardrails == [guardrail]
    assert task(guardrails=[guardrail, pair]).all_guardrails == [guardrail, pair]
    assert agent(guardrail=guardrail).guardrail is guardrail


def no_argument() -> tuple[bool, Any]:
    return True, None


def two_arguments(output: Any, other: Any) -> tuple[bool, Any]:
    return True, (output, other)


def only_by_name(*, output: Any) -> tuple[bool, Any]:
    return True, output


def only_a_bool(output: Any) -> bool:
    return bool(output)


def wrong_pair(output: Any) -> tuple[str, bool]:
    return output, True


@pytest.mark.parametrize("guardrail", [no_argument, two_arguments, only_by_name, only_a_bool, wrong_pair, 5, {"a": 1}])
def test_a_guardrail_that_cannot_work_is_refused_before_anything_runs(guardrail: Any):
    assert refused(lambda: task(guardrail=guardrail)) == [("value_error", ("guardrail",))]
    assert refused(lambda: task(guardrails=[pair, guardrail])) == [("value_error", ("guardrails",))]
    assert refused(lambda: agent(guardrail=guardrail)) == [("value_error", ("guardrail",))]


def test_a_list_of_guardrails_counts_before_a_single_one_and_this_is_reported():
    with pytest.warns(UserWarning, match="`guardrails` counts") as caught:
        both = task(guardrail=pair, guardrails=[untyped])
    assert both.all_guardrails == [untyped]
    assert caught[0].filename == __file__


class Facts(RootModel[list[str]]):
    pass


class Prices(RootModel[dict[str, int]]):
    pass


def test_a_list_is_a_structure_for_output_pydantic_and_refused_for_output_json(mode: Mode):
    worker = agent()
    worker.llm = ScriptedLLM(['["tin", "zinc"]', '{"tin": 3}'])
    metals = Task(description="d", expected_output="e", agent=worker, output_pydantic=Facts)
    prices = Task(description="d", expected_output="e", agent=worker, output_json=Prices)
    first, second = mode.kickoff(Crew(tasks=[metals, prices], checkpointer=False)).tasks_output
    assert first.pydantic == Facts(["tin", "zinc"])
    assert second.json_dict == {"tin": 3}
    with pytest.raises(
        ValueError, match="`output_json` makes a dict, and `Facts` is none; pass it as `output_pydantic`"
    ):
        Task(description="d", expected_output="e", output_json=Facts)


def test_a_crew_takes_a_list_of_agents_of_either_type():
    agents: list[Agent] = [Agent(role="Clerk", goal="Answer", backstory="Calm.")]  # `make types` checks the types
    others: list[BaseAgent] = [*agents]
    tasks: list[Task] = [Task(description="Answer.", expected_output="A text", agent=agents[0])]
    assert Crew(agents=agents, tasks=tasks).agents == Crew(agents=others, tasks=tasks).agents == agents
