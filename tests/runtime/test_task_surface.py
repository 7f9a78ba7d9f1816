"""Every public name of `Task` and `TaskOutput` that programs may use: each works here, or is listed with the reason it does not.

The names are those of CrewAI 1.2.1 and 1.15.30, and of the specification's tables, which name no other.
"""

import json
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from modes import Mode
from pydantic import BaseModel

from crewgraph import (
    Agent,
    ConditionalTask,
    Converter,
    Crew,
    OutputFormat,
    PendingCrew,
    ScriptedLLM,
    Task,
    TaskOutput,
    ToolUse,
)
from crewgraph.definitions.base import SecurityConfig
from crewgraph.tools.failure import ToolExecutionFailedError

from .parts import agent, asked, crew, task, using_a_broken_tool

TASK = """
agent allow_crewai_trigger_context async_execution callback config context converter_cls create_directory delegations
description end_time expected_output guardrail guardrail_max_retries guardrails human_input id markdown max_retries name
output output_file output_json output_pydantic processed_by_agents prompt_context retry_count security_config start_time
tools tools_errors used_tools i18n checkpoint_original_description checkpoint_original_expected_output input_files
response_model tool_failure_policy
aexecute_sync check_output check_tools copy ensure_guardrail_is_callable ensure_guardrails_is_list_of_callables
execute_async execute_sync handle_max_retries_deprecation increment_delegations increment_tools_errors
interpolate_inputs_and_add_conversation_history model_post_init output_file_validation process_model_config prompt
set_attributes_based_on_config validate_guardrail_function validate_required_fields
execution_duration fingerprint key
"""
TASK_OUTPUT = """
agent description expected_output json_dict messages name output_format pydantic raw summary tool_failures
set_summary to_dict has_tool_failures json __str__ model_dump
"""
CONDITIONAL_TASK = "condition should_execute get_skipped_task_output"
NAMES = {
    *(("Task", name) for name in TASK.split()),
    *(("TaskOutput", name) for name in TASK_OUTPUT.split()),
    *(("ConditionalTask", name) for name in CONDITIONAL_TASK.split()),
}

_RULE = "a rule that pydantic applies when the task is made, no method_name; what it checks is checked here, too"
NOT_HERE: dict[tuple[str, str], str] = {
    **{
        ("Task", name): _RULE
        for name in TASK.split()
        if name.startswith(("check_", "ensure_", "validate_", "handle_max"))
    },
    ("Task", "output_file_validation"): _RULE,
    ("Task", "process_model_config"): _RULE,
    ("Task", "set_attributes_based_on_config"): _RULE,
    ("Task", "model_post_init"): "a part of pydantic",
    ("TaskOutput", "set_summary"): _RULE,
}


class Town(BaseModel):
    name: str


class Towns(Converter):
    def to_pydantic(self, current_attempt: int = 1) -> BaseModel:
        return Town(name="Bonn")


@dataclass
class SampleRun:
    """A run of two tasks, and what was seen of the second."""

    mode: Mode
    folder: Path
    reported: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        def look(where: str) -> str:
            """Look somewhere."""
            if where == "dark":
                raise RuntimeError("nothing to see")
            return "three boats"

        def final(output: TaskOutput) -> tuple[bool, Any]:
            return output.raw != "draft", "no drafts" if output.raw == "draft" else output

        self.look = look
        uses = [ToolUse("look", {"where": "sea"}), ToolUse("look", {"where": "dark"})]
        self.model = ScriptedLLM(["the harbour", *uses, "draft", "**three** boats"])
        self.worker = agent(self.model, "Keeper of {place}")
        self.first = task("first", self.worker)
        self.task = Task(
            name="boats",
            description="Count boats in {place}",
            expected_output="A number for {place}",
            agent=self.worker,
            context=[self.first],
            tools=[look],
            callback=lambda output: self.reported.append(str(output)),  # pyright: ignore[reportUnknownArgumentType,reportUnknownLambdaType]
            output_file="out/{place}.md",
            markdown=True,
            guardrail=final,
            guardrail_max_retries=1,
            security_config=SecurityConfig(fingerprint="seed"),  # pyright: ignore[reportArgumentType]
        )
        self.crew = crew(self.first, self.task, checkpointer=False)
        self.mode.kickoff(self.crew, {"place": "Bonn"})

    @property
    def output(self) -> TaskOutput:
        assert self.task.output is not None
        return self.task.output

    def ran(self, *script: Any, **fields: Any) -> TaskOutput:
        """The output of a task that runs alone in its crew."""
        one = task("one", agent(ScriptedLLM(script)), **fields)
        return self.mode.kickoff(crew(one, checkpointer=False)).tasks_output[0]


Row = Callable[[SampleRun], Any]


def _good(output: TaskOutput) -> tuple[bool, str]:
    return output.raw == "good", "good" if output.raw == "good" else "no"


def _as_json(sample: SampleRun) -> bool:
    output = sample.ran('It is {"name": "Bonn"}.', response_model=Town)
    return (output.raw, output.pydantic, output.output_format) == ('{"name":"Bonn"}', None, OutputFormat.RAW)


def _in_order(sample: SampleRun) -> bool:
    return sample.ran("bad", "good", guardrails=[_good, _good]).raw == "good"


def _triggered(sample: SampleRun) -> bool:
    model = ScriptedLLM(["x", "x"])
    later = task("b", agent(model), allow_crewai_trigger_context=True)
    sample.mode.kickoff(crew(task("a", agent(model)), later, checkpointer=False), {"crewai_trigger_payload": "a mail"})
    return "a mail" in asked(model)[1]


def _timed(sample: SampleRun) -> bool:
    start, end = sample.task.start_time, sample.task.end_time
    assert start is not None and end is not None
    return end >= start and sample.task.execution_duration == (end - start).total_seconds()


def _named(sample: SampleRun) -> bool:
    nameless = Task(description="do this", expected_output="e", agent=agent(ScriptedLLM(["x"])))
    output = sample.mode.run(nameless.execute_sync, nameless.aexecute_sync)
    return (sample.output.name, output.name) == ("boats", "do this")


def _configured(sample: SampleRun) -> bool:
    one = Task(config={"description": "d", "expected_output": "e", "name": "n"})  # pyright: ignore[reportCallIssue]
    return (one.description, one.expected_output, one.name) == ("d", "e", "n")


def _future(sample: SampleRun) -> bool:
    future: Future[TaskOutput] = task("one", agent(ScriptedLLM(["x"]))).execute_async()
    return future.result(10).raw == "x"


def _alone(sample: SampleRun) -> bool:
    one = Task(description="d", expected_output="e")
    worker = agent(ScriptedLLM(["x"], repeat_last=True))
    output = sample.mode.run(one.execute_sync, one.aexecute_sync, worker, "known", [sample.look])
    return output.raw == "x" and one.prompt_context == "known"


def _counted(sample: SampleRun) -> bool:
    one = Task(description="d", expected_output="e")
    one.increment_tools_errors()
    one.increment_delegations("Clerk")
    one.increment_delegations(None)
    return (one.tools_errors, one.delegations, one.processed_by_agents) == (1, 2, {"Clerk"})


def _copied(sample: SampleRun) -> bool:
    copied = sample.task.copy([sample.worker], {})
    return copied is not sample.task and copied.output is None and copied.description == "Count boats in {place}"


def _beside(sample: SampleRun) -> bool:
    worker = agent(ScriptedLLM(["x", "y"]))
    made = crew(task("a", worker, async_execution=True), task("b", worker), checkpointer=False)
    return len(sample.mode.kickoff(made).tasks_output) == 2


def _with_folder(sample: SampleRun) -> bool:
    with pytest.raises(RuntimeError, match="could not be written"):
        sample.ran("x", output_file="nowhere/x.md", create_directory=False)
    return (sample.folder / "out").is_dir()


def _filled_by_hand(sample: SampleRun) -> bool:
    one = Task(description="d {a}", expected_output="e")
    one.interpolate_inputs_and_add_conversation_history({"a": 1})
    return one.description == "d 1"


def _conditional(sample: SampleRun) -> bool:
    def never(output: TaskOutput) -> bool:
        return False

    worker = agent(ScriptedLLM(["x"]))
    perhaps = ConditionalTask(never, description="d", expected_output="e", agent=worker)
    output = sample.mode.kickoff(crew(task("a", worker), perhaps, checkpointer=False))
    skipped = perhaps.get_skipped_task_output()
    return not perhaps.should_execute(skipped) and [one.raw for one in output.tasks_output] == ["x", ""] == [
        "x",
        skipped.raw,
    ]


def _judged(sample: SampleRun) -> bool:
    made = crew(task("shown", agent(ScriptedLLM(["x"])), human_input=True))
    waits = sample.mode.kickoff(made, thread_id="judged")
    return isinstance(waits, PendingCrew) and sample.mode.resume(made, "judged", answer="").raw == "x"


def _with_file(sample: SampleRun) -> bool:
    notes = sample.folder / "notes.txt"
    notes.write_text("three boats")
    model = ScriptedLLM(["x"])
    sample.mode.kickoff(crew(task("a", agent(model), input_files={"notes": str(notes)}), checkpointer=False))
    return "notes" in model.requests[0].text


def _failed(sample: SampleRun) -> bool:
    output = sample.mode.kickoff(using_a_broken_tool()).tasks_output[0]
    with pytest.raises(ToolExecutionFailedError, match="the glass is broken"):
        sample.mode.kickoff(using_a_broken_tool(of_task={"tool_failure_policy": "raise"}))
    return output.has_tool_failures and [one.tool_name for one in output.tool_failures] == ["broken"]


WORKS: dict[tuple[str, str], Row] = {
    ("Task", "input_files"): _with_file,
    ("Task", "tool_failure_policy"): _failed,
    ("TaskOutput", "tool_failures"): _failed,
    ("TaskOutput", "has_tool_failures"): _failed,
    ("Task", "agent"): lambda sample: sample.output.agent == "Keeper of Bonn",
    ("Task", "allow_crewai_trigger_context"): _triggered,
    ("Task", "async_execution"): _beside,
    ("Task", "callback"): lambda sample: sample.reported == ["**three** boats"],
    ("Task", "config"): _configured,
    ("Task", "context"): lambda sample: "the harbour" in asked(sample.model)[1],
    ("Task", "converter_cls"): lambda sample: (
        sample.ran("words", output_pydantic=Town, converter_cls=Towns).pydantic == Town(name="Bonn")
    ),
    ("Task", "create_directory"): _with_folder,
    ("Task", "delegations"): _counted,
    ("Task", "description"): lambda sample: "Count boats in Bonn" in asked(sample.model)[1],
    ("Task", "end_time"): _timed,
    ("Task", "expected_output"): lambda sample: "A number for Bonn" in asked(sample.model)[1],
    ("Task", "guardrail"): lambda sample: "no drafts" in asked(sample.model)[-1],
    ("Task", "guardrail_max_retries"): lambda sample: sample.task.retry_count == 1,
    ("Task", "guardrails"): _in_order,
    ("Task", "human_input"): _judged,
    ("Task", "i18n"): lambda sample: sample.task.agent is not None and sample.task.i18n is sample.task.agent.i18n,
    ("Task", "checkpoint_original_description"): lambda sample: (
        sample.task.checkpoint_original_description == "Count boats in {place}"
    ),
    ("Task", "checkpoint_original_expected_output"): lambda sample: (
        sample.task.checkpoint_original_expected_output == "A number for {place}"
    ),
    ("Task", "response_model"): _as_json,
    ("Task", "id"): lambda sample: sample.task.id != sample.first.id,
    ("Task", "markdown"): lambda sample: (
        "Markdown" in asked(sample.model)[1] and "Markdown" not in asked(sample.model)[0]
    ),
    ("Task", "max_retries"): lambda sample: (
        Task(description="d", expected_output="e", max_retries=7).guardrail_max_retries == 7
    ),
    ("Task", "name"): lambda sample: sample.output.name == "boats",
    ("Task", "output"): lambda sample: sample.output.raw == "**three** boats",
    ("Task", "output_file"): lambda sample: (sample.folder / "out" / "Bonn.md").read_text() == "**three** boats",
    ("Task", "output_json"): lambda sample: (
        sample.ran('{"name": "Bonn"}', output_json=Town).json_dict == {"name": "Bonn"}
    ),
    ("Task", "output_pydantic"): lambda sample: (
        sample.ran('{"name": "Bonn"}', output_pydantic=Town).pydantic == Town(name="Bonn")
    ),
    ("Task", "processed_by_agents"): lambda sample: sample.task.processed_by_agents == {"Keeper of Bonn"},
    ("Task", "prompt_context"): lambda sample: sample.task.prompt_context == "the harbour",
    ("Task", "retry_count"): lambda sample: sample.task.retry_count == 1,
    ("Task", "security_config"): lambda sample: (
        sample.task.fingerprint == SecurityConfig(fingerprint="seed").fingerprint  # pyright: ignore[reportArgumentType]
    ),
    ("Task", "start_time"): _timed,
    ("Task", "tools"): lambda sample: "three boats" in asked(sample.model)[2],
    ("Task", "tools_errors"): lambda sample: sample.task.tools_errors == 1,
    ("Task", "used_tools"): lambda sample: sample.task.used_tools == 2,
    ("Task", "aexecute_sync"): _alone,
    ("Task", "copy"): _copied,
    ("Task", "execute_async"): _future,
    ("Task", "execute_sync"): _alone,
    ("Task", "increment_delegations"): _counted,
    ("Task", "increment_tools_errors"): _counted,
    ("Task", "interpolate_inputs_and_add_conversation_history"): _filled_by_hand,
    ("Task", "prompt"): lambda sample: sample.task.prompt() in asked(sample.model)[1],
    ("Task", "execution_duration"): _timed,
    ("Task", "fingerprint"): lambda sample: sample.task.fingerprint is sample.task.security_config.fingerprint,
    ("Task", "key"): lambda sample: (
        sample.task.key == Task(description="Count boats in {place}", expected_output="A number for {place}").key
    ),
    ("TaskOutput", "agent"): lambda sample: sample.output.agent == "Keeper of Bonn",
    ("TaskOutput", "description"): lambda sample: sample.output.description == "Count boats in Bonn",
    ("TaskOutput", "expected_output"): lambda sample: sample.output.expected_output == "A number for Bonn",
    ("TaskOutput", "json_dict"): lambda sample: sample.output.json_dict is None,
    ("TaskOutput", "messages"): lambda sample: sample.ran("x").messages[-1]["role"] == "user",
    ("TaskOutput", "name"): _named,
    ("TaskOutput", "output_format"): lambda sample: (
        sample.output.output_format is OutputFormat.RAW
        and sample.ran('{"name": "Bonn"}', output_json=Town).output_format is OutputFormat.JSON
    ),
    ("TaskOutput", "pydantic"): lambda sample: sample.output.pydantic is None,
    ("TaskOutput", "raw"): lambda sample: sample.output.raw == "**three** boats",
    ("TaskOutput", "summary"): lambda sample: sample.output.summary == "Count boats in Bonn...",
    ("TaskOutput", "to_dict"): lambda sample: (
        sample.output.to_dict() == {} and sample.ran('{"name": "a"}', output_pydantic=Town).to_dict() == {"name": "a"}
    ),
    ("TaskOutput", "json"): lambda sample: sample.ran('{"name": "a"}', output_json=Town).json == '{"name": "a"}',
    ("TaskOutput", "__str__"): lambda sample: (
        [str(sample.output), str(sample.ran('{"name": "a"}', output_json=Town))] == ["**three** boats", "{'name': 'a'}"]
        and str(sample.ran('{"name": "a"}', output_pydantic=Town)) == "name='a'"
    ),
    ("TaskOutput", "model_dump"): lambda sample: (
        json.loads(json.dumps(sample.output.model_dump(mode="json")))["raw"] == "**three** boats"
    ),
    ("ConditionalTask", "condition"): _conditional,
    ("ConditionalTask", "should_execute"): _conditional,
    ("ConditionalTask", "get_skipped_task_output"): _conditional,
}


@pytest.fixture
def sample(mode: Mode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SampleRun:
    monkeypatch.chdir(tmp_path)
    return SampleRun(mode, tmp_path)


def test_every_public_name_works_or_is_listed_with_a_reason_and_none_is_both():
    assert {*WORKS, *NOT_HERE} == NAMES
    assert len(WORKS) + len(NOT_HERE) == len(NAMES)


def test_every_name_works(sample: SampleRun):
    assert [name for name, works in WORKS.items() if not works(sample)] == []


def test_what_is_listed_as_absent_is_absent():
    classes: dict[str, type[BaseModel]] = {"Task": Task, "TaskOutput": TaskOutput}
    offered = {(owner, name) for owner, name in NOT_HERE if name in classes[owner].model_fields}
    assert offered == set()


def test_what_has_no_structure_says_so(sample: SampleRun):
    with pytest.raises(ValueError, match="the output of task `boats` is not JSON; give the task `output_json="):
        _ = sample.output.json
    with pytest.raises(TypeError):
        sample.output["raw"]  # pyright: ignore[reportIndexIssue]


def test_agents_and_crews_have_the_same_identity_for_audits_as_tasks():
    worker = Agent(role="r", goal="g", backstory="b", security_config=SecurityConfig.from_dict({}))
    made = Crew(agents=[worker], tasks=[Task(description="d", expected_output="e", agent=worker)])
    assert len({one.fingerprint.uuid_str for one in (worker, made, *made.tasks)}) == 3
