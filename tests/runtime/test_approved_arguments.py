"""What a person approves is what the tool gets: validated arguments, with defaults, after hooks; any change is asked about."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, Literal
from uuid import uuid4

import pytest
from langchain_core.tools import BaseTool as LangChainBase
from langchain_core.tools import StructuredTool
from modes import Mode
from pydantic import BaseModel, Field, field_validator
from pydantic.v1 import BaseModel as OldModel

from crewgraph import Crew, CrewQuestion, PendingCrew, ScriptedLLM, ToolUse
from crewgraph.hooks import before_tool_call, clear_all_hooks
from crewgraph.tools import BaseTool, tool

from .parts import agent, crew, task

done: list[Any] = []


@pytest.fixture(autouse=True)
def nothing_done() -> Iterator[None]:
    done.clear()
    yield
    clear_all_hooks()


def desk(tool: Any, args: dict[str, Any], *, native: bool = True) -> Crew:
    def reply(messages: Sequence[Any]) -> Any:  # the same in another process
        return "done" if any(one["role"] == "assistant" for one in messages) else ToolUse(tool.name, args)

    return crew(task("t", agent(ScriptedLLM(reply, native_tools=native), tools=[tool])), name="desk")


def asked(result: Any) -> CrewQuestion:
    assert isinstance(result, PendingCrew), (result, done)
    (question,) = result.questions
    return question


def refund(approval: Any = True, default: int = 900) -> BaseTool:
    @tool("refund", require_approval=approval)
    def refund(order: str, euros: int = default) -> str:
        """Refund."""
        done.append((order, euros))
        return "ok"

    return refund


class Wipe(BaseModel):
    dry_run: bool = Field(default=False, alias="dryRun")
    mode: Literal["soft", "hard"] = "hard"


def for_real(args: dict[str, Any]) -> bool:
    return not args["dry_run"]


class WipeTool(BaseTool):
    name: str = "wipe"
    description: str = "Delete."
    args_schema: type[BaseModel] = Wipe
    require_approval: Any = staticmethod(for_real)

    def _run(self, dry_run: bool = False, mode: str = "hard") -> str:
        done.append((dry_run, mode))
        return "ok"


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("written", [{"dryRun": "false"}, {"dryRun": "0"}, {"dryRun": "no"}, {"dryRun": 0}, {}])
def test_the_rule_the_question_and_the_tool_get_what_the_tool_gets(mode: Mode, native: bool, written: dict[str, Any]):
    made = desk(WipeTool(), written, native=native)
    assert asked(mode.kickoff(made, thread_id="t")).args == {"dry_run": False, "mode": "hard"}
    assert mode.resume(made, "t", answer=True).raw == "done"
    assert done == [(False, "hard")]


def test_what_the_rule_does_not_want_asked_runs_at_once(mode: Mode):
    assert mode.kickoff(desk(WipeTool(), {"dryRun": "yes"})).raw == "done"
    assert done == [(True, "hard")]


def test_invalid_arguments_go_back_to_the_model_and_nobody_is_asked(mode: Mode):
    made = desk(refund(), {"order": "7", "euros": "many"})
    assert mode.kickoff(made).raw == "done"
    assert done == []


def of_langchain(kind: str, approval: Any) -> Any:
    def wipe(dry_run: bool = False) -> str:
        done.append(dry_run)
        return "ok"

    class Model(BaseModel):
        dry_run: bool = False

    class Old(OldModel):
        dry_run: bool = False

    metadata = {"require_approval": approval}
    schema = {"type": "object", "properties": {"dry_run": {"type": "boolean", "default": False}}}
    if kind == "function":
        return StructuredTool.from_function(wipe, description="Delete.", metadata=metadata)
    schemas: dict[str, Any] = {"model": Model, "pydantic 1": Old, "JSON schema": schema}

    class Bare(LangChainBase):
        def _run(self, dry_run: bool = False) -> str:
            return wipe(dry_run)

    return Bare(name="wipe", description="Delete.", args_schema=schemas[kind], metadata=metadata)


@pytest.mark.parametrize("kind", ["function", "model", "pydantic 1", "JSON schema"])
def test_so_it_is_for_tools_of_langchain(mode: Mode, kind: str):
    for number, written in enumerate([{"dry_run": "false"}, {}]):
        done.clear()
        made = desk(of_langchain(kind, for_real), written)
        assert asked(mode.kickoff(made, thread_id=str(number))).args == {"dry_run": False}
        assert mode.resume(made, str(number), answer=True).raw == "done"
        assert done == [False]


def test_hooks_run_before_the_question_and_the_tool_gets_what_was_shown(mode: Mode):
    seen: list[Any] = []

    @before_tool_call
    def double(context: Any) -> None:
        seen.append(dict(context.tool_input))
        context.tool_input["euros"] *= 2

    made = desk(refund(lambda args: args["euros"] > 1000), {"order": 7})  # pyright: ignore[reportUnknownLambdaType]
    assert asked(mode.kickoff(made, thread_id="t")).args == {"order": "7", "euros": 1800}
    assert mode.resume(made, "t", answer=True).raw == "done"
    assert (done, seen) == ([("7", 1800)], [{"order": "7", "euros": 900}])


def test_nobody_is_asked_about_a_call_that_a_hook_blocks(mode: Mode):
    @before_tool_call
    def never(context: Any) -> bool:
        return False

    assert mode.kickoff(desk(refund(), {"order": "7"})).raw == "done"
    assert done == []


def test_a_hook_that_changes_what_a_person_wrote_is_asked_about(mode: Mode):
    @before_tool_call
    def at_least(context: Any) -> None:
        context.tool_input["euros"] = max(context.tool_input["euros"], 100)

    made = desk(refund(), {"order": "7"})
    mode.kickoff(made, thread_id="t")
    again = asked(mode.resume(made, "t", answer={"args": {"order": "7", "euros": 5}}))
    assert again.args == {"order": "7", "euros": 100} and again.refused is not None
    assert mode.resume(made, "t", answer=True).raw == "done"
    assert done == [("7", 100)]


def test_other_arguments_are_validated_and_used(mode: Mode):
    made = desk(refund(), {"order": "7"})
    mode.kickoff(made, thread_id="t")
    assert mode.resume(made, "t", answer={"args": {"order": "7", "euros": "80"}}).raw == "done"
    assert done == [("7", 80)]


def test_a_default_that_nobody_saw_is_asked_about(mode: Mode):
    made = desk(refund(), {"order": "7", "euros": 50})
    mode.kickoff(made, thread_id="t")
    assert asked(mode.resume(made, "t", answer={"args": {"order": "8"}})).args == {"order": "8", "euros": 900}
    assert done == []
    mode.resume(made, "t", answer=True)
    assert done == [("8", 900)]


def test_a_new_default_after_a_deployment_is_asked_about(mode: Mode):
    mode.kickoff(desk(refund(default=50), {"order": "7"}), thread_id="t")
    deployed = desk(refund(default=5000), {"order": "7"})
    assert asked(mode.resume(deployed, "t", answer=True)).args == {"order": "7", "euros": 5000}
    assert done == []
    assert mode.resume(deployed, "t", answer=True).raw == "done"
    assert done == [("7", 5000)]


def test_a_new_validator_after_a_deployment_is_asked_about(mode: Mode):
    def made(factor: int) -> Crew:
        class Amount(BaseModel):
            euros: int

            @field_validator("euros")
            @classmethod
            def scaled(cls, value: int) -> int:
                return value * factor

        class Pay(BaseTool):
            name: str = "pay"
            description: str = "Pay."
            args_schema: type[BaseModel] = Amount
            require_approval: Any = True

            def _run(self, euros: int) -> str:
                done.append(euros)
                return "ok"

        return desk(Pay(), {"euros": 3})

    assert asked(mode.kickoff(made(2), thread_id="t")).args == {"euros": 6}
    assert asked(mode.resume(made(10), "t", answer=True)).args == {"euros": 30}
    assert mode.resume(made(10), "t", answer=True).raw == "done"
    assert done == [30]  # validated once: not 300


def test_a_default_that_is_made_for_each_call_is_that_of_the_question(mode: Mode):
    class Keyed(BaseModel):
        key: str = Field(default_factory=lambda: uuid4().hex)

    class Pay(BaseTool):
        name: str = "pay"
        description: str = "Pay."
        args_schema: type[BaseModel] = Keyed
        require_approval: Any = True

        def _run(self, key: str) -> str:
            done.append(key)
            return "ok"

    shown = asked(mode.kickoff(desk(Pay(), {}), thread_id="t")).args
    assert shown is not None
    assert mode.resume(desk(Pay(), {}), "t", answer=True).raw == "done"
    assert done == [shown["key"]]


def test_arguments_that_are_never_the_same_are_refused(mode: Mode):
    numbers = itertools.count()

    class Odd(BaseModel):
        euros: int

        @field_validator("euros")
        @classmethod
        def other(cls, value: int) -> int:
            return value + next(numbers)

    class Pay(BaseTool):
        name: str = "pay"
        description: str = "Pay."
        args_schema: type[BaseModel] = Odd
        require_approval: Any = True

        def _run(self, euros: int) -> str:
            done.append(euros)
            return "ok"

    assert mode.kickoff(desk(Pay(), {"euros": 1})).raw == "done"
    assert done == []


def test_a_call_that_was_approved_and_made_is_not_repeated_after_a_crash(mode: Mode):
    replies: list[Any] = [ToolUse("refund", {"order": 7}), ConnectionError("down"), "done"]
    made = crew(task("t", agent(ScriptedLLM(replies), tools=[refund()])), name="desk")
    mode.kickoff(made, thread_id="t")
    with pytest.raises(ConnectionError):
        mode.resume(made, "t", answer=True)
    assert mode.resume(made, "t").raw == "done"
    assert done == [("7", 900)]


def test_tools_of_a_json_schema_get_what_it_declares(mode: Mode):
    schema = {
        "type": "object",
        "properties": {
            "dry_run": {"anyOf": [{"type": "boolean"}, {"type": "null"}], "default": None},
            "count": {"type": "integer", "default": 3},
            "name": {"type": "string"},
        },
    }

    class Bare(LangChainBase):
        def _run(self, **arguments: Any) -> str:
            done.append(arguments)
            return "ok"

    bare: Any = Bare(name="bare", description="b", args_schema=schema, metadata={"require_approval": True})
    made = desk(bare, {"dry_run": "no", "count": "4", "name": 7})
    wanted = {"dry_run": False, "count": 4, "name": "7"}
    assert asked(mode.kickoff(made, thread_id="t")).args == wanted
    assert mode.resume(made, "t", answer=True).raw == "done"
    assert done == [wanted]
    assert mode.kickoff(desk(bare, {"count": "many"})).raw == "done"  # nobody is asked
